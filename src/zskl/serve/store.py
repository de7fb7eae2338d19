"""Whether the file of classes is still where the service keeps it.

While the service runs, somebody may remove the file, replace it or cut it short. A line that is added then would be
lost. So a change is refused until the file is right again; a removed file is written again.
"""

from __future__ import annotations

import errno
import json
import logging
import mmap
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from zskl import _files as files
from zskl.experiments import run_folder
from zskl.serve import teaching
from zskl.serve.teaching import Lessons

# Whereabouts ----------------------------------------------------------------------------------------------------------

REST = 20  # looks that are left out after one that failed: to write a large file in vain takes long
log = logging.getLogger("zskl.serve")


class StoreError(OSError):
    """The file is not as the service left it. The `sentence` is for the one who asked for a change; the log names the
    file, too."""

    def __init__(self, why: str, sentence: str) -> None:
        super().__init__(why)
        self.sentence = f"{sentence}; then try again"


def file_size(path: Path, handle: int, least: int) -> int | None:
    """The size of the file that is open as `handle`, None if it was removed. Another file at this path, or one with
    less than `least` bytes, is refused."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not os.path.samestat(found, os.fstat(handle)):
        raise replaced_message(path)
    if found.st_size < least:
        raise truncated_message(path)
    return found.st_size


def removed_message(path: Path, why: str = "") -> StoreError:
    """What is said while there is no file."""
    return StoreError(
        f"{path} was removed{why}",
        "the file of classes was removed, so nothing was changed: wait a moment, until the service has written it "
        "again, or look into its log for why it cannot",
    )


def replaced_message(path: Path) -> StoreError:
    """What is said if another file is there."""
    return StoreError(
        f"another program has replaced {path}, or uses it: remove the file that is there now, and this service writes "
        "its own again; to use that file, stop the service first",
        "another program has replaced the file of classes, so nothing was changed: remove the file that is there now",
    )


def truncated_message(path: Path) -> StoreError:
    """What is said if the file lacks lines that were there."""
    return StoreError(
        f"another program has cut {path} short: put back what it held",
        "another program has cut the file of classes short, so nothing was changed: put back what it held",
    )


def interrupted_message(path: Path) -> StoreError:
    """What is said if the process that keeps the file was killed while it replaced it."""
    return StoreError(
        f"cannot write to {path}: the service that kept it has ended",
        "the service is about to end, so nothing was changed: start it again",
    )


class FileWatcher:
    """Who looks after a file again and again. A trouble that lasts is logged once."""

    def __init__(self) -> None:
        self._rest, self._said = 0, ""

    def take(self, tend: Callable[[], object]) -> None:
        """Look after it now, unless that failed a moment ago."""
        if self._rest:
            self._rest -= 1
            return
        try:
            tend()
            self._said = ""
        except (OSError, ValueError) as error:
            if self._said != str(error):
                log.error("%s", error)
            self._rest, self._said = REST, str(error)


# Kept classes ---------------------------------------------------------------------------------------------------------
# What the lines of a file of classes say, one after another: the classes, what was taught, and the version of both.

WASTE = 4  # changes for each class or example, or adaptations: a file with more is written again


class KeptClasses:
    """What all lines together say. `classes` name → attributes; `sentences` those that were described by a sentence,
    name → sentence; `lessons` what was taught. `version` counts the changes, and `versions` says in which of them a
    class was described last."""

    def __init__(self) -> None:
        self.classes: dict[str, Mapping[str, float]] = {}
        self.sentences: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.lessons, self.version = Lessons(), 0
        self._lines = self._adapted = 0

    def read(self, line: Mapping[str, Any]) -> None:
        """Take up what a line says, after all lines before it. Lines of old files have no version: they are counted."""
        version = line.get("version", self.version + 1)
        self.version = max(self.version, version)
        self._lines += 1
        self._adapted += teaching.is_adaptation(line)  # a line as long as thousands of others
        if teaching.is_lesson(line):
            self.lessons = teaching.apply_line(self.lessons, line, version)
            return
        name = line["key"]
        self.sentences.pop(name, None)
        if line["deleted"]:
            self.classes.pop(name, None)
            self.versions.pop(name, None)
            self.lessons = self.lessons.without_class(name)
            return
        if name not in self.classes:
            self.lessons = self.lessons.since(name, version)
        self.classes[name], self.versions[name] = line["attributes"], version
        if "sentence" in line:
            self.sentences[name] = line["sentence"]

    @property
    def outdated(self) -> bool:
        """Whether most lines say what no longer holds."""
        needed = len(self.classes) + len(self.lessons.examples) + 1
        return self._lines > WASTE * needed or self._adapted > WASTE

    def lines(self) -> list[dict[str, Any]]:
        """The lines that say the same without what no longer holds."""
        described = [
            {**class_line(name, given, self.sentences.get(name)), "version": self.versions[name]}
            for name, given in self.classes.items()
        ]
        taught = [*teaching.lesson_lines(self.lessons), teaching.versions_line(self.lessons)]
        return [*described, *({**line, "version": self.version} for line in taught)]


def class_line(name: str, attributes: Mapping[str, float], sentence: str | None = None) -> dict[str, Any]:
    """The line of a new or changed class. The attributes are kept beside a sentence: no encoder is needed to read
    them."""
    said = {} if sentence is None else {"sentence": sentence}
    return {"key": name, "deleted": False, "attributes": dict(attributes), **said}


def deleted_class_line(name: str) -> dict[str, Any]:
    """The line of a class that is deleted, with all that was taught about it."""
    return {"key": name, "deleted": True, "attributes": {}}


def is_class_line(line: object) -> bool:
    """Whether something read from JSON is a line of such a file."""
    if not isinstance(line, dict) or not isinstance(line.get("key"), str):
        return False
    if type(line.get("version", 0)) is not int:
        return False
    if teaching.is_lesson(line):
        return teaching.is_whole(line)
    if not isinstance(line.get("deleted"), bool):
        return False
    attributes = line.get("attributes")
    if not isinstance(line.get("sentence", ""), str):
        return False
    return isinstance(attributes, dict) and all(type(value) in (int, float) for value in attributes.values())


# Class file -----------------------------------------------------------------------------------------------------------
# The file in which a service keeps added classes and what it was taught: a line for each change, flushed to the disk
# before the answer.

BEGINNING = b'{"key": "'  # of a line in the file


class ClassFile(KeptClasses):
    """An open file that nobody else changes, and what its first `size` bytes say, or all. If most lines are outdated,
    it is written again; so it is if somebody has removed it."""

    def __init__(self, log: run_folder.LogFile, size: int | None = None) -> None:
        super().__init__()
        self._log, self.path = log, log.path
        self._size = os.fstat(log.handle).st_size if size is None else size
        for line in run_folder.parse_lines(self._content(), log.path):
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
        if file_size(self.path, self._log.handle, self._size) is not None:
            return
        try:
            self._rewrite()
        except OSError as error:
            raise removed_message(self.path, f" and cannot be written again ({error.strerror or error})") from None
        log.warning("somebody has removed %s: it is written again, with all that was in it", self.path)

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
            raise truncated_message(self.path)
        return content


@contextmanager
def open_class_file(path: Path) -> Iterator[ClassFile]:
    """The file of added classes, for one service at a time."""
    with lock_class_file(path) as log:
        yield ClassFile(log)


@contextmanager
def lock_class_file(path: Path) -> Iterator[run_folder.LogFile]:
    """The same, before its lines are read."""
    path = path.resolve()  # or a link would be replaced, not the file that it leads to
    with ExitStack() as stack:
        try:
            if path.is_file():
                _check_lines(path)
            log = stack.enter_context(run_folder.open_log(path.parent, path.name))
        except run_folder.LogBusyError:
            raise OSError(
                f"another service keeps its classes in {path}: stop it, or name another file by --classes"
            ) from None
        except PermissionError as error:
            raise PermissionError(f"{error}; --classes names the file for added classes") from None
        yield log


def _check_lines(path: Path) -> None:
    """Refuse any other file before it is opened: opening cuts off a last line without an end."""
    content = path.read_bytes()
    last = content[content.rfind(b"\n") + 1 :]
    try:
        ours = last[: len(BEGINNING)] == BEGINNING[: len(last)] and all(map(is_class_line, run_folder.read_log(path)))
    except ValueError:
        ours = False
    if not ours:
        raise ValueError(f"{path} is not a file of classes, or is damaged: restore it, or name another by --classes")


# Shared marks ---------------------------------------------------------------------------------------------------------
# What the workers of a service share in memory: how far the file of classes is right, and whose turn it is to change
# it.

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


# Shared class file ----------------------------------------------------------------------------------------------------
# The file of classes among several workers. Each follows what the others write; one at a time writes.
#
# Everything is done under the lock of `SharedMarks`: read what others have added, check the change, add a line, flush
# it. The process that looks after the workers makes the file shorter, and writes it again if somebody has removed it;
# then it is another file, which they open again.


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
                raise truncated_message(self.path)
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
        content = (run_folder.to_line(line) + "\n").encode()
        size = file_size(self.path, self._handle, self._end)
        if size is None:
            raise removed_message(self.path)
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
            raise interrupted_message(self.path)
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND)
        except (FileNotFoundError, NotADirectoryError):
            raise removed_message(self.path) from None
        if os.fstat(handle).st_ino != self._marks.inode or not files.lock_file(handle, shared=True):
            os.close(handle)
            raise replaced_message(self.path)
        os.close(self._handle)
        super().__init__()
        self._handle, self._inode, self._end = handle, self._marks.inode, 0


class CompactedFile:
    """The file in the process that looks after the workers: it keeps other services out, the file there and short."""

    def __init__(self, log: run_folder.LogFile) -> None:
        self.path, self.marks, self._log = log.path, SharedMarks(), log
        self._looks = FileWatcher()
        self.marks.version = ClassFile(log).version
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
                ClassFile(self._log, size).tend()
            finally:
                found = os.fstat(self._log.handle)
                self.marks.size = size if found.st_ino == inode else found.st_size
                self.marks.inode = found.st_ino

    def _is_there(self) -> bool:
        return file_size(self.path, self._log.handle, self.marks.size) is not None


@contextmanager
def open_shared_class_file(path: Path) -> Iterator[CompactedFile]:
    """The file of added classes, for the workers of one service."""
    with lock_class_file(path) as log:
        kept = CompactedFile(log)
        with closing(kept.marks):
            yield kept
