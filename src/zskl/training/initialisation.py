"""Where a projection W (d, p) starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from zskl.arrays import Array, generator, like, namespace


def uniform(X: Array, targets: Array, seed: int) -> Array:
    """The authors' choice: independent entries, uniform in [0, 2/d)."""
    d, p = X.shape[1], targets.shape[1]
    return like(generator(seed, 1).uniform(0, 2 / d, size=(d, p)), X)


def orthogonal(X: Array, targets: Array, seed: int) -> Array:
    """Orthonormal columns (WᵀW = I) where p ≤ d, orthonormal rows otherwise: incoherent from the first step."""
    d, p = X.shape[1], targets.shape[1]
    Q, R = np.linalg.qr(generator(seed, 1).standard_normal((max(d, p), min(d, p))))
    Q *= np.sign(np.diag(R))  # makes the draw uniform over such matrices
    return like(Q if d >= p else Q.T, X)


def polarised(X: Array, targets: Array, seed: int) -> Array:
    """The projection of given length that polarises the linear kernel best, in closed form. Nothing is drawn.

    argmax ⟨X W Yᵀ, L⟩ over ‖W‖ = const is W ∝ Xᵀ Y_l (rows centred), with Y_l the signature of each sample's class
    (`targets`, (n, p)); the length is the least-squares one, min_a ‖a X W − Y_l‖².
    """
    xp = namespace(X)
    M = X.mT @ targets / X.shape[0]
    P = X @ M
    energy = float(xp.sum(P * P))
    return M * (float(xp.sum(P * targets)) / energy if energy > 0 else 0.0)


def polarised_in_blocks(blocks: Callable[[], Iterator[tuple[Array, Array]]], n_rows: int) -> Array:
    """`polarised` from two passes over blocks (X, targets) of the rows, with sums in float64."""
    M = None
    for X, targets in blocks():
        part = like(X.mT @ targets, X, "float64")
        M = part if M is None else _added(M, part)
    assert M is not None  # there are training rows
    M = like(M / n_rows, X)
    xp = namespace(X)
    energy = along = 0.0
    for X, targets in blocks():
        P = X @ M
        energy += float(xp.sum(P * P))
        along += float(xp.sum(P * targets))
    return M * (along / energy if energy > 0 else 0.0)


def _added(total: Array, part: Array) -> Array:
    total += part
    return total


INITIALISATIONS: Mapping[str, Callable[[Array, Array, int], Array]] = {
    "polarised": polarised,
    "uniform": uniform,
    "orthogonal": orthogonal,
}
