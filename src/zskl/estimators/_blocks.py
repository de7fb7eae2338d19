"""Blocks of columns: features of several networks, or several class tables, that stand side by side.

Each block of features is scaled, whitened and set to unit length by itself. Then the blocks stand side by side again,
each times a share s_b with Σ s_b² = 1, so that a whole row has unit length too: x̂·u is a weighted mean of the blocks'
cosines, and nothing behind it needs to know of blocks. A single block is the usual case, with the usual arithmetic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import Array, NumPyArray, is_sparse_rows, namespace, stack_columns
from zskl._validation import list_values
from zskl.scaling import Scaling

Floats: TypeAlias = NDArray[np.float64]

scale_to_unit_length = Scaling(("l2",)).apply  # rows of unit length; a row of zeros stays zero


@dataclass(frozen=True)
class Blocks:
    """Names of blocks and where each ends; the last ends with the last column."""

    names: tuple[str, ...]
    ends: tuple[int, ...]
    weights: tuple[float, ...] = field(default=(1.0,))

    @classmethod
    def single(cls, width: int) -> "Blocks":
        return cls(("features",), (width,))

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Blocks":
        return cls(tuple(map(str, stored["names"])), tuple(stored["ends"]), tuple(map(float, stored["weights"])))

    def __len__(self) -> int:
        return len(self.ends)

    @cached_property
    def columns(self) -> tuple[slice, ...]:
        return tuple(slice(start, end) for start, end in zip((0, *self.ends), self.ends, strict=False))

    @cached_property
    def shares(self) -> Floats:
        """(b,) s of each block; Σ s² = 1."""
        weights = np.asarray(self.weights, np.float64)
        return np.asarray(np.sqrt(weights / weights.sum()))

    def split(self, rows: Any) -> list[Any]:
        """The columns of each block, of rows (n, d) or of a vector (d,)."""
        if len(self) == 1:
            return [rows]
        if is_sparse_rows(rows):
            return [rows.take_columns(part) for part in self.columns]
        return [rows[..., part] for part in self.columns]

    def join(self, parts: Sequence[Any]) -> Any:
        """What `split` took apart."""
        if len(parts) == 1:
            return parts[0]
        return stack_columns(parts) if is_sparse_rows(parts[0]) else namespace(parts[0]).concat(list(parts), axis=-1)

    def spread(self, values: NumPyArray) -> NumPyArray:
        """(…, b) → (…, d): each block's value at each of its columns; (…, 1) of a single block, for broadcasting."""
        return values if len(self) == 1 else np.repeat(values, np.diff((0, *self.ends)), axis=-1)

    def to_unit_length(self, rows: Any) -> Any:
        """Rows (n, d) whose blocks have the lengths s."""
        if len(self) == 1:
            return scale_to_unit_length(rows)
        parts = []
        for part, share in zip(self.split(rows), self.shares.tolist(), strict=True):
            unit = scale_to_unit_length(part)
            parts.append(unit.scale_rows(np.full(len(unit), share)) if is_sparse_rows(unit) else unit * share)
        return self.join(parts)

    def whiten(self, centred: Any, whitening: Any) -> Any:
        """x̃ of centred rows (n, d), by a matrix (d, w) that holds one of each block, or (d, 1) if it is diagonal."""
        if whitening.shape[1] == 1:
            return centred * whitening[:, 0]
        if len(self) == 1:
            return centred @ whitening
        pairs = zip(self.split(centred), self.columns, strict=True)
        return self.join([part @ whitening[at, : at.stop - at.start] for part, at in pairs])

    def block_lengths(self, rows: NumPyArray) -> Floats:
        """(n, b) of the blocks of rows (n, d)."""
        return np.stack([np.linalg.norm(part, axis=-1) for part in self.split(rows)], axis=-1)

    def weighed(self, weights: Any, parameter: str) -> "Blocks":
        """The same blocks with other weights."""
        return replace(self, weights=_read_weights(weights, list(self.names), parameter))

    # Combinations of vectors by coefficients, where each block of a vector has a coefficient of its own: (r, b·B)

    def products(self, rows: Array, vectors: Array) -> Array:
        """(n, b·B) of rows (n, d) with the blocks of vectors (B, d)."""
        pairs = zip(self.split(rows), self.split(vectors), strict=True)
        found = [one @ other.T for one, other in pairs]
        return found[0] if len(found) == 1 else namespace(found[0]).concat(found, axis=1)

    def grams(self, vectors: Floats, small: bool = False) -> "list[Gram]":
        """What lengths of combinations of vectors (B, d) follow from; if `small`, in the smaller of two forms."""
        return [Gram(part, not small or len(part) <= part.shape[1]) for part in self.split(vectors)]

    def repeat(self, coefficients: Floats) -> Floats:
        """(r, B) → (r, b·B): the same coefficients in each block."""
        return coefficients if len(self) == 1 else np.tile(coefficients, (1, len(self)))


