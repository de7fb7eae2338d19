"""What class means learn from training rows: `Sums` are all that is read from these, with some rows to keep, and
`FitCache` works out the rest, the whitened space and the kernel's weights, for any settings."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk
from scipy.sparse import csr_array

from zskl import kernels
from zskl._arrays import (
    Array,
    NumPyArray,
    SparseRows,
    convert_like,
    is_sparse_rows,
    is_torch,
    largest_entries,
    namespace,
    release_pages,
    stack_rows,
    to_dense,
    to_numpy,
)
from zskl.estimators._blocks import Blocks, Spectrum, scale_to_unit_length
from zskl.estimators._candidates import Question

Floats = NDArray[np.float64]

# Of each class the rows with the smallest hash of their content are kept, equal ones once. So any way to cut the
# training rows into pieces, any order of the pieces, and a weight in place of copies keep the same rows.

KEPT = 4096  # rows in all, at most; every class keeps at least one
WAITING = 1024  # rows that are sorted in together
_WORDS = 256  # hashed together
_COLUMNS = 64  # put in order together
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio: spreads sums over all 64 bits


def hash_rows(X: NDArray[np.floating] | SparseRows) -> NDArray[np.uint64]:
    """(n,) of rows (n, d), the same if they are equal in float32; a zero adds nothing, so sparse rows have the same."""
    draw = np.random.default_rng(0)
    odd = np.array(draw.integers(0, 1 << 63, X.shape[1], dtype=np.uint64)) * np.uint64(2) + np.uint64(1)
    mixed = np.zeros(len(X), np.uint64)
    if is_sparse_rows(X):
        words = X.values.data.astype(np.float32).view(np.uint32).astype(np.uint64)
        np.add.at(mixed, X.owners, words * odd[X.values.indices])
    else:
        words = np.ascontiguousarray(X, np.float32).view(np.uint32)
        # Some columns at a time: all words in 64 bits would be a second, larger copy of the rows.
        for start in range(0, words.shape[1], _WORDS):
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
    def empty(cls, d: int) -> KeptRows:
        return cls(np.empty((0, d), np.float32), np.empty(0, np.uint64), np.empty(0, np.int64))

    def add(self, rows: Any, hashes: NDArray[np.uint64], codes: NDArray[np.int64], classes: int) -> KeptRows:
        all_hashes, all_codes = np.concatenate([self.hashes, hashes]), np.concatenate([self.codes, codes])
        order = _select_rows(all_hashes, all_codes, classes)
        if is_sparse_rows(rows) or is_sparse_rows(self.rows):
            return KeptRows(stack_rows(self.rows, rows)[order], all_hashes[order], all_codes[order])
        old = len(self.hashes)
        selected = np.empty((len(order), self.rows.shape[1]), np.float32)
        mine = order < old
        selected[mine], selected[~mine] = self.rows[order[mine]], rows[order[~mine] - old]
        return KeptRows(selected, all_hashes[order], all_codes[order])


def _rows_per_class(classes: int) -> int:
    return max(1, KEPT // classes)


def _select_rows(hashes: NDArray[np.uint64], codes: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    order = np.lexsort((hashes, codes))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(codes[order]) != 0) | (hashes[order][1:] != hashes[order][:-1])
    order = order[new]
    sorted_codes = codes[order]
    rank = np.arange(len(order)) - np.searchsorted(sorted_codes, sorted_codes)
    return order[rank < _rows_per_class(classes)]


class RowKeeper:
    """The `KeptRows` of dense rows that come block by block; a row stays in its place, so there is no second copy."""

    def __init__(self, d: int, sizes: NDArray[np.int64]) -> None:
        self._classes = len(sizes)  # of which so many rows will come
        self._rows = np.empty((int(np.minimum(sizes, _rows_per_class(self._classes)).sum()), d), np.float32)
        self._hashes, self._codes = np.empty(0, np.uint64), np.empty(0, np.int64)  # of kept rows, in their order
        self._places = np.empty(0, np.int64)  # where these lie in `_rows`
        self._limits: NDArray[np.uint64] | None = None  # (C,) a row with a larger hash is not kept
        self._waiting: list[tuple[NDArray[np.float32], NDArray[np.uint64], NDArray[np.int64]]] = []

    def add(self, rows: NDArray[np.float32], hashes: NDArray[np.uint64], codes: NDArray[np.int64]) -> None:
        if self._limits is not None:
            near = np.flatnonzero(hashes <= self._limits[codes])
            rows, hashes, codes = rows[near], hashes[near], codes[near]
        for start in range(0, len(rows), WAITING):
            piece = slice(start, start + WAITING)
            self._waiting.append((rows[piece], hashes[piece], codes[piece]))
            if sum(len(some) for _, some, _ in self._waiting) >= WAITING:
                self._sort_in()

    def finish(self) -> KeptRows:
        self._sort_in()
        rows = self._rows[: len(self._places)]
        # Put in order in place, some columns at a time: there is no copy of all rows.
        for start in range(0, rows.shape[1], _COLUMNS):
            columns = slice(start, start + _COLUMNS)
            rows[:, columns] = self._rows[self._places, columns]
        return KeptRows(rows, self._hashes, self._codes)

    def _sort_in(self) -> None:
        if not self._waiting:
            return
        all_hashes = np.concatenate([self._hashes, *(hashes for _, hashes, _ in self._waiting)])
        all_codes = np.concatenate([self._codes, *(codes for _, _, codes in self._waiting)])
        order, start = _select_rows(all_hashes, all_codes, self._classes), len(self._hashes)
        stay = order < start
        places = np.empty(len(order), np.int64)
        places[stay] = self._places[order[stay]]
        free = np.setdiff1d(np.arange(len(self._rows)), places[stay], assume_unique=True)
        places[~stay] = free[: len(order) - np.count_nonzero(stay)]
        for rows, hashes, _ in self._waiting:
            new = np.flatnonzero((order >= start) & (order < start + len(hashes)))
            self._rows[places[new]] = rows[order[new] - start]
            start += len(hashes)
        self._waiting.clear()
        self._hashes, self._codes, self._places = all_hashes[order], all_codes[order], places
        full = np.bincount(self._codes, minlength=self._classes) >= _rows_per_class(self._classes)
        last = np.searchsorted(self._codes, np.arange(self._classes), side="right") - 1  # the largest of a class
        self._limits = np.where(full, self._hashes[last], np.iinfo(np.uint64).max)


BLOCK_VALUES = 1 << 18  # read together: 2 MB in float64
VALIDATED, MOST_VALIDATED = 0.25, 3000  # the share of the rows of a class to validate on, and how many rows of all
GPU_VALUES = 1 << 21
BLOCK_ROWS = 512  # or so many rows, if that is more: a product of few rows is slower than adding it


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows of C classes in d features, in float64: all that class means are learned from. Two of them add up
    exactly to those of all rows together. With weights w they are Σw, Σwx and Σwxxᵀ."""

    classes: NumPyArray  # (C,) sorted
    rows: Floats  # (C,) how many rows each class has, or what they weigh together
    totals: Floats  # (C, d) the sum of its scaled rows
    products: Floats  # (d, d) the sum of xxᵀ over all scaled rows; of sparse rows its diagonal (d,)
    kept: KeptRows
    scaling: str  # how the rows were scaled

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
                    "same; add up all pieces in the same way, by a feature_scaling that you name"
                )
        classes = np.unique(np.concatenate([self.classes, other.classes]))
        my_places, their_places = (np.searchsorted(classes, one.classes) for one in (self, other))
        rows, totals = np.zeros(len(classes)), np.zeros((len(classes), self.totals.shape[1]))
        for places, one in ((my_places, self), (their_places, other)):
            rows[places] += one.rows
            totals[places] += one.totals
        kept = KeptRows(self.kept.rows, self.kept.hashes, my_places[self.kept.codes]).add(
            other.kept.rows, other.kept.hashes, their_places[other.kept.codes], len(classes)
        )
        return Sums(classes, rows, totals, self.products + other.products, kept, self.scaling)

    def __radd__(self, other: int) -> Sums:
        """For the built-in `sum`, which starts at 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def without(self, kept: NDArray[np.int64]) -> Sums:
        """The sums of all other rows, without those at these places (m,) of `kept`, each of which counted once."""
        rows, codes = self.kept.rows[kept], self.kept.codes[kept]
        exact: Any = rows if is_sparse_rows(rows) else rows.astype(np.float64)
        left = np.setdiff1d(np.arange(len(self.kept.codes)), kept)
        if is_sparse_rows(rows):
            totals, products = rows.sum_by_class(codes, len(self.classes)), rows.column_squares()
        else:
            totals, products = _sum_by_class(exact, codes, len(self.classes), np.ones(len(codes))), exact.T @ exact
        return replace(
            self,
            rows=self.rows - np.bincount(codes, minlength=len(self.classes)),
            totals=self.totals - totals,
            products=self.products - products,
            kept=KeptRows(self.kept.rows[left], self.kept.hashes[left], self.kept.codes[left]),
        )

    def validation_places(self) -> NDArray[np.int64]:
        """Places in `kept` of rows to validate on: of each class a share, those of the smallest hash, at least one. A
        class of a single row has none; neither has one whose weights make less than two rows."""
        most_each = max(1, MOST_VALIDATED // len(self.classes))
        wanted = np.minimum(np.maximum(1, np.floor(VALIDATED * self.rows)), most_each)
        wanted[self.rows < 2] = 0
        rank = np.arange(len(self.kept.codes)) - np.searchsorted(self.kept.codes, self.kept.codes)
        return np.flatnonzero(rank < wanted[self.kept.codes])

    def rename_classes(self, names: NumPyArray) -> Sums:
        """The same sums under other names of the classes (C,), one for each; classes that share a name become one."""
        classes, places = np.unique(names, return_inverse=True)
        rows, totals = np.zeros(len(classes)), np.zeros((len(classes), self.totals.shape[1]))
        np.add.at(rows, places, self.rows)
        np.add.at(totals, places, self.totals)
        kept = KeptRows.empty(totals.shape[1]).add(
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
            return np.asarray((self.products - (self.totals * self.means).sum(axis=0)) / self.rows.sum())
        return to_numpy(self.scatter_on(self.products))

    def scatter_on(self, place: Array) -> Array:
        """`scatter` (d, d) where `place` lies, in float64."""
        products, totals, means = (
            convert_like(part, place, "float64") for part in (self.products, self.totals, self.means)
        )
        within = products - totals.T @ means
        return (within + within.T) / (2 * float(self.rows.sum()))


def sum_rows(
    X: Array,
    codes: NDArray[np.int64],
    classes: NumPyArray,
    read_scaled: Callable[[slice], tuple[Array, Array]],
    keep: bool,
    scaling: str,
    weights: NumPyArray | None = None,
    gpu: bool = False,
) -> Sums:
    """Sums of all rows of X (n, d) with class indices `codes` (n,). `read_scaled` gives raw and scaled rows of a slice.
    On a GPU, where many small steps would wait for each other, blocks are larger."""
    n, d = X.shape
    raw: Any
    scaled: Any
    if is_sparse_rows(X):
        raw, scaled = read_scaled(slice(0, n))
        kept = KeptRows.empty(d)
        if keep:
            kept = kept.add(scaled.astype(np.float32), hash_rows(raw), codes, len(classes))
        counts = np.bincount(codes, weights, minlength=len(classes)).astype(np.float64)
        totals = scaled.sum_by_class(codes, len(classes), weights)
        return Sums(classes, counts, totals, scaled.column_squares(weights), kept, scaling)
    rows, totals = np.zeros(len(classes)), np.zeros((len(classes), d))
    products: Any = None
    height = max(BLOCK_ROWS, (GPU_VALUES if gpu else BLOCK_VALUES) // d)
    keeper = RowKeeper(d, np.bincount(codes, minlength=len(classes)) if keep else np.zeros(len(classes), np.int64))
    for start in range(0, n, height):
        raw, block = read_scaled(slice(start, min(start + height, n)))
        part = codes[start : start + height]
        exact = convert_like(block, block, "float64")
        mine = np.ones(len(part)) if weights is None else weights[start : start + height]
        weighted = exact if weights is None else exact * convert_like(np.sqrt(mine)[:, None], exact)
        products = _add_products(products, weighted)
        present, places = np.unique(part, return_inverse=True)
        totals[present] += _sum_by_class(exact, places, len(present), mine)
        rows += np.bincount(part, mine, minlength=len(classes))
        if keep:
            keeper.add(to_numpy(block).astype(np.float32, copy=False), hash_rows(to_numpy(raw)), part)
        release_pages(X)
    if not is_torch(products):
        products += np.triu(products, 1).T
    return Sums(classes, rows, totals, to_numpy(products), keeper.finish(), scaling)


def _add_products(products: Any, rows: Array) -> Any:
    """Products (d, d) of earlier rows, or None, and Σxxᵀ of these (n, d). NumPy's are 0 below the diagonal."""
    if is_torch(rows):
        return rows.T @ rows if products is None else products + rows.T @ rows
    start = np.zeros((rows.shape[1],) * 2, order="F") if products is None else products
    # dsyrk computes the upper half only, and adds in place.
    return dsyrk(1.0, to_numpy(rows).T, beta=1.0, c=start, overwrite_c=1)


