"""The file of classes among several workers. Each follows what the others write; one at a time writes.

Everything is done under the lock of `SharedMarks`: read what others have added, check the change, add a line, flush it.
The process that looks after the workers makes the file shorter; then it is another file, which they open again.
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
from zskl.serve import class_file
from zskl.serve.kept_classes import KeptClasses
from zskl.serve.shared_marks import SharedMarks


class SharedClassFile(KeptClasses):
    """The file as one worker sees it."""

    def __init__(self, path: Path, marks: SharedMarks) -> None:
        super().__init__()
        self.path, self._marks = path, marks
        self._handle, self._inode, self._end = -1, 0, 0
        with self.held():
            pass  # this reads it

    @property
    def stale(self) -> bool:
        """Whether another worker has changed it. This costs next to nothing."""
        return self._marks.version != self.version

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else changes the file in this block, and it is read to its end."""
        with self._marks.alone():
            if self._inode != self._marks.inode:
                self._open()
            content = os.pread(self._handle, self._marks.size - self._end, self._end)
            for line in content.splitlines():
                self.read(json.loads(line))
            self._end += len(content)
            self._marks.version = self.version  # a worker may have been killed before it could say so
            yield

    def write(self, line: Mapping[str, Any]) -> None:
        """Add a line, with the next version. Only for those who hold the file."""
        line = {**line, "version": self.version + 1}
        content = (jsonl_log.to_line(line) + "\n").encode()
        try:
            if os.fstat(self._handle).st_size > self._end:  # of a worker that was killed, or had no room
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
            raise OSError(f"cannot write to {self.path}: the service that kept it has ended")
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND)
        if os.fstat(handle).st_ino != self._marks.inode or not files.lock(handle, shared=True):
            os.close(handle)
            raise OSError(f"cannot write to {self.path}: another program has replaced it, or uses it")
        if self._handle >= 0:
            os.close(self._handle)
        super().__init__()
        self._handle, self._inode, self._end = handle, self._marks.inode, 0


class KeptShort:
    """The file in the process that looks after the workers: it keeps other services out, and the file short."""

    def __init__(self, log: jsonl_log.Folder) -> None:
        self.path, self.marks, self._log = log.path, SharedMarks(), log
        self.marks.version = class_file.ClassFile(log).version
        log.share()
        self._mark()

    def tend(self) -> None:
        """Write the file again without outdated lines, if a worker found most of them so. Where that cannot be, it
        stays long."""
        if not self.marks.wasteful:
            return
        with suppress(OSError), self.marks.alone(wait=False):  # else a moment later
            self.marks.wasteful = False
            if os.stat(self.path).st_ino != self.marks.inode:
                return  # somebody has put another file there
            os.truncate(self.path, self.marks.size)
            self.marks.inode = 0
            try:
                class_file.ClassFile(self._log)
            finally:
                self._mark()

    def in_worker(self) -> SharedClassFile:
        """The file in a worker, which opens it for itself."""
        self._log.close()
        return SharedClassFile(self.path, self.marks)

    def _mark(self) -> None:
        found = os.stat(self.path)
        self.marks.size, self.marks.inode = found.st_size, found.st_ino


@contextmanager
def opened(path: Path) -> Iterator[KeptShort]:
    """The file of added classes, for the workers of one service."""
    with class_file.locked(path) as log:
        kept = KeptShort(log)
        with closing(kept.marks):
            yield kept