class Gram:
    """Squared lengths of combinations of vectors (B, d)."""

    def __init__(self, vectors: Floats, products: bool) -> None:
        self._products = products
        self._values = vectors @ vectors.T if products else vectors

    def squared_lengths(self, coefficients: Floats) -> Floats:
        """(r,) of combinations (r, B)."""
        whole = coefficients @ self._values
        return np.asarray((whole * (coefficients if self._products else whole)).sum(axis=1))


def _squared_lengths(coefficients: Floats, grams: Sequence[Gram]) -> Floats:
    """(r, b) squared lengths of the blocks of combinations (r, b·B)."""
    parts = np.split(coefficients, len(grams), axis=1)
    return np.stack([gram.squared_lengths(part) for part, gram in zip(parts, grams, strict=True)], axis=1)


def scale_combinations(coefficients: Floats, grams: Sequence[Gram]) -> Floats:
    """(r, b·B) combinations of unit length; those of no length stay."""
    length = np.sqrt(np.maximum(_squared_lengths(coefficients, grams).sum(axis=1, keepdims=True), 0.0))
    return coefficients / np.where(length > 0, length, 1.0)


def scale_block_combinations(coefficients: Floats, grams: Sequence[Gram], shares: Floats) -> Floats:
    """(r, b·B) the same with blocks of the lengths s."""
    lengths = np.sqrt(np.maximum(_squared_lengths(coefficients, grams), 0.0))
    factors = shares / np.where(lengths > 0, lengths, 1.0)
    return coefficients * np.repeat(factors, coefficients.shape[1] // len(grams), axis=1)


def read_blocks(given: Any, weights: Any, names: Sequence[str] | None, width: int, parameter: str) -> Blocks:
    """What a user gave as blocks of `width` columns with these names: a list of widths, or name → columns."""
    if given is None:
        if weights is not None:
            raise ValueError(f"weights of {parameter} are given, and {parameter} is None: expected blocks; name them")
        return Blocks.single(width)
    if not isinstance(given, Mapping):
        if isinstance(given, str) or not hasattr(given, "__len__") or not len(given):
            raise ValueError(f"{parameter} is {given!r}: expected a list of widths, or a mapping from name to columns")
        given = {f"block {k}": one for k, one in enumerate(given, start=1)}
    start, ends = 0, []
    for name, columns in given.items():
        end = _find_end(columns, start, names)
        if end is None or end <= start:
            raise ValueError(
                f"{parameter}[{name!r}] is {columns!r}: expected a number of columns above 0, or neighbouring columns "
                f"from number {start} on, where the block before ends"
            )
        ends.append(end)
        start = end
    if start != width:
        raise ValueError(f"{parameter} has {start} columns in all, and there are {width}: expected each in one block")
    return Blocks(tuple(map(str, given)), tuple(ends), _read_weights(weights, list(given), parameter))


def _find_end(columns: Any, start: int, names: Sequence[str] | None) -> int | None:
    """Where a block from column `start` on ends; None if these are not columns that lie side by side from there."""
    if isinstance(columns, int | np.integer) and not isinstance(columns, bool):
        return start + int(columns)
    if isinstance(columns, slice):
        fits = columns.step in (None, 1) and columns.start in (None, start) and columns.stop is not None
        return int(columns.stop) if fits else None
    listed = list(columns) if hasattr(columns, "__iter__") and not isinstance(columns, str) else []
    if listed and isinstance(listed[0], str):
        places = {name: place for place, name in enumerate(names or ())}
        listed = [places.get(one, -1) for one in listed]
    return start + len(listed) if listed == list(range(start, start + len(listed))) else None


def _read_weights(weights: Any, names: list[Any], parameter: str) -> tuple[float, ...]:
    if weights is None:
        return (1.0,) * len(names)
    if isinstance(weights, Mapping):
        unknown = [name for name in weights if name not in names]
        if unknown:
            raise ValueError(f"weights of {parameter} name {list_values(unknown)}: expected {list_values(names)}")
        weights = [weights.get(name, 1.0) for name in names]
    found = np.asarray(weights, dtype=np.float64) if np.ndim(weights) == 1 else np.empty(0)
    if found.shape != (len(names),) or not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
        raise ValueError(
            f"weights of {parameter} are {weights!r}: expected a number of at least 0 for each of the {len(names)} "
            "blocks, not all of them 0"
        )
    return tuple(found.tolist())


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues λ (d,) ≥ 0 of the scatter within classes, those of each block together: what a shrinkage weighs."""

    values: Floats
    blocks: Blocks

    def weights(self, shrinkage: float) -> Floats:
        """(d,) 1/√((1 − ρ) λ + ρ mean(λ)), the mean of its block; all 1 if all rows of each class are equal."""
        return np.concatenate([_whitening_weights(part, shrinkage) for part in self.blocks.split(self.values)])

    def ratio(self, before: float, after: float) -> Floats:
        """(d,) what turns rows whitened by one shrinkage into those by another, before they get unit length."""
        return self.weights(after) / self.weights(before)

    def sum_directions(self, means: NDArray[np.floating], rows: Floats, shrinkage: float) -> Floats:
        """(C, d) Σ x̂ of the training rows of each class, about N_c s M̃_c / √(‖M̃_c‖² + tr(S_ρ⁻¹ S)), block by block,
        so no second pass over them is needed: the root is that of the mean of ‖x̃‖² over the class. `means` are M̃ (C,
        d), `rows` N (C,)."""
        weights = self.weights(shrinkage)
        found = []
        parts = zip(*map(self.blocks.split, (means, self.values, weights)), self.blocks.shares.tolist(), strict=True)
        for mean, value, weight, share in parts:
            squares = (mean * mean).sum(axis=1) + float((value * weight**2).sum())
            found.append(mean * (rows * share / np.sqrt(np.where(squares > 0, squares, 1.0)))[:, None])
        return np.asarray(self.blocks.join(found))


def _whitening_weights(eigenvalues: Floats, shrinkage: float) -> Floats:
    level = float(eigenvalues.mean())
    return 1 / np.sqrt((1 - shrinkage) * eigenvalues + shrinkage * level) if level else np.ones_like(eigenvalues)


@dataclass(frozen=True, eq=False)
class BlockScaling:
    """A `Scaling` for each block; takes the place of one."""

    blocks: Blocks
    parts: tuple[Scaling, ...]

    @property
    def name(self) -> str:
        names = dict.fromkeys(part.name for part in self.parts)
        return next(iter(names)) if len(names) == 1 else "+".join(part.name for part in self.parts)

    @property
    def steps(self) -> tuple[str, ...]:
        """Those of all blocks."""
        return tuple(dict.fromkeys(step for part in self.parts for step in part.steps))

    @property
    def reason(self) -> str:
        return "; ".join(dict.fromkeys(part.reason for part in self.parts if part.reason))

    def apply(self, rows: Any) -> Any:
        pairs = zip(self.parts, self.blocks.split(rows), strict=True)
        return self.blocks.join([part.apply(block) for part, block in pairs])
