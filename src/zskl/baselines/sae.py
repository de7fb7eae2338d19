"""SAE: the semantic auto-encoder (Kodirov, Xiang and Gong, CVPR 2017)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from zskl.arrays import Array, like, namespace, to_numpy
from zskl.baselines.linear import spectrum
from zskl.baselines.shared_fit import SharedClassifier, class_signatures, class_sums, unit
from zskl.estimators.estimator import Training
from zskl.estimators.score_parts import ScoreParts
from zskl.parameters import one_of, positive

DIRECTIONS = ("to-signatures", "to-features")


class SAE(SharedClassifier):
    """A map W (d, p) that encodes features as signatures, and whose transpose decodes them.

        min ‖X − SWᵀ‖² + λ‖XW − S‖²,   the Sylvester equation  λ XᵀX W + W SᵀS = (1 + λ) XᵀS

    with S (n, p) the signature of each row's class. One eigendecomposition of XᵀX and one of SᵀS serve all λ. Scores
    are cosines, of xᵀW and y or of x and Wy.

    Parameters
    ----------
    lam : λ > 0, weight of the encoder against the decoder
    direction : "to-signatures" compares xᵀW with y, "to-features" x with Wy
    feature_scaling, signature_scaling, signature_mean, device : see `ZeroShotKernelClassifier`
    random_state : not used, there is nothing to draw

    Attributes
    ----------
    projection_ : W (d, p) float32
    direction_ : what it scores by
    """

    kind: ClassVar[str] = "sae"
    LEARNED: ClassVar = {"projection_": ("d", "p"), "direction_": None}
    FREE: ClassVar = ("lam", "direction")

    def __init__(
        self,
        lam: float = 1.0,
        direction: str = "to-features",
        *,
        feature_scaling: str = "l2-center-l2",
        signature_scaling: str = "center-l2",
        signature_mean: str = "seen",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.lam = lam
        self.direction = direction
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        positive("lam", self.lam)
        one_of("direction", self.direction, DIRECTIONS)

    def _learn(self, training: Training) -> Callable[[Self], None]:
        Y = to_numpy(class_signatures(training)).astype(np.float64)
        U, a = spectrum(training.X)
        V, b = spectrum(np.sqrt(training.sizes)[:, None] * Y)  # SᵀS without its n rows
        middle = U.T @ to_numpy(class_sums(training)).T @ Y @ V

        def finish(model: Self) -> None:
            weights = model.lam * a[:, None] + b
            empty = weights <= 1e-12 * weights.max()  # directions without rows and signatures, where W is 0
            core = np.where(empty, 0.0, (1 + model.lam) * middle / np.where(empty, 1.0, weights))
            model.projection_, model.direction_ = (U @ core @ V.T).astype(np.float32), model.direction

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        W = like(self.projection_, X)
        if self.direction_ == "to-features":
            return unit(X) @ unit(Y @ W.T).T
        return unit(X @ W) @ unit(Y).T

    def _score_parts(self) -> ScoreParts:
        """A cosine is bilinear in what it divides by lengths: unit(x)ᵀW and y/‖Wy‖, or unit(xᵀW) and unit(y)."""
        W = self.projection_
        if self.direction_ == "to-signatures":
            return ScoreParts(W, samples=lambda X: unit(X @ like(W, X)), classes=unit)

        def divided(Y: Array) -> Array:
            images = Y @ like(W, Y).T
            length = namespace(Y).sqrt(namespace(Y).sum(images * images, axis=1, keepdims=True))
            return Y / namespace(Y).where(length > 0, length, namespace(Y).ones_like(length))

        return ScoreParts(W, samples=lambda X: unit(X) @ like(W, X), classes=divided)

    @classmethod
    def _unstored(cls, name: str, value: Any) -> Any:
        if name == "direction_":
            one_of("direction", value, DIRECTIONS)
        return super()._unstored(name, value)
