"""What a service keeps: the classes that were added, and what it was taught. Both are lines of one file.

Each change is one line, flushed to the disk before it is acknowledged. `StoredClasses` is what all lines together say,
`ClassFile` the file of a single process, `SharedClassFile` the same file among several workers.

While the service runs, somebody may remove the file, replace it or cut it short, and a line that is added then would be
lost. So a change is refused until the file is right again; a removed file is written again.
"""

from __future__ import annotations

import base64
import binascii
import ctypes
import errno
import json
import logging
import mmap
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import NoneType
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zskl import _files as files
from zskl.estimators._class_means_adapt import KeptAdaptation
from zskl.experiments import run_folder
from zskl.serve.schemas import Verdict

RETRY_AFTER = 20  # calls that are skipped after one that failed: to write a large file in vain takes long
MAX_LINES_PER_ENTRY = 4  # changes for each class or example, or adaptations: a file with more is written again
LINE_START = b'{"key": "'
log = logging.getLogger("zskl.serve")

Line = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class MarkedExample:
    """A row marked as right or wrong for a class; `row` is its number in data with the fingerprint `data`."""

    id: str
    label: str
    right: bool
    features: NDArray[np.float32]  # (d,) so that no data are needed to learn from it again
    row: int | None = None
    data: str | None = None


@dataclass(frozen=True, eq=False)
class Adaptation:
    """What unlabelled rows added, `kept` for each part of the model that learned, and the `verdict` about it."""

    kept: tuple[KeptAdaptation, ...]
    verdict: Verdict


@dataclass(frozen=True, eq=False)
class TeachingState:
    """What a service was taught since its model was fitted; never changes, so that a request sees one state."""

    examples: tuple[MarkedExample, ...] = ()
    adaptation: Adaptation | None = None
    versions: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.examples) or self.adaptation is not None

    def examples_of(self, name: str) -> list[MarkedExample]:
        return [one for one in self.examples if one.label == name]

    def mentions(self, name: str) -> bool:
        adapted = () if self.adaptation is None else self.adaptation.kept
        return bool(self.examples_of(name)) or any(name in one.classes for one in adapted)

    def with_example(self, new: MarkedExample, version: int) -> TeachingState:
        """With one more example. A row counts once for a class: a second mark replaces the first."""
        mark = new.label, new.row, new.data
        others = [one for one in self.examples if new.row is None or (one.label, one.row, one.data) != mark]
        return replace(self, examples=(*others, new), versions={**self.versions, new.label: version})

    def with_version(self, name: str, version: int) -> TeachingState:
        """The same, for a class that is new in a version: what somebody saw of an older one of this name is gone."""
        return replace(self, versions={**self.versions, name: version})

    def without_examples(self, ids: Collection[str], version: int) -> TeachingState:
        gone = [one.label for one in self.examples if one.id in ids]
        rest = tuple(one for one in self.examples if one.id not in ids)
        return replace(self, examples=rest, versions={**self.versions, **dict.fromkeys(gone, version)})

    def without_class(self, name: str) -> TeachingState:
        adaptation = self.adaptation
        if adaptation is not None:
            adaptation = replace(adaptation, kept=tuple(one.without(name) for one in adaptation.kept))
        rest = tuple(one for one in self.examples if one.label != name)
        versions = {other: version for other, version in self.versions.items() if other != name}
        return TeachingState(rest, adaptation, versions)


# The lines of the file. Keys of lines about teaching begin with a blank, as no name of a class does.

EXAMPLE_KEY, FORGOTTEN_KEY, ADAPTED_KEY = " example", " forgotten", " adapted"
TEACHING_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    EXAMPLE_KEY: dict.fromkeys(("id", "class", "features"), (str,))
    | {"right": (bool,), "row": (int, NoneType), "data": (str, NoneType)},
    FORGOTTEN_KEY: {"ids": (list,)},
    ADAPTED_KEY: {"kept": (list,), "told": (dict, NoneType)},
}


