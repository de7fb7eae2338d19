"""Run folders: a file of JSON lines that grows by one line for each finished piece of work, and the records in it. A
line is appended by one write and flushed to the disk; one that a power cut tore is cut off when the file is opened
again."""

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
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from zskl import _files as files
from zskl.experiments.record import Record
from zskl.kernels import Kernel
from zskl.version import __version__

FILE = "records.jsonl"
PACKAGES = ("numpy", "scikit-learn", "torch")

Place: TypeAlias = str | os.PathLike[str]
Runs: TypeAlias = Place | Record | Iterable[Place | Record]


def package_versions() -> dict[str, str]:
    """The versions that a figure depends on; a package that is not installed has none."""
    found = {"zskl": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def to_line(record: Mapping[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, default=_plain_value)


def to_plain_json(values: Mapping[str, object]) -> dict[str, object]:
    """The values as they are when read back from JSON: no NumPy numbers, no tuples, no kernels."""
    return json.loads(to_line(values))


def write_lines(path: Place, records: Iterable[Mapping[str, object]]) -> None:
    """All records to one file, a line each, whole or not at all; missing folders are made."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    files.write_atomically(path, _encode_lines(records))


def _encode_lines(records: Iterable[Mapping[str, object]]) -> bytes:
    return "".join(to_line(record) + "\n" for record in records).encode()


def check_log_target(path: Place) -> None:
    """Refuse, before any work is done, a path that `write` could not write to; missing folders are made."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    files.check_target(path)


def unit_key(unit: Mapping[str, object]) -> str:
    """SHA-256 in hex of what defines a unit of work, as JSON with sorted names. It is the same in every process."""
    return hashlib.sha256(json.dumps(unit, sort_keys=True, allow_nan=False, default=_plain_value).encode()).hexdigest()


class LogBusyError(OSError):
    """Another process has the file."""


class LogFile:
    """A file of lines, held open for appending. `done` maps keys to the lines that are there."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.handle = handle
        self._torn: int | None = None  # where whole lines end, if something follows them
        _repair_last_line(path, handle)
        self.done = {str(one["key"]): one for one in read_log(path) if isinstance(one, dict) and "key" in one}

    def append(self, record: Mapping[str, object]) -> None:
        """Add a line, whole or not at all."""
        line = _encode_lines([record])
        before = os.fstat(self.handle).st_size if self._torn is None else self._torn
        try:
            # What an earlier line left, and nobody could cut off.
            if self._torn is not None:
                os.ftruncate(self.handle, before)
            _write_whole_log(self.handle, line)
        except OSError as error:
            # What stays is cut off before the next line, or when the folder is opened again.
            self._torn = before
            with contextlib.suppress(OSError):
                os.ftruncate(self.handle, before)
                self._torn = None
            raise OSError(
                f"cannot append to {self.path} ({error.strerror}): the records in it are whole; make room there, then "
                "the same command continues"
            ) from None
        self._torn = None
        self.done[str(record["key"])] = dict(record)


@contextmanager
def open_log(folder: Place, file: str = FILE) -> Iterator[LogFile]:
    """The file of a folder, both made where they are missing, for one process at a time."""
    path = Path(folder) / file
    check_log_target(path)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
    try:
        # The lock holds until the file is closed or the process ends, however it ends.
        # Another process may have put a new file there since this one was opened.
        if not files.lock_file(handle) or (path.exists() and not os.path.samestat(os.fstat(handle), path.stat())):
            raise LogBusyError(f"another run is writing to {path.parent}: wait for it, or give this one another folder")
        found = LogFile(path, handle)
    except BaseException:
        os.close(handle)
        raise
    try:
        yield found
    finally:
        os.close(handle)


@contextmanager
def replace_log(path: Place) -> Iterator[Callable[[Mapping[str, object]], None]]:
    """A function that appends a line. The first line takes the place of what the file held; until then that stays."""
    path = Path(path)
    with ExitStack() as stack:
        logs: list[LogFile] = []

        def append(line: Mapping[str, object]) -> None:
            if logs:
                logs[0].append(line)
                return
            write_lines(path, [line])
            logs.append(stack.enter_context(open_log(path.parent, path.name)))

        yield append


def _write_whole_log(handle: int, content: bytes) -> None:
    if os.write(handle, content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(handle)


def _repair_last_line(path: Path, handle: int) -> None:
    """Cut off an unfinished last line; if only the line break is missing, add it."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole == len(content):
        return
    try:
        finished = isinstance(json.loads(content[whole:]), dict)
    except ValueError:
        finished = False
    if not finished:
        os.ftruncate(handle, whole)
    _write_whole_log(handle, b"\n" if finished else b"")


def read_log(path: Place) -> list[dict[str, Any]]:
    """The lines of a file. A line that is not JSON is refused by its number; an unfinished last one is left out."""
    return parse_lines(Path(path).read_bytes(), path)


def parse_lines(content: bytes, path: Place) -> list[dict[str, Any]]:
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


def _plain_value(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Kernel):
        return {"name": value.name, **value.parameters()}
    raise TypeError(f"a record cannot hold a {type(value).__name__}: expected numbers, text, lists and objects")


class StoredRecord(Protocol):
    @property
    def key(self) -> str: ...

    def to_json(self) -> dict[str, Any]: ...


R = TypeVar("R", bound=StoredRecord)
Reader = Callable[[object], R]


class RunFolder(Generic[R]):
    """A run folder held open for appending. `done` maps keys to the records that are there."""

    def __init__(self, log: LogFile, reader: Reader[R]) -> None:
        self._log, self._reader = log, reader
        self.path = log.path
        self.done: dict[str, R] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read `done` again: an interrupt may come between the writing of a line and the next statement."""
        self.done = {record.key: record for record in read_records(self.path, self._reader) if record.key}

    def append(self, record: R) -> None:
        """Add a line, whole or not at all."""
        self._log.append(record.to_json())
        self.done[record.key] = record


@contextmanager
def open_run_folder(folder: Place, reader: Reader[R]) -> Iterator[RunFolder[R]]:
    """The run folder, made where it is missing, for one process at a time."""
    with open_log(folder) as log:
        yield RunFolder(log, reader)


def read_records(file: Place, reader: Reader[R]) -> list[R]:
    """The records of a file; a line that is not one is refused by its number."""
    found = []
    for number, line in enumerate(read_log(file), start=1):
        try:
            found.append(reader(line))
        except ValueError as error:
            raise ValueError(
                f"{file}, line {number} is not a record of a run: {error}; restore or remove that line"
            ) from None
    return found


def collect(runs: Runs) -> list[Record]:
    """Read the records of run folders and files.

    Parameters
    ----------
    runs : path, Record, or sequence of these
        Run folders that `zskl run --out` wrote, .jsonl files, or records, which stay as they are.

    Returns
    -------
    list of Record
        One for each finished run. Where the same run was recorded more than once, the last record counts.

    Examples
    --------
    >>> import zskl
    >>> line = {"dataset": "digits", "method": "eszsl", "seed": 0, "zsl": {"accuracy": 0.5}, "gzsl": {}}
    >>> [record.method for record in zskl.collect(zskl.Record.from_json(line))]
    ['eszsl']
    """
    found: dict[object, Record] = {}
    given = [runs] if isinstance(runs, str | os.PathLike | Record) else list(runs)
    for place, run in enumerate(given):
        for key, record in [(place, run)] if isinstance(run, Record) else _read_records(Path(run)):
            found.pop(key, None)
            found[key] = record
    if not found:
        where = f" in {', '.join(map(str, given))}" if given else ""
        raise ValueError(f"no record{where}: no unit has finished yet; run zskl run first")
    return list(found.values())


def _read_records(path: Path) -> Iterator[tuple[object, Record]]:
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise FileNotFoundError(
            f"no records at {path}: expected a folder that zskl run --out wrote, or a .jsonl file; check the path"
        )
    for file in files:
        for number, record in enumerate(read_records(file, Record.from_json), start=1):
            yield record.key or (file, number), record
