"""The one progress display of a sweep: what runs, how many units are done, the time passed and left."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from zskl.cli.app import problems


class Display:
    """On standard error; vanishes when done. A row for all units, and one for each that runs."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._rows: dict[int, TaskID] = {}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=problems,
            transient=True,
        )
        self._all = self._progress.add_task("all units", total=len(names), state=f"0 of {len(names)} done")
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

    def finished(self, place: int) -> None:
        self._done += 1
        self._progress.update(self._all, completed=self._done, state=f"{self._done} of {len(self._names)} done")
        row = self._rows.pop(place, None)
        if row is not None:
            self._progress.remove_task(row)
