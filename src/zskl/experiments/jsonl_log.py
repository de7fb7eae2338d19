"""A file of JSON lines that grows by one line for each finished piece of work. It knows nothing of what a line says.

A line is appended by one write and flushed to the disk, so that whatever ends a run leaves whole lines. A line that a
power cut tore is cut off when the file is opened again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from zskl import files
from zskl.files import write_atomically
from zskl.kernels import Kernel
from zskl.version import __version__

FILE = "records.jsonl"
PACKAGES = ("numpy", "scikit-learn", "torch")


def versions() -> dict[str, str]:
    """The versions that a figure depends on; a package that is not installed has none."""
    found = {"zskl": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def to_line(record: Mapping[str, object]) -> str:
    """The record as one line of JSON."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False, default=_plain)


def plain(values: Mapping[str, object]) -> dict[str, object]:
    """The values as they are when read back from JSON: no NumPy numbers, no tuples, no kernels."""
    found: dict[str, object] = json.loads(to_line(values))
    return found


def write(path: str | os.PathLike[str], records: Iterable[Mapping[str, object]]) -> None:
    """All records to one file, a line each, whole or not at all; missing folders are made."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(to_line(record) + "\n" for record in records).encode())


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work is done, a path that `write` could not write to; missing folders are made."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    files.check_target(path)


def key_of(unit: Mapping[str, object]) -> str:
    """SHA-256 in hex of what defines a unit of work, as JSON with sorted names. It is the same in every process."""
    return hashlib.sha256(json.dumps(unit, sort_keys=True, allow_nan=False, default=_plain).encode()).hexdigest()


class Busy(OSError):
    """Another process has the file."""


class Folder:
    """A file of lines, held open for appending. `done` maps keys to the lines that are there."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle, self._shared = handle, False
        self._torn: int | None = None  # where whole lines end, if something follows them
        _mend(path, handle)
        self.done: dict[str, dict[str, Any]] = {}
        self.refresh()

    @property
    def handle(self) -> int:
        """The open file."""
        return self._handle

    def refresh(self) -> None:
        """Read `done` again: an interrupt may come between the writing of a line and the next statement."""
        self.done = {str(one["key"]): one for one in read(self.path) if isinstance(one, dict) and "key" in one}

    def rewrite(self, records: Iterable[Mapping[str, object]]) -> None:
        """Put these lines in place of all, in one step. The new file is locked before it has its name, so that no other
        process comes between. A failure leaves what was there, and so does somebody else's file."""
        records = list(records)
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}{files.PART}")
        handle = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        try:
            files.lock(handle, self._shared)
            content = "".join(to_line(record) + "\n" for record in records).encode()
            if os.write(handle, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(handle)
            fresh.chmod(os.fstat(self._handle).st_mode & 0o777)  # of what was there, even if somebody has removed it
            if _replaced(self._handle, self.path):
                raise Busy(f"another program has replaced {self.path}: what it put there stays")
            os.replace(fresh, self.path)
        except BaseException:
            os.close(handle)
            fresh.unlink(missing_ok=True)
            raise
        os.close(self._handle)
        self._handle, self._torn = handle, None  # from here on the new file is the one, whatever fails
        self.done = {str(record["key"]): dict(record) for record in records}
        files.flush_folder(self.path.parent)  # or a power cut could bring the old file back, without later lines

    def share(self) -> None:
        """From now on, other processes may open the file with a shared lock; those who want it alone are kept out."""
        if not files.lock(self._handle, shared=True):  # the system may give the lock to somebody else in between
            raise Busy(f"another run is writing to {self.path.parent}: wait for it, or give this one another folder")
        self._shared = True

    def close(self) -> None:
        """Close the file, and give its lock back."""
        os.close(self._handle)

    def append(self, record: Mapping[str, object]) -> None:
        """Add a line, whole or not at all."""
        line = (to_line(record) + "\n").encode()
        before = os.fstat(self._handle).st_size if self._torn is None else self._torn
        try:
            if self._torn is not None:  # what an earlier line left, and nobody could cut off
                os.ftruncate(self._handle, before)
            if os.write(self._handle, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._handle)
        except OSError as error:
            self._torn = before  # what stays is cut off before the next line, or when the folder is opened again
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, before)
                self._torn = None
            raise OSError(
                f"cannot append to {self.path} ({error.strerror}): the records in it are whole; make room there, then "
                "the same command continues"
            ) from None
        self._torn = None
        self.done[str(record["key"])] = dict(record)


@contextmanager
def opened(folder: str | os.PathLike[str], file: str = FILE) -> Iterator[Folder]:
    """The file of a folder, both made where they are missing, for one process at a time."""
    path = Path(folder) / file
    path.parent.mkdir(parents=True, exist_ok=True)
    check_target(path)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
    try:
        _lock(handle, path)
        found = Folder(path, handle)
    except BaseException:
        os.close(handle)
        raise
    try:
        yield found
    finally:
        found.close()


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Callable[[Mapping[str, object]], None]]:
    """A function that appends a line. The first line takes the place of what the file held; until then that stays."""
    path = Path(path)
    with ExitStack() as stack:
        logs: list[Folder] = []

        def append(line: Mapping[str, object]) -> None:
            if logs:
                logs[0].append(line)
                return
            write(path, [line])
            logs.append(stack.enter_context(opened(path.parent, path.name)))

        yield append


def _lock(handle: int, path: Path) -> None:
    """Keep others out until the file is closed or the process ends, however it ends."""
    if not files.lock(handle) or _replaced(handle, path):
        raise Busy(f"another run is writing to {path.parent}: wait for it, or give this one another folder")


def _replaced(handle: int, path: Path) -> bool:
    """Whether another process has put a new file there since this one was opened."""
    return path.exists() and not os.path.samestat(os.fstat(handle), path.stat())


def _mend(path: Path, handle: int) -> None:
    """Cut off an unfinished last line; if only the line break is missing, add it."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    tail = content[whole:]
    if not tail:
        return
    try:
        finished = isinstance(json.loads(tail), dict)
    except ValueError:
        finished = False
    if finished:
        os.write(handle, b"\n")
    else:
        os.ftruncate(handle, whole)
    os.fsync(handle)


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The lines of a file. A line that is not JSON is refused by its number; an unfinished last one is left out."""
    return parsed(Path(path).read_bytes(), path)


def parsed(content: bytes, path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The same of what was read from the file at `path`."""
    records = []
    lines = content.splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            if number == len(lines) and not line.endswith(b"\n"):
                break
            raise ValueError(f"{path}, line {number} is not JSON ({error}): restore or remove that line") from None
    return records


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Kernel):
        return {"name": value.name, **value.parameters()}
    raise TypeError(f"a record cannot hold a {type(value).__name__}: expected numbers, text, lists and objects")
