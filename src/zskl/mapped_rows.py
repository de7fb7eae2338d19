"""Rows of a memory-mapped file, without its pages staying in the memory of the process."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

PIECE = 1 << 20  # bytes picked from a file before its pages are given back


def is_mapped(X: Any) -> bool:
    """Whether the values lie in a memory-mapped file: an np.memmap, or a view of one."""
    return _mapping(X) is not None


def give_back(X: Any) -> None:
    """Let the system have the pages of a mapped file that were read; it still has what the file holds.

    Only of a file that was opened to be read: changes that are not in the file would be lost.
    """
    mapping = _mapping(X)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED") and not _writeable(X):
        mapping.madvise(mmap.MADV_DONTNEED)


def picked(X: Any, rows: Any) -> Any:
    """X[rows] (k, d) of rows by their numbers (k,); from a file in pieces, so that all of it is never in memory."""
    if not is_mapped(X):
        return X[rows]
    found = np.empty((len(rows), X.shape[1]), X.dtype)
    height = max(1, PIECE // max(1, X.shape[1] * X.itemsize))
    for start in range(0, len(rows), height):
        found[start : start + height] = X[rows[start : start + height]]
        give_back(X)
    return found


def _mapping(X: Any) -> mmap.mmap | None:
    while isinstance(X, np.ndarray):
        X = X.base
    return X if isinstance(X, mmap.mmap) else None


def _writeable(X: Any) -> bool:
    """Whether X, or an array that it is a view of, can be written to."""
    found = False
    while isinstance(X, np.ndarray):
        found, X = found or X.flags.writeable, X.base
    return found
