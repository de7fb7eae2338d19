"""Short tables that objects show of themselves: aligned text where you print them, HTML in a notebook."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 60  # characters of a cell
_NUMBER = re.compile(r"[+−-]?\d[\d.,e+−-]*( ± [\d.]+)?( %)?$")
_TABLE = "border-collapse:collapse;color:inherit;background:transparent;margin:0.4em 0"
_CELL = "padding:0.15em 0.8em;border:0;text-align:"
_LINE = ";border-bottom:1px solid currentColor"


@dataclass(frozen=True)
class Shown:
    """A table with a title above it and notes below.

    Parameters
    ----------
    title : str
        One line.
    columns : sequence of str
        The headings; all empty means no line of headings.
    rows : sequence of sequences of str
        The cells. Any text may be in them, also names that a stranger chose.
    notes : sequence of str, default=()
        Lines below the table.
    strong : sequence of int, default=()
        The rows that stand out in HTML.

    Examples
    --------
    >>> from zskl.shown.table import Shown
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
        """Give the table as aligned lines.

        Returns
        -------
        str
            The title, the rows, two spaces further in, and the notes.
        """
        rows = [[_plain(cell) for cell in row] for row in self.rows]
        head = [[_plain(name) for name in self.columns]] if any(self.columns) else []
        widths = [max(len(row[k]) for row in [*head, *rows]) for k in range(len(self.columns))] if rows else []
        right = self._right()
        lines = [_plain(self.title, None)]
        for row in [*head, *rows] if rows else []:
            cells = [
                cell.rjust(width) if k in right else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append(f"  {'  '.join(cells)}".rstrip())
        return "\n".join([*lines, *(_plain(note, None) for note in self.notes)])

    def html(self) -> str:
        """Give the table as HTML that needs nothing else, in the colours of the page it is on.

        Returns
        -------
        str
            HTML in which every value is escaped.
        """
        right = self._right()

        def line(row: Sequence[str], kind: str, more: str = "") -> str:
            cells = (
                f'<{kind} style="{_CELL}{"right" if k in right else "left"}{more}">{_escaped(cell)}</{kind}>'
                for k, cell in enumerate(row)
            )
            return f"<tr>{''.join(cells)}</tr>"

        head = f"<thead>{line(self.columns, 'th', _LINE)}</thead>" if any(self.columns) else ""
        body = "".join(
            line(row, "td", ";font-weight:bold" if place in self.strong else "") for place, row in enumerate(self.rows)
        )
        notes = "".join(f"<div>{_escaped(note, None)}</div>" for note in self.notes)
        table = f'<table style="{_TABLE}">{head}<tbody>{body}'
        return f"<div><div><b>{_escaped(self.title, None)}</b></div>{table}</tbody></table>{notes}</div>"

    def _right(self) -> set[int]:
        """The columns of numbers."""
        columns = [[row[k].strip() for row in self.rows if row[k].strip()] for k in range(len(self.columns))]
        return {k for k, cells in enumerate(columns) if cells and all(map(_NUMBER.match, cells))}


def percent(share: float | None) -> str:
    """A fraction in per cent with one digit; empty for None."""
    return "" if share is None else f"{100 * share:.1f} %"


def some(names: Sequence[object], most: int = 5) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


def _plain(cell: str, longest: int | None = LONGEST) -> str:
    """In one line, without what would move the cursor, and not too long."""
    line = "".join(sign if sign.isprintable() else "�" for sign in " ".join(str(cell).split()))
    return line if longest is None or len(line) <= longest else line[: longest - 1] + "…"


def _escaped(cell: str, longest: int | None = LONGEST) -> str:
    return html.escape(_plain(cell, longest))
