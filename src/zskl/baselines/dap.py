"""DAP: direct attribute prediction (Lampert, Nickisch and Harmeling, CVPR 2009 and PAMI 2014)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np

from zskl.arrays import Array, like, to_numpy
from zskl.baselines import attributes, logistic
from zskl.baselines.linear import rotate
from zskl.baselines.shared_fit import SharedClassifier, class_signatures
from zskl.estimators.estimator import Training
from zskl.parameters import one_of, positive


class DAP(SharedClassifier):
    """One probabilistic classifier for each attribute; a class scores by how well its attributes are met.

        Σ_m log p(a_m = a_mᶜ | x) − log p(a_mᶜ),   p(a_m = 1 | x) = sigmoid(xᵀw_m + b_m)

    Attributes are binarised at a threshold; their priors are shares of the seen classes. An attribute that all or none
    of these have is left out. All logistic regressions are trained at once.

    Differs from the paper: logistic regressions instead of support vector machines with Platt's sigmoids.

    Parameters
    ----------
    C : inverse strength of the ridge of the logistic regressions
    threshold : binarise at the "mean" or the "median" of the seen classes
    feature_scaling, signature_scaling, signature_mean, device : see `ZeroShotKernelClassifier`
    random_state : not used, there is nothing to draw

    Attributes
    ----------
    weights_, intercept_ : (d, p) and (p,) of the attribute classifiers, float32
    threshold_, prior_ : (p,) float64
    """

    kind: ClassVar[str] = "dap"
    LEARNED: ClassVar = {"weights_": ("d", "p"), "intercept_": ("p",), "threshold_": ("p",), "prior_": ("p",)}
    FREE: ClassVar = ("C", "threshold")

    def __init__(
        self,
        C: float = 1.0,
        threshold: str = "mean",
        *,
        feature_scaling: str = "l2-center-l2",
        signature_scaling: str = "center",
        signature_mean: str = "seen",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.threshold = threshold
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        positive("C", self.C)
        one_of("threshold", self.threshold, attributes.THRESHOLDS)

    def _learn(self, training: Training) -> Callable[[Self], None]:
        Y = to_numpy(class_signatures(training))
        rows = rotate(training.X)

        def finish(model: Self) -> None:
            model.threshold_ = attributes.thresholds(Y, model.threshold)
            A = to_numpy(attributes.present(Y, model.threshold_))  # (C, p)
            model.prior_ = A.mean(axis=0, dtype=np.float64)
            targets = like(A, training.X)[training.codes]
            model.weights_, model.intercept_ = logistic.binary(rows, targets, model.C)

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        F = X @ like(self.weights_, X) + like(self.intercept_, X)
        A = attributes.present(Y, self.threshold_)
        return attributes.class_scores(-logistic.softplus(-F), -logistic.softplus(F), A, self.prior_)
