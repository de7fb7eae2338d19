"""What you see of an object or of work that goes on: tables and bars, in a terminal and in a notebook."""

import html
import io
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any

LONGEST = 60  # characters of a cell
PAUSE = 0.1  # seconds between two updates of a bar in a notebook
_NUMBER = re.compile(r"[+−-]?\d[\d.,e+−-]*( ± [\d.]+)?( %)?$")
_TABLE = "border-collapse:collapse;color:inherit;background:transparent;margin:0.4em 0"
_CELL = "padding:0.15em 0.8em;border:0;text-align:"
_LINE = ";border-bottom:1px solid currentColor"


def count_noun(number: int, noun: str) -> str:
    """A number and its noun, as "1 row", "3 rows" and "2 classes"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


@dataclass(frozen=True)
class Shown:
    """A short table that an object shows of itself: aligned text where you print it, HTML in a notebook.

    If all `columns` are empty there is no line of headings. Any text may be in the cells, also names that a stranger
    chose. The rows numbered in `strong` stand out in HTML.

    >>> print(Shown("two classes", ("class", "accuracy"), (("emu", "50.0 %"), ("owl", "100.0 %"))).text())
    two classes
      class  accuracy
      emu      50.0 %
      owl     100.0 %
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    strong: Sequence[int] = ()

    def text(self) -> str:
        """The title, the rows as aligned lines, two spaces further in, and the notes."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        right = self._right()
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(self.columns))
        for k, name in enumerate(self.columns):
            table.add_column(Text(_clean_cell(name)), justify="right" if k in right else "left", no_wrap=True)
        for row in self.rows:
            table.add_row(*(Text(_clean_cell(cell)) for cell in row))
        file = io.StringIO()
        if self.rows:  # a wide console, so that nothing is cut; `LONGEST` limits each cell
            Console(file=file, width=len(self.columns) * 2 * LONGEST, color_system=None).print(table)
        lines = [f"  {line}".rstrip() for line in file.getvalue().splitlines()]
        return "\n".join([_clean_cell(self.title, None), *lines, *(_clean_cell(note, None) for note in self.notes)])

    def html(self) -> str:
        """HTML that needs nothing else, in the colours of the page it is on; every value is escaped."""
        right = self._right()

        def line(row: Sequence[str], kind: str, more: str = "") -> str:
            cells = (
                f'<{kind} style="{_CELL}{"right" if k in right else "left"}{more}">{_escape_cell(cell)}</{kind}>'
                for k, cell in enumerate(row)
            )
            return f"<tr>{''.join(cells)}</tr>"

        head = f"<thead>{line(self.columns, 'th', _LINE)}</thead>" if any(self.columns) else ""
        body = "".join(
            line(row, "td", ";font-weight:bold" if place in self.strong else "") for place, row in enumerate(self.rows)
        )
        notes = "".join(f"<div>{_escape_cell(note, None)}</div>" for note in self.notes)
        table = f'<table style="{_TABLE}">{head}<tbody>{body}'
        return f"<div><div><b>{_escape_cell(self.title, None)}</b></div>{table}</tbody></table>{notes}</div>"

    def _right(self) -> set[int]:
        """The columns of numbers."""
        columns = [[row[k].strip() for row in self.rows if row[k].strip()] for k in range(len(self.columns))]
        return {k for k, cells in enumerate(columns) if cells and all(map(_NUMBER.match, cells))}


def format_percent(share: float | None) -> str:
    """A fraction in per cent with one digit; empty for None."""
    return "" if share is None else f"{100 * share:.1f} %"


def list_some(names: Sequence[object], most: int = 5) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


def _clean_cell(cell: str, longest: int | None = LONGEST) -> str:
    """In one line, without what would move the cursor, and not too long."""
    line = "".join(sign if sign.isprintable() else "�" for sign in " ".join(str(cell).split()))
    return line if longest is None or len(line) <= longest else line[: longest - 1] + "…"


def _escape_cell(cell: str, longest: int | None = LONGEST) -> str:
    return html.escape(_clean_cell(cell, longest))


class ProgressBar:
    """A bar that moves when it is called: with what `fit` passes to its callback, or with steps done and steps in all.

    It appears with the first call. In a terminal it is on standard error and vanishes after the last step; where
    neither a terminal nor a notebook is there to see it, nothing is written.

    Parameters
    ----------
    what : str, default="progress"
        The word before the bar.

    Examples
    --------
    >>> import zskl
    >>> data = zskl.datasets.make_synthetic()
    >>> model = zskl.ZeroShotKernelClassifier(epochs=1, random_state=0)
    >>> model = model.fit(*data.samples("trainval"), data.signatures, callback=zskl.ProgressBar("fit"))
    """

    def __init__(self, what: str = "progress") -> None:
        self.what = what
        self._view: _Notebook | _Terminal | None = None

    def __call__(self, state: Any, total: int | None = None) -> None:
        done, total = (state, total or 0) if isinstance(state, int) else (state.step, state.steps)
        if self._view is None:
            self._view = _Notebook(self.what) if in_notebook() else _Terminal(self.what)
        self._view.move(done, total)

    def close(self) -> None:
        """Take the bar away, wherever it stands."""
        if isinstance(self._view, _Terminal):
            self._view.close()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _Notebook:
    """One display that is updated in place. Rich and tqdm need ipywidgets for that; this needs IPython alone."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._display: Any = None
        self._began = self._last = time.monotonic()

    def move(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._display is not None and done < total and now - self._last < PAUSE:
            return
        self._last = now
        page = import_module("IPython.display").HTML(draw_bar(self._what, done, total, now - self._began))
        if self._display is None:
            self._display = import_module("IPython.display").display(page, display_id=True)
        else:
            self._display.update(page)


class _Terminal:
    """Rich's bar on standard error. It stops with the last step, and starts again if there are more after all."""

    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress

        console = Console(stderr=True)
        self._seen = console.is_terminal  # elsewhere even a disabled bar of Rich may leave an empty line
        self._progress = Progress(console=console, transient=True)
        self._task = self._progress.add_task(escape(what), total=None)

    def move(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total)
        if self._seen and done < total:
            self._progress.start()
        else:
            self.close()

    def close(self) -> None:
        if self._seen:
            self._progress.stop()


def draw_bar(what: str, done: int, total: int, seconds: float) -> str:
    """The bar as HTML: what, how much of it, and the time left or taken."""
    finished = done >= total
    left = seconds if finished or not done else seconds * (total - done) / done
    clock = f"{timedelta(seconds=round(left))} {'taken' if finished else 'left'}" if done else ""
    return (
        f'<div>{html.escape(what)} <progress value="{done}" max="{total}"></progress> {done} of {total} {clock}</div>'
    )
