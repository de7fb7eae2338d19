"""IAP: indirect attribute prediction (Lampert, Nickisch and Harmeling, CVPR 2009 and PAMI 2014)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np

from zskl.arrays import Array, like, namespace, to_numpy
from zskl.baselines import attributes, logistic
from zskl.baselines.shared_fit import SharedClassifier, class_signatures
from zskl.estimators.candidates import softmax
from zskl.estimators.estimator import Training
from zskl.parameters import one_of, positive

FLOOR = 1e-6  # of a probability whose logarithm is taken


class IAP(SharedClassifier):
    """Seen classes are recognised, their attributes recalled; a class scores by how well its attributes are met.

        Σ_m log p(a_m = a_mᶜ | x) − log p(a_mᶜ),   p(a_m | x) = Σ_k p(a_m | class k) p(class k | x)

    over the seen classes k, of which p(a_m | class k) is 0 or 1. Posteriors are kept away from 0 and 1 by 10⁻⁶.

    Parameters
    ----------
    C : inverse strength of the ridge of the multinomial logistic regression
    threshold : binarise at the "mean" or the "median" of the seen classes
    feature_scaling, signature_scaling, signature_mean, device : see `ZeroShotKernelClassifier`
    random_state : not used, there is nothing to draw

    Attributes
    ----------
    weights_, intercept_ : (d, C) and (C,) of the seen classes' classifier, float32
    present_ : (C, p) which attributes the seen classes have, float32
    threshold_, prior_ : (p,) float64
    """

    kind: ClassVar[str] = "iap"
    LEARNED: ClassVar = {
        "weights_": ("d", "C"),
        "intercept_": ("C",),
        "present_": ("C", "p"),
        "threshold_": ("p",),
        "prior_": ("p",),
    }
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
        classifier = logistic.path(training)

        def finish(model: Self) -> None:
            model.threshold_ = attributes.thresholds(Y, model.threshold)
            model.present_ = attributes.present(Y, model.threshold_)
            model.prior_ = model.present_.mean(axis=0, dtype=np.float64)
            model.weights_, model.intercept_ = classifier(model.C)

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        xp = namespace(X)
        classes = softmax(X @ like(self.weights_, X) + like(self.intercept_, X))  # (n, C)
        p = xp.clip(classes @ like(self.present_, X), FLOOR, 1 - FLOOR)
        A = attributes.present(Y, self.threshold_)
        return attributes.class_scores(xp.log(p), xp.log1p(-p), A, self.prior_)