def class_line(name: str, attributes: Mapping[str, float] | None, sentence: str | None = None) -> dict[str, Any]:
    """The line of a class; with None for attributes, of one that is deleted."""
    # a sentence keeps its attributes, too: reading them needs no encoder
    described = {} if sentence is None else {"sentence": sentence}
    return {"key": name, "deleted": attributes is None, "attributes": dict(attributes or {}), **described}


def example_line(one: MarkedExample) -> dict[str, Any]:
    about = {"id": one.id, "class": one.label, "right": one.right, "row": one.row, "data": one.data}
    return {"key": EXAMPLE_KEY, **about, "features": _encode_stored_numbers(one.features)}


def forgotten_line(ids: Collection[str]) -> dict[str, Any]:
    return {"key": FORGOTTEN_KEY, "ids": list(ids)}


def adaptation_line(adaptation: Adaptation | None) -> dict[str, Any]:
    if adaptation is None:
        return {"key": ADAPTED_KEY, "kept": [], "told": None}
    kept = [
        {"classes": one.classes, "sums": _encode_stored_numbers(one.sums), "record": one.record}
        for one in adaptation.kept
    ]
    return {"key": ADAPTED_KEY, "kept": kept, "told": adaptation.verdict}


def is_valid_line(line: object) -> bool:
    if not isinstance(line, dict) or not isinstance(line.get("key"), str) or type(line.get("version", 0)) is not int:
        return False
    if line["key"] in TEACHING_FIELDS:
        try:
            right = all(type(line[name]) in kinds for name, kinds in TEACHING_FIELDS[line["key"]].items())
            right = right and all(type(one) is int for one in line.get("versions", {}).values())
            return right and apply_teaching_line(TeachingState(), line, 0) is not None
        except (AttributeError, KeyError, TypeError, ValueError, binascii.Error):
            return False
    attributes = line.get("attributes")
    if not isinstance(line.get("deleted"), bool) or not isinstance(line.get("sentence", ""), str):
        return False
    return isinstance(attributes, dict) and all(type(value) in (int, float) for value in attributes.values())


def apply_teaching_line(taught: TeachingState, line: Line, version: int) -> TeachingState:
    if line["key"] == EXAMPLE_KEY:
        about = line["id"], line["class"], line["right"]
        example = MarkedExample(*about, _decode_stored_numbers(line["features"]), line["row"], line["data"])
        return taught.with_example(example, version)
    if line["key"] == FORGOTTEN_KEY:
        rest = taught.without_examples(set(line["ids"]), version)
        return replace(rest, versions=dict(line["versions"])) if "versions" in line else rest
    adaptation = None
    if line["told"] is not None:
        kept = []
        for part in line["kept"]:
            classes, sums = list(part["classes"]), _decode_stored_numbers(part["sums"])
            width = len(sums) // max(len(classes), 1)
            kept.append(KeptAdaptation(classes, sums.reshape(len(classes), width), dict(part["record"])))
        adaptation = Adaptation(tuple(kept), line["told"])
    return replace(taught, adaptation=adaptation)


def _encode_stored_numbers(numbers: NDArray[np.float32]) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, "<f4").tobytes()).decode("ascii")


def _decode_stored_numbers(text: str) -> NDArray[np.float32]:
    numbers = np.frombuffer(base64.b64decode(text, validate=True), "<f4").astype(np.float32)
    if not np.isfinite(numbers).all():
        raise ValueError("a number is not finite")
    return numbers


