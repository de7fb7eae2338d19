"""Numbers about kernel matrices and projections. Sums are accumulated in float64 whatever comes in."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def alignment(K: ArrayLike, L: ArrayLike) -> float:
    """Alignment ⟨K, L⟩ = Σ_ij K_ij L_ij of two matrices.

    Parameters
    ----------
    K : array-like of shape (n, m)
        A matrix, square or not.
    L : array-like of shape (n, m)
        A matrix of the same shape.

    Returns
    -------
    float
        The sum of the products of their entries.

    Examples
    --------
    >>> from zskl.metrics import alignment
    >>> alignment([[1, 2], [3, 4]], [[1, 0], [0, 1]])
    5.0
    """
    k, l = np.asarray(K), np.asarray(L)  # noqa: E741
    if k.ndim != 2 or k.shape != l.shape:
        raise ValueError(f"K has shape {k.shape} and L {l.shape}: expected two matrices of the same shape")
    return float(np.einsum("ij,ij->", k, l, dtype=np.float64))


def polarisation(
    K: ArrayLike, row_labels: ArrayLike, column_labels: ArrayLike | None = None, repulsion: float = 1.0
) -> float:
    """Alignment of a kernel matrix with its labels: Σ_{l_i = l_j} K_ij − λ Σ_{l_i ≠ l_j} K_ij.

    Parameters
    ----------
    K : array-like of shape (n, m)
        Kernel values of n rows against m columns.
    row_labels : array-like of shape (n,)
        The class of each row.
    column_labels : array-like of shape (m,), default=None
        The class of each column. If None, the row labels are used.
    repulsion : float, default=1.0
        The weight λ of pairs of different classes.

    Returns
    -------
    float
        Large where rows are similar to columns of their own class alone.

    Examples
    --------
    >>> from zskl.metrics import polarisation
    >>> polarisation([[1.0, 0.5], [0.5, 1.0]], ["ant", "bee"])
    1.0
    """
    rows = np.asarray(row_labels)
    columns = rows if column_labels is None else np.asarray(column_labels)
    if rows.ndim != 1 or columns.ndim != 1 or np.shape(K) != (len(rows), len(columns)):
        raise ValueError(
            f"K has shape {np.shape(K)}, the row labels {rows.shape} and the column labels {columns.shape}: "
            "expected one label for each row and each column of K"
        )
    return alignment(K, np.where(rows[:, None] == columns[None, :], 1.0, -float(repulsion)))


def incoherence(W: ArrayLike) -> float:
    """How far the columns of a projection are from orthogonal: ‖ŴᵀŴ − I‖²_F.

    Ŵ is W with columns of unit length. A column of zeros stays zero, and so adds 1.

    Parameters
    ----------
    W : array-like of shape (n_features, n_attributes)
        The projection.

    Returns
    -------
    float
        0 for orthogonal columns; larger the more they point the same way.

    Examples
    --------
    >>> from zskl.metrics import incoherence
    >>> incoherence([[1, 0], [0, 2]])
    0.0
    """
    w = np.asarray(W, np.float64)
    if w.ndim != 2:
        raise ValueError(f"W has shape {w.shape}: expected a matrix, features by attributes")
    length = np.linalg.norm(w, axis=0)
    unit = w / np.where(length > 0, length, 1.0)
    return float(np.sum((unit.T @ unit - np.eye(w.shape[1])) ** 2))
