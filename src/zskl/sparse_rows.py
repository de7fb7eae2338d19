"""Rows that are mostly zeros, such as counts of words: only the other values are kept.

    X = S − B M,   S (n, d) sparse,   B (n, r),   M (r, d),   r ≤ 2

Centring subtracts a mean, which would fill every place. So what is subtracted stays apart: a product with X is one with
S, corrected by a product of rank r. Nothing of the size n × d is ever made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats: TypeAlias = NDArray[np.float64]
Dense: TypeAlias = np.ndarray[Any, Any]
ROUNDING = 4  # units in the last place
NOISE = 64 * 2.0**-52  # of ‖m‖²: what is left of it after a subtraction is rounding below this
PARTS = ("values", "columns", "starts", "weights", "subtracted")  # what a file holds


def is_sparse(given: Any) -> bool:
    """Whether a caller's array is sparse: SciPy's of any format, or a pandas frame whose columns all are."""
    if sparse.issparse(given):
        return True
    kinds = getattr(given, "dtypes", None) if hasattr(given, "iloc") and getattr(given, "ndim", 0) == 2 else None
    return kinds is not None and len(kinds) > 0 and all(hasattr(kind, "fill_value") for kind in kinds)


def are_sparse(rows: object) -> TypeGuard[Any]:
    """Whether these are `SparseRows`, which stand where an array could."""
    return isinstance(rows, SparseRows)


class SparseRows:
    """n rows in d columns: `values` S without the `weights` B times what is `subtracted` M."""

    __array_ufunc__ = None  # NumPy leaves `array @ rows` to this class
    ndim, device = 2, "cpu"

    def __init__(self, values: Any, weights: Floats | None = None, subtracted: Floats | None = None) -> None:
        self.values = values  # a csr_array without duplicates
        n, d = values.shape
        self.weights: Floats = np.empty((n, 0)) if weights is None else weights
        self.subtracted: Floats = np.empty((0, d)) if subtracted is None else subtracted

    @classmethod
    def of(cls, given: Any) -> SparseRows:
        """From SciPy's sparse arrays and matrices of any format; a single row may be 1-D."""
        if hasattr(given, "iloc"):
            given = given.sparse.to_coo()
        values = sparse.csr_array(given.reshape(1, -1) if given.ndim == 1 else given)
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        if not values.has_canonical_format:
            values = values.copy()
            values.sum_duplicates()
        return cls(values)

    # What it has in common with an array ------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def T(self) -> Columns:
        return Columns(self)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        """Rows by a slice, by their numbers or by a mask; of values as they were given also columns, or one value."""
        if isinstance(rows, tuple):
            found = self.values[rows]
            return SparseRows.of(found) if sparse.issparse(found) else found
        rows = rows if isinstance(rows, slice) else np.asarray(rows)
        if not isinstance(rows, slice) and rows.size == 0:
            rows = slice(0, 0)
        return SparseRows(self.values[rows], self.weights[rows], self.subtracted)

    def astype(self, dtype: Any) -> SparseRows:
        return SparseRows(self.values.astype(dtype, copy=False), self.weights, self.subtracted)

    def __sub__(self, row: Dense) -> SparseRows:
        """x − row for each row x."""
        if not row.any():
            return self
        weights = np.concatenate([self.weights, np.ones((len(self), 1))], axis=1)
        return SparseRows(self.values, weights, np.concatenate([self.subtracted, row[None].astype(np.float64)]))

    def __mul__(self, row: Dense) -> SparseRows:
        """Each column times its own factor."""
        data = self.values.data * row[self.values.indices].astype(self.dtype)
        return SparseRows(self._with(data), self.weights, self.subtracted * row)

    def __truediv__(self, row: Dense) -> SparseRows:
        return self * (1 / row.astype(np.float64))

    def __matmul__(self, other: Any) -> Dense:
        """(n, d) @ (d, k) → a dense (n, k)."""
        if isinstance(other, Columns):
            return self._products(other.rows)
        return self._corrected(self.values @ other, self.weights @ (self.subtracted @ other))

    def __rmatmul__(self, other: Dense) -> Dense:
        """(k, n) @ (n, d) → a dense (k, d)."""
        found: Dense = (self.T @ other.T).T
        return found

    def _products(self, other: SparseRows) -> Dense:
        """(n, c) of these rows with those."""
        B, M, E, N = self.weights, self.subtracted, other.weights, other.subtracted
        off = (self.values @ N.T) @ E.T + B @ (other.values @ M.T).T - B @ ((M @ N.T) @ E.T)
        return self._corrected((self.values @ other.values.T).toarray(), off)

    def _corrected(self, found: Dense, off: Dense) -> Dense:
        return found if not off.any() else (found - off).astype(found.dtype, copy=False)

    def mean(self, axis: int = 0, weights: Floats | None = None) -> Floats:
        """(d,) over the rows, in float64; with weights (n,) a row counts as often as its own says."""
        counts = _counts(len(self), weights)
        found: Floats = (counts[None] @ self.astype(np.float64))[0] / max(counts.sum(), np.finfo(float).tiny)
        return found

    # What only sparse rows need ---------------------------------------------------------------------------------------

    @property
    def owners(self) -> NDArray[np.int64]:
        """(stored,) the row of each stored value."""
        return np.repeat(np.arange(len(self)), np.diff(self.values.indptr))

    def _with(self, data: Dense) -> Any:
        """S with other values in the same places."""
        return sparse.csr_array((data, self.values.indices, self.values.indptr), shape=self.shape)

    def _by_row(self, data: Dense) -> Floats:
        """(n,) sums of what belongs to the stored values."""
        return np.bincount(self.owners, weights=data, minlength=len(self)).astype(np.float64)  # of no data: integers

    def any(self, axis: int = 1) -> NDArray[np.bool_]:
        """(n,) whether a row has a value that is not 0, where nothing is subtracted."""
        return self._by_row(np.abs(self.values.data)) > 0

    def not_finite(self) -> NDArray[np.int64]:
        """(k, 2) the places of values that are NaN or infinite, row by row."""
        wrong = np.flatnonzero(~np.isfinite(self.values.data))
        return np.stack([self.owners[wrong], self.values.indices[wrong]], axis=1)

    def squares(self) -> Floats:
        """(n,) ‖x‖² in float64.

        Where a row has values, (s − m)² is added up as it is. The rest of ‖m‖² is what m has elsewhere.
        """
        data = self.values.data.astype(np.float64)
        if not len(self.subtracted):
            return self._by_row(data * data)
        there = (self.weights[self.owners] * self.subtracted.T[self.values.indices]).sum(axis=1)
        whole = ((self.weights @ (self.subtracted @ self.subtracted.T)) * self.weights).sum(axis=1)
        elsewhere = whole - self._by_row(there * there)
        return self._by_row((data - there) ** 2) + np.where(elsewhere > NOISE * whole, elsewhere, 0.0)

    def unit(self) -> SparseRows:
        """Rows of unit length. One that is 0, or equals what is subtracted up to rounding, becomes 0."""
        largest = np.zeros(len(self))
        np.maximum.at(largest, self.owners, np.abs(self.values.data).astype(np.float64))
        largest += np.abs(self.weights) @ np.abs(self.subtracted).max(axis=1, initial=0.0)
        small = self.rows_times(1 / np.where(largest > 0, largest, 1.0))  # so that no square leaves the range
        squares = small.squares()
        parts = small._by_row(small.values.data.astype(np.float64) ** 2)
        parts += ((small.weights @ (small.subtracted @ small.subtracted.T)) * small.weights).sum(axis=1)
        clear = squares > max(NOISE, float(ROUNDING * np.finfo(self.dtype).eps) ** 2) * parts
        return small.rows_times(np.where(clear, 1 / np.sqrt(np.where(clear, squares, 1.0)), 0.0))

    def rows_times(self, factors: Floats) -> SparseRows:
        """Each row times its own factor."""
        data = (self.values.data * factors[self.owners]).astype(self.dtype, copy=False)
        return SparseRows(self._with(data), self.weights * factors[:, None], self.subtracted)

    def square_roots(self) -> SparseRows:
        """sign(x)·√|x|."""
        if len(self.subtracted):
            raise ValueError(
                "a scaling takes square roots after it has centred, which would fill every place of sparse rows: "
                "expected 'sqrt' first, as in 'sqrt-center-l2'"
            )
        return SparseRows(self._with(np.sign(self.values.data) * np.sqrt(np.abs(self.values.data))))

    def column_squares(self, weights: Floats | None = None) -> Floats:
        """(d,) the sum of x² of each column, in float64, for weights (n,) of the rows."""
        exact, counts = self.values.astype(np.float64), _counts(len(self), weights)
        squares = np.bincount(exact.indices, counts[self.owners] * exact.data**2, minlength=self.shape[1])
        heavy = self.weights * counts[:, None]
        crossed, inner = (exact.T @ heavy).T, heavy.T @ self.weights  # (r, d), (r, r)
        found: Floats = squares + ((inner @ self.subtracted - 2 * crossed) * self.subtracted).sum(axis=0)
        return np.maximum(found, 0.0)

    def variances(self, mean: Floats, weights: Floats | None = None) -> Floats:
        """(d,) of each column about its mean, where nothing is subtracted yet, for weights (n,) of the rows."""
        columns, d, counts = self.values.indices, self.shape[1], _counts(len(self), weights)
        mine = counts[self.owners]
        apart = np.bincount(columns, mine * (self.values.data - mean[columns]) ** 2, minlength=d)
        zeros = np.maximum(counts.sum() - np.bincount(columns, mine, minlength=d), 0.0)
        found: Floats = (apart + zeros * mean**2) / counts.sum()
        return found

    def sums_by(self, codes: NDArray[np.int64], classes: int, weights: Floats | None = None) -> Floats:
        """(C, d) the sum of the rows of each class, each times its weight, in float64."""
        places = codes, np.arange(len(self))
        member = sparse.csr_array((_counts(len(self), weights), places), shape=(classes, len(self)))
        found: Floats = (member @ self.values.astype(np.float64)).toarray() - (member @ self.weights) @ self.subtracted
        return found

    def combined(self, weights: Dense) -> SparseRows:
        """Weighted sums (k, d) of rows, for weights (k, n)."""
        factors = sparse.csr_array(weights.astype(self.dtype))
        return SparseRows(sparse.csr_array(factors @ self.values), weights @ self.weights, self.subtracted)

    # Files ------------------------------------------------------------------------------------------------------------

    def parts(self) -> dict[str, Dense]:
        """What a file holds of it, by the names in `PARTS`."""
        columns, starts = (array.astype(np.int64) for array in (self.values.indices, self.values.indptr))
        return dict(zip(PARTS, (self.values.data, columns, starts, self.weights, self.subtracted), strict=True))

    @classmethod
    def from_parts(cls, parts: Mapping[str, Dense], shape: tuple[int, int]) -> SparseRows:
        """Refuses what does not fit together: SciPy would read beyond its arrays."""
        data, columns, starts, weights, subtracted = (parts[name] for name in PARTS)
        n, d = shape
        r = subtracted.shape[0] if subtracted.ndim else -1
        fits = (
            data.ndim == 1
            and data.shape == columns.shape
            and starts.shape == (n + 1,)
            and (weights.shape, subtracted.shape) == ((n, r), (r, d))
            and all(array.dtype.kind == "i" for array in (columns, starts))
            and all(array.dtype.kind == "f" and np.isfinite(array).all() for array in (data, weights, subtracted))
            and (starts[0], starts[-1]) == (0, len(data))
            and bool((np.diff(starts) >= 0).all())
            and bool(((columns >= 0) & (columns < d)).all())
        )
        if not fits:
            raise ValueError(f"sparse rows of shape {shape} whose parts do not fit together")
        values = cls.of(sparse.csr_array((data, columns, starts), shape=shape)).values
        return cls(values, weights.astype(np.float64), subtracted.astype(np.float64))


