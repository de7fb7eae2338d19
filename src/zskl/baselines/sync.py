"""SynC: synthesised classifiers (Changpinyo, Chao, Gong and Sha, CVPR 2016)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from zskl.arrays import Array, like, namespace, to_numpy
from zskl.baselines.linear import Loss, minimise, rotate
from zskl.baselines.logistic import log_sum_exp
from zskl.baselines.shared_fit import SharedClassifier, class_signatures, members
from zskl.estimators.candidates import softmax
from zskl.estimators.estimator import Training
from zskl.parameters import one_of, positive

LOSSES = ("one-vs-other", "structured")
SMOOTHING = 0.05  # of the structured loss's maximum
RCOND = 1e-6


class SynC(SharedClassifier):
    """Classifiers of classes are mixtures of those of phantom classes, near in signature space.

        w_c = Σ_r s_cr v_r,   s_cr = exp(−‖y_c − b_r‖²/σ²) / Σ_r' exp(−‖y_c − b_r'‖²/σ²),   score xᵀw_c
        min over v of  (1/n) Σ_i loss(x_i) + λ/2 Σ_c ‖w_c‖²   over the seen classes c

    with a phantom b_r at each seen class, as in the paper's experiments. The mixtures S (C, C) of the seen classes are
    then invertible, so that the minimum is found in w, whatever σ, and v = S⁻¹w. The loss is

        "one-vs-other"  Σ_c max(0, 1 − t_ic xᵢᵀw_c)²,   t_ic = 1 for the row's class, −1 for others
        "structured"    max_c (‖y_c − y_i‖² + xᵢᵀw_c) − xᵢᵀw_{y_i}

    Differs from the paper: the maximum of the structured loss is smoothed to 0.05 log Σ_c exp(·/0.05).

    Parameters
    ----------
    lam : λ > 0, ridge of the classifiers
    sigma : σ > 0, width of the similarity
    loss : "one-vs-other" or "structured"
    feature_scaling, signature_scaling, signature_mean, device : see `ZeroShotKernelClassifier`
    random_state : not used, there is nothing to draw

    Attributes
    ----------
    phantoms_ : b (C, p) float32
    classifiers_ : v (C, d) float64
    sigma_ : what it was fitted with
    """

    kind: ClassVar[str] = "sync"
    LEARNED: ClassVar = {"phantoms_": ("C", "p"), "classifiers_": ("C", "d"), "sigma_": None}
    FREE: ClassVar = ("lam", "sigma", "loss")

    def __init__(
        self,
        lam: float = 1e-3,
        sigma: float = 1.0,
        loss: str = "one-vs-other",
        *,
        feature_scaling: str = "l2-center-l2",
        signature_scaling: str = "center-l2",
        signature_mean: str = "seen",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.lam = lam
        self.sigma = sigma
        self.loss = loss
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        positive("lam", self.lam)
        positive("sigma", self.sigma)
        one_of("loss", self.loss, LOSSES)

    def _learn(self, training: Training) -> Callable[[Self], None]:
        phantoms = to_numpy(class_signatures(training))
        distances = squared_distances(phantoms.astype(np.float64), phantoms.astype(np.float64))
        own, rows = members(training), rotate(training.X)
        C = len(phantoms)
        losses = {
            "one-vs-other": (squared_hinge(2 * own - 1), 1.0),
            "structured": (structured(own, own @ like(distances, own)), 1 / C),
        }
        known: dict[tuple[float, str], np.ndarray[Any, Any]] = {}

        def finish(model: Self) -> None:
            key = float(model.lam), str(model.loss)
            if key not in known:
                loss, curvature = losses[model.loss]
                known[key] = minimise(rows, loss, C, model.lam, curvature, intercept=False)[0].T.astype(np.float64)
            model.phantoms_, model.sigma_ = phantoms, float(model.sigma)
            mixtures = softmax(-distances / model.sigma_**2)
            model.classifiers_ = np.linalg.pinv(to_numpy(mixtures), rcond=RCOND) @ known[key]

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        Y = like(Y, Y, "float64")  # v can be large, and cancel
        mixtures = softmax(-squared_distances(Y, like(self.phantoms_, Y)) / self.sigma_**2)
        return X @ like(mixtures @ like(self.classifiers_, Y), X).T

    @classmethod
    def _unstored(cls, name: str, value: Any) -> Any:
        return positive("sigma", value) if name == "sigma_" else super()._unstored(name, value)


def squared_distances(A: Array, B: Array) -> Array:
    """(a, b) ‖A_i − B_j‖², never below 0."""
    xp = namespace(A)
    D = xp.sum(A * A, axis=1)[:, None] - 2 * A @ B.T + xp.sum(B * B, axis=1)
    return xp.maximum(D, 0 * D)


def squared_hinge(signs: Array) -> Loss:
    """Σ_c max(0, 1 − t_c F_c)² and its gradient, for F and signs t (n, C), as a mean over rows."""
    xp = namespace(signs)
    n = signs.shape[0]

    def loss(F: Array) -> tuple[float, Array]:
        gap = xp.maximum(1 - signs * F, 0 * F)
        return float(xp.sum(gap * gap, dtype=xp.float64)) / n, -2 / n * signs * gap

    return loss


def structured(own: Array, margins: Array) -> Loss:
    """The smoothed max_c (margin_c + F_c) − F_own and its gradient, for F, own and margins (n, C), as a mean."""
    xp = namespace(margins)
    n = margins.shape[0]

    def loss(F: Array) -> tuple[float, Array]:
        raised = (F + margins) / SMOOTHING
        value = SMOOTHING * xp.sum(log_sum_exp(raised), dtype=xp.float64) - xp.sum(own * F, dtype=xp.float64)
        return float(value) / n, (softmax(raised) - own) / n

    return loss
