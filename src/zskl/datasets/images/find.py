"""Which pictures to embed: from a folder per class, a flat folder, or single files; always in the same order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# What counts as a picture inside a folder. A file that you name yourself may end in anything.
EXTENSIONS = frozenset(
    (
        *(".avif", ".bmp", ".gif", ".heic", ".heif", ".jfif", ".jp2", ".jpeg", ".jpg"),
        *(".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"),
    )
)
DEPTH = 8  # deep enough to find misplaced pictures; ends the walk if links form a circle


@dataclass(frozen=True)
class Picture:
    """A file, and its class if it is in the folder of a class."""

    path: Path
    label: str | None

    def key(self) -> str:
        """Path, size and time of the file: it changes when the file does."""
        state = self.path.stat()
        return f"{self.path.resolve()}|{state.st_size}|{state.st_mtime_ns}"


def find_pictures(sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Picture]:
    """The pictures of all sources, sorted by path, each file once.

    A source is a picture, a flat folder of pictures, or a folder with one folder of pictures per class, whose names
    become the labels. In folders, hidden files and files that do not end like a picture are skipped.
    """
    paths = [Path(sources)] if isinstance(sources, str | os.PathLike) else [Path(source) for source in sources]
    found: dict[Path, Picture] = {}
    for picture in sorted((one for path in paths for one in _of(path)), key=lambda one: one.path.as_posix()):
        found.setdefault(picture.path.resolve(), picture)
    pictures = list(found.values())
    if not pictures:
        raise ValueError(
            f"no pictures in {', '.join(map(str, paths)) or 'an empty list of sources'}: expected files that end in "
            f"{' '.join(sorted(EXTENSIONS))}"
        )
    bare = next((one.path for one in pictures if one.label is None), None)
    classed = next((one.path for one in pictures if one.label is not None), None)
    if bare is not None and classed is not None:
        raise ValueError(
            f"{classed} is in the folder of a class and {bare} is not: either all pictures have a class, or none; "
            "embed them separately"
        )
    return pictures


def _of(source: Path) -> Iterator[Picture]:
    if source.is_file():
        yield Picture(source, None)
        return
    if not source.is_dir():
        raise FileNotFoundError(f"no picture or folder at {source}: check the path")
    for folder, below, files in os.walk(source, followlinks=True):
        inside = Path(folder).relative_to(source).parts
        below[:] = [name for name in below if not name.startswith(".") and len(inside) < DEPTH]
        pictures = [name for name in files if not name.startswith(".") and Path(name).suffix.lower() in EXTENSIONS]
        if pictures and len(inside) > 1:
            raise ValueError(
                f"{Path(folder, pictures[0])} is {len(inside)} folders deep in {source}: expected "
                f"{source}/CLASS/PICTURE; name the folder that contains the classes, such as {Path(folder).parent}"
            )
        for name in pictures:
            yield Picture(Path(folder, name), inside[0] if inside else None)
