"""SynC: synthesised classifiers."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import cache
from typing import ClassVar, Self

import numpy as np

from zskl._arrays import Array, NumPyArray, convert_like, namespace, to_numpy
from zskl._validation import check_positive
from zskl.baselines._baseline import SharedFitClassifier, baseline
from zskl.baselines._linear_models import (
    Loss,
    Rows,
    class_membership,
    class_signatures,
    log_sum_exp,
    minimise_ridge,
    rotate_rows,
)
from zskl.estimators._candidates import softmax
from zskl.estimators._inputs import Training
from zskl.estimators.base import add_standardized
from zskl.kernels import pairwise_distances

LOSSES = ("one-vs-other", "structured")
FIRST_SMOOTHING, SHRINK = 0.05, 0.25  # of the structured loss's maximum: each from where the one before ended
ROUNDS = 60  # of L-BFGS, at most
ROUNDS_EACH = 6  # with one smoothing, at most
GRADIENTS = 3e-3, 1e-6  # where a round stops, of the first gradient: less each time, as far as rounding allows
RCOND = 1e-6


@baseline
class SynC(SharedFitClassifier):
    """Synthesised classifiers: the classifier of a class mixes those of phantom classes nearby.

    Nearness is in signature space, and each seen class has a phantom b_r::

        w_c = Σ_r s_cr v_r,   s_cr = exp(−‖y_c − b_r‖²/σ²) / Σ_r' exp(−‖y_c − b_r'‖²/σ²),   score xᵀw_c
        min over v of  (1/n) Σ_i loss(x_i) + λ/2 Σ_c ‖w_c‖²   over the seen classes c

    The mixtures S (C, C) of the seen classes are then invertible. So the minimum is found in w, whatever σ, and v =
    S⁻¹w. The loss is::

        "one-vs-other"  Σ_c max(0, 1 − t_ic xᵢᵀw_c)²,   t_ic = 1 for the row's class, −1 for others
        "structured"    max_c (‖y_c − y_i‖² + xᵢᵀw_c) − xᵢᵀw_{y_i}

    Parameters
    ----------
    lam : float, default=1e-3
        Ridge λ > 0 of the classifiers.
    sigma : float, default=1.0
        Width σ > 0 of the similarity.
    loss : {"one-vs-other", "structured"}, default="one-vs-other"
        The loss of the classifiers of the seen classes.
    tolerance : float, default=1e-3
        How far above its minimum the objective may end, as a share of it. The duality gap proves it.

    Attributes
    ----------
    phantoms_ : ndarray of shape (C, p)
        b, in float32.
    classifiers_ : ndarray of shape (C, d)
        v, in float64.

    Notes
    -----
    The minimum is the published one up to `tolerance`. On the way there the maximum of the structured loss is smoothed
    to τ log Σ_c exp(·/τ), with ever smaller τ.

    References
    ----------
    .. [1] S. Changpinyo, W.-L. Chao, B. Gong and F. Sha, "Synthesized classifiers for zero-shot learning", CVPR 2016.
    """

    kind: ClassVar[str] = "sync"
    EXAMPLE: ClassVar[str] = "lam=1e-3"
    SUMMARY: ClassVar[str] = "Classifiers synthesised from those of phantom classes"
    GRID: ClassVar = add_standardized(
        {
            "lam": (1e-4, 3e-4, 1e-3, 3e-3),
            "sigma": (1.0, 1.4, 2.0, 2.8, 4.0, 5.6),
            "loss": ("one-vs-other", "structured"),
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
            "signature_scaling": ("center-l2", "sqrt-center-l2", "standardize-l2"),
        },
        {"lam": (3e-4, 1e-3), "signature_scaling": ("center-l2", "standardize-l2")},
    )
    BOUNDS: ClassVar = {"lam": (1e-6, 1.0), "sigma": (0.25, 16.0)}
    LEARNED: ClassVar = {"phantoms_": ("C", "p"), "classifiers_": ("C", "d"), "sigma_": None}
    FREE: ClassVar = ("lam", "sigma", "loss")
    CHECKS: ClassVar = {"sigma_": check_positive}
    OPTIONS: ClassVar = {"loss": LOSSES}

    lam: float = 1e-3
    sigma: float = 1.0
    loss: str = "one-vs-other"
    _: KW_ONLY
    tolerance: float = 1e-3
    feature_scaling: str = "l2-center-l2"

    def _learn(self, training: Training) -> Callable[[Self], None]:
        phantoms = to_numpy(class_signatures(training))
        distances = pairwise_distances(phantoms.astype(np.float64), phantoms.astype(np.float64))
        own, rows = class_membership(training), rotate_rows(training.X)

        @cache
        def solve(lam: float, loss: str) -> NumPyArray:
            if loss == "structured":
                W = fit_structured(rows, own, own @ convert_like(distances, own), lam, self.tolerance)
            else:
                W = fit_one_vs_other(rows, 2 * own - 1, lam, self.tolerance)
            return W.T.astype(np.float64)

        def finish(model: Self) -> None:
            model.phantoms_, model.sigma_ = phantoms, float(model.sigma)
            mixtures = softmax(-distances / model.sigma_**2)
            classifiers = solve(float(model.lam), str(model.loss))
            model.classifiers_ = np.linalg.pinv(to_numpy(mixtures), rcond=RCOND) @ classifiers

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        Y = convert_like(Y, Y, "float64")  # v can be large, and cancel
        mixtures = softmax(-pairwise_distances(Y, convert_like(self.phantoms_, Y)) / self.sigma_**2)
        return X @ convert_like(mixtures @ convert_like(self.classifiers_, Y), X).T


def squared_hinge(signs: Array) -> Loss:
    """Σ_c max(0, 1 − t_c F_c)² and its gradient, for F and signs t (n, C), as a mean over rows."""
    xp = namespace(signs)
    n = signs.shape[0]

    def loss(F: Array) -> tuple[float, Array]:
        gap = xp.maximum(1 - signs * F, 0 * F)
        return float(xp.sum(gap * gap, dtype=xp.float64)) / n, -2 / n * signs * gap

    return loss


def fit_one_vs_other(rows: Rows, signs: Array, lam: float, tolerance: float) -> NumPyArray:
    """(d, C) classifiers under the one-versus-other loss, proven to be within the tolerance where rounding allows."""
    loss, W, stop = squared_hinge(signs), None, GRADIENTS[0]
    for _ in range(ROUNDS_EACH):
        W = minimise_ridge(rows, loss, signs.shape[1], lam, 1.0, intercept=False, start=W, tolerance=stop)[0]
        value, slope = loss(outputs(rows, W))
        total, gap = value + 0.5 * lam * square_sum(W), gradient_gap(rows, slope, W, lam)
        if gap <= tolerance * total:  # the loss is smooth: the slopes are dual variables without a gap of their own
            break
        stop = max(0.1 * stop, GRADIENTS[1])
    assert W is not None
    return W


def fit_structured(rows: Rows, own: Array, margins: Array, lam: float, tolerance: float) -> NumPyArray:
    """(d, C) classifiers under the structured loss, proven to be within the tolerance where rounding allows. The
    softmax of a smoothed maximum is a feasible point of the dual, whose gap is what smoothing adds plus ‖gradient‖²/2λ.
    L-BFGS goes on while the second is larger; then there is less smoothing."""
    W, C, smoothing, here, stop = None, own.shape[1], FIRST_SMOOTHING, 0, GRADIENTS[0]
    for _ in range(ROUNDS):
        loss, here = smoothed_structured_loss(own, margins, smoothing), here + 1
        W = minimise_ridge(rows, loss, C, lam, 1 / C, intercept=False, start=W, tolerance=stop)[0]
        F = outputs(rows, W)
        _, slope = loss(F)
        total = structured_loss(F, own, margins) + 0.5 * lam * square_sum(W)
        rest, blur = gradient_gap(rows, slope, W, lam), smoothing_gap(F + margins, smoothing)
        if rest + blur <= tolerance * total:
            break
        if rest <= max(blur, 0.5 * tolerance * total) or here == ROUNDS_EACH:
            smoothing, here = SHRINK * smoothing, 0
        else:
            stop = max(0.1 * stop, GRADIENTS[1])
    assert W is not None
    return W


def outputs(rows: Rows, W: NumPyArray) -> Array:
    return rows.rotated @ convert_like(rows.basis.T @ W, rows.rotated)


def square_sum(A: NumPyArray) -> float:
    return float(np.vdot(A.astype(np.float64), A.astype(np.float64)))


def gradient_gap(rows: Rows, slope: Array, W: NumPyArray, lam: float) -> float:
    """‖gradient‖²/2λ of loss(XW) + λ/2 ‖W‖²: how far a strongly convex objective is above its minimum, at most."""
    gradient = to_numpy(rows.rotated.T @ slope).astype(np.float64) + lam * (rows.basis.T @ W)
    return square_sum(gradient) / (2 * lam)


def smoothing_gap(raised: Array, smoothing: float) -> float:
    """The mean over rows (n, C) of their maximum less their mean under the softmax of raised/smoothing."""
    xp = namespace(raised)
    mean = xp.sum(softmax(raised / smoothing) * raised, axis=1)
    return float(xp.mean(xp.max(raised, axis=1) - mean, dtype=xp.float64))


def structured_loss(F: Array, own: Array, margins: Array) -> float:
    """max_c (margin_c + F_c) − F_own for F, own and margins (n, C), as a mean."""
    xp = namespace(F)
    return float(xp.mean(xp.max(F + margins, axis=1) - xp.sum(own * F, axis=1), dtype=xp.float64))


def smoothed_structured_loss(own: Array, margins: Array, smoothing: float) -> Loss:
    """The smoothed max_c (margin_c + F_c) − F_own and its gradient, for F, own and margins (n, C), as a mean."""
    xp = namespace(margins)
    n = margins.shape[0]

    def loss(F: Array) -> tuple[float, Array]:
        raised = (F + margins) / smoothing
        value = smoothing * xp.sum(log_sum_exp(raised), dtype=xp.float64) - xp.sum(own * F, dtype=xp.float64)
        return float(value) / n, (softmax(raised) - own) / n

    return loss
