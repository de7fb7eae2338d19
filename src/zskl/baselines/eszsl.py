"""ESZSL: an embarrassingly simple approach to zero-shot learning (Romera-Paredes and Torr, ICML 2015)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np

from zskl.arrays import Array, like, to_numpy
from zskl.baselines.linear import spectrum
from zskl.baselines.shared_fit import SharedClassifier, class_signatures, class_sums
from zskl.estimators.estimator import Training
from zskl.estimators.score_parts import ScoreParts
from zskl.parameters import positive


class ESZSL(SharedClassifier):
    """A bilinear map W (d, p) that scores xᵀWy, by ridge regression from both sides.

        min ‖XWYᵀ − L‖² + γ‖WYᵀ‖² + λ‖XW‖² + γλ‖W‖²,   W = (XᵀX + γI)⁻¹ XᵀLY (YᵀY + λI)⁻¹

    with L (n, C) 1 for a row's class and −1 for the others. One eigendecomposition of XᵀX and one of YᵀY serve all γ
    and λ.

    Parameters
    ----------
    gamma, lam : γ > 0, ridge in feature space, and λ > 0, ridge in signature space
    feature_scaling, signature_scaling, signature_mean, device : see `ZeroShotKernelClassifier`
    random_state : not used, there is nothing to draw

    Attributes
    ----------
    projection_ : W (d, p) float32
    """

    kind: ClassVar[str] = "eszsl"
    LEARNED: ClassVar = {"projection_": ("d", "p")}
    FREE: ClassVar = ("gamma", "lam")

    def __init__(
        self,
        gamma: float = 1.0,
        lam: float = 1.0,
        *,
        feature_scaling: str = "l2-center-l2",
        signature_scaling: str = "center-l2",
        signature_mean: str = "seen",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.gamma = gamma
        self.lam = lam
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        positive("gamma", self.gamma)
        positive("lam", self.lam)

    def _learn(self, training: Training) -> Callable[[Self], None]:
        Y = to_numpy(class_signatures(training)).astype(np.float64)
        sums = to_numpy(class_sums(training)).astype(np.float64)
        target = (2 * sums - sums.sum(axis=0)).T @ Y  # (d, p): XᵀLY
        U, a = spectrum(training.X)
        V, b = spectrum(Y)
        middle = U.T @ target @ V

        def finish(model: Self) -> None:
            core = middle / ((a + model.gamma)[:, None] * (b + model.lam))
            model.projection_ = (U @ core @ V.T).astype(np.float32)

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        return X @ like(self.projection_, X) @ Y.T

    def _score_parts(self) -> ScoreParts:
        return ScoreParts(self.projection_)
