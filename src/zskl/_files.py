"""Files and folders that appear whole or not at all, for one process at a time, on every system; the cache folder.

Everything is written under a hidden name beside its target, `.NAME.RANDOM.part`, and renamed at the end. A failure
leaves what was there before. If a process is killed, the hidden name stays behind; `leftovers` finds it. A device or a
pipe, such as /dev/stdout, is written to as it is.
"""

import codecs
import errno
import hashlib
import logging
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

log = logging.getLogger(__name__)
PART = ".part"
BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
LOCKED = (1 << 31) - 2  # on Windows nobody else can read a locked byte, so it is one that no file of ours reaches
PAUSE = 0.1  # seconds between two tries to get a lock
FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)  # what systems say of a folder's name that somebody else has


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace the file at `path` by `content` in one step, through a temporary file beside it."""
    with replace_file(path) as file:
        file.write(content)


def check_target(path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> None:
    """Refuse a path that cannot be written, or that is also one of the `inputs`, the files to read."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {path.parent} does not exist; create it first")
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder; name a file")
    beside = is_special(path) or os.access(path.parent, os.W_OK)
    if not beside or (path.exists() and not os.access(path, os.W_OK)):
        raise PermissionError(f"cannot write {path}: no permission; choose another path, or change its permissions")
    for given in inputs:
        if given is not None and path.exists() and Path(given).exists() and path.samefile(given):
            raise ValueError(f"cannot write {path}: it is also what is read; name another file, nothing was changed")


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_special(path: Path) -> bool:
    """Whether there is something at this path that is neither a file nor a folder: a pipe, a socket or a device."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A temporary file that becomes `path` when the block ends without an error; otherwise it is removed."""
    path = Path(path)
    check_target(path)
    if is_special(path):
        with _explain_full_disk(path), path.open("wb") as file:
            yield file
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
    try:
        with _explain_full_disk(path):
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            size = os.path.getsize(temporary)
            os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_read_umask())
            _rename_file(temporary, path, path)
    except BaseException:
        os.unlink(temporary)
        raise
    log.info("wrote %s, %d bytes", path, size)


@contextmanager
def replace_folder(path: str | os.PathLike[str], new: bool = False) -> Iterator[Path]:
    """A temporary folder that becomes `path` if the block ends without an error. If it must be `new`, and somebody else
    has put a folder there by then, that one is left alone, and a FileExistsError raised."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _hidden_name(path, PART)
    temporary.mkdir()  # not mkdtemp: on Windows its folders stay closed to other users
    try:
        with _explain_full_disk(path):
            yield temporary
        if path.exists() and not new:
            _exchange_folders(temporary, path)
        else:
            _claim_folder_path(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def find_leftovers(folder: Path, name: str = "*") -> list[Path]:
    """What killed processes left in `folder` while they wrote files or folders of this name (a glob pattern)."""
    return sorted(folder.glob(f".{name}.*{PART}"))


@contextmanager
def _explain_full_disk(path: Path) -> Iterator[None]:
    """Say where there is no room: the system's own error names no file."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise OSError(f"cannot write {path}: the disk is full; make room there, or choose another path") from error


def _claim_folder_path(new: Path, path: Path) -> None:
    """Rename a folder to a path where there is none, in one step: of two processes that do so, one wins."""
    try:
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        os.rename(new, path)  # refuses a folder that is not empty, and on Windows any
    except OSError as error:
        if error.errno in TAKEN:
            raise FileExistsError(
                f"cannot write {path}: somebody else wrote it in the meantime, and it was left as it is; choose "
                "another folder"
            ) from None
        if isinstance(error, PermissionError):
            raise _file_in_use_error(path, error) from None
        raise


def _exchange_folders(new: Path, path: Path) -> None:
    old = _hidden_name(path, ".old")
    _rename_file(path, old, path)
    try:
        _claim_folder_path(new, path)
    except BaseException:
        if path.exists():  # somebody else's
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(path)
        raise
    shutil.rmtree(old)


def _hidden_name(path: Path, suffix: str) -> Path:
    return path.parent / f".{path.name}.{secrets.token_hex(6)}{suffix}"


def _rename_file(old: str | Path, new: Path, path: Path) -> None:
    """A step on the way to a new `path`. On Windows a file that is open stays where it is, and so does its folder."""
    try:
        os.replace(old, new)
    except PermissionError as error:
        raise _file_in_use_error(path, error) from None


def _file_in_use_error(path: Path, error: OSError) -> PermissionError:
    return PermissionError(
        f"cannot write {path} ({error.strerror}): if a program has it open, close it there, then try again"
    )


def _read_umask() -> int:
    """The permissions that a new file does not get. The only way to read them is to set them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def lock_file(handle: int) -> bool:
    """Lock an open file until it is closed or the process ends. False if somebody else has the lock; always True on
    network file systems without locks."""
    try:
        if sys.platform == "win32":
            _lock_on_windows(handle)
        else:
            _lock_on_posix(handle)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def wait_for_lock(handle: int) -> None:
    """Lock an open file as soon as nobody else has the lock."""
    while not lock_file(handle):
        time.sleep(PAUSE)


def _lock_on_posix(handle: int) -> None:
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_on_windows(handle: int) -> None:
    import msvcrt

    here = os.lseek(handle, 0, os.SEEK_CUR)
    os.lseek(handle, LOCKED, os.SEEK_SET)
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    finally:
        os.lseek(handle, here, os.SEEK_SET)


def cache_folder() -> Path:
    """$ZSKL_CACHE, else the system's folder for caches, or where version 0.1 has left one on macOS and Windows. It need
    not exist."""
    given = os.environ.get("ZSKL_CACHE")
    if given:
        return Path(given).expanduser()
    from platformdirs import user_cache_path

    usual = user_cache_path("zskl", appauthor=False)
    old = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "zskl"
    return old if old.is_dir() and not usual.is_dir() else usual


def check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)
    except LookupError:
        raise ValueError(
            f"encoding is {encoding!r}: expected the name of a text encoding, such as 'utf-8', 'cp1252', 'latin-1' or "
            "'utf-16'"
        ) from None


def plain_encoding(encoding: str) -> str:
    """The encoding that reads a file with or without the mark that Excel puts before UTF-8."""
    check_encoding(encoding)
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def describe_encoding_error(path: object, encoding: str, begin: bytes, error: UnicodeError) -> str:
    """What is wrong with a text file that begins with these bytes, and how to have it read."""
    mark = next((name for mark, name in BYTE_ORDER_MARKS.items() if begin.startswith(mark)), "cp1252")
    often = ", as spreadsheets in Western Europe write" if mark == "cp1252" else ""
    reason = getattr(error, "reason", None) or str(error)
    return (
        f"{path} is not {encoding.upper()} text ({reason}): say how it is written with encoding={mark!r} "
        f"(--encoding {mark}){often}, or save it as UTF-8"
    )