def _sum_by_class(rows: Array, codes: NDArray[np.int64], classes: int, weights: Floats) -> Floats:
    at = np.arange(len(codes))
    if is_torch(rows):
        member = np.zeros((classes, len(codes)))
        member[codes, at] = weights
        return to_numpy(convert_like(member, rows) @ rows)
    return np.asarray(csr_array((weights, (codes, at)), shape=(classes, len(codes))) @ to_numpy(rows))


# A class is a direction in the features whitened by the within-class scatter:
#
#     S_ρ = (1 − ρ) S + ρ tr(S)/d · I,   x̃ = S_ρ^(−1/2) (x − g),   x̂ = x̃ / ‖x̃‖
#
# g is the mean of the class means. One eigendecomposition S = Q diag(λ) Qᵀ serves every shrinkage ρ. Coordinates are
# those in the basis Q, which changes no inner product. Of sparse rows S is its diagonal, and Q is left out.

ROTATION_BLOCK_VALUES = 1 << 17  # worked on together: what stays in a cache
SMALLEST, LARGEST = 1e-30, 1e30  # mean squares of columns
ZERO_SHARE = 1e-12  # of the largest eigenvalue: what is less is rounding


@dataclass(frozen=True, eq=False)
class Space:
    """A whitened space before a shrinkage."""

    basis: tuple[Floats, ...] | None  # Q (d, d) of each block; None: the identity
    spectrum: Spectrum
    center: Floats  # g (d,)
    means: Floats  # (C, d) of the classes, in the basis, centred
    rows: Floats  # (C,)
    placed: dict[Any, list[Array]] = field(default_factory=dict)  # the basis on devices

    @classmethod
    def from_sums(cls, sums: Sums, place: Array, blocks: Blocks) -> Space:
        check_range(sums)
        center = sums.means.mean(axis=0)
        if sums.products.ndim == 1:
            spectrum = Spectrum(np.maximum(sums.scatter, 0.0), blocks)
            return cls(None, spectrum, center, sums.means - center, sums.rows)
        scatter = sums.scatter_on(place)
        values, bases = [], []
        for part in blocks.columns:
            eigenvalues, basis = (to_numpy(one) for one in namespace(scatter).linalg.eigh(scatter[part, part]))
            values.append(np.maximum(eigenvalues, 0.0))
            bases.append(fix_null_space(basis, values[-1] <= ZERO_SHARE * values[-1][-1]))
        means = blocks.join([one @ basis for one, basis in zip(blocks.split(sums.means - center), bases, strict=True)])
        return cls(tuple(bases), Spectrum(np.concatenate(values), blocks), center, means, sums.rows)

    def center_and_rotate(self, X: Array) -> Array:
        """(x − g) Q of scaled rows (n, d)."""
        return self.rotate(X - convert_like(self.center, X))

    def rotate(self, X: Array) -> Array:
        if self.basis is None:
            return X
        if not is_torch(X):
            bases = [convert_like(basis, X) for basis in self.basis]
        else:
            # Moving the basis to a device costs more than a product with it, so it is moved once.
            here = X.device, X.dtype
            if here not in self.placed:
                self.placed[here] = [convert_like(basis, X) for basis in self.basis]
            bases = self.placed[here]
        blocks = self.spectrum.blocks
        return blocks.join([part @ basis for part, basis in zip(blocks.split(X), bases, strict=True)])

    @classmethod
    def unwhitened(cls, sums: Sums, blocks: Blocks) -> Space:
        """Without centring and whitening: what plain cosine compares in."""
        check_range(sums)
        d, diagonal = len(sums.products), sums.products.ndim == 1
        scatter = sums.scatter if diagonal else np.diagonal(sums.scatter)
        values = []
        for part in blocks.split(scatter):
            # The trace, where there is one: its sum is rounded otherwise.
            total = part.sum() if diagonal or len(blocks) > 1 else np.trace(sums.scatter)
            values.append(np.full(len(part), max(total / len(part), 0.0)))
        within = np.concatenate(values)
        basis = None if diagonal else tuple(np.eye(len(part)) for part in blocks.split(scatter))
        return cls(basis, Spectrum(within, blocks), np.zeros(d), sums.means, sums.rows)


