"""The file in which a service keeps added classes and what it was taught: a line for each change, flushed to the disk
before the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from zskl.experiments import jsonl_log
from zskl.serve.kept_classes import KeptClasses, is_line

BEGINNING = b'{"key": "'  # of a line in the file


class ClassFile(KeptClasses):
    """An open file that nobody else changes, and what its lines say. If most of them are outdated, it is written
    again."""

    stale = False  # whether somebody else has changed it

    def __init__(self, log: jsonl_log.Folder) -> None:
        super().__init__()
        self._log, self.path = log, log.path
        for line in jsonl_log.read(log.path):
            self.read(line)
        self.shorten()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else changes the file in this block."""
        yield

    def write(self, line: Mapping[str, Any]) -> None:
        """Add a line, with the next version."""
        line = {**line, "version": self.version + 1}
        self._log.append(line)
        self.read(line)
        self.shorten()

    def shorten(self) -> None:
        """Write the file again if most of its lines are outdated. Where that cannot be, it stays long: nothing in it is
        wrong."""
        if not self.outdated:
            return
        current = self.lines()
        with suppress(OSError):  # no room; or Windows, which replaces no open file
            self._log.rewrite(current)
            self._lines, self._adapted = len(current), int(self.lessons.adaptation is not None)


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
