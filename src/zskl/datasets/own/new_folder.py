"""The folder of a new dataset, and what it may replace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zskl.files import replacing_folder

OURS = ("manifest.json", "att_splits.mat")  # a folder with one of these is a dataset, which may be replaced


@contextmanager
def new_folder(path: str | os.PathLike[str], force: bool = False) -> Iterator[Path]:
    """A temporary folder that becomes `path` when the block ends without an error.

    What is already there, or comes in the meantime, is refused. With `force` a dataset is replaced, and nothing else.
    """
    path = Path(path)
    if path.exists() or path.is_symlink():
        _check_replaceable(path, force)
    with replacing_folder(path, new=not force) as temporary:
        yield temporary


def _check_replaceable(path: Path, force: bool) -> None:
    if not force:
        raise ValueError(f"{path} is there already: choose another folder, or replace it with force=True (--force)")
    if not path.is_dir() or path.is_symlink() or (any(path.iterdir()) and not any((path / f).is_file() for f in OURS)):
        raise ValueError(
            f"{path} is not a dataset folder, so force does not replace it: choose another folder, or remove it"
        )
