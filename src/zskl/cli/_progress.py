"""Progress on standard error: a bar for one task, or a row for each unit of a sweep. Both vanish when done."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

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

from zskl.cli._terminal import errors, is_quiet


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
