"""What all settings of a search share on one set of training rows: one decomposition serves them all.

A direction is a combination of a few vectors: the whitened class means M̃ and, in a shared space, whitened signatures.
So the scores of rows x̂ follow from their products with these, which a shrinkage decides. All else costs products of the
size of the classes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import Array, is_torch, like, to_numpy
from zskl.estimators.class_means.descriptions import SignatureKernel, inverse, median_distance, slope
from zskl.estimators.class_means.space import Space, class_sums, halved, lengths, unit, whitening_weights
from zskl.estimators.class_means.sums import Floats, Sums
from zskl.sparse_rows import are_sparse, dense

KEPT_BLOCK = 512  # kept rows that are rotated together


class Whitened:
    """Everything that the space and the shrinkage decide."""

    def __init__(self, foundation: Foundation, space: Space, shrinkage: float) -> None:
        self.foundation, self.space = foundation, space
        self.weights = whitening_weights(space.eigenvalues, shrinkage)
        self.means = space.means * self.weights  # (C, d) M̃
        self.sums = class_sums(self.means, space.rows, space.eigenvalues, shrinkage)  # (C, d)

    def described_by(self, foundation: Foundation) -> Self:
        """The same for other signatures of the same classes."""
        new = copy.copy(self)
        new.foundation = foundation
        for name in ("signature_center", "own_signatures", "slope"):
            vars(new).pop(name, None)
        return new

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """(d, d): x̃ = (x − g) · matrix; (d, 1) if it is diagonal."""
        basis = self.space.basis
        found = self.weights[:, None] if basis is None else basis * self.weights
        return found.astype(np.float32)

    def directions(self, rotated: Array) -> Array:
        """x̂ of scaled rows (n, d) that the space has rotated."""
        return unit(rotated * like(self.weights, rotated))

    def cosines(self, rotated: Array, basis: Floats) -> Array:
        """x̂·b (n, B) of rows that the space has rotated with vectors b (B, d), without forming any x̂."""
        if are_sparse(rotated):
            hat = self.directions(rotated)
            return hat @ like(basis, hat).T
        found = rotated @ like((basis * self.weights).T, rotated)
        found /= lengths(rotated, like(self.weights, rotated))[:, None]
        return found

    @cached_property
    def kept(self) -> Any:
        """(m, d) x̂ of the kept rows, in half precision; sparse ones are few numbers as they are."""
        return self.foundation.each_kept_in(self.space, lambda rotated: halved(self.directions(rotated)))

    @cached_property
    def signature_center(self) -> Floats:
        """(d,) ȳ, the mean over training classes of their signatures as rows of the shared space."""
        return np.zeros_like(self.space.center) if self.plain else self.foundation.signature_center

    @property
    def plain(self) -> bool:
        return not self.space.center.any()

    def in_space(self, rows: Any) -> Floats:
        """y° (rows, d) of signatures that lie in the shared space."""
        found: Floats = dense(self.space.turned(rows - self.signature_center) * self.weights)
        return found

    @cached_property
    def own_signatures(self) -> Floats:
        """Y° (R, d) of the training classes."""
        return self.in_space(self.foundation.shared_signatures())

    @cached_property
    def targets(self) -> Floats:
        """(R, d) the direction of the mean of each signature's class: its length says nothing of the class."""
        return (self.means / self.lengths[:, None])[self.foundation.owners]

    @cached_property
    def lengths(self) -> Floats:
        """(C,) of the class means; 1 for a mean of 0."""
        length = np.linalg.norm(self.means, axis=1)
        found: Floats = np.where(length > 0, length, 1.0)
        return found

    @cached_property
    def slope(self) -> float:
        return slope(self.targets, self.own_signatures)


class Foundation:
    """Everything that is learned from training rows and signatures before a setting is known.

    `Y` (R, p) are the scaled signatures of the training classes and `owners` (R,) their classes; `shared` the same
    signatures scaled as features, where both have the same columns.
    """

    def __init__(self, sums: Sums, Y: Any, owners: NDArray[np.int64], shared: Any, place: Array) -> None:
        self.sums, self.Y, self.owners, self._shared, self._place = sums, Y, owners, shared, place
        self.median = median_distance(Y, owners)
        self._kept: tuple[Space, Array] | None = None
        self._whitened: dict[tuple[bool, float], Whitened] = {}
        self._inverses: dict[tuple[str, float, float], Floats] = {}

    def sharing(self, other: Foundation) -> Self:
        """This one, with the decomposition of another that has the same sums and other signatures."""
        self.space = other.space
        self._whitened = {key: at.described_by(self) for key, at in other._whitened.items()}
        return self

    @cached_property
    def space(self) -> Space:
        return Space.of(self.sums, self._place)

    def kept_in(self, space: Space) -> Array:
        """(m, d) the kept rows, rotated; those of the last space are kept."""
        if self._kept is None or self._kept[0] is not space:
            self._kept = space, space.rotated(like(self.sums.kept.rows, self._place, "float32"))
        return self._kept[1]

    def each_kept_in(self, space: Space, made: Callable[[Array], Any]) -> Any:
        """(m, …) what is `made` of the kept rows, rotated; some after the others, unless all are there anyway."""
        rows = self.sums.kept.rows
        there = self._kept is not None and self._kept[0] is space
        if there or are_sparse(rows) or is_torch(self._place) or len(rows) <= KEPT_BLOCK:
            return made(self.kept_in(space))
        found: Any = None
        for start in range(0, len(rows), KEPT_BLOCK):
            block = slice(start, start + KEPT_BLOCK)
            part = made(space.rotated(rows[block]))
            found = np.empty((len(rows), part.shape[1]), part.dtype) if found is None else found
            found[block] = part
        return found

    def shared_signatures(self) -> Any:
        assert self._shared is not None  # the classifier has checked it
        return self._shared

    @cached_property
    def signature_center(self) -> Floats:
        shared = self.shared_signatures()
        classes = [shared[self.owners == code].mean(axis=0) for code in range(len(self.sums.rows))]
        found: Floats = np.mean(classes, axis=0)
        return found

    def whitened(self, shrinkage: float, plain: bool = False) -> Whitened:
        """For one shrinkage; the one before is forgotten. `plain` is without centring and whitening."""
        key = plain, shrinkage
        if key not in self._whitened:
            space = Space.plain(self.sums) if plain else self.space
            self._whitened = {key: Whitened(self, space, shrinkage)}
        return self._whitened[key]

    def width(self, kernel: str, bandwidth: float) -> float:
        return bandwidth * self.median if kernel == "gaussian" else 1.0

    def inverse(self, kernel: SignatureKernel, noise: float) -> Floats:
        """(K + νI)⁻¹ (R, R)."""
        key = kernel.name, kernel.width, noise
        if key not in self._inverses:
            self._inverses[key] = inverse(to_numpy(kernel(self.Y, self.Y)), noise)
        return self._inverses[key]
