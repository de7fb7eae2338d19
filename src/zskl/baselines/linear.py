"""Linear maps of the features under a smooth loss and a ridge, in coordinates that make many of them cheap.

    min over W (d, k), b (k,) of  loss(XW + b) + ½ ridge ‖W‖²

One eigendecomposition XᵀX = U diag(a) Uᵀ serves every loss and every ridge on the same rows: with W = U diag(s) V and
s = 1/√(curvature · a / n + ridge) the problem in V is nearly round, and L-BFGS needs few passes over the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import minimize

from zskl.arrays import Array, like, to_numpy

Loss: TypeAlias = Callable[[Array], tuple[float, Array]]  # outputs (n, k) → mean over the rows, gradient (n, k)
PASSES = 100  # over the rows, at most
TOLERANCE = 3e-3  # of the gradient's largest entry in the round coordinates, in units of the first one


@dataclass(frozen=True)
class Rows:
    """Rows in the basis of their own spread: X = rotated @ basisᵀ."""

    rotated: Array  # (n, r)
    basis: np.ndarray[Any, Any]  # (d, r) orthonormal columns, r = min(n, d)
    energy: np.ndarray[Any, Any]  # (r,) eigenvalues of XᵀX ≥ 0


def spectrum(X: Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(basis (d, r), energy (r,)) with XᵀX = basis @ diag(energy) @ basisᵀ in float64, r = min(n, d)."""
    if X.shape[0] < X.shape[1]:
        _, singular, vectors = np.linalg.svd(to_numpy(X).astype(np.float64), full_matrices=False)
        return vectors.T, singular**2
    energy, basis = np.linalg.eigh(to_numpy(X.T @ X).astype(np.float64))
    return basis, np.maximum(energy, 0.0)


def rotate(X: Array) -> Rows:
    basis, energy = spectrum(X)
    return Rows(X @ like(basis, X), basis, energy)


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
    n, r = X.shape
    scale = 1 / np.sqrt(curvature * rows.energy / n + ridge)  # (r,)
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
