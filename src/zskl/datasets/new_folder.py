"""A folder that appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OURS = ("manifest.json", "att_splits.mat")  # a folder with one of these is a dataset, which may be replaced


@contextmanager
def new_folder(path: str | os.PathLike[str], force: bool = False) -> Iterator[Path]:
    """A temporary folder beside `path`, which takes its place when the block ends well and vanishes otherwise.

    What is there is refused; with `force` a dataset, and nothing else, is replaced.
    """
    path = Path(path)
    if path.exists() or path.is_symlink():
        _check_replaceable(path, force)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part"))
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o777 & ~umask)
        if path.exists():
            _exchange(temporary, path)
        else:
            temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _check_replaceable(path: Path, force: bool) -> None:
    if not force:
        raise ValueError(f"{path} is there already: choose another folder, or replace it with force=True (--force)")
    if not path.is_dir() or path.is_symlink() or (any(path.iterdir()) and not any((path / f).is_file() for f in OURS)):
        raise ValueError(f"{path} is not a dataset folder, so it is not replaced: choose another folder, or remove it")


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
