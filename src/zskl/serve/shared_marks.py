"""What the workers of a service share in memory: how far the file of classes is right, and whose turn it is to change
it."""

from __future__ import annotations

import mmap
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

INODE, SIZE, VERSION, WASTEFUL = range(4)


class SharedMarks:
    """Numbers that all processes see which were forked after this was made, and a lock among them.

    `inode` says which file is the file of classes, 0 while it is replaced. Its first `size` bytes are changes that are
    on the disk; what follows was never acknowledged. `version` is that of the last change, and set after `size`.
    `wasteful` asks for a shorter file.
    """

    def __init__(self) -> None:
        self._lock = tempfile.TemporaryFile()  # noqa: SIM115 (until `close`); without a name, so none is left
        self._numbers = memoryview(mmap.mmap(-1, 4 * 8)).cast("Q")

    @contextmanager
    def alone(self, wait: bool = True) -> Iterator[None]:
        """One process at a time; who does not `wait` gets a BlockingIOError. If it is killed, the system gives its lock
        to the next one. Threads of one process have to wait for each other by other means."""
        if sys.platform == "win32":
            raise NotImplementedError
        import fcntl

        fcntl.lockf(self._lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        try:
            yield
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close what the lock is on."""
        self._lock.close()

    @property
    def inode(self) -> int:
        return self._numbers[INODE]

    @inode.setter
    def inode(self, number: int) -> None:
        self._numbers[INODE] = number

    @property
    def size(self) -> int:
        return self._numbers[SIZE]

    @size.setter
    def size(self, number: int) -> None:
        self._numbers[SIZE] = number

    @property
    def version(self) -> int:
        return self._numbers[VERSION]

    @version.setter
    def version(self, number: int) -> None:
        self._numbers[VERSION] = number

    @property
    def wasteful(self) -> bool:
        return bool(self._numbers[WASTEFUL])

    @wasteful.setter
    def wasteful(self, wish: bool) -> None:
        self._numbers[WASTEFUL] = wish
