"""Where a benchmark is on this machine: its folder inside a root folder."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from zskl.files import cache_folder

INSIDE = ("", "data", "xlsa17", "xlsa17/data")  # where the dataset folders may be inside a root
SPLITS = "att_splits.mat"


def benchmark_folder(name: str, root: str | os.PathLike[str] | None = None) -> Path:
    """The folder of this benchmark, which contains att_splits.mat. Upper and lower case make no difference.

    If `root` is given, only that is searched, else $ZSKL_DATA, then the user's cache.
    """
    roots = [Path(root).expanduser()] if root is not None else _usual_roots()
    for one in roots:
        for inside in INSIDE:
            folder = _child(one / inside, name)
            if folder is not None and (folder / SPLITS).is_file():
                return folder
    looked = "; ".join(f"{one} ({'is there' if one.is_dir() else 'no such folder'})" for one in roots)
    raise FileNotFoundError(
        f"no {name}/{SPLITS} found. Looked in {looked}: itself, and data/, xlsa17/ and xlsa17/data/ inside. "
        "Give root= (--root) or set ZSKL_DATA to the folder of the xlsa17 package; get it with: zskl data fetch xlsa17"
    )


def check_fetched(path: Path) -> None:
    """Refuse a file of the fetched package whose SHA-256 differs from the recorded one. Other files pass."""
    path = path.resolve()
    for parent in path.parents:
        sums = parent / "xlsa17.sha256"
        if not sums.is_file():
            continue
        mine = path.relative_to(parent).as_posix()
        for line in sums.read_text(encoding="utf-8").splitlines():
            digest, _, name = line.partition("  ")
            if name == mine and hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                raise ValueError(
                    f"{path} is not as it was fetched: its checksum differs from the one in {sums}; delete the folder "
                    "and fetch it again, or delete that record if you changed the file on purpose"
                )
        return


def _usual_roots() -> list[Path]:
    given = os.environ.get("ZSKL_DATA")
    return ([Path(given).expanduser()] if given else []) + [cache_folder()]


def _child(folder: Path, name: str) -> Path | None:
    if (folder / name).is_dir():
        return folder / name
    try:
        children = sorted(folder.iterdir())
    except OSError:
        return None
    return next((child for child in children if child.name.lower() == name.lower() and child.is_dir()), None)
