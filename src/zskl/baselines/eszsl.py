"""ESZSL: an embarrassingly simple approach to zero-shot learning, for dense and for sparse rows."""

import logging
from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import Array, Dense, NumPyArray, SparseRows, convert_like, is_sparse_rows, to_numpy
from zskl.baselines._baseline import WeightedClassifier, baseline
from zskl.baselines._linear_models import average_signatures, class_signatures, class_sums_and_spectrum, row_spectrum
from zskl.estimators._inputs import Training
from zskl.estimators.explanation import ScoreParts
from zskl.training.rows import RowsReadOnce, ScaledRows

log = logging.getLogger(__name__)
TARGETS = ("zero-one", "signs")
Floats = NDArray[np.float64]
TOLERANCE = 1e-7  # of each residual, in units of the first one
STEPS = 1000  # at most
VALUES = 1 << 22  # in each of the arrays of a block of classes: 32 MB


def fit_sparse_ridge(
    X: SparseRows, codes: NDArray[np.int64], classes: int, gamma: float, weights: Floats | None = None
) -> Floats:
    """Ridge regression of classes L (n, C) on X (n, d): A = (XᵀX + γI)⁻¹ XᵀL = Xᵀ (XXᵀ + γI)⁻¹ L (d, C), by conjugate
    gradients on the smaller side, d or n, so no matrix n × n or d × d is made."""
    root = np.ones(len(X)) if weights is None else np.sqrt(weights)
    X = X.astype(np.float64).scale_rows(root)
    n, d = X.shape
    found = np.empty((d, classes))
    width = max(1, VALUES // max(n, d))
    for first in range(0, classes, width):
        columns = np.arange(first, min(first + width, classes))
        L = root[:, None] * (codes[:, None] == columns)
        if n < d:
            found[:, columns] = X.T @ conjugate_gradient(lambda P: X @ (X.T @ P) + gamma * P, L)
        else:
            found[:, columns] = conjugate_gradient(lambda P: X.T @ (X @ P) + gamma * P, X.T @ L)
    return found


def conjugate_gradient(product: Callable[[Dense], Dense], right: Floats) -> Floats:
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


@baseline
class ESZSL(WeightedClassifier):
    """An embarrassingly simple approach: a bilinear map in closed form, with ridges on both sides.

    Scores are xᵀWy with::

        min ‖XWYᵀ − L‖² + γ‖WYᵀ‖² + λ‖XW‖² + γλ‖W‖²,   W = (XᵀX + γI)⁻¹ XᵀLY (YᵀY + λI)⁻¹

    L (n, C) is 1 for the class of a row, and 0 or −1 for the others. One eigendecomposition of XᵀX and one of YᵀY
    serve all γ, λ and both L.

    Rows and signatures may be sparse (SciPy): then conjugate gradients solve for W, and nothing becomes dense.

    Parameters
    ----------
    gamma : float, default=1.0
        Ridge γ > 0 in feature space.
    lam : float, default=1.0
        Ridge λ > 0 in signature space.
    targets : {"zero-one", "signs"}, default="zero-one"
        What L has for the classes that a row is not of: 0, or −1 as published.

    Attributes
    ----------
    projection_ : ndarray of shape (d, p)
        W, in float32. If the signatures are sparse, (d, C): W without its last factor, the signatures of the C classes.

    References
    ----------
    .. [1] B. Romera-Paredes and P. H. S. Torr, "An embarrassingly simple approach to zero-shot learning", ICML 2015.
    """

    kind: ClassVar[str] = "eszsl"
    EXAMPLE: ClassVar[str] = "gamma=1.0, lam=1.0"
    SPARSE: ClassVar[bool] = True
    READS: ClassVar[type[ScaledRows]] = RowsReadOnce
    SUMMARY: ClassVar[str] = "Bilinear map in closed form, ridges on both sides"
    GRID: ClassVar = {
        "gamma": (0.3, 1.0, 3.0, 10.0),
        "lam": (0.1, 0.3, 1.0, 3.0),
        "targets": TARGETS,
        "feature_scaling": ("l2-center-l2", "sqrt-center-l2", "standardize-l2"),
        "signature_scaling": ("center-l2", "sqrt-center-l2", "standardize-l2"),
    }
    BOUNDS: ClassVar = {"gamma": (1e-3, 1e4), "lam": (1e-3, 1e4)}
    LEARNED: ClassVar = {"projection_": ("d", "p|C")}
    FREE: ClassVar = ("gamma", "lam", "targets")
    OPTIONS: ClassVar = {"targets": TARGETS}

    gamma: float = 1.0
    lam: float = 1.0
    targets: str = "zero-one"
    _: KW_ONLY
    feature_scaling: str = "l2-center-l2"

    def _learn(self, training: Training) -> Callable[[Self], None]:
        found = class_signatures(training)
        if is_sparse_rows(training.X) or is_sparse_rows(found):
            return self._learn_in_factors(training, found)
        Y = to_numpy(found).astype(np.float64)
        sums, U, a = class_sums_and_spectrum(training)
        V, b = row_spectrum(Y)
        left, right = U.T @ sums.T.astype(np.float64), Y @ V
        middle = {"zero-one": left @ right}  # (d, p): UᵀXᵀLYV
        middle["signs"] = 2 * middle["zero-one"] - np.outer(left.sum(axis=1), right.sum(axis=0))

        def finish(model: Self) -> None:
            core = middle[model.targets] / ((a + model.gamma)[:, None] * (b + model.lam))
            model.projection_ = (U @ core @ V.T).astype(np.float32)

        return finish

    def _learn_in_factors(self, training: Training, signatures: Any) -> Callable[[Self], None]:
        """W = A (YYᵀ + λI)⁻¹ Y where X or Y is sparse: no matrix d × d or p × p. `_scorer` applies a sparse last Y."""
        C, Y = len(training.sizes), convert_like(signatures, np.empty(0))
        products = to_numpy(Y @ Y.T)
        dense = None if is_sparse_rows(training.X) else class_sums_and_spectrum(training)

        @cache
        def onto_classes(gamma: float) -> NumPyArray:
            if dense is None:
                return fit_sparse_ridge(training.X, to_numpy(training.codes), C, gamma, training.weights)
            sums, U, a = dense
            return U @ ((U.T @ sums.T.astype(np.float64)) / (a + gamma)[:, None])

        @cache
        def onto_signatures(lam: float) -> NumPyArray:
            inverse = np.linalg.inv(products + lam * np.eye(C))
            return inverse if is_sparse_rows(Y) else inverse @ Y

        def finish(model: Self) -> None:
            A = onto_classes(float(model.gamma))
            A = 2 * A - A.sum(axis=1, keepdims=True) if model.targets == "signs" else A
            model.projection_ = (A @ onto_signatures(float(model.lam))).astype(np.float32)

        return finish

    def _scorer(self, Y: Array) -> Callable[[Array], Array]:
        seen, factors = self.signature_table_.select(self.seen_classes_), Y
        if is_sparse_rows(seen.matrix):  # the projection meets signatures by their products with seen ones
            known = convert_like(self.signature_scaling_.apply(seen.matrix), Y)
            factors = Y @ average_signatures(known, seen.padded_rows(), seen.counts).T
        return lambda X: X @ convert_like(self.projection_, X) @ factors.T

    def _score_parts(self) -> ScoreParts | None:
        return None if is_sparse_rows(self.signature_table_.matrix) else ScoreParts(self.projection_)

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, NumPyArray], known: Any = None) -> Self:
        parameters = {"targets": "signs", **header["parameters"]}  # a file of 0.1 names no targets
        model = super()._restore({**header, "parameters": parameters}, arrays, known)
        table = model.signature_table_.matrix
        width = len(model.seen_classes_) if is_sparse_rows(table) else table.shape[1]
        if model.projection_.shape[1] != width:
            raise ValueError(f"the array projection_ has shape {model.projection_.shape}, expected {width} columns")
        return model