def check_range(sums: Sums) -> None:
    """Refuse rows whose squares are no numbers in single precision, in which a model computes."""
    largest = float(np.abs(sums.products).max())
    if not SMALLEST <= largest / float(sums.rows.sum()) <= LARGEST and largest != 0:
        raise ValueError(
            f"rows scaled by {sums.scaling!r} have squares of {largest / float(sums.rows.sum()):.1g}: expected "
            f"{SMALLEST:g} to {LARGEST:g}; use feature_scaling='auto' or 'l2', or divide the rows by their size"
        )


def whitened_lengths(rotated: Array, weights: Array) -> Array:
    """(n,) ‖x̃‖ of rotated rows (n, d), a block at a time; 1 for a row of zeros."""
    xp = namespace(rotated)
    height = rotated.shape[0] if is_torch(rotated) else max(1, ROTATION_BLOCK_VALUES // rotated.shape[1])
    parts = []
    for start in range(0, rotated.shape[0], height):
        block = rotated[start : start + height] * weights
        parts.append(xp.sqrt(xp.sum(block * block, axis=1)))
    found = xp.concat(parts)
    return xp.where(found > 0, found, xp.ones_like(found))


def to_half_precision(rows: Array) -> Any:
    return rows if is_sparse_rows(rows) else to_numpy(rows).astype(np.float16)


def fix_null_space(basis: Floats, idle: NDArray[np.bool_]) -> Floats:
    """The basis (d, d) with other vectors for the space of its `idle` columns, in which no row differs from its class.
    Rounding would choose these; Gram and Schmidt from a fixed start make them depend on the space alone."""
    d, k = len(basis), int(idle.sum())
    if k < 2:
        return basis
    start = np.random.default_rng(0).standard_normal((d, k))
    fixed = basis.copy()
    fixed[:, idle] = basis[:, idle] @ np.linalg.qr(basis[:, idle].T @ start)[0]
    return fixed


# What a description says of a class's direction is the mean of a Gaussian process over signatures:
#
#     m(y) = s·y° + k(y, Y) (K + νI)⁻¹ (M̂ − s·Y°)
#
# Y (rows, p) are the scaled signatures of the training classes, M̂ the directions of their whitened means, one row for
# each signature. The prior mean s·y° is 0; or, in a shared space, the whitened signature itself, with the slope s ≥ 0
# by least squares.

KERNELS = ("gaussian", "linear")
PRIORS = ("auto", "zero", "identity", "cosine")
TINY = 1e-12
ROUNDED = 1e-12  # of the largest squared distance: what is less is rounding
ONE_ROW_WORTH = 2.0  # n₀ where no class has two rows
LEAST_ERROR = 0.02  # of a description, as a share of ‖θ‖²: n₀ stays finite
CERTAINTY_LIMIT = 5.0  # a description counts at most so many times as much as a usual one, or as little


@dataclass(frozen=True)
class SignatureKernel:
    """k(y, y′) = yᵀy′, or exp(−‖y − y′‖² / width) with width = bandwidth · the median between different classes. Of
    several tables side by side each has a kernel, and k is their weighted mean."""

    name: str
    widths: tuple[float, ...]
    tables: Blocks

    def __call__(self, A: Array, B: Array) -> Array:
        """(a, p), (b, p) → (a, b)."""
        return self.add_up(self.of_tables(A, B))

    def of_tables(self, A: Array, B: Array) -> list[Array]:
        """(a, b) of each table."""
        parts = zip(self.tables.split(A), self.tables.split(B), self.widths, strict=True)
        if self.name == "linear":
            return [mine @ theirs.T for mine, theirs, _ in parts]
        return [namespace(A).exp(squared_distances(mine, theirs) / -width) for mine, theirs, width in parts]

    def add_up(self, found: Sequence[Array]) -> Array:
        if len(found) == 1:
            return found[0]
        total = found[0] * float(self.tables.shares[0]) ** 2
        for one, share in zip(found[1:], self.tables.shares[1:].tolist(), strict=True):
            total = total + share**2 * one
        return total

    def diagonal(self, A: Array) -> Array:
        """k(a, a) (a,)."""
        found = self.add_up([squared_norms(part) for part in self.tables.split(A)])
        return found if self.name == "linear" else namespace(found).ones_like(found)


def squared_norms(A: Array) -> Array:
    """‖a‖² (a,)."""
    return A.squares() if is_sparse_rows(A) else namespace(A).sum(A * A, axis=1)


def squared_distances(A: Array, B: Array) -> Array:
    """‖a − b‖² (a, b)."""
    return kernels.squared_distances(squared_norms(A)[:, None], A @ B.T, squared_norms(B)[None, :])


def regularised_inverse(K: Floats, noise: float) -> Floats:
    """(K + νI)⁻¹ (rows, rows). Where rounding makes K indefinite beyond ν, its negative eigenvalues count as 0."""
    identity = np.eye(len(K))
    try:
        return np.asarray(cho_solve(cho_factor(K + noise * identity, lower=True), identity))
    except LinAlgError:
        energy, basis = np.linalg.eigh((K + K.T) / 2)
        return np.asarray((basis / (np.maximum(energy, 0.0) + noise)) @ basis.T)


def median_distance(distances: Floats) -> float:
    """The median of squared distances between signatures of different classes. If most classes are described alike,
    that is rounding, and no width: then the median of those beyond rounding."""
    limit = ROUNDED * distances.max(initial=0.0)
    median = float(np.median(distances)) if len(distances) else 0.0
    if median <= limit:
        median = float(np.median(distances[distances > limit])) if limit > 0 else 1.0
    return median


def description_certainty(kernel: SignatureKernel, Y: Floats, seen: Any, inverse: Floats, noise: float) -> Floats:
    """(rows,) how much surer than usual the process is of the directions of signatures Y (rows, p), within a limit: its
    variance k(y, y) − k(y, Y₀)(K + νI)⁻¹k(Y₀, y) beside the median over training signatures left out."""
    usual = float(np.median(np.maximum(1 / np.diag(inverse) - noise, TINY)))
    k = to_numpy(kernel(Y, seen))
    variance = np.maximum(to_numpy(kernel.diagonal(Y)) - ((k @ inverse) * k).sum(axis=1), TINY)
    return np.asarray((usual / variance).clip(1 / CERTAINTY_LIMIT, CERTAINTY_LIMIT))


# Do features and signatures come from one encoder? Equal numbers of columns may be a coincidence. So directions of
# class means are compared with the signatures of the same classes, and with what chance would give: other orders of
# the columns, which mean nothing if the columns do not belong together, and other orders of the classes.

ORDERS = 60  # of columns
LEAST_AGREEING = 3  # classes: fewer agree with anything
COLUMN_DEVIATIONS = 5.0  # beyond chance
CLASS_DEVIATIONS = 4.0
AGREEMENT_CLASSES = 256  # that are compared, at most


def agrees_with_signatures(means: Floats, signatures: Floats) -> bool:
    """Whether means (C, d) of classes and signatures (C, d) of the same classes agree far beyond chance."""
    C = min(len(means), AGREEMENT_CLASSES)
    step = len(means) // C
    A, B = (scale_to_unit_length(part[::step][:C] - part.mean(axis=0)) for part in (means, signatures))
    draw = np.random.default_rng(0)
    own = float((A * B).sum())
    others = np.array([float((A * B[:, draw.permutation(B.shape[1])]).sum()) for _ in range(ORDERS)])
    if own - others.mean() <= COLUMN_DEVIATIONS * others.std():
        return False
    # The trace under a random order of classes has this mean and variance (Hoeffding 1951).
    table = A @ B.T
    within = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()
    deviation = np.sqrt((within * within).sum() / (C - 1))
    # A perfect match of C classes lies C − 1 deviations above chance, no more.
    return bool(np.trace(within) > min(CLASS_DEVIATIONS, 0.8 * (C - 1)) * deviation)


# What a description is worth beside examples, in rows
#
# A row x̂ of class c is its expectation θ_c plus something of mean square σ². A description leaves open how far θ_c lies
# from p·m̂, with mean square τ² = ‖θ‖² − p². The posterior mean of θ_c then points to n₀ m̂ + Σ x̂ with n₀ = p·σ²/τ².
# Training classes tell p, σ² and τ², each described by the others.


def predict_left_out(
    targets: Floats, regression: Floats, inverse: Floats, owners: NDArray[np.int64], classes: int
) -> Floats:
    """(R, d) what the process says of each training class without its own rows: a class of rows U by T_U − (B_UU)⁻¹
    (B(T − S))_U. `targets` T (R, d), `regression` B(T − S) with the prior means S, `inverse` B (R, R), `owners` (R,).
    The centre of the others is not that of all: without c it lies where their targets grow by T_c / (C − 1)."""
    found, sums = np.empty_like(targets), inverse.sum(axis=1)
    for code in range(classes):
        mine = np.flatnonzero(owners == code)
        block = inverse[np.ix_(mine, mine)]
        solved = np.linalg.solve(block, np.column_stack([regression[mine], sums[mine]]))
        weights = 1 - solved[:, -1:]  # with which the targets of the others add up
        found[mine] = targets[mine] - solved[:, :-1] + weights * targets[mine] / max(classes - 1, 1)
    return found


@dataclass(frozen=True, eq=False)
class LeftOutClasses:
    """Training classes, one for each signature, and what the model says of each without its rows."""

    described: NDArray[np.floating]  # m (R, d)
    means: NDArray[np.floating]  # M̃ (R, d) of the classes
    rows: Floats  # N (R,)
    spectrum: Spectrum
    shrinkage: float
    plain: bool = False  # a space that nobody has centred
    _worth: dict[float, float] = field(default_factory=dict, init=False)

    def description_worth(self, shrinkage: float) -> float:
        """n₀ at another shrinkage; 0 where descriptions do not predict directions."""
        if shrinkage not in self._worth:
            ratio = self.spectrum.ratio(self.shrinkage, shrinkage)
            means = (self.means * ratio).astype(np.float64)
            directions = self.spectrum.sum_directions(means, np.ones(len(means)), shrinkage)
            described = self.spectrum.blocks.to_unit_length((self.described * ratio).astype(np.float64))
            self._worth[shrinkage] = description_worth(described, directions, self.rows, self.plain)
        return self._worth[shrinkage]


def description_worth(described: Floats, directions: Floats, rows: Floats, center: bool = False) -> float:
    """n₀ from m̂ (R, d) of classes left out and the mean x̂ (R, d) of their `rows` (R,) many rows: the mean of N rows
    is θ plus something of mean square σ²/N, and their mean square about it is σ²(N − 1)/N. p is that of least squares.
    With `center` what is common to all classes does not count."""
    free = float(rows.sum()) - len(rows)
    if free <= 0 or (center and len(rows) < 2):
        return ONE_ROW_WORTH  # nobody knows σ²
    within = float((rows * (1 - (directions * directions).sum(axis=1))).sum()) / free
    unbiased = 1.0
    if center:
        described, directions = described - described.mean(axis=0), directions - directions.mean(axis=0)
        unbiased = len(rows) / (len(rows) - 1)
    agreement, length, square = (
        unbiased * float((one * other).sum(axis=1).mean())
        for one, other in ((described, directions), (described, described), (directions, directions))
    )
    if agreement <= 0:
        return 0.0
    slope, between = agreement / length, square - within * float((1 / rows).mean())
    return slope * within / max(between - slope * agreement, LEAST_ERROR * square)


# What the settings of a search share
#
# A direction is a combination of a few vectors: the whitened class means M̃ and, in a shared space, whitened
# signatures. So the scores of rows x̂ follow from their products with these, which a shrinkage decides. All else costs
# products of the size of the classes.

KEPT_BLOCK = 512  # kept rows that are rotated together


class Whitening:
    def __init__(self, cache: FitCache, space: Space, shrinkage: float) -> None:
        self.cache, self.space = cache, space
        self.blocks = space.spectrum.blocks
        self.weights = space.spectrum.weights(shrinkage)
        self.means = space.means * self.weights  # (C, d) M̃
        self.sums = space.spectrum.sum_directions(self.means, space.rows, shrinkage)  # (C, d)

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """(d, d): x̃ = (x − g) · matrix; (d, 1) if it is diagonal. Blocks lie below each other, filled up with zeros."""
        if self.space.basis is None:
            return self.weights[:, None].astype(np.float32)
        parts = [
            basis * weights for basis, weights in zip(self.space.basis, self.blocks.split(self.weights), strict=True)
        ]
        width = max(len(part) for part in parts)
        return np.concatenate([np.pad(part, ((0, 0), (0, width - len(part)))) for part in parts]).astype(np.float32)

    def unit_rows(self, rotated: Array) -> Array:
        return self.blocks.to_unit_length(rotated * convert_like(self.weights, rotated))

    def cosines(self, rotated: Array, basis: Floats) -> Array:
        """x̂·b (n, b·B) of rows that the space has rotated with the blocks of vectors (B, d), without forming any x̂."""
        if is_sparse_rows(rotated):
            unit_rows = self.unit_rows(rotated)
            return self.blocks.products(unit_rows, convert_like(basis, unit_rows))
        found = []
        parts = zip(*map(self.blocks.split, (rotated, basis, self.weights)), self.blocks.shares.tolist(), strict=True)
        for rows, vectors, weights, share in parts:
            one = rows @ convert_like((vectors * weights).T, rotated)
            one /= whitened_lengths(rows, convert_like(weights, rotated))[:, None]
            found.append(one if share == 1.0 else one * share)
        return found[0] if len(found) == 1 else namespace(rotated).concat(found, axis=1)

    @cached_property
    def kept(self) -> Any:
        """(m, d) x̂ of the kept rows, in half precision; sparse ones are few numbers as they are."""
        return self.cache.map_kept_rows(self.space, lambda rotated: to_half_precision(self.unit_rows(rotated)))

    @cached_property
    def signature_center(self) -> Floats:
        """(d,) ȳ, the mean over training classes of their signatures as rows of the shared space."""
        return self.cache.signature_center if self.space.center.any() else np.zeros_like(self.space.center)

    def whiten_signatures(self, rows: Any) -> Floats:
        """y° (rows, d) of signatures that lie in the shared space."""
        return np.asarray(to_dense(self.space.rotate(rows - self.signature_center) * self.weights))

    @cached_property
    def own_signatures(self) -> Floats:
        """Y° (R, d) of the training classes."""
        return self.whiten_signatures(self.cache.shared)

    @cached_property
    def targets(self) -> Floats:
        """(R, d) the direction of the mean of each signature's class: its length says nothing of the class."""
        return self.unit_means[self.cache.owners]

    @cached_property
    def unit_means(self) -> Floats:
        """(C, d) M̂: the class means, their blocks of the lengths s."""
        unit = self.means / self.blocks.spread(self.lengths)
        return unit if len(self.blocks) == 1 else unit * self.blocks.spread(self.blocks.shares)

    @cached_property
    def lengths(self) -> Floats:
        """(C, b) of the blocks of class means; 1 for a block of 0."""
        length = self.blocks.block_lengths(self.means)
        return np.where(length > 0, length, 1.0)

    @cached_property
    def slope(self) -> float:
        """s ≥ 0 with the least ‖targets − s·Y°‖²."""
        length = float((self.own_signatures * self.own_signatures).sum())
        return max(float((self.targets * self.own_signatures).sum()) / length, 0.0) if length > 0 else 0.0


class FitCache:
    """All that is learned before a setting is known: from sums and signatures `Y` (R, p) of the classes `owners` (R,).
    `shared` are the same signatures scaled as features, where both have the same columns."""

    def __init__(
        self,
        sums: Sums,
        Y: Any,
        owners: NDArray[np.int64],
        shared: Any,
        place: Array,
        blocks: Blocks | None = None,
        tables: Blocks | None = None,
    ) -> None:
        self.sums, self.Y, self.owners, self.shared, self._place = sums, Y, owners, shared, place
        self.blocks = blocks or Blocks.single(sums.totals.shape[1])
        self.tables = tables or Blocks.single(Y.shape[1])
        squares = to_numpy(squared_norms(Y))
        if not squares.max(initial=0.0) <= LARGEST:
            raise ValueError(
                f"scaled signatures have squares of {squares.max():.1g}: expected at most {LARGEST:g}; use "
                "signature_scaling='auto' or 'center-l2', or divide the columns by their size"
            )
        different = owners[:, None] != owners[None, :]
        self.medians = tuple(
            median_distance(to_numpy(squared_distances(part, part))[different]) for part in self.tables.split(Y)
        )
        self._kept: tuple[Space, Array] | None = None
        self._whitenings: dict[tuple[bool, float], Whitening] = {}
        self._inverses: dict[tuple[SignatureKernel, float], Floats] = {}

    def share_space(self, other: FitCache) -> Self:
        self.space = other.space
        for key, whitening in other._whitenings.items():
            new = self._whitenings[key] = copy.copy(whitening)
            new.cache = self
            for name in ("signature_center", "own_signatures", "slope"):
                vars(new).pop(name, None)
        return self

    def with_space_of(self, sums: Sums) -> Self:
        """The same classes in the space of other sums: their scatter and their centre."""
        new = copy.copy(self)
        new._kept, new._whitenings = None, {}
        other = Space.from_sums(sums, self._place, self.blocks)
        means = np.asarray(other.rotate(self.sums.means - other.center))
        new.space = replace(other, means=means, rows=self.sums.rows)
        return new

    @cached_property
    def space(self) -> Space:
        return Space.from_sums(self.sums, self._place, self.blocks)

    def rotated_kept_rows(self, space: Space) -> Array:
        if self._kept is None or self._kept[0] is not space:
            self._kept = space, space.center_and_rotate(convert_like(self.sums.kept.rows, self._place, "float32"))
        return self._kept[1]

    def map_kept_rows(self, space: Space, function: Callable[[Array], Any]) -> Any:
        """(m, …) a function of the kept rows in a space; block by block, unless all are cached anyway."""
        rows = self.sums.kept.rows
        cached = self._kept is not None and self._kept[0] is space
        if cached or is_sparse_rows(rows) or is_torch(self._place) or len(rows) <= KEPT_BLOCK:
            return function(self.rotated_kept_rows(space))
        found: Any = None
        for start in range(0, len(rows), KEPT_BLOCK):
            block = slice(start, start + KEPT_BLOCK)
            part = function(space.center_and_rotate(rows[block]))
            found = np.empty((len(rows), part.shape[1]), part.dtype) if found is None else found
            found[block] = part
        return found

    @cached_property
    def signature_center(self) -> Floats:
        classes = [self.shared[self.owners == code].mean(axis=0) for code in range(len(self.sums.rows))]
        return np.asarray(np.mean(classes, axis=0))

    @cached_property
    def signatures_agree(self) -> bool:
        """Whether features and signatures, which have the same columns, come from one encoder."""
        if len(self.sums.rows) < LEAST_AGREEING:
            return False
        signatures = [self.shared[self.owners == code].mean(axis=0) for code in range(len(self.sums.rows))]
        return agrees_with_signatures(self.sums.means, np.array(signatures))

    def whitening(self, shrinkage: float, plain: bool = False) -> Whitening:
        """For one shrinkage; only the last is cached. `plain` is without centring and whitening."""
        key = plain, shrinkage
        if key not in self._whitenings:
            space = Space.unwhitened(self.sums, self.blocks) if plain else self.space
            self._whitenings = {key: Whitening(self, space, shrinkage)}
        return self._whitenings[key]

    def kernel(self, name: str, bandwidth: float, tables: Blocks | None = None) -> SignatureKernel:
        """The kernel of a model; `tables` have weights of its own."""
        scale = [bandwidth * median if name == "gaussian" else 1.0 for median in self.medians]
        return SignatureKernel(name, tuple(scale), tables or self.tables)

    def inverse(self, kernel: SignatureKernel, noise: float) -> Floats:
        key = kernel, noise
        if key not in self._inverses:
            self._inverses[key] = regularised_inverse(to_numpy(kernel(self.Y, self.Y)), noise)
        return self._inverses[key]


def mean_of_largest(cosines: Array, share: float) -> Array:
    """r (c,) of cosines (m, c), how crowded a direction's place is: the mean of the largest share, at least of one."""
    most = max(1, int(share * cosines.shape[0]))
    return namespace(cosines).mean(largest_entries(cosines, most), axis=0)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Of each signature row: `sums` (rows, d) of x̂, and `weights` (rows,): what its description is worth, in rows."""

    sums: Floats
    weights: Floats
    seen: NDArray[np.bool_]  # (rows,) whether the class has training rows

    def add_to(self, described: Array) -> Array:
        """n₀ m̂ + Σ x̂ (rows, d) of what descriptions say, m̂ (rows, d)."""
        return convert_like(self.weights[:, None], described) * described + convert_like(self.sums, described)


def find_class_codes(classes: NumPyArray, labels: NumPyArray) -> NDArray[np.int64]:
    """(n,) the place of each label among the classes; −1 for another one."""
    known = {label: place for place, label in enumerate(classes.tolist())}
    return np.array([known.get(label, -1) for label in labels.tolist()], dtype=np.int64)


def signature_codes(classes: NumPyArray, question: Question) -> NDArray[np.int64]:
    """(rows,) the place of each signature's class among the classes; −1 for another class."""
    found = np.full(question.Y.shape[0], -1, dtype=np.int64)
    for code, rows in zip(find_class_codes(classes, question.labels).tolist(), question.rows, strict=True):
        found[rows] = code
    return found
