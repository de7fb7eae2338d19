"""Standard output and standard error: results go to the first, and are the same with --quiet.

Remarks go to the second, each as "note: …", whether a command makes them, or the library warns or logs them. So do
errors and progress. Also what a terminal lacks (letters, room), and what ends a command: a reader that has gone,
Ctrl-C, `kill PID` and a closed terminal. The last two end it as Ctrl-C does: it stops its workers and says how to
continue.
"""

import codecs
import errno
import io
import logging
import os
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, Self

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from zskl.experiments.compare import Comparison
    from zskl.experiments.uncertainty import Figure

NAMES = ("SIGTERM", "SIGHUP", "SIGBREAK")  # Windows has the last in place of the second
SIGNALS = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
READER_GONE = 141  # the exit code of a program whose reader has gone: 128 + SIGPIPE

# What a terminal without these signs shows in their place; "?" for any other.
PLAIN = {"×": "x", "±": "+-", "–": "-", "−": "-", "…": "...", "·": ".", "→": "->", "≥": ">=", "≤": "<=", "’": "'"}

# Advice of the library to those who write Python, and what it is on the command line. `name=value (--name value)` says
# both. What else may stand in a message is tested: see test_no_message_of_a_command_speaks_python.
HINTS = [
    (re.compile(python), options)
    for python, options in (
        (r"\b\w+=\S* \((--[^)]*)\)", r"\1"),
        (r"by selection\.tune,( or)? call selection\.calibrate on it", "with zskl fit --tune or --calibrate"),
        (r"[;,]? in Python [^;:.]*", ""),
        (r"in Python, call zskl\.kernels\.register on its class before loading", "use it in Python"),
        (r"pass signatures to fit \(.*?\)", "fit it with a table of the classes"),
        (r"\b(device|folds|missing|scoring|signatures|strategy)='([\w.]+)'", r"--\1 \2"),
        (r"\b(feature_scaling|signature_scaling|prior)='([\w-]+)'", r"--set \1=\2"),
    )
]

errors = Console(stderr=True)  # one for all, because lines are printed above the bars of the same console
_quiet: list[bool] = [False]  # the last is what the command that runs was given


class _Output(Console):
    def on_broken_pipe(self) -> NoReturn:
        # Rich would end the process with exit code 1; `read_to_the_end` decides.
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def open_output(width: int | None = None) -> Console:
    """Standard output as a console. A new one each time, because Rich reads COLUMNS only when a console is made."""
    return _Output(width=width)


@contextmanager
def loudness(verbose: bool, quiet: bool) -> Iterator[None]:
    """How much is said in this block: results and errors; unless `quiet`, also remarks, each once, whether noted,
    warned or logged; if `verbose`, also what else the library logs."""
    logger, handler = logging.getLogger("zskl"), _LogPrinter(logging.INFO if verbose else logging.WARNING)
    before = logger.level
    _quiet.append(quiet)
    logger.addHandler(handler)
    if verbose:
        logger.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *where, **more: handler.note_once(str(message))
            yield
    finally:
        _quiet.pop()
        logger.removeHandler(handler)
        logger.setLevel(before)


