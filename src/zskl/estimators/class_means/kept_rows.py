"""Some training rows that stay with a model. Which ones depends on their content alone, not on order or pieces.

Of each class the rows with the smallest hash of their content are kept, equal ones once. So any way to cut the training
rows into pieces, any order of the pieces, and a weight in place of copies keep the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.sparse_rows import SparseRows, are_sparse, stacked

KEPT = 4096  # rows in all, at most; every class keeps at least one
WAITING = 1024  # rows that are sorted in together
_WORDS = 256  # hashed together
_COLUMNS = 64  # put in order together
_MIX = np.uint64(0x9E3779B97F4A7C15)


def hashes(X: NDArray[np.floating] | SparseRows) -> NDArray[np.uint64]:
    """(n,) of rows (n, d): rows that are equal in float32 have equal hashes, on every machine.

    A zero adds nothing, so sparse rows have the hashes of the same dense ones.
    """
    draw = np.random.default_rng(0)
    odd = np.array(draw.integers(0, 1 << 63, X.shape[1], dtype=np.uint64)) * np.uint64(2) + np.uint64(1)
    mixed = np.zeros(len(X), np.uint64)
    if are_sparse(X):
        words = X.values.data.astype(np.float32).view(np.uint32).astype(np.uint64)
        np.add.at(mixed, X.owners, words * odd[X.values.indices])
    else:
        words = np.ascontiguousarray(X, np.float32).view(np.uint32)
        for start in range(0, words.shape[1], _WORDS):  # no copy of all words in 64 bits
            mixed += words[:, start : start + _WORDS].astype(np.uint64) @ odd[start : start + _WORDS]
    mixed ^= mixed >> np.uint64(29)
    return mixed * _MIX


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Scaled rows (m, d), their hashes (m,) and classes (m,), class by class and by hash; for C classes in all."""

    rows: Any  # NDArray[np.float32] or SparseRows
    hashes: NDArray[np.uint64]
    codes: NDArray[np.int64]

    @classmethod
    def none(cls, d: int) -> KeptRows:
        return cls(np.empty((0, d), np.float32), np.empty(0, np.uint64), np.empty(0, np.int64))

    def with_rows(self, rows: Any, found: NDArray[np.uint64], codes: NDArray[np.int64], classes: int) -> KeptRows:
        """These and further rows, as far as they are to be kept for this number of classes."""
        all_hashes, all_codes = np.concatenate([self.hashes, found]), np.concatenate([self.codes, codes])
        order = _kept_of(all_hashes, all_codes, classes)
        if are_sparse(rows) or are_sparse(self.rows):
            return KeptRows(stacked(self.rows, rows)[order], all_hashes[order], all_codes[order])
        old = len(self.hashes)
        taken = np.empty((len(order), self.rows.shape[1]), np.float32)
        mine = order < old
        taken[mine], taken[~mine] = self.rows[order[mine]], rows[order[~mine] - old]
        return KeptRows(taken, all_hashes[order], all_codes[order])


def _most(classes: int) -> int:
    """Rows that a class keeps at most."""
    return max(1, KEPT // classes)


def _kept_of(found: NDArray[np.uint64], codes: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Which of the rows with these hashes and classes (n,) are kept, class by class and by hash."""
    order = np.lexsort((found, codes))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(codes[order]) != 0) | (found[order][1:] != found[order][:-1])
    order = order[new]
    sorted_codes = codes[order]
    rank = np.arange(len(order)) - np.searchsorted(sorted_codes, sorted_codes)
    return order[rank < _most(classes)]


class Keeping:
    """The `KeptRows` of dense rows that come block by block. Rows that cannot be among them are dropped at once.

    A kept row lies in one place until a row with a smaller hash takes it, so there is never a second copy of all.
    """

    def __init__(self, d: int, sizes: NDArray[np.int64]) -> None:
        """`sizes` (C,) are how many rows of each class will come."""
        self._classes = len(sizes)
        self._rows = np.empty((int(np.minimum(sizes, _most(self._classes)).sum()), d), np.float32)
        self._hashes, self._codes = np.empty(0, np.uint64), np.empty(0, np.int64)  # of kept rows, in their order
        self._places = np.empty(0, np.int64)  # where these lie in `_rows`
        self._limits: NDArray[np.uint64] | None = None  # (C,) a row with a larger hash is not kept
        self._waiting: list[tuple[NDArray[np.float32], NDArray[np.uint64], NDArray[np.int64]]] = []

    def see(self, rows: NDArray[np.float32], found: NDArray[np.uint64], codes: NDArray[np.int64]) -> None:
        if self._limits is not None:
            near = np.flatnonzero(found <= self._limits[codes])
            rows, found, codes = rows[near], found[near], codes[near]
        for start in range(0, len(rows), WAITING):
            piece = slice(start, start + WAITING)
            self._waiting.append((rows[piece], found[piece], codes[piece]))
            if sum(len(some) for _, some, _ in self._waiting) >= WAITING:
                self._sort_in()

    def kept(self) -> KeptRows:
        """All that are kept; call it once, at the end."""
        self._sort_in()
        rows = self._rows[: len(self._places)]
        for start in range(0, rows.shape[1], _COLUMNS):  # no copy of all rows
            columns = slice(start, start + _COLUMNS)
            rows[:, columns] = self._rows[self._places, columns]
        return KeptRows(rows, self._hashes, self._codes)

    def _sort_in(self) -> None:
        if not self._waiting:
            return
        all_hashes = np.concatenate([self._hashes, *(found for _, found, _ in self._waiting)])
        all_codes = np.concatenate([self._codes, *(codes for _, _, codes in self._waiting)])
        order, start = _kept_of(all_hashes, all_codes, self._classes), len(self._hashes)
        stay = order < start
        places = np.empty(len(order), np.int64)
        places[stay] = self._places[order[stay]]
        free = np.setdiff1d(np.arange(len(self._rows)), places[stay], assume_unique=True)
        places[~stay] = free[: len(order) - np.count_nonzero(stay)]
        for rows, found, _ in self._waiting:
            new = np.flatnonzero((order >= start) & (order < start + len(found)))
            self._rows[places[new]] = rows[order[new] - start]
            start += len(found)
        self._waiting.clear()
        self._hashes, self._codes, self._places = all_hashes[order], all_codes[order], places
        full = np.bincount(self._codes, minlength=self._classes) >= _most(self._classes)
        last = np.searchsorted(self._codes, np.arange(self._classes), side="right") - 1  # the largest of a class
        self._limits = np.where(full, self._hashes[last], np.iinfo(np.uint64).max)
