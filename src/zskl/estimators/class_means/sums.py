"""Sums over training rows: all that class means are learned from. In float64, read once, and exact in pieces.

N_c rows of class c, Σx of them, and one pooled Σxxᵀ, of sparse rows only its diagonal; with weights Σw, Σwx and Σwxxᵀ
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk
from scipy.sparse import csr_array

from zskl.arrays import Array, NumPyArray, is_torch, like, to_numpy
from zskl.estimators.class_means.kept_rows import Keeping, KeptRows, hashes
from zskl.mapped_rows import give_back
from zskl.sparse_rows import are_sparse

Floats = NDArray[np.float64]
BLOCK_VALUES = 1 << 18  # read together: 2 MB in float64
GPU_VALUES = 1 << 21
BLOCK_ROWS = 512  # or so many rows, if that is more: a product of few rows is slower than adding it


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows of C classes in d features. Add two of them: the result is that of all rows together.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The classes, sorted.
    rows : ndarray of shape (C,)
        How many rows each has, or what they weigh together.
    totals : ndarray of shape (C, d)
        The sum of its scaled rows.
    products : ndarray of shape (d, d) or (d,)
        The sum of xxᵀ over all scaled rows; of sparse rows its diagonal.
    kept : KeptRows
        Some of the rows.
    scaling : str
        How the rows were scaled.
    """

    classes: NumPyArray
    rows: Floats
    totals: Floats
    products: Floats
    kept: KeptRows
    scaling: str

    def __add__(self, other: Sums) -> Sums:
        if not isinstance(other, Sums):
            return NotImplemented
        for name, mine, theirs in (
            ("features", len(self.products), len(other.products)),
            ("feature_scaling", self.scaling, other.scaling),
            ("a scatter of dimension", self.products.ndim, other.products.ndim),  # 1: of sparse rows
        ):
            if mine != theirs:
                raise ValueError(
                    f"these are sums of rows with {name} {mine!r} and of rows with {name} {theirs!r}: expected the "
                    "same; add up all pieces in the same way"
                )
        classes = np.unique(np.concatenate([self.classes, other.classes]))
        my_places, their_places = (np.searchsorted(classes, one.classes) for one in (self, other))
        rows, totals = np.zeros(len(classes)), np.zeros((len(classes), self.totals.shape[1]))
        for places, one in ((my_places, self), (their_places, other)):
            rows[places] += one.rows
            totals[places] += one.totals
        kept = KeptRows(self.kept.rows, self.kept.hashes, my_places[self.kept.codes]).with_rows(
            other.kept.rows, other.kept.hashes, their_places[other.kept.codes], len(classes)
        )
        return Sums(classes, rows, totals, self.products + other.products, kept, self.scaling)

    def __radd__(self, other: int) -> Sums:
        """For the built-in `sum`, which starts at 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def renamed(self, names: NumPyArray) -> Sums:
        """The same sums under other names of the classes (C,), one for each; classes that share a name become one."""
        classes, places = np.unique(names, return_inverse=True)
        rows, totals = np.zeros(len(classes)), np.zeros((len(classes), self.totals.shape[1]))
        np.add.at(rows, places, self.rows)
        np.add.at(totals, places, self.totals)
        kept = KeptRows.none(totals.shape[1]).with_rows(
            self.kept.rows, self.kept.hashes, places[self.kept.codes], len(classes)
        )
        return replace(self, classes=classes, rows=rows, totals=totals, kept=kept)

    @property
    def means(self) -> Floats:
        """(C, d) class means μ_c."""
        return self.totals / self.rows[:, None]

    @property
    def scatter(self) -> Floats:
        """(d, d) within-class scatter S = (Σxxᵀ − Σ_c N_c μ_c μ_cᵀ) / N; its diagonal (d,) of sparse rows."""
        if self.products.ndim == 1:
            alone: Floats = (self.products - (self.totals * self.means).sum(axis=0)) / self.rows.sum()
            return alone
        return to_numpy(self.scatter_on(self.products))

    def scatter_on(self, place: Array) -> Array:
        """`scatter` (d, d) where `place` lies, in float64."""
        products, totals, means = (like(part, place, "float64") for part in (self.products, self.totals, self.means))
        within = products - totals.T @ means
        return (within + within.T) / (2 * float(self.rows.sum()))


def add_up(
    X: Array,
    codes: NDArray[np.int64],
    classes: NumPyArray,
    scaled: Callable[[slice], tuple[Array, Array]],
    keep: bool,
    scaling: str,
    weights: NumPyArray | None = None,
    gpu: bool = False,
) -> Sums:
    """Of all rows of X (n, d) with class indices `codes` (n,). `scaled` gives raw and scaled rows of a slice.

    `scaling` says how they were scaled. With `weights` (n,) a row counts as often as its weight says.
    On a GPU, where many small steps would wait for each other, blocks are larger.
    """
    n, d = X.shape
    if are_sparse(X):
        raw, found = scaled(slice(0, n))
        return _added_up(raw, found, codes, classes, keep, scaling, weights)
    rows, totals = np.zeros(len(classes)), np.zeros((len(classes), d))
    products: Any = None
    height = max(BLOCK_ROWS, (GPU_VALUES if gpu else BLOCK_VALUES) // d)
    keeping = Keeping(d, np.bincount(codes, minlength=len(classes)) if keep else np.zeros(len(classes), np.int64))
    for start in range(0, n, height):
        raw, block = scaled(slice(start, min(start + height, n)))
        part = codes[start : start + height]
        exact = like(block, block, "float64")
        mine = np.ones(len(part)) if weights is None else weights[start : start + height]
        products = _with_squares(products, exact if weights is None else exact * like(np.sqrt(mine)[:, None], exact))
        present, places = np.unique(part, return_inverse=True)
        totals[present] += _by_class(exact, places, len(present), mine)
        rows += np.bincount(part, mine, minlength=len(classes))
        if keep:
            single = to_numpy(block).astype(np.float32, copy=False)
            keeping.see(single, hashes(to_numpy(raw)), part)
        give_back(X)
    if not is_torch(products):
        products += np.triu(products, 1).T
    return Sums(classes, rows, totals, to_numpy(products), keeping.kept(), scaling)


def _with_squares(products: Any, rows: Array) -> Any:
    """Products (d, d) of earlier rows, or None, and Σxxᵀ of these (n, d). NumPy's are 0 below the diagonal."""
    if is_torch(rows):
        return rows.T @ rows if products is None else products + rows.T @ rows
    start = np.zeros((rows.shape[1],) * 2, order="F") if products is None else products
    return dsyrk(1.0, to_numpy(rows).T, beta=1.0, c=start, overwrite_c=1)  # half of the work, and nothing to add


def _by_class(rows: Array, codes: NDArray[np.int64], classes: int, weights: Floats) -> Floats:
    """(classes, d) the weighted sum of the rows (n, d) of each class."""
    at = np.arange(len(codes))
    if is_torch(rows):
        member = np.zeros((classes, len(codes)))
        member[codes, at] = weights
        found: Floats = to_numpy(like(member, rows) @ rows)
        return found
    summed: Floats = csr_array((weights, (codes, at)), shape=(classes, len(codes))) @ to_numpy(rows)
    return summed


def _added_up(
    raw: Any,
    scaled: Any,
    codes: NDArray[np.int64],
    classes: NumPyArray,
    keep: bool,
    scaling: str,
    weights: NumPyArray | None,
) -> Sums:
    """`add_up` of sparse rows, all at once."""
    kept = KeptRows.none(raw.shape[1])
    if keep:
        kept = kept.with_rows(scaled.astype(np.float32), hashes(raw), codes, len(classes))
    rows = np.bincount(codes, weights, minlength=len(classes)).astype(np.float64)
    totals = scaled.sums_by(codes, len(classes), weights)
    return Sums(classes, rows, totals, scaled.column_squares(weights), kept, scaling)