class _LogPrinter(logging.Handler):
    """Prints what the library logs and warns. Both are left to `collect_messages` while it runs."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.noted: set[str] = set()

    def note_once(self, sentence: str) -> None:
        if sentence not in self.noted:
            self.noted.add(sentence)
            note(sentence)

    def emit(self, record: logging.LogRecord) -> None:
        if record.name in ("zskl.serve", "zskl.access"):  # a service writes its own log
            return
        if record.levelno < logging.WARNING:
            line = f"{record.relativeCreated / 1000:7.2f} s  {record.getMessage()}"
            errors.print(Text(line, style="dim"), soft_wrap=True)
        elif logging.getLogger("zskl").propagate:
            self.note_once(record.getMessage())


def is_quiet() -> bool:
    return _quiet[-1]


def say(sentence: str, wrapped: bool = False) -> None:
    """Write plain text to standard output. Only where asked, and on a terminal, are lines broken between words."""
    output = open_output()
    output.print(Text(sentence), soft_wrap=not (wrapped and output.is_terminal))


def note(sentence: str) -> None:
    """Write a remark to standard error, such as which file was written; --quiet leaves it out."""
    if not is_quiet():
        errors.print(Text.assemble(("note:", "yellow"), f" {name_options(sentence)}"), soft_wrap=True)


def complain(sentence: str) -> None:
    """Say what went wrong, without stopping."""
    errors.print(Text.assemble(("error:", "bold red"), f" {name_options(sentence)}"), soft_wrap=True)


def name_options(sentence: str) -> str:
    """What the library advises, with options of commands in place of Python.

    >>> name_options("not UTF-8 text: say so with encoding='cp1252' (--encoding cp1252), or use device='cpu'")
    'not UTF-8 text: say so with --encoding cp1252, or use --device cpu'
    """
    for python, options in HINTS:
        sentence = python.sub(options, sentence)
    return sentence


def fail(sentence: str, code: int) -> NoReturn:
    """Say what went wrong, and stop with this exit code."""
    complain(sentence)
    sys.exit(code)


def replace_unencodable() -> None:
    """Write "x" for ×, and "?" for a letter that the terminal's encoding lacks, in place of an error; nothing where
    standard output is closed, as by `>&-`."""
    codecs.register_error("zskl", _replace)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (until the process ends)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="zskl")


def _replace(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    sign = error.object[error.start]
    if "\udc80" <= sign <= "\udcff":  # a byte of a file's name that is not text: Python's surrogateescape
        return bytes([ord(sign) - 0xDC00]), error.start + 1
    return PLAIN.get(sign, "?"), error.start + 1


@contextmanager
def read_to_the_end() -> Iterator[None]:
    """Leave without a word when the reader of standard output has gone, as in `zskl methods | head -1`."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # Windows says EINVAL for a pipe that nobody reads.
        if error.errno not in (errno.EPIPE, errno.EINVAL, errno.ENOSPC) or not _is_output_stuck():
            raise
        with suppress(OSError, ValueError):  # so that Python does not try again when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.ENOSPC:
            raise OSError("cannot write to standard output: the disk is full; make room there") from None
        sys.exit(READER_GONE)


def _is_output_stuck() -> bool:
    """Whether standard output takes nothing more, rather than some other file or pipe."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        self.counts[record.getMessage()] += 1


@contextmanager
def collect_messages() -> Iterator[None]:
    """Hold back log messages and warnings of this block, also of workers; show each once at its end, with a count."""
    from zskl.engines import capture_logs

    collector = _Collector()
    try:
        with capture_logs(collector), warnings.catch_warnings():
            warnings.showwarning = lambda message, *where, **more: collector.counts.update([str(message)])
            yield
    finally:
        for sentence, times in collector.counts.items():
            note(sentence if times == 1 else f"{sentence} ({times} times)")


class Ended(SystemExit):
    """By a signal; the exit code is 128 + its number, as in a shell."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number


STOPS = (KeyboardInterrupt, Ended)  # what a command catches that can be continued


def raise_on_end_signals() -> None:
    """Raise `Ended` in the main thread on the first such signal; a second one ends the process at once. A signal that
    is ignored, as after `nohup`, or that a caller handles, is left alone."""
    for number in SIGNALS:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _raise_end_signal)


def _raise_end_signal(number: int, frame: FrameType | None) -> NoReturn:
    for other in SIGNALS:
        if signal.getsignal(other) is _raise_end_signal:
            signal.signal(other, signal.SIG_DFL)
    raise Ended(number)


def fail_on_stop(stop: BaseException, more: str = "") -> NoReturn:
    """Say what ended a command, and `more`, such as how to continue it."""
    if isinstance(stop, Ended):
        fail(f"ended by {signal.Signals(stop.number).name}{more}", 128 + stop.number)
    fail(f"interrupted{more}", 130)


# Tables: columns side by side where they fit, else a short block for each row


def show_table(table: Table) -> None:
    """Print a table; no word and no number is cut short. Where nobody says how wide, it is as wide as it must be."""
    output = open_output()
    texts = [Text.from_markup("\n".join([str(one.header), *map(str, one.cells)])).plain for one in table.columns]
    least = [max(map(cell_len, text.split()), default=1) for text in texts]
    best = [max(map(cell_len, text.split("\n"))) for text in texts]
    between = len(texts) - 1
    fixed = between + (2 if table.show_edge else 0)
    if sum(least) + fixed > output.width and (output.is_terminal or os.environ.get("COLUMNS")):
        _show_blocks(table)
        return
    padding = between if table.collapse_padding else 2 * between + 2
    if sum(least) + fixed + padding > output.width:
        table.padding = padding = 0  # one space between columns, not more
    # Rich takes room from the widest column first, and so cuts its words although others could give way.
    for column, width in zip(table.columns, _share_width(least, best, output.width - fixed - padding), strict=True):
        column.width = width
    open_output(max(output.width, sum(least) + fixed)).print(table, crop=False)


