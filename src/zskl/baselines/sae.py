"""SAE: the semantic auto-encoder."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from typing import ClassVar, Self

import numpy as np

from zskl._arrays import Array, convert_like, namespace, to_numpy
from zskl._validation import check_option
from zskl.baselines._baseline import WeightedClassifier, baseline
from zskl.baselines._linear_models import class_signatures, class_sums_and_spectrum, row_spectrum, scale_to_unit_length
from zskl.estimators._inputs import Training
from zskl.estimators.explanation import ScoreParts
from zskl.training.rows import RowsReadOnce, ScaledRows

DIRECTIONS = ("to-signatures", "to-features")


@baseline
class SAE(WeightedClassifier):
    """Semantic auto-encoder: one map encodes features as signatures, and its transpose decodes them.

    W (d, p) solves a Sylvester equation::

        min ‖X − SWᵀ‖² + λ‖XW − S‖²,   λ XᵀX W + W SᵀS = (1 + λ) XᵀS

    S (n, p) has the signature of each row's class. One eigendecomposition of XᵀX and one of SᵀS serve all λ. Scores
    are cosines, of xᵀW and y or of x and Wy.

    Parameters
    ----------
    lam : float, default=1.0
        Weight λ > 0 of the encoder against the decoder.
    direction : {"to-features", "to-signatures"}, default="to-features"
        "to-signatures" compares xᵀW with y, "to-features" compares x with Wy.

    References
    ----------
    .. [1] E. Kodirov, T. Xiang and S. Gong, "Semantic autoencoder for zero-shot learning", CVPR 2017.
    """

    kind: ClassVar[str] = "sae"
    EXAMPLE: ClassVar[str] = "lam=1.0"
    READS: ClassVar[type[ScaledRows]] = RowsReadOnce
    SUMMARY: ClassVar[str] = "Semantic auto-encoder: one map there and back"
    GRID: ClassVar = {
        "lam": (0.03, 0.1, 0.3, 1.0, 10.0, 100.0, 1000.0),
        "direction": ("to-features", "to-signatures"),
        "feature_scaling": ("l2-center-l2", "sqrt-center-l2", "standardize-l2"),
        "signature_scaling": ("center-l2", "sqrt-center-l2", "l2", "standardize-l2"),
    }
    BOUNDS: ClassVar = {"lam": (1e-4, 1e6)}
    LEARNED: ClassVar = {"projection_": ("d", "p"), "direction_": None}
    FREE: ClassVar = ("lam", "direction")
    CHECKS: ClassVar = {"direction_": partial(check_option, options=DIRECTIONS)}
    OPTIONS: ClassVar = {"direction": DIRECTIONS}

    lam: float = 1.0
    direction: str = "to-features"
    _: KW_ONLY
    feature_scaling: str = "l2-center-l2"

    def _learn(self, training: Training) -> Callable[[Self], None]:
        Y = to_numpy(class_signatures(training)).astype(np.float64)
        sums, U, a = class_sums_and_spectrum(training)
        V, b = row_spectrum(np.sqrt(training.sizes)[:, None] * Y)  # SᵀS without its n rows
        middle = U.T @ sums.T @ Y @ V

        def finish(model: Self) -> None:
            weights = model.lam * a[:, None] + b
            empty = weights <= 1e-12 * weights.max()  # directions without rows and signatures, where W is 0
            core = np.where(empty, 0.0, (1 + model.lam) * middle / np.where(empty, 1.0, weights))
            model.projection_, model.direction_ = (U @ core @ V.T).astype(np.float32), model.direction

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        W = convert_like(self.projection_, X)
        if self.direction_ == "to-features":
            return scale_to_unit_length(X) @ scale_to_unit_length(Y @ W.T).T
        return scale_to_unit_length(X @ W) @ scale_to_unit_length(Y).T

    def _score_parts(self) -> ScoreParts:
        """A cosine is bilinear in vectors divided by lengths: unit(x)ᵀW and y/‖Wy‖, or unit(xᵀW) and unit(y)."""
        W = self.projection_
        if self.direction_ == "to-signatures":
            return ScoreParts(
                W, samples=lambda X: scale_to_unit_length(X @ convert_like(W, X)), classes=scale_to_unit_length
            )

        def divided(Y: Array) -> Array:
            images = Y @ convert_like(W, Y).T
            length = namespace(Y).sqrt(namespace(Y).sum(images * images, axis=1, keepdims=True))
            return Y / namespace(Y).where(length > 0, length, namespace(Y).ones_like(length))

        return ScoreParts(
            W, samples=lambda X: scale_to_unit_length(X) @ convert_like(W, X), classes=divided, image_lengths=True
        )
