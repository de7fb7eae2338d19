"""Scores of a search's many settings without going back to features: exact, by products of the size of the classes.

Twin of `ClassMeansClassifier._answerer` for models that share a `Foundation`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from zskl.arrays import Array, NumPyArray, like, to_numpy
from zskl.estimators.class_means.crowding import largest_mean
from zskl.estimators.class_means.descriptions import SignatureKernel
from zskl.estimators.class_means.foundation import Foundation, Whitened
from zskl.estimators.class_means.space import Space
from zskl.estimators.class_means.sums import Floats


class Products:
    """Rows x̂ and kept rows times a basis (B, d) of directions, and the products of the basis with itself."""

    def __init__(self, whitened: Whitened, X: Array, rotated: Array, basis: Floats) -> None:
        self.X, self.basis = X, basis
        self.gram = basis @ basis.T
        self.rows = whitened.cosines(rotated, basis)  # (n, B)
        self._whitened = whitened

    @cached_property
    def kept(self) -> Array:
        """(m, B) of the kept rows, where the other rows are."""
        at = self._whitened
        return like(at.cosines(at.foundation.kept_in(at.space), self.basis), self.rows)

    def unit(self, coefficients: Floats) -> Floats:
        """(c, B) → (c, B): combinations of unit length; those of no length stay."""
        squares = ((coefficients @ self.gram) * coefficients).sum(axis=1, keepdims=True)
        length = np.sqrt(np.maximum(squares, 0.0))
        found: Floats = coefficients / np.where(length > 0, length, 1.0)
        return found


@dataclass(eq=False)
class QuickScores:
    """What the models of one search keep from each other's scores: the last products, directions and crowding."""

    _products: tuple[object, Products] | None = None
    _rotated: tuple[Space, Array, Array] | None = None
    _scored: dict[object, tuple[Array, dict[float, Array]]] = field(default_factory=dict)
    _weights: tuple[Array, dict[object, Floats]] | None = None

    def redescribed(self) -> QuickScores:
        """For other signatures of the training classes: what does not depend on them is kept."""
        return QuickScores(self._products)

    def products(self, whitened: Whitened, X: Array, signatures: NumPyArray | None) -> Products:
        """For rows X; `signatures` (rows, d) are those of the candidates in the shared space."""
        key: object = whitened.weights if signatures is None else whitened
        if self._products is None or self._products[0] is not key or self._products[1].X is not X:
            parts = [whitened.means]
            if signatures is not None:
                parts += [whitened.own_signatures, whitened.in_space(signatures)]
            self._products = key, Products(whitened, X, self._turned(whitened.space, X), np.concatenate(parts))
            self._scored = {}
        return self._products[1]

    def _turned(self, space: Space, X: Array) -> Array:
        """X as the space rotates it: the same for every shrinkage."""
        if self._rotated is None or self._rotated[0] is not space or self._rotated[1] is not X:
            self._rotated = space, X, space.rotated(X)
        return self._rotated[2]

    def weights(self, Y: Array, foundation: Foundation, kernel: SignatureKernel, noise: float) -> Floats:
        """k(Y, Y₀) (K + νI)⁻¹ (rows, R) of the candidates' signatures Y: the same for every shrinkage."""
        if self._weights is None or self._weights[0] is not Y:
            self._weights = Y, {}
        known, key = self._weights[1], (kernel, noise)
        if key not in known:
            k = to_numpy(kernel(like(Y, np.empty(0)), foundation.Y))
            known[key] = k @ foundation.inverse(kernel, noise)
        return known[key]

    def knows(self, key: object) -> bool:
        return key in self._scored

    def parts(
        self, key: object, products: Products, coefficients: Floats | None, share: float | None
    ) -> tuple[Array, Array | None]:
        """Cosines (n, rows) of directions given by their coefficients (rows, B), which `key` names (None: those of
        before), and with a `share` how crowded each direction is (rows,).
        """
        if key not in self._scored:
            assert coefficients is not None
            u = like(coefficients.T, products.rows)
            self._scored = {key: (products.rows @ u, {})}
            self._u = u
        plain, crowded = self._scored[key]
        if share is None:
            return plain, None
        if share not in crowded:
            crowded[share] = largest_mean(products.kept @ self._u, share)
        return plain, crowded[share]
