"""A large matrix is read from its file once, checked, and kept as a float32 .npy file that later loads map into memory.

Each source has a folder in the user's cache. It contains the matrix, named by the SHA-256 of the source, and
source.json. The source counts as unchanged while its size and its times of modification and of status change are as
recorded. If only the times differ, its content is hashed again. If a file changed less than two seconds before we
looked, it could change again without a new time, because clocks of file systems are coarse. So it is hashed next time.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.files import cache_folder, leftovers, replacing, write_atomically
from zskl.parameters import listed

FORMAT = 1
SMALLEST = 1 << 23  # bytes; a smaller file is read about as fast as it is mapped
BLOCK_VALUES = 1 << 22  # converted and checked together: 16 MB
SETTLED = 2_000_000_000  # nanoseconds
ABANDONED = 24 * 3600  # seconds after which nobody writes a temporary file any more


@dataclass(frozen=True)
class CachedMatrix:
    """X (n, d) float32 and finite, mapped if it could be kept; and what else the reader gave, as JSON values."""

    X: NDArray[np.float32]
    notes: dict[str, Any]


def load(source: Path, read: Callable[[Path], tuple[NDArray[np.generic], dict[str, Any]]]) -> CachedMatrix:
    """What `read(source)` returns, from the cache if it is there. If there can be no cache, it is read again each time.

    `read` gives a matrix (n, d) of numbers and a dictionary of JSON values, and depends only on the source.
    """
    source = source.resolve()
    now = source.stat()
    if now.st_size < SMALLEST:
        return _in_memory(source, *read(source))
    path = hashlib.sha256(os.fsencode(source)).hexdigest()[:16]
    folder = cache_folder() / "mapped" / f"{source.parent.name}-{source.stem}-{path}"
    kept = _kept(folder, source, now)
    if kept is not None:
        return kept
    matrix, notes = read(source)
    try:
        kept = _keep(folder, source, now, matrix, notes)
    except OSError:  # no folder, no permission, a full disk
        kept = None
    return kept or _in_memory(source, matrix, notes)


def _kept(folder: Path, source: Path, now: os.stat_result) -> CachedMatrix | None:
    """What the cache has for the source as it is now; None if there is nothing, or it is older or damaged."""
    try:
        entry = json.loads((folder / "source.json").read_bytes())
        if entry["format"] != FORMAT or entry["size"] != now.st_size:
            return None
        if not entry["settled"] or entry["times"] != _times(now):
            fresh = _described(source, now)
            if fresh is None or fresh["sha256"] != entry["sha256"]:
                return None
            with suppress(OSError):  # if it cannot be written, the source is hashed again next time
                write_atomically(folder / "source.json", json.dumps(entry | fresh).encode())
        X = np.load(folder / entry["matrix"], mmap_mode="r", allow_pickle=False)
        if X.dtype != np.float32 or list(X.shape) != entry["shape"]:
            return None
        return CachedMatrix(X, entry["notes"])
    except (OSError, ValueError, TypeError, KeyError, EOFError):
        return None


def _keep(
    folder: Path, source: Path, now: os.stat_result, matrix: NDArray[np.generic], notes: dict[str, Any]
) -> CachedMatrix | None:
    """Two processes may do this at once, because each file is replaced whole, and equal content has equal names."""
    described = _described(source, now)
    if described is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{described['sha256'][:16]}.{FORMAT}.npy"
    with replacing(target) as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": matrix.shape}
        np.lib.format.write_array_header_1_0(file, header)
        for block in _blocks(source, matrix):
            file.write(np.ascontiguousarray(block, dtype="<f4").data)
    entry = {"format": FORMAT, "source": str(source), **described, "matrix": target.name}
    entry |= {"shape": list(matrix.shape), "notes": notes}
    write_atomically(folder / "source.json", json.dumps(entry).encode())
    X = np.load(target, mmap_mode="r", allow_pickle=False)
    with suppress(OSError):  # another process may do the same
        abandoned = [part for part in leftovers(folder) if part.stat().st_mtime < time.time() - ABANDONED]
        for old in [*abandoned, *(matrix for matrix in folder.glob("*.npy") if matrix != target)]:
            old.unlink(missing_ok=True)
    return CachedMatrix(X, notes)


def _described(source: Path, now: os.stat_result) -> dict[str, Any] | None:
    """Size, times and checksum; None if the file changes while it is hashed."""
    settled = time.time_ns() - max(_times(now)) > SETTLED
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    after = source.stat()
    if _times(after) != _times(now) or after.st_size != now.st_size:
        return None
    return {"size": now.st_size, "times": _times(now), "settled": settled, "sha256": digest}


def _times(status: os.stat_result) -> list[int]:
    return [status.st_mtime_ns, status.st_ctime_ns]


def _in_memory(source: Path, matrix: NDArray[np.generic], notes: dict[str, Any]) -> CachedMatrix:
    with np.errstate(over="ignore"):  # what overflows is infinite, and refused
        X = np.ascontiguousarray(matrix, dtype=np.float32)
    for _ in _blocks(source, X):
        pass  # each block is checked
    return CachedMatrix(X, notes)


def _blocks(source: Path, matrix: NDArray[np.generic]) -> Iterator[NDArray[np.float32]]:
    """The rows as float32, in blocks. A value that is not finite as float32 is refused."""
    height = max(1, BLOCK_VALUES // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), height):
        with np.errstate(over="ignore"):
            block = np.asarray(matrix[start : start + height], dtype=np.float32)
        finite = np.isfinite(block)
        if not finite.all():
            rows, columns = np.nonzero(~finite)
            raise ValueError(
                f"{source}: features is NaN or infinite (as float32) in rows {listed(np.unique(rows) + start)} "
                f"(counted from 0), the first of them in columns {listed(columns[rows == rows[0]])}; repair the file"
            )
        yield block
