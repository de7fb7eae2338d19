"""Progress on standard error: a bar for one task, or the display of a sweep. Both vanish when done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from zskl.cli.consoles import problems
from zskl.cli.terminal import shows_progress

if TYPE_CHECKING:
    from zskl.training.solver import Progress as Training


def progress_display() -> Progress:
    """Bars for tasks whose steps can be counted."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=problems, transient=True, disable=not shows_progress())


def reporter(progress: Progress, task: TaskID) -> Callable[[Training], None]:
    """A callback for `fit` that moves a bar in steps of a hundredth."""

    def report(state: Training) -> None:
        if state.step % max(1, state.steps // 100) == 0:
            progress.update(task, total=state.steps, completed=state.step)

    return report


class TimeLeft(ProgressColumn):
    """From the mean time of what is done. Rich's own column looks at the last half minute; a unit may take longer."""

    def render(self, task: Task) -> Text:
        if not task.completed or not task.total or task.elapsed is None:
            return Text("")
        left = task.elapsed * (task.total - task.completed) / task.completed
        return Text(f"{timedelta(seconds=round(left))} left")


class Display:
    """The display of a sweep: what runs, how many units are done, how much time has passed and is left.

    There is a row for all units, called `what`, and one for each that runs. `before` of the `names` were done earlier:
    they count as done, but not for the time left.
    """

    def __init__(self, names: Sequence[str], before: int = 0, what: str = "all units") -> None:
        self._names = names
        self._before = before
        self._rows: dict[int, TaskID] = {}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            TimeLeft(),
            console=problems,
            transient=True,
            disable=not shows_progress(),  # elsewhere it would leave empty lines
        )
        self._all = self._progress.add_task(what, total=len(names) - before, state=f"0 of {len(names)} done")
        self._done = 0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def started(self, place: int) -> None:
        if place not in self._rows:
            self._rows[place] = self._progress.add_task(self._names[place], total=None, state="")

    def moved(self, place: int, stage: str, done: int, steps: int) -> None:
        if place in self._rows:
            self._progress.update(self._rows[place], total=steps, completed=done, state=stage)

    def told(self, place: int, state: str) -> None:
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
