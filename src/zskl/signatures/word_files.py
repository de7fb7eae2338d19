"""Word vectors from text files of GloVe (no heading), word2vec and fastText (a first line "count dimension")."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]


def read_vectors(path: str | os.PathLike[str], wanted: Collection[str]) -> dict[str, Vector]:
    """word → vector for the `wanted` words in the file; if a word has several lines, the first counts.

    The file (plain or gzip) is read once, line by line, and only wanted rows are kept. Every line must have as many
    values as the first. Only the values of wanted rows are checked to be finite numbers.
    """
    path = Path(path)
    keys = {word.encode(): word for word in wanted}
    found: dict[str, Vector] = {}
    dimension = promised = None
    number = rows = 0
    for number, line in _lines(path):
        fields = line.rstrip()
        if not fields:
            continue
        if b"\0" in fields:
            raise _error(path, number, "bytes that are not text", "text: convert the binary word2vec format first")
        if number == 1 and (heading := _heading(fields)):
            promised, dimension = heading
            continue
        if dimension is None:
            dimension = _dimension(path, number, fields)
        rows += 1
        word = fields[: fields.find(b" ")]
        if fields.count(b" ") != dimension:  # a tab, a space inside the word, or a fault
            word = _odd_word(path, number, fields, dimension)
        if word in keys and keys[word] not in found:
            found[keys[word]] = _vector(path, number, fields.split()[-dimension:])
    if rows == 0:
        raise ValueError(f"{path} holds no word vectors ({number} line(s)): expected lines 'word 0.1 0.2 ...'")
    if promised is not None and rows != promised:
        raise ValueError(
            f"{path} holds {rows} words, its first line promises {promised}: the file is incomplete; fetch it again"
        )
    return found


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if not path.is_file():
        raise FileNotFoundError(f"no file of word vectors at {path}: expected a GloVe or word2vec text file")
    with path.open("rb") as plain:
        packed = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        file = cast(BinaryIO, gzip.GzipFile(fileobj=plain)) if packed else plain
        number = 0
        try:
            for number, line in enumerate(file, 1):
                yield number, line
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(
                f"{path} cannot be unpacked after line {number} ({error}): the file is damaged or incomplete; "
                "fetch it again"
            ) from None


def _heading(fields: bytes) -> tuple[int, int] | None:
    """(count, dimension) if this is word2vec's first line."""
    parts = fields.split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts) or int(parts[1]) == 0:
        return None
    return int(parts[0]), int(parts[1])


def _dimension(path: Path, number: int, fields: bytes) -> int:
    """How many values the first line has at its end; at least one field must remain for the word."""
    parts = fields.split()
    numbers = 0
    for part in reversed(parts[1:]):
        if not _is_number(part):
            break
        numbers += 1
    if numbers == 0:
        raise _error(path, number, repr(_text(fields)[:40]), "a word and its values, separated by spaces")
    return numbers


def _odd_word(path: Path, number: int, fields: bytes, dimension: int) -> bytes:
    """The word of a line without exactly `dimension` spaces. A word may contain spaces (". . ." in GloVe 840B)."""
    parts = fields.split()
    values = len(parts) - 1
    if values < dimension or (values > dimension and _is_number(parts[-dimension - 1])):
        raise _error(path, number, f"{max(values, 0)} value(s)", f"{dimension}, as the lines before it have")
    return b" ".join(parts[:-dimension])


def _vector(path: Path, number: int, parts: list[bytes]) -> Vector:
    wrong = [part for part in parts if not _is_number(part)]
    if wrong:
        raise _error(path, number, repr(_text(wrong[0])), "a finite number")
    return np.array([float(part) for part in parts])


def _is_number(part: bytes) -> bool:
    try:
        return bool(np.isfinite(float(part)))
    except ValueError:
        return False


def _text(part: bytes) -> str:
    return part.decode(errors="replace")


def _error(path: Path, number: int, found: str, expected: str) -> ValueError:
    return ValueError(f"{path}, line {number}: found {found}, expected {expected}")
