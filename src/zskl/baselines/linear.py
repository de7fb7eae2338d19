"""Linear maps of the features under a smooth loss and a ridge, in coordinates that make many of them cheap.

    min over W (d, k), b (k,) of  loss(XW + b) + ½ ridge ‖W‖²

One eigendecomposition XᵀX = U diag(a) Uᵀ serves every loss and every ridge on the same rows: with W = U diag(s) V and
s = 1/√(curvature · a / n + ridge) the problem in V is nearly round, and L-BFGS needs few passes over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import minimize

from zskl.arrays import Array, like, namespace, to_numpy

Loss: TypeAlias = Callable[[Array], tuple[float, Array]]  # outputs (n, k) → mean over the rows, gradient (n, k)
PASSES = 100  # over the rows, at most
TOLERANCE = 3e-3  # of the gradient's largest entry in the round coordinates, in units of the first one
BLOCK_VALUES = 1 << 19  # of rows multiplied together: 2 MB in float32
BLOCK_ROWS = 512  # or so many rows, if that is more: a product of few rows is slower than adding it
SMALL = 1 << 20  # values of rows that are computed with in float64, where it costs little


@dataclass(frozen=True)
class Rows:
    """Rows in the basis of their own spread: X = rotated @ basisᵀ."""

    rotated: Array  # (n, r)
    basis: np.ndarray[Any, Any]  # (d, r) orthonormal columns, r = min(n, d)
    energy: np.ndarray[Any, Any]  # (r,) eigenvalues of XᵀX ≥ 0
    weights: np.ndarray[Any, Any] | None = None  # (n,) of the rows; None: 1 each

    @property
    def mass(self) -> float:
        """What the rows weigh together."""
        return float(self.rotated.shape[0]) if self.weights is None else float(self.weights.sum())

    @property
    def share(self) -> Array | None:
        """(n, 1) of each row in a mean over them; None: all the same."""
        return None if self.weights is None else like(self.weights[:, None] / self.mass, self.rotated)


def precision(X: Any) -> str:
    """In which training rows are multiplied: small ones in float64, so that weights are as good as copies of rows."""
    return "float64" if X.shape[0] * X.shape[1] <= SMALL else "float32"


def blocks(X: Any) -> Iterator[tuple[slice, Array]]:
    """Some rows of X after the others, which may be scaled only now: where they stand, and the rows as `precision`."""
    height = max(BLOCK_ROWS, BLOCK_VALUES // X.shape[1])
    for start in range(0, X.shape[0], height):
        rows = slice(start, min(start + height, X.shape[0]))
        block = X[rows]
        yield rows, like(block, block, precision(X))


def spectrum(
    X: Any,
    weights: np.ndarray[Any, Any] | None = None,
    center: np.ndarray[Any, Any] | None = None,
    see: Callable[[slice, Array], object] = lambda rows, block: None,
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(basis (d, r), energy (r,)) with XᵀX = basis @ diag(energy) @ basisᵀ, r = min(n, d).

    With `weights` w (n,) of XᵀDX, D = diag(w); with `center` (d,) of the rows without it. `see` is shown each of the
    `blocks`, for other sums from the same pass.
    """
    n, d = X.shape
    if n < d:
        for part, block in blocks(X):
            see(part, block)
        rows = to_numpy(X[:]).astype(np.float64) - (0.0 if center is None else center)
        root = 1.0 if weights is None else np.sqrt(weights)[:, None]
        _, singular, vectors = np.linalg.svd(root * rows, full_matrices=False)
        return vectors.T, singular**2
    products: Array | None = None
    for part, block in blocks(X):
        see(part, block)
        block = block if center is None else block - like(center, block)
        heavy = block if weights is None else block * like(weights[part, None], block)
        product = heavy.T @ block
        products = product if products is None else _added(products, product)
    assert products is not None  # there is at least one row
    energy, basis = np.linalg.eigh(to_numpy(products).astype(np.float64))
    return basis, np.maximum(energy, 0.0)


def _added(total: Array, part: Array) -> Array:
    total += part
    return total


def rotate(X: Any, weights: np.ndarray[Any, Any] | None = None) -> Rows:
    basis, energy = spectrum(X, weights)
    rotated: Array | None = None
    for rows, block in blocks(X):
        if rotated is None:
            shape = (X.shape[0], basis.shape[1])
            rotated = namespace(block).empty(shape, dtype=block.dtype, device=block.device)
        rotated[rows] = block @ like(basis, block)
    assert rotated is not None  # there is at least one row
    return Rows(rotated, basis, energy, weights)


def minimise(
    rows: Rows,
    loss: Loss,
    outputs: int,
    ridge: float,
    curvature: float,
    intercept: bool = True,
    start: np.ndarray[Any, Any] | None = None,
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(W (d, k), b (k,)) float32; `curvature` is about that of the loss in one output, b = 0 without `intercept`.

    It starts from 0, or with W at `start` (d, k).
    """
    X = rows.rotated
    r = X.shape[1]
    scale = 1 / np.sqrt(curvature * rows.energy / rows.mass + ridge)  # (r,)
    shrinkage = ridge * scale[:, None] ** 2

    def evaluate(flat: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        V, b = flat[: r * outputs].reshape(r, outputs), flat[r * outputs :]
        value, slope = loss(X @ like(scale[:, None] * V, X) + (like(b, X) if intercept else 0.0))
        gradient = scale[:, None] * to_numpy(X.T @ slope).astype(np.float64) + shrinkage * V
        steps = [gradient.ravel(), to_numpy(slope).sum(axis=0, dtype=np.float64)] if intercept else [gradient.ravel()]
        return value + 0.5 * float((shrinkage * V * V).sum()), np.concatenate(steps)

    begin = np.zeros(r * outputs + (outputs if intercept else 0))
    first = float(np.abs(evaluate(begin)[1]).max())
    if start is not None:
        begin[: r * outputs] = (rows.basis.T @ start / scale[:, None]).ravel()
    options = {"maxiter": PASSES, "maxfun": 2 * PASSES, "gtol": TOLERANCE * first, "ftol": 0.0, "maxcor": 10}
    found = minimize(evaluate, begin, jac=True, method="L-BFGS-B", options=options).x
    W = rows.basis @ (scale[:, None] * found[: r * outputs].reshape(r, outputs))
    b = found[r * outputs :] if intercept else np.zeros(outputs)
    return W.astype(np.float32), b.astype(np.float32)
