"""Typed records in a run folder: a line appended for each that is finished, and every line checked when it is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

from zskl.experiments import jsonl_log


class Stored(Protocol):
    """What a line of a run folder holds, such as a `Record`."""

    @property
    def key(self) -> str: ...

    def to_json(self) -> dict[str, Any]: ...


R = TypeVar("R", bound=Stored)
Reader = Callable[[object], R]


class RunFolder(Generic[R]):
    """A run folder held open for appending. `done` maps keys to the records that are there."""

    def __init__(self, log: jsonl_log.Folder, reader: Reader[R]) -> None:
        self._log, self._reader = log, reader
        self.path = log.path
        self.done: dict[str, R] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read `done` again: an interrupt may come between the writing of a line and the next statement."""
        self.done = {record.key: record for record in read(self.path, self._reader) if record.key}

    def append(self, record: R) -> None:
        """Add a line, whole or not at all."""
        self._log.append(record.to_json())
        self.done[record.key] = record


@contextmanager
def opened(folder: str | os.PathLike[str], reader: Reader[R]) -> Iterator[RunFolder[R]]:
    """The run folder, made where it is missing, for one process at a time."""
    with jsonl_log.opened(folder) as log:
        yield RunFolder(log, reader)


def read(file: str | os.PathLike[str], reader: Reader[R]) -> list[R]:
    """The records of a file; a line that is not one is refused by its number."""
    found = []
    for number, line in enumerate(jsonl_log.read(file), start=1):
        try:
            found.append(reader(line))
        except ValueError as error:
            raise ValueError(
                f"{file}, line {number} is not a record of a run: {error}; restore or remove that line"
            ) from None
    return found
