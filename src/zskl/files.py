"""Files and folders that appear whole or not at all. A failure leaves what was there before.

Everything is written under a hidden name beside its target, `.NAME.RANDOM.part`, and renamed at the end. If a process
is killed, that name stays behind; `leftovers` finds it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PART = ".part"


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
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


@contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary folder that becomes `path` when the block ends without an error; otherwise it is removed."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART))
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        if path.exists():
            _exchange(temporary, path)
        else:
            temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def leftovers(folder: Path, name: str = "*") -> list[Path]:
    """What killed processes left in `folder` while they wrote files or folders of this name (a glob pattern)."""
    return sorted(folder.glob(f".{name}.*{PART}"))


def _exchange(new: Path, path: Path) -> None:
    old = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".old"))
    path.rename(old / path.name)
    try:
        new.rename(path)
    except BaseException:
        (old / path.name).rename(path)
        old.rmdir()
        raise
    shutil.rmtree(old)


def _umask() -> int:
    """The permissions that a new file does not get. The only way to read them is to set them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
