"""ESZSL: an embarrassingly simple approach to zero-shot learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from zskl.arrays import Array, NumPyArray, like, to_numpy
from zskl.baselines.linear import spectrum
from zskl.baselines.shared_fit import WeightedClassifier, averaged, class_signatures, sums_and_spectrum
from zskl.baselines.sparse_ridge import ridge
from zskl.estimators.estimator import Training
from zskl.estimators.score_parts import ScoreParts
from zskl.parameters import one_of, positive
from zskl.sparse_rows import are_sparse
from zskl.training.scaled_rows import RowsReadOnce, ScaledRows

TARGETS = ("zero-one", "signs")


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
    feature_scaling : str, default="l2-center-l2"
        Scaling of the features, see `zskl.scaling`. Use "none" inside a pipeline that scales.
    signature_scaling : str, default="center-l2"
        Scaling of the signatures, see `zskl.scaling`.
    signature_mean : {"seen", "all"}, default="seen"
        Whether signatures are centred on the mean of the seen classes, or of all classes in the table.
    device : str or None, default=None
        Where to compute. None computes where X lies; "cuda" moves NumPy input to the GPU.
    random_state : int, RandomState or None, default=None
        Not used, because this method draws nothing. It is here so that all methods take the same settings.

    Attributes
    ----------
    projection_ : ndarray of shape (d, p)
        W, in float32. If the signatures are sparse, (d, C): W without its last factor, the signatures of the C classes.
    classes_ : ndarray of shape (C,)
        The seen classes, sorted.
    candidates_ : ndarray
        The seen classes, then the further classes of the table: the default candidates of `predict`.

    References
    ----------
    .. [1] B. Romera-Paredes and P. H. S. Torr, "An embarrassingly simple approach to zero-shot learning", ICML
       2015.

    Examples
    --------
    >>> from zskl import baselines, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=30, noise=0.2)
    >>> X, y = data.samples("trainval")
    >>> model = baselines.ESZSL(gamma=1.0, lam=1.0).fit(X, y, data.signatures)
    >>> protocols.zsl(model, data).accuracy > 0.5  # chance is 0.2
    True
    """

    kind: ClassVar[str] = "eszsl"
    RANDOM: ClassVar[bool] = False
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
    BOUNDS: ClassVar[Mapping[str, tuple[float, float]]] = {"gamma": (1e-3, 1e4), "lam": (1e-3, 1e4)}
    LEARNED: ClassVar = {"projection_": ("d", "p|C")}
    FREE: ClassVar = ("gamma", "lam", "targets")

    def __init__(
        self,
        gamma: float = 1.0,
        lam: float = 1.0,
        targets: str = "zero-one",
        *,
        feature_scaling: str = "l2-center-l2",
        signature_scaling: str = "center-l2",
        signature_mean: str = "seen",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.gamma = gamma
        self.lam = lam
        self.targets = targets
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        positive("gamma", self.gamma)
        positive("lam", self.lam)
        one_of("targets", self.targets, TARGETS)

    def _learn(self, training: Training) -> Callable[[Self], None]:
        found = class_signatures(training)
        if are_sparse(training.X) or are_sparse(found):
            return self._learn_in_factors(training, found)
        Y = to_numpy(found).astype(np.float64)
        sums, U, a = sums_and_spectrum(training)
        V, b = spectrum(Y)
        left, right = U.T @ sums.T.astype(np.float64), Y @ V
        middle = {"zero-one": left @ right}  # (d, p): UᵀXᵀLYV
        middle["signs"] = 2 * middle["zero-one"] - np.outer(left.sum(axis=1), right.sum(axis=0))

        def finish(model: Self) -> None:
            core = middle[model.targets] / ((a + model.gamma)[:, None] * (b + model.lam))
            model.projection_ = (U @ core @ V.T).astype(np.float32)

        return finish

    def _learn_in_factors(self, training: Training, signatures: Any) -> Callable[[Self], None]:
        """The same where X or Y is sparse: W = A (YYᵀ + λI)⁻¹ Y with the ridge regression A (d, C) onto classes.

        No matrix of the size d × d or p × p is needed. If Y is sparse, the last Y is left to `_scorer`.
        """
        C, Y = len(training.sizes), like(signatures, np.empty(0))
        products = to_numpy(Y @ Y.T)

        dense = None if are_sparse(training.X) else sums_and_spectrum(training)

        @cache
        def onto_classes(gamma: float) -> NumPyArray:
            if dense is None:
                return ridge(training.X, to_numpy(training.codes), C, gamma, training.weights)
            sums, U, a = dense
            return U @ ((U.T @ sums.T.astype(np.float64)) / (a + gamma)[:, None])

        @cache
        def onto_signatures(lam: float) -> NumPyArray:
            inverse = np.linalg.inv(products + lam * np.eye(C))
            return inverse if are_sparse(Y) else inverse @ Y

        def finish(model: Self) -> None:
            A = onto_classes(float(model.gamma))
            A = 2 * A - A.sum(axis=1, keepdims=True) if model.targets == "signs" else A
            model.projection_ = (A @ onto_signatures(float(model.lam))).astype(np.float32)

        return finish

    def _scorer(self, Y: Array) -> Callable[[Array], Array]:
        met = self._met(Y)
        return lambda X: X @ like(self.projection_, X) @ met.T

    def _met(self, Y: Array) -> Array:
        """Signatures as the projection meets them: if those of `fit` are sparse, by their products with seen ones."""
        seen = self.signature_table_.select(self.classes_)
        if not are_sparse(seen.matrix):
            return Y
        known = averaged(like(self.signature_scaling_.apply(seen.matrix), Y), seen.padded_rows(), seen.counts)
        return Y @ known.T

    def _score_parts(self) -> ScoreParts | None:
        return None if are_sparse(self.signature_table_.matrix) else ScoreParts(self.projection_)

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, NumPyArray], known: Any = None) -> Self:
        parameters = {"targets": "signs", **header["parameters"]}  # a file of 0.1 names no targets
        model = super()._restore({**header, "parameters": parameters}, arrays, known)
        table = model.signature_table_.matrix
        width = len(model.classes_) if are_sparse(table) else table.shape[1]
        if model.projection_.shape[1] != width:
            raise ValueError(f"the array projection_ has shape {model.projection_.shape}, expected {width} columns")
        return model
