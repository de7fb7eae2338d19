"""F(x, y) = xᵀWy, trained by a loss of the scores: what ALE, DeViSE and SJE share.

With S = XWYᵀ (n, C) and G = ∂loss/∂S the gradient of a batch is XᵀGY. A loss only sees S and each row's class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from zskl.arrays import Array, generator, like, namespace, to_numpy
from zskl.baselines.descent import DescentClassifier, Learned, coordinates
from zskl.baselines.shared_fit import class_signatures
from zskl.estimators.estimator import Training
from zskl.estimators.score_parts import ScoreParts
from zskl.parameters import positive

Loss = Callable[[Array, Array, float], tuple[Array, Array]]


class BilinearProblem:
    """W in coordinates of the span of the training signatures, from a normal draw of variance 1/d."""

    def __init__(self, training: Training, seed: int, loss: Loss, margin: float) -> None:
        self.X, self.codes, self.loss, self.margin = training.X, training.codes, loss, margin
        self.Z, self.basis = coordinates(class_signatures(training))
        self.weights = [start(self.X.shape[1], self.basis, seed, 1)[0]]
        self.gradients = [namespace(self.basis).zeros_like(self.weights[0])]

    def step(self, rows: Array) -> Array:
        X = self.X[rows]
        value, G = self.loss((X @ self.weights[0]) @ self.Z.mT, self.codes[rows], self.margin)
        namespace(X).matmul(X.mT, G @ self.Z, out=self.gradients[0])
        return value

    def keep(self, epochs: int) -> None:
        return None

    def learned(self) -> Learned:
        return {"projection_": to_numpy(self.weights[0] @ self.basis.mT)}


def start(d: int, basis: Array, seed: int, maps: int) -> Array:
    """(maps, d, r) drawn in signature space, so that the draw does not depend on the coordinates."""
    return like(generator(seed, 1).standard_normal((maps, d, basis.shape[0])) / d**0.5, basis) @ basis


def violations(S: Array, own: Array, margin: float) -> Array:
    """(n, C) max(0, m + S_ij − S_il) with l the row's own class; 0 for that class."""
    xp = namespace(S)
    each = xp.arange(S.shape[0], device=S.device)
    H = S - S[each, own][:, None]
    H += margin
    H[each, own] = 0.0
    return xp.maximum(H, xp.zeros_like(H))


def pushed(G: Array, own: Array) -> Array:
    """G / n (n, C), with what it adds to wrong classes subtracted from the own class; changes G."""
    xp = namespace(G)
    each = xp.arange(G.shape[0], device=G.device)
    G /= G.shape[0]
    G[each, own] = -xp.sum(G, axis=1)  # the own class itself is 0 so far
    return G


class BilinearClassifier(DescentClassifier):
    """A bilinear map under one loss, which a subclass sets as `LOSS`."""

    LEARNED: ClassVar = {"projection_": ("d", "p")}
    LOSS: ClassVar[Loss]

    def __init__(
        self,
        *,
        margin: float = 1.0,
        batch_size: int = 64,
        epochs: int = 20,
        learning_rate: float = 0.1,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        feature_scaling: str = "center-l2",
        signature_scaling: str = "center-l2",
        signature_mean: str = "seen",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.margin = margin
        self.batch_size = batch_size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        positive("margin", self.margin)

    def _problem(self, training: Training, seed: int) -> BilinearProblem:
        return BilinearProblem(training, seed, type(self).LOSS, self.margin)

    def _scores(self, X: Array, Y: Array) -> Array:
        return (X @ like(self.projection_, X)) @ Y.mT

    def _score_parts(self) -> ScoreParts:
        return ScoreParts(self.projection_)

    projection_: Any
