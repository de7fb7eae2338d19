"""Pictures of the rows of the loaded data: files of a folder, or drawn from the row itself. Which file belongs to which
row is found once, at the start: nothing in a request is ever part of a path."""

from __future__ import annotations

import csv
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from zskl.datasets import Dataset, letters
from zskl.parameters import listed

Item = Literal["row", "picture", "photo"]  # what a row of the data is called
TYPES = {
    ".avif": "image/avif", ".bmp": "image/bmp", ".gif": "image/gif", ".jfif": "image/jpeg", ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp",
}  # fmt: skip
ROWS = "rows.csv"  # in a folder of pictures: columns "file" and "row"
SHOWN = 64  # pixels of a drawing on the screen, at least: each of its own pixels becomes several


class RowPictures(Protocol):
    """`has` says which rows have a picture, `read` gives its bytes and their media type; other pictures have another
    `key`. A row is called an `item`."""

    item: Item

    @property
    def key(self) -> str: ...

    def has(self, row: int) -> bool: ...

    def read(self, row: int) -> tuple[bytes, str]: ...


class PictureFiles:
    """Row → file."""

    item: Item = "photo"

    def __init__(self, files: Mapping[int, Path]) -> None:
        self._files = files

    @property
    def key(self) -> str:
        """The folder's files and when they were changed last."""
        found = sorted(self._files.items())
        return f"{[(row, str(path), path.stat().st_mtime_ns) for row, path in found if path.exists()]}"

    def has(self, row: int) -> bool:
        return row in self._files

    def read(self, row: int) -> tuple[bytes, str]:
        path = self._files[row]
        return path.read_bytes(), TYPES[path.suffix.lower()]


class DrawnRows:
    """A drawing of every row: (n, height, width) bytes, 0 paper to 255 ink."""

    item: Item = "picture"

    def __init__(self, ink: NDArray[np.uint8]) -> None:
        self._ink, self._zoom = ink, max(1, SHOWN // ink.shape[1])
        self.key = "drawn"

    def has(self, row: int) -> bool:
        return 0 <= row < len(self._ink)

    def read(self, row: int) -> tuple[bytes, str]:
        return png(np.kron(255 - self._ink[row], np.ones((self._zoom, self._zoom), np.uint8))), "image/png"


def of(data: Dataset, folder: str | os.PathLike[str] | None, names: Sequence[str] | None) -> RowPictures | None:
    """Pictures of the rows of a dataset: those in `folder`, if you name one. Letters and digits are drawn."""
    if folder is not None:
        return find(folder, len(data.X), names)
    if data.name.partition(":")[0] == "letters" and data.source == letters.SOURCE:
        return DrawnRows(letters.pictures())
    return drawn_digits(data.X) if data.name == "digits" and data.X.shape[1] == 64 else None


def drawn_digits(X: NDArray[Any]) -> DrawnRows:
    """Rows of 64 values from 0 to 16, the darkness of 8 × 8 pixels."""
    ink = np.clip(np.asarray(X, np.float64).reshape(-1, 8, 8) / 16, 0, 1)
    return DrawnRows(255 - (255 * (1 - ink)).round().astype(np.uint8))


def png(grey: NDArray[Any]) -> bytes:
    """A PNG file of (height, width) bytes, 0 black to 255 white."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def find(folder: str | os.PathLike[str], rows: int, names: Sequence[str] | None) -> PictureFiles:
    """The pictures below a folder: by its rows.csv, or else by the names of the rows, whose ends are paths."""
    place = Path(folder)
    if not place.is_dir():
        raise FileNotFoundError(f"--images {place} is not a folder: name one with pictures of the rows")
    if (place / ROWS).is_file():
        return PictureFiles(_listed(place, rows))
    if names is None:
        raise ValueError(
            f"the rows of the data have no names, so their pictures in {place} cannot be found: put a table {ROWS} "
            "with the columns file and row there, or make the dataset from files whose ids are names of pictures"
        )
    found = _matched(place, names)
    if not found:
        raise ValueError(f"no picture below {place} is named like a row of the data, such as {listed(names[:3])}")
    return PictureFiles(found)


def _listed(place: Path, rows: int) -> dict[int, Path]:
    found: dict[int, Path] = {}
    try:
        lines = list(csv.DictReader((place / ROWS).read_text("utf-8-sig").splitlines()))
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{place / ROWS} is not a table ({error}): expected the columns file and row") from None
    for number, line in enumerate(lines, start=2):
        name, row = line.get("file") or "", line.get("row") or ""
        if not name or not row.isdecimal() or len(row) > 15 or int(row) >= rows:
            raise ValueError(
                f"{place / ROWS}, line {number}: file is {name!r} and row {row!r}: expected a picture and the "
                f"number of a row, counted from 0, below {rows}"
            )
        path = place / name
        if path.suffix.lower() not in TYPES or not path.is_file():
            raise ValueError(f"{place / ROWS}, line {number}: {path} is not a picture that a browser shows")
        found[int(row)] = path
    return found


def _matched(place: Path, names: Sequence[str]) -> dict[int, Path]:
    """Row → the file that shares the longest end with the row's name. If two files share it, the row has none."""
    ends: dict[tuple[str, ...], Path | None] = {}
    for folder, below, files in os.walk(place):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in files:
            path = Path(folder, name)
            if path.suffix.lower() in TYPES and not name.startswith("."):
                steps = path.relative_to(place).parts
                for length in range(1, len(steps) + 1):
                    ends[steps[-length:]] = None if steps[-length:] in ends else path
    found = {}
    for row, name in enumerate(names):
        steps = PurePath(name).parts  # on Windows, tables may have either slash
        match = next((ends[steps[-length:]] for length in range(len(steps), 0, -1) if steps[-length:] in ends), None)
        if match is not None:
            found[row] = match
    return found