class Columns:
    """Sparse rows, transposed: for products alone."""

    __array_ufunc__ = None

    def __init__(self, rows: SparseRows) -> None:
        self.rows = rows

    def __matmul__(self, other: Dense) -> Dense:
        """(d, n) @ (n, k) → a dense (d, k)."""
        rows = self.rows
        return rows._corrected(rows.values.T @ other, rows.subtracted.T @ (rows.weights.T @ other))

    def __rmatmul__(self, other: Dense) -> Dense:
        """(k, d) @ (d, n) → a dense (k, n)."""
        found: Dense = (self.rows @ other.T).T
        return found


def _counts(n: int, weights: Floats | None) -> Floats:
    return np.ones(n) if weights is None else weights


def dense(rows: Any) -> Any:
    """A few rows, such as one for each class, as an ordinary array."""
    if not are_sparse(rows):
        return rows
    return rows._corrected(rows.values.toarray(), rows.weights @ rows.subtracted)


def stacked(*parts: Any) -> Any:
    """Rows on top of each other: sparse if one part is; all that have something subtracted must have the same."""
    if not any(are_sparse(part) for part in parts):
        return np.concatenate(parts)
    rows = [part if are_sparse(part) else SparseRows.of(sparse.csr_array(part)) for part in parts]
    rows = [part for part in rows if len(part)] or rows[:1]
    subtracted = rows[0].subtracted
    assert all(np.array_equal(part.subtracted, subtracted) for part in rows)  # fitted on the same rows
    values = sparse.csr_array(sparse.vstack([part.values for part in rows]))
    return SparseRows(values, np.concatenate([part.weights for part in rows]), subtracted)