def _share_width(least: Sequence[int], best: Sequence[int], room: int) -> list[int]:
    """The widths of columns: what each needs at least, and of the rest most where most is wanting."""
    widths = list(least)
    for _ in range(room - sum(widths)):
        wanting = [want - have for want, have in zip(best, widths, strict=True)]
        if max(wanting) <= 0:
            break
        widths[wanting.index(max(wanting))] += 1
    return widths


def _show_blocks(table: Table) -> None:
    """The first cell of each row, and below it the others, each after the name of its column."""
    output = open_output()
    names = [" ".join(str(column.header).split()) for column in table.columns]
    for first, *others in zip(*(list(map(str, column.cells)) for column in table.columns), strict=True):
        block = Table.grid(padding=(0, 2, 0, 0))
        block.add_column(no_wrap=True, min_width=max(map(len, names[1:]), default=0) + 2)
        block.add_column(overflow="fold")
        for name, cell in zip(names[1:], others, strict=True):
            if cell.strip():
                block.add_row(f"  {escape(name)}", "  ".join(cell.split("\n")))
        output.print(f"\n{first}", soft_wrap=True)
        output.print(block)


def draw_comparison(table: "Comparison", below: bool = False) -> Table:
    """Figures of methods as a table; with `below`, intervals in whole per cent stand below their figures. The column of
    seeds is left out if no row has more than one."""
    from zskl.experiments import compare

    counted = not below or any((row.seeds or 0) > 1 for row in table.rows)
    picture = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False, show_edge=not below)
    for name in table.labels:
        picture.add_column(name)
    for name in (*(("seeds",) if counted else ()), *table.figures):
        picture.add_column(name.replace(" ", "\n") if below else name, justify="right")
    for row in table.rows:
        cells = [_draw_figure(row.figures.get(name), below) for name in table.figures]
        seeds = [compare.format_seeds(row)] if counted else []
        picture.add_row(*(escape(row.labels[name]) for name in table.labels), *seeds, *cells)
    return picture


def _draw_figure(figure: "Figure | None", below: bool) -> str:
    from zskl.experiments import compare

    if below and figure is not None and figure.low is not None and figure.high is not None:
        text = f"{compare.format_cell(replace(figure, low=None, high=None, deviation=None))}\n"
        text += f"{figure.low:.0f}–{figure.high:.0f}"
    else:
        text = escape(compare.format_cell(figure, " ±"))  # the space is where a narrow terminal breaks the line
    return f"[b]{text}[/b]" if figure is not None and figure.best else text


# Progress: a bar for one task, or a row for each unit of a sweep. Both vanish when done


def _open_progress(*columns: ProgressColumn) -> Progress:
    # A unit may take minutes, so the time left follows from all of them; Rich looks at the last 30 s by default.
    # Where nobody sees a bar it is disabled, or it would leave empty lines.
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *columns,
        console=errors,
        transient=True,
        disable=not errors.is_terminal or is_quiet(),
        speed_estimate_period=86400,
    )


@contextmanager
def show_progress(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar in this block; call what you get with the steps done and the steps in all."""
    with _open_progress(TextColumn("{task.percentage:>3.0f}%"), TimeRemainingColumn()) as progress:
        task = progress.add_task(escape(what), total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


class SweepDisplay:
    """The display of a sweep: what runs, how many units are done, how much time has passed and is left.

    There is a row for all units, called `what`, and one for each that runs. `before` of the `names` were done earlier:
    they count as done, but not for the time left.
    """

    def __init__(self, names: Sequence[str], before: int = 0, what: str = "all units") -> None:
        self._names = names
        self._before = before
        self._done = 0
        self._rows: dict[int, TaskID] = {}
        columns = (TextColumn("{task.fields[state]}"), TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("left"))
        self._progress = _open_progress(*columns)
        self._all = self._progress.add_task(what, total=len(names) - before, state=f"0 of {len(names)} done")

    def __enter__(self) -> Self:
        self._progress.start()
        self._progress.advance(self._all, 0)  # Rich measures speed from the first sample on
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def started(self, place: int) -> None:
        if place not in self._rows:
            self._rows[place] = self._progress.add_task(escape(self._names[place]), total=None, state="")

    def moved(self, place: int, stage: str, done: int, steps: int) -> None:
        if place in self._rows:
            self._progress.update(self._rows[place], total=steps, completed=done, state=stage)

    def describe(self, place: int, state: str) -> None:
        """Say how far it is, where the end is not known."""
        if place in self._rows:
            self._progress.update(self._rows[place], state=state)

    def finished(self, place: int) -> None:
        self._done += 1
        state = f"{self._done} of {len(self._names)} done"
        self._progress.update(self._all, completed=max(0, self._done - self._before), state=state)
        row = self._rows.pop(place, None)
        if row is not None:
            self._progress.remove_task(row)
