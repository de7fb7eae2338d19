"""The file in which a service keeps added classes and what it was taught: a line for each change, flushed to the disk
before the answer."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from zskl.experiments import jsonl_log
from zskl.serve import whereabouts
from zskl.serve.kept_classes import KeptClasses, is_line

BEGINNING = b'{"key": "'  # of a line in the file


class ClassFile(KeptClasses):
    """An open file that nobody else changes, and what its first `size` bytes say, or all. If most lines are outdated,
    it is written again; so it is if somebody has removed it."""

    def __init__(self, log: jsonl_log.Folder, size: int | None = None) -> None:
        super().__init__()
        self._log, self.path = log, log.path
        self._size = os.fstat(log.handle).st_size if size is None else size
        for line in jsonl_log.parsed(self._content(), log.path):
            self.read(line)
        self.shorten()

    def newer_than(self, version: int) -> bool:
        """Whether somebody else has changed it: nobody can."""
        return False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else changes the file in this block."""
        yield

    def write(self, line: Mapping[str, Any]) -> None:
        """Add a line, with the next version."""
        self.tend()
        line = {**line, "version": self.version + 1}
        self._log.append(line)
        self._size = os.fstat(self._log.handle).st_size
        self.read(line)
        self.shorten()

    def tend(self) -> None:
        """Write the file again, whole, if somebody has removed it."""
        if whereabouts.size_of(self.path, self._log.handle, self._size) is not None:
            return
        try:
            self._rewrite()
        except OSError as error:
            raise whereabouts.removed(self.path, f" and cannot be written again ({error.strerror or error})") from None
        whereabouts.log.warning("somebody has removed %s: it is written again, with all that was in it", self.path)

    def shorten(self) -> None:
        """Write the file again if most of its lines are outdated. Where that cannot be, it stays long: nothing in it is
        wrong."""
        if self.outdated:
            with suppress(OSError):  # no room; or Windows, which replaces no open file
                self._rewrite()

    def _rewrite(self) -> None:
        current, before = self.lines(), self._log.handle
        try:
            self._log.rewrite(current)
        finally:
            if self._log.handle != before:  # else the old file is still the one
                self._size = os.fstat(self._log.handle).st_size
                self._lines, self._adapted = len(current), int(self.lessons.adaptation is not None)

    def _content(self) -> bytes:
        """What the file holds. It may have no name any more."""
        with os.fdopen(os.dup(self._log.handle), "rb") as file:
            file.seek(0)
            content = file.read(self._size)
        if len(content) < self._size:
            raise whereabouts.cut_short(self.path)
        return content


@contextmanager
def opened(path: Path) -> Iterator[ClassFile]:
    """The file of added classes, for one service at a time."""
    with locked(path) as log:
        yield ClassFile(log)


@contextmanager
def locked(path: Path) -> Iterator[jsonl_log.Folder]:
    """The same, before its lines are read."""
    path = path.resolve()  # or a link would be replaced, not the file that it leads to
    with ExitStack() as stack:
        try:
            if path.is_file():
                _check(path)
            log = stack.enter_context(jsonl_log.opened(path.parent, path.name))
        except jsonl_log.Busy:
            raise OSError(
                f"another service keeps its classes in {path}: stop it, or name another file by --classes"
            ) from None
        except PermissionError as error:
            raise PermissionError(f"{error}; --classes names the file for added classes") from None
        yield log


def _check(path: Path) -> None:
    """Refuse any other file before it is opened: opening cuts off a last line without an end."""
    content = path.read_bytes()
    last = content[content.rfind(b"\n") + 1 :]
    try:
        ours = last[: len(BEGINNING)] == BEGINNING[: len(last)] and all(map(is_line, jsonl_log.read(path)))
    except ValueError:
        ours = False
    if not ours:
        raise ValueError(f"{path} is not a file of classes, or is damaged: restore it, or name another by --classes")
