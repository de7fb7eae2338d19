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
_WORDS = 256  # hashed together
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
        order = np.lexsort((all_hashes, all_codes))
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(all_codes[order]) != 0) | (all_hashes[order][1:] != all_hashes[order][:-1])
        order = order[new]
        sorted_codes = all_codes[order]
        rank = np.arange(len(order)) - np.searchsorted(sorted_codes, sorted_codes)
        order = order[rank < max(1, KEPT // classes)]
        if are_sparse(rows) or are_sparse(self.rows):
            return KeptRows(stacked(self.rows, rows)[order], all_hashes[order], all_codes[order])
        old = len(self.hashes)
        taken = np.empty((len(order), self.rows.shape[1]), np.float32)
        mine = order < old
        taken[mine], taken[~mine] = self.rows[order[mine]], rows[order[~mine] - old]
        return KeptRows(taken, all_hashes[order], all_codes[order])