class StoredClasses:
    """What all lines together say. `versions` says in which of all changes a class was described last."""

    def __init__(self) -> None:
        self.classes: dict[str, Mapping[str, float]] = {}
        self.sentences: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.taught, self.version = TeachingState(), 0
        self._lines = self._adaptations = 0

    def read(self, line: Line) -> None:
        """Apply a line, after all lines before it. Lines of old files have no version: they are counted."""
        version = line.get("version", self.version + 1)
        self.version = max(self.version, version)
        self._lines += 1
        name = line["key"]
        if name in TEACHING_FIELDS:
            self._adaptations += name == ADAPTED_KEY  # a line as long as thousands of others
            self.taught = apply_teaching_line(self.taught, line, version)
            return
        self.sentences.pop(name, None)
        if line["deleted"]:
            self.classes.pop(name, None)
            self.versions.pop(name, None)
            self.taught = self.taught.without_class(name)
            return
        if name not in self.classes:
            self.taught = self.taught.with_version(name, version)
        self.classes[name], self.versions[name] = line["attributes"], version
        if "sentence" in line:
            self.sentences[name] = line["sentence"]

    @property
    def is_wasteful(self) -> bool:
        """Whether most lines say what no longer holds."""
        needed = len(self.classes) + len(self.taught.examples) + 1
        return self._lines > MAX_LINES_PER_ENTRY * needed or self._adaptations > MAX_LINES_PER_ENTRY

    def lines(self) -> list[dict[str, Any]]:
        described = [
            {**class_line(name, given, self.sentences.get(name)), "version": self.versions[name]}
            for name, given in self.classes.items()
        ]
        taught = [example_line(one) for one in self.taught.examples]
        if self.taught.adaptation is not None:
            taught.append(adaptation_line(self.taught.adaptation))
        # takes nothing back, but says in which versions the examples of classes were changed last
        taught.append({**forgotten_line([]), "versions": dict(self.taught.versions)})
        return [*described, *({**line, "version": self.version} for line in taught)]


# what the log says, and what clients are told
REMOVED = (
    "{} was removed",
    "the file of classes was removed, so nothing was changed: wait a moment, until the service has written it again, "
    "or look into its log for why it cannot",
)
REPLACED = (
    "another program has replaced {}, or uses it: remove the file that is there now, and this service writes its own "
    "again; to use that file, stop the service first",
    "another program has replaced the file of classes, so nothing was changed: remove the file that is there now",
)
TRUNCATED = (
    "another program has cut {} short: put back what it held",
    "another program has cut the file of classes short, so nothing was changed: put back what it held",
)
ORPHANED = (
    "cannot write to {}: the service that kept it has ended",
    "the service is about to end, so nothing was changed: start it again",
)


class StoreError(OSError):
    """The file is not as the service left it. The `sentence` is for clients, and does not name the file."""

    def __init__(self, path: Path, fault: tuple[str, str], why: str = "") -> None:
        super().__init__(fault[0].format(path) + why)
        self.sentence = f"{fault[1]}; then try again"


