"""Ridge regression from sparse rows onto classes, without a matrix of the size n × n or d × d.

    A = (XᵀX + γI)⁻¹ XᵀL = Xᵀ (XXᵀ + γI)⁻¹ L,   L (n, C) is 1 where a row is of a class, else 0

The system of the smaller side, d or n, is solved by conjugate gradients: each step multiplies X and Xᵀ with one vector
for each class. So memory holds the rows, and a few arrays of the size of A.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from zskl.sparse_rows import Dense, SparseRows

log = logging.getLogger(__name__)
Floats = NDArray[np.float64]
TOLERANCE = 1e-7  # of each residual, in units of the first one
STEPS = 1000  # at most
VALUES = 1 << 22  # in each of the arrays of a block of classes: 32 MB


def ridge(X: SparseRows, codes: NDArray[np.int64], classes: int, gamma: float, weights: Floats | None = None) -> Floats:
    """A (d, C) of scaled rows X (n, d) with class indices `codes` (n,).

    With weights w (n,), rows of X and L count √w.
    """
    root = np.ones(len(X)) if weights is None else np.sqrt(weights)
    X = X.astype(np.float64).rows_times(root)
    n, d = X.shape
    found = np.empty((d, classes))
    width = max(1, VALUES // max(n, d))
    for first in range(0, classes, width):
        columns = np.arange(first, min(first + width, classes))
        L = root[:, None] * (codes[:, None] == columns)
        if n < d:
            found[:, columns] = X.T @ solved(lambda P: X @ (X.T @ P) + gamma * P, L)
        else:
            found[:, columns] = solved(lambda P: X.T @ (X @ P) + gamma * P, X.T @ L)
    return found


def solved(product: Callable[[Dense], Dense], right: Floats) -> Floats:
    """The solution (m, k) of a system whose matrix is symmetric and positive, given by its `product` with (m, k)."""
    found, residual, direction = np.zeros_like(right), right.copy(), right.copy()
    size = (residual * residual).sum(axis=0)
    enough = TOLERANCE**2 * size
    for _ in range(STEPS):
        open_ = size > enough  # (k,)
        if not open_.any():
            return found
        moved = product(direction)
        curvature = (direction * moved).sum(axis=0)
        step = np.where(open_, size / np.where(open_, curvature, 1.0), 0.0)
        found += step * direction
        residual -= step * moved
        after = (residual * residual).sum(axis=0)
        direction = residual + np.where(open_, after / np.where(open_, size, 1.0), 0.0) * direction
        size = np.where(open_, after, size)
    log.warning(
        "after %d steps the map of %d classes is still %.2g from its solution: a larger ridge is solved in fewer",
        STEPS,
        int((size > enough).sum()),
        float(np.sqrt((size / np.where(enough > 0, enough, 1.0)).max()) * TOLERANCE),
    )
    return found
