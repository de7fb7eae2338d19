"""What a description says of a class's direction: the mean of a Gaussian process over signatures.

    m(y) = s·y° + k(y, Y) (K + νI)⁻¹ (M̂ − s·Y°)

Y (rows, p) are the scaled signatures of the training classes, M̂ the directions of their whitened means, one row for
each signature. The prior mean s·y° is 0; or, in a shared space, the whitened signature itself, with the slope s ≥ 0 by
least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from zskl.arrays import Array, namespace, to_numpy
from zskl.estimators.class_means.sums import Floats
from zskl.kernels import squared_distances
from zskl.sparse_rows import are_sparse

KERNELS = ("gaussian", "linear")
PRIORS = ("zero", "identity", "cosine")
TINY = 1e-12


@dataclass(frozen=True)
class SignatureKernel:
    """k(y, y′) = yᵀy′, or exp(−‖y − y′‖² / width) with width = bandwidth · the median between different classes."""

    name: str
    width: float

    def __call__(self, A: Array, B: Array) -> Array:
        """(a, p), (b, p) → (a, b)."""
        if self.name == "linear":
            return A @ B.T
        return namespace(A).exp(distances(A, B) / -self.width)

    def own(self, A: Array) -> Array:
        """k(a, a) (a,)."""
        found = squares(A)
        return found if self.name == "linear" else namespace(found).ones_like(found)


def squares(A: Array) -> Array:
    """‖a‖² (a,)."""
    return A.squares() if are_sparse(A) else namespace(A).sum(A * A, axis=1)


def distances(A: Array, B: Array) -> Array:
    """‖a − b‖² (a, b)."""
    return squared_distances(squares(A)[:, None], A @ B.T, squares(B)[None, :])


def median_distance(Y: Floats, owners: NDArray[np.int64]) -> float:
    """The median squared distance between signatures of different classes; 1 where all are equal."""
    different = owners[:, None] != owners[None, :]
    found = float(np.median(to_numpy(distances(Y, Y))[different])) if different.any() else 0.0
    return found if found > 0 else 1.0


def inverse(K: Floats, noise: float) -> Floats:
    """(K + νI)⁻¹ (rows, rows)."""
    identity = np.eye(len(K))
    return np.asarray(cho_solve(cho_factor(K + noise * identity, lower=True), identity))


def slope(targets: Floats, prior: Floats) -> float:
    """s ≥ 0 with the least ‖targets − s·prior‖²."""
    length = float((prior * prior).sum())
    return max(float((targets * prior).sum()) / length, 0.0) if length > 0 else 0.0


def typical_variance(inverted: Floats, noise: float) -> float:
    """Median over training signatures of the variance that the process had there without that signature."""
    return float(np.median(np.maximum(1 / np.diag(inverted) - noise, TINY)))


def variance(own: Floats, k: Floats, inverted: Floats) -> Floats:
    """(rows,) k(y, y) − k(y, Y)(K + νI)⁻¹k(Y, y): how unsure a description leaves the direction of its class."""
    found: Floats = np.maximum(own - ((k @ inverted) * k).sum(axis=1), TINY)
    return found
