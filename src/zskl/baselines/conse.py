"""ConSE: convex combination of semantic embeddings (Norouzi et al., ICLR 2014)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from zskl.arrays import Array, like, namespace, to_numpy
from zskl.baselines import logistic
from zskl.baselines.shared_fit import SharedClassifier, class_signatures, unit
from zskl.estimators.candidates import softmax
from zskl.estimators.estimator import Training
from zskl.parameters import count, positive


class ConSE(SharedClassifier):
    """A sample's signature is the mean of those of its T most probable seen classes, weighted by their probabilities.

        f(x) = Σ_t p(k_t | x) y_{k_t} / Σ_t p(k_t | x),   score cos(f(x), y)

    with k_1, …, k_T the seen classes of the largest p, a multinomial logistic regression. T above the number of seen
    classes takes them all.

    Parameters
    ----------
    T : how many seen classes are combined
    C : inverse strength of the ridge of the logistic regression
    feature_scaling, signature_scaling, signature_mean, device : see `ZeroShotKernelClassifier`
    random_state : not used, there is nothing to draw

    Attributes
    ----------
    weights_, intercept_ : (d, C) and (C,) of the seen classes' classifier, float32
    seen_ : (C, p) scaled signatures of the seen classes, float32
    T_ : what it was fitted with
    """

    kind: ClassVar[str] = "conse"
    LEARNED: ClassVar = {"weights_": ("d", "C"), "intercept_": ("C",), "seen_": ("C", "p"), "T_": None}
    FREE: ClassVar = ("T", "C")

    def __init__(
        self,
        T: int = 10,
        C: float = 1.0,
        *,
        feature_scaling: str = "l2-center-l2",
        signature_scaling: str = "center-l2",
        signature_mean: str = "seen",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.T = T
        self.C = C
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        count("T", self.T)
        positive("C", self.C)

    def _learn(self, training: Training) -> Callable[[Self], None]:
        seen = to_numpy(class_signatures(training))
        classifier = logistic.path(training)

        def finish(model: Self) -> None:
            model.weights_, model.intercept_ = classifier(model.C)
            model.seen_, model.T_ = seen, int(model.T)

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        xp = namespace(X)
        p = softmax(X @ like(self.weights_, X) + like(self.intercept_, X))  # (n, C)
        if p.shape[1] > self.T_:
            least = xp.sort(p, axis=1)[:, -self.T_ :][:, :1]
            p = xp.where(p >= least, p, 0 * p)
        return unit(p @ like(self.seen_, X)) @ unit(Y).T

    @classmethod
    def _unstored(cls, name: str, value: Any) -> Any:
        return count("T", value) if name == "T_" else super()._unstored(name, value)