def check_stored_file(path: Path, handle: int, least: int) -> int | None:
    """The size of the file open as `handle`, None if it was removed; another one, or one cut short, is refused."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not os.path.samestat(found, os.fstat(handle)):
        raise StoreError(path, REPLACED)
    if found.st_size < least:
        raise StoreError(path, TRUNCATED)
    return found.st_size


class FileWatcher:
    """Runs the maintenance of a file again and again. A fault that lasts is logged once."""

    def __init__(self) -> None:
        self._skip, self._logged = 0, ""

    def run(self, maintain: Callable[[], object]) -> None:
        if self._skip:
            self._skip -= 1
            return
        try:
            maintain()
            self._logged = ""
        except (OSError, ValueError) as error:
            if self._logged != str(error):
                log.error("%s", error)
            self._skip, self._logged = RETRY_AFTER, str(error)


class ClassFile(StoredClasses):
    """An open file that nobody else changes, and what its first `size` bytes say, or all."""

    def __init__(self, log: run_folder.LogFile, size: int | None = None) -> None:
        super().__init__()
        self._log, self.path = log, log.path
        self._size = os.fstat(log.handle).st_size if size is None else size
        # by the handle: the file may have no name any more
        with os.fdopen(os.dup(log.handle), "rb") as file:
            file.seek(0)
            content = file.read(self._size)
        if len(content) < self._size:
            raise StoreError(self.path, TRUNCATED)
        for line in run_folder.parse_lines(content, log.path):
            self.read(line)
        self.compact()

    def has_changed_since(self, version: int) -> bool:
        return False

    def lock(self) -> AbstractContextManager[None]:
        return nullcontext()

    def write(self, line: Line) -> None:
        self.maintain()
        line = {**line, "version": self.version + 1}
        self._log.append(line)
        self._size = os.fstat(self._log.handle).st_size
        self.read(line)
        self.compact()

    def check(self) -> None:
        self.maintain()

    def maintain(self) -> None:
        if check_stored_file(self.path, self._log.handle, self._size) is not None:
            return
        try:
            self._rewrite()
        except OSError as error:
            raise StoreError(self.path, REMOVED, f" and cannot be written again ({error.strerror or error})") from None
        log.warning("somebody has removed %s: it is written again, with all that was in it", self.path)

    def compact(self) -> None:
        if self.is_wasteful:
            # the disk is full, or Windows replaces no open file: it stays long, but nothing in it is wrong
            with suppress(OSError):
                self._rewrite()

    def _rewrite(self) -> None:
        current, before = self.lines(), self._log.handle
        try:
            self._log.rewrite(current)
        finally:
            if self._log.handle != before:  # else the old file is still the one
                self._size = os.fstat(self._log.handle).st_size
                self._lines, self._adaptations = len(current), int(self.taught.adaptation is not None)


@contextmanager
def open_class_file(path: Path) -> Iterator[ClassFile]:
    with lock_class_file(path) as log:
        yield ClassFile(log)


@contextmanager
def lock_class_file(path: Path) -> Iterator[run_folder.LogFile]:
    path = path.resolve()  # or a link would be replaced, not the file that it leads to
    with ExitStack() as stack:
        try:
            if path.is_file():
                _check_stored_lines(path)
            log = stack.enter_context(run_folder.open_log(path.parent, path.name))
        except run_folder.LogBusyError:
            raise OSError(
                f"another service keeps its classes in {path}: stop it, or name another file by --classes"
            ) from None
        except PermissionError as error:
            raise PermissionError(f"{error}; --classes names the file for added classes") from None
        yield log


def _check_stored_lines(path: Path) -> None:
    """Refuse any other file before it is opened: opening cuts off a last line without an end."""
    content = path.read_bytes()
    last = content[content.rfind(b"\n") + 1 :]
    try:
        ours = last[: len(LINE_START)] == LINE_START[: len(last)] and all(map(is_valid_line, run_folder.read_log(path)))
    except ValueError:
        ours = False
    if not ours:
        raise ValueError(f"{path} is not a file of classes, or is damaged: restore it, or name another by --classes")


# The file among workers: each follows what the others write; one at a time writes, under the lock of `SharedState`


class _SharedNumbers(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("inode", "size", "version", "needs_compaction"))
    inode: int  # of the file of classes; 0 while it is replaced
    size: int  # what follows these bytes was never acknowledged
    version: int  # of the last change; set after `size`
    needs_compaction: bool


class SharedState:
    """Numbers in memory that all processes share which were forked after this was made, and a lock among them."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.numbers = _SharedNumbers.from_buffer(mmap.mmap(-1, ctypes.sizeof(_SharedNumbers)))

    @contextmanager
    def lock(self, wait: bool = True) -> Iterator[None]:
        """One process at a time; one that does not `wait` gets a BlockingIOError."""
        if sys.platform == "win32":
            raise NotImplementedError
        import fcntl

        # the system frees the lock of a process that is killed; threads of one process need another lock among them
        fcntl.lockf(self._file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


class SharedClassFile(StoredClasses):
    """The file as one worker sees it. `handle` is the open file of the process that made the worker."""

    def __init__(self, path: Path, shared: SharedState, handle: int) -> None:
        super().__init__()
        self.path, self._shared, self._numbers = path, shared, shared.numbers
        # the handle outlives the name: the file can be read even if somebody has removed it
        self._handle, self._inode, self._end = handle, os.fstat(handle).st_ino, 0
        with self.lock():
            pass  # this reads it

    def has_changed_since(self, version: int) -> bool:
        return self._numbers.version != version

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Nobody else changes the file in this block, and it is read to its end."""
        with self._shared.lock():
            if self._inode != self._numbers.inode:
                self._open()
            content = os.pread(self._handle, self._numbers.size - self._end, self._end)
            if len(content) < self._numbers.size - self._end:
                raise StoreError(self.path, TRUNCATED)
            for line in content.splitlines():
                self.read(json.loads(line))
            self._end += len(content)
            self._numbers.version = self.version  # a worker may have been killed before it could say so
            yield

    def maintain(self) -> None:
        """Nothing: the process that starts the workers maintains the file."""

    def check(self) -> int:
        """The size of the file, if it can be found and is whole."""
        size = check_stored_file(self.path, self._handle, self._end)
        if size is None:
            raise StoreError(self.path, REMOVED)
        return size

    def write(self, line: Line) -> None:
        """Call this under the lock."""
        line = {**line, "version": self.version + 1}
        content = (run_folder.to_line(line) + "\n").encode()
        size = self.check()
        try:
            if size > self._end:  # of a worker that was killed, or found the disk full
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
        self._numbers.size = self._end
        self._numbers.version = self.version
        if self.is_wasteful:
            self._numbers.needs_compaction = True

    def _open(self) -> None:
        if not self._numbers.inode:  # the process that keeps the file was killed while it replaced it
            raise StoreError(self.path, ORPHANED)
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND)
        except (FileNotFoundError, NotADirectoryError):
            raise StoreError(self.path, REMOVED) from None
        if os.fstat(handle).st_ino != self._numbers.inode or not files.lock_file(handle, shared=True):
            os.close(handle)
            raise StoreError(self.path, REPLACED)
        os.close(self._handle)
        super().__init__()
        self._handle, self._inode, self._end = handle, self._numbers.inode, 0


ClassStore: TypeAlias = ClassFile | SharedClassFile


class ClassFileOwner:
    """The file in the process that starts the workers: it keeps other services out, the file there and short."""

    def __init__(self, log: run_folder.LogFile, shared: SharedState) -> None:
        self.path, self.shared, self._log = log.path, shared, log
        self._watcher, self._numbers = FileWatcher(), shared.numbers
        self._numbers.version = ClassFile(log).version
        log.share()
        found = os.fstat(log.handle)
        self._numbers.size, self._numbers.inode = found.st_size, found.st_ino

    def maintain(self) -> None:
        """Write the file again if it was removed, or if a worker found most of its lines outdated."""
        self._watcher.run(self._maintain)

    def open_in_worker(self) -> SharedClassFile:
        return SharedClassFile(self.path, self.shared, self._log.handle)

    def _maintain(self) -> None:
        if self._exists() and not self._numbers.needs_compaction:
            return
        with suppress(BlockingIOError), self.shared.lock(wait=False):  # else a moment later
            self._numbers.needs_compaction = False
            self._exists()  # if somebody else's file does, nothing is written
            inode, size = self._numbers.inode, self._numbers.size
            self._numbers.inode = 0
            try:
                ClassFile(self._log, size).maintain()
            finally:
                found = os.fstat(self._log.handle)
                self._numbers.size = size if found.st_ino == inode else found.st_size
                self._numbers.inode = found.st_ino

    def _exists(self) -> bool:
        return check_stored_file(self.path, self._log.handle, self._numbers.size) is not None


@contextmanager
def open_shared_class_file(path: Path) -> Iterator[ClassFileOwner]:
    # the lock among workers is on a file without a name, so that none is left
    with lock_class_file(path) as log, tempfile.TemporaryFile() as file:
        yield ClassFileOwner(log, SharedState(file))
