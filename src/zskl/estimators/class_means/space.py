"""The space in which a class is a direction: features whitened by the within-class scatter.

    S_ρ = (1 − ρ) S + ρ tr(S)/d · I,   x̃ = S_ρ^(−1/2) (x − g),   x̂ = x̃ / ‖x̃‖

g is the mean of the class means. One eigendecomposition S = Q diag(λ) Qᵀ serves every shrinkage ρ. Coordinates are
those in the basis Q, which changes no inner product. Of sparse rows S is its diagonal, and Q is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import Array, is_torch, like, namespace, to_numpy
from zskl.estimators.class_means.sums import Floats, Sums
from zskl.scaling import Scaling
from zskl.sparse_rows import are_sparse

unit = Scaling(("l2",)).apply  # rows of unit length; a row of zeros stays zero
BLOCK_VALUES = 1 << 17  # worked on together: what stays in a cache
NOTHING = 1e-12  # of the largest eigenvalue: what is less is rounding


@dataclass(frozen=True, eq=False)
class Space:
    """`basis` Q (d, d), `eigenvalues` λ (d,) ≥ 0, the `center` g (d,), and class means (C, d) in the basis, centred.

    Without a basis it is the identity.
    """

    basis: Floats | None
    eigenvalues: Floats
    center: Floats
    means: Floats
    rows: Floats  # (C,)
    placed: dict[Any, Array] = field(default_factory=dict)  # the basis on devices

    @classmethod
    def of(cls, sums: Sums, place: Array) -> Space:
        """Decomposed where `place` lies: on its device."""
        center = sums.means.mean(axis=0)
        if sums.products.ndim == 1:
            return cls(None, np.maximum(sums.scatter, 0.0), center, sums.means - center, sums.rows)
        scatter = sums.scatter_on(place)
        eigenvalues, basis = (to_numpy(part) for part in namespace(scatter).linalg.eigh(scatter))
        eigenvalues = np.maximum(eigenvalues, 0.0)
        basis = settled(basis, eigenvalues <= NOTHING * eigenvalues[-1])
        return cls(basis, eigenvalues, center, (sums.means - center) @ basis, sums.rows)

    def rotated(self, X: Array) -> Array:
        """(x − g) Q of scaled rows (n, d)."""
        return self.turned(X - like(self.center, X))

    def turned(self, X: Array) -> Array:
        """X Q."""
        if self.basis is None:
            return X
        if not is_torch(X):
            return X @ like(self.basis, X)
        here = X.device, X.dtype
        if here not in self.placed:
            self.placed[here] = like(self.basis, X)
        found: Array = X @ self.placed[here]
        return found

    @classmethod
    def plain(cls, sums: Sums) -> Space:
        """Without centring and whitening: what plain cosine compares in."""
        d = len(sums.products)
        alone = sums.products.ndim == 1
        total = sums.scatter.sum() if alone else np.trace(sums.scatter)
        within = np.full(d, max(total / d, 0.0))
        return cls(None if alone else np.eye(d), within, np.zeros(d), sums.means, sums.rows)


def whitened(centred: Array, whitening: Array) -> Array:
    """x̃ of centred rows (n, d), by a matrix (d, d), or (d, 1) if it is diagonal."""
    return centred * whitening[:, 0] if whitening.shape[1] == 1 else centred @ whitening


def lengths(rotated: Array, weights: Array) -> Array:
    """(n,) ‖x̃‖ of rotated rows (n, d), a block at a time; 1 for a row of zeros."""
    xp = namespace(rotated)
    height = rotated.shape[0] if is_torch(rotated) else max(1, BLOCK_VALUES // rotated.shape[1])
    parts = []
    for start in range(0, rotated.shape[0], height):
        block = rotated[start : start + height] * weights
        parts.append(xp.sqrt(xp.sum(block * block, axis=1)))
    found = xp.concat(parts)
    return xp.where(found > 0, found, xp.ones_like(found))


def halved(rows: Array) -> Any:
    """Unit vectors in half precision; sparse ones stay as they are."""
    return rows if are_sparse(rows) else to_numpy(rows).astype(np.float16)


def settled(basis: Floats, idle: NDArray[np.bool_]) -> Floats:
    """The basis (d, d) with other vectors for the space of its `idle` columns, in which no row differs from its class.

    Any vectors of that space would do, and rounding chooses them. These depend on the space alone: where Gram and
    Schmidt end from a fixed start.
    """
    d, k = len(basis), int(idle.sum())
    if k < 2:
        return basis
    start = np.random.default_rng(0).standard_normal((d, k))
    turned = basis.copy()
    turned[:, idle] = basis[:, idle] @ np.linalg.qr(basis[:, idle].T @ start)[0]
    return turned


def whitening_weights(eigenvalues: Floats, shrinkage: float) -> Floats:
    """(d,) 1/√((1 − ρ) λ + ρ mean(λ)); all 1 if all rows of each class are equal."""
    level = float(eigenvalues.mean())
    if level == 0.0:
        return np.ones_like(eigenvalues)
    found: Floats = 1 / np.sqrt((1 - shrinkage) * eigenvalues + shrinkage * level)
    return found


def class_sums(means: NDArray[np.floating], rows: Floats, eigenvalues: Floats, shrinkage: float) -> Floats:
    """(C, d): what the unit vectors x̂ of the training rows of each class add up to, without a second pass over them.

    A row has x̂ = x̃/‖x̃‖, and the mean of ‖x̃‖² over a class is ‖M̃_c‖² + tr(S_ρ⁻¹ S). So the sum is near to N_c M̃_c over
    the root of that. `means` are M̃ (C, d), `rows` N (C,).
    """
    within = float((eigenvalues * whitening_weights(eigenvalues, shrinkage) ** 2).sum())
    squares = (means * means).sum(axis=1) + within
    found: Floats = means * (rows / np.sqrt(np.where(squares > 0, squares, 1.0)))[:, None]
    return found
