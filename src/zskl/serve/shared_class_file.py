"""The file of classes among several workers. Each follows what the others write; one at a time writes.

Everything is done under the lock of `SharedMarks`: read what others have added, check the change, add a line, flush it.
The process that looks after the workers makes the file shorter, and writes it again if somebody has removed it; then it
is another file, which they open again.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from zskl import files
from zskl.experiments import jsonl_log
from zskl.serve import class_file, whereabouts
from zskl.serve.kept_classes import KeptClasses
from zskl.serve.shared_marks import SharedMarks


class SharedClassFile(KeptClasses):
    """The file as one worker sees it. `handle` is the open file of the process that made the worker: so it can be read
    even if somebody has removed it. This closes it when there is another one."""

    def __init__(self, path: Path, marks: SharedMarks, handle: int) -> None:
        super().__init__()
        self.path, self._marks = path, marks
        self._handle, self._inode, self._end = handle, os.fstat(handle).st_ino, 0
        with self.held():
            pass  # this reads it

    def newer_than(self, version: int) -> bool:
        """Whether a worker has made another version of it."""
        return self._marks.version != version

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else changes the file in this block, and it is read to its end."""
        with self._marks.alone():
            if self._inode != self._marks.inode:
                self._open()
            content = os.pread(self._handle, self._marks.size - self._end, self._end)
            if len(content) < self._marks.size - self._end:
                raise whereabouts.cut_short(self.path)
            for line in content.splitlines():
                self.read(json.loads(line))
            self._end += len(content)
            self._marks.version = self.version  # a worker may have been killed before it could say so
            yield

    def tend(self) -> None:
        """Look after the file: the process that looks after the workers does."""

    def write(self, line: Mapping[str, Any]) -> None:
        """Add a line, with the next version. Only for those who hold the file."""
        line = {**line, "version": self.version + 1}
        content = (jsonl_log.to_line(line) + "\n").encode()
        size = whereabouts.size_of(self.path, self._handle, self._end)
        if size is None:
            raise whereabouts.removed(self.path)
        try:
            if size > self._end:  # of a worker that was killed, or had no room
                os.ftruncate(self._handle, self._end)
            if os.write(self._handle, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._handle)
        except OSError as error:
            with suppress(OSError):  # then whoever writes next cuts it off
                os.ftruncate(self._handle, self._end)
            raise OSError(f"cannot append to {self.path} ({error.strerror}): the lines in it are whole") from None
        self.read(line)
        self._end += len(content)
        self._marks.size = self._end
        self._marks.version = self.version
        if self.outdated:
            self._marks.wasteful = True

    def _open(self) -> None:
        """The file that is there now, from its beginning."""
        if not self._marks.inode:
            raise whereabouts.ended(self.path)
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND)
        except (FileNotFoundError, NotADirectoryError):
            raise whereabouts.removed(self.path) from None
        if os.fstat(handle).st_ino != self._marks.inode or not files.lock(handle, shared=True):
            os.close(handle)
            raise whereabouts.replaced(self.path)
        os.close(self._handle)
        super().__init__()
        self._handle, self._inode, self._end = handle, self._marks.inode, 0


class KeptShort:
    """The file in the process that looks after the workers: it keeps other services out, the file there and short."""

    def __init__(self, log: jsonl_log.Folder) -> None:
        self.path, self.marks, self._log = log.path, SharedMarks(), log
        self._looks = whereabouts.Looks()
        self.marks.version = class_file.ClassFile(log).version
        log.share()
        found = os.fstat(log.handle)
        self.marks.size, self.marks.inode = found.st_size, found.st_ino

    def tend(self) -> None:
        """Write the file again if somebody has removed it, or if a worker found most of its lines outdated. Where that
        cannot be, it stays as it is."""
        self._looks.take(self._look)

    def in_worker(self) -> SharedClassFile:
        """The file in a worker."""
        return SharedClassFile(self.path, self.marks, self._log.handle)

    def _look(self) -> None:
        if self._is_there() and not self.marks.wasteful:
            return
        with suppress(BlockingIOError), self.marks.alone(wait=False):  # else a moment later
            self.marks.wasteful = False
            self._is_there()  # if somebody else's file is, nothing is written
            inode, size = self.marks.inode, self.marks.size
            self.marks.inode = 0
            try:
                class_file.ClassFile(self._log, size).tend()
            finally:
                found = os.fstat(self._log.handle)
                self.marks.size = size if found.st_ino == inode else found.st_size
                self.marks.inode = found.st_ino

    def _is_there(self) -> bool:
        return whereabouts.size_of(self.path, self._log.handle, self.marks.size) is not None


@contextmanager
def opened(path: Path) -> Iterator[KeptShort]:
    """The file of added classes, for the workers of one service."""
    with class_file.locked(path) as log:
        kept = KeptShort(log)
        with closing(kept.marks):
            yield kept
