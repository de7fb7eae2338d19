"""Files and folders that appear whole or not at all, for one process at a time, on every system; the cache folder.

Everything is written under a hidden name beside its target, `.NAME.RANDOM.part`, and renamed at the end. A failure
leaves what was there before. If a process is killed, the hidden name stays behind; `leftovers` finds it.
"""

from __future__ import annotations

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

from platformdirs import user_cache_path

PART = ".part"
LOCKED = (1 << 31) - 2  # on Windows nobody else can read a locked byte, so it is one that no file of ours reaches
PAUSE = 0.1  # seconds between two tries to get a lock


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace the file at `path` by `content` in one step, through a temporary file beside it."""
    with replacing(path) as file:
        file.write(content)


def check_target(path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> None:
    """Refuse a path that cannot be written, or that is also one of the `inputs`, the files to read."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {path.parent} does not exist; create it first")
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder; name a file")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise PermissionError(f"cannot write {path}: no permission; choose another path, or change its permissions")
    for given in inputs:
        if given is not None and path.exists() and Path(given).exists() and path.samefile(given):
            raise ValueError(f"cannot write {path}: it is also what is read; name another file, nothing was changed")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A temporary file that becomes `path` when the block ends without an error; otherwise it is removed."""
    path = Path(path)
    check_target(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        _rename(temporary, path, path)
    except BaseException:
        os.unlink(temporary)
        raise


@contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary folder that becomes `path` when the block ends without an error; otherwise it is removed."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _hidden(path, PART)
    temporary.mkdir()  # not mkdtemp: on Windows its folders stay closed to other users
    try:
        yield temporary
        if path.exists():
            _exchange(temporary, path)
        else:
            _rename(temporary, path, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def leftovers(folder: Path, name: str = "*") -> list[Path]:
    """What killed processes left in `folder` while they wrote files or folders of this name (a glob pattern)."""
    return sorted(folder.glob(f".{name}.*{PART}"))


def _exchange(new: Path, path: Path) -> None:
    old = _hidden(path, ".old")
    _rename(path, old, path)
    try:
        _rename(new, path, path)
    except BaseException:
        old.rename(path)
        raise
    shutil.rmtree(old)


def _hidden(path: Path, suffix: str) -> Path:
    """A new name beside `path`."""
    return path.parent / f".{path.name}.{secrets.token_hex(6)}{suffix}"


def _rename(old: str | Path, new: Path, path: Path) -> None:
    """A step on the way to a new `path`. On Windows a file that is open stays where it is, and so does its folder."""
    try:
        os.replace(old, new)
    except PermissionError as error:
        raise PermissionError(
            f"cannot write {path} ({error.strerror}): if a program has it open, close it there, then try again"
        ) from None


def _umask() -> int:
    """The permissions that a new file does not get. The only way to read them is to set them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def lock(handle: int) -> bool:
    """Lock an open file until it is closed or the process ends, in any way. False if somebody else has the lock.

    Some network file systems have no locks. There the answer is always yes.
    """
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
    while not lock(handle):
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
    """$ZSKL_CACHE, else the folder for caches that the system gives to zskl. It need not exist.

    On Linux that is $XDG_CACHE_HOME/zskl or ~/.cache/zskl. Version 0.1 used these on every system, so on macOS and
    Windows a cache that is already there is used on.
    """
    given = os.environ.get("ZSKL_CACHE")
    if given:
        return Path(given).expanduser()
    usual = user_cache_path("zskl", appauthor=False)
    old = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "zskl"
    return old if old.is_dir() and not usual.is_dir() else usual
