"""EXEM: the exemplar of a class, predicted from its signature."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import cache
from typing import ClassVar, Self

import numpy as np

from zskl._arrays import Array, NumPyArray, convert_like, namespace, to_numpy
from zskl._validation import check_positive
from zskl.baselines._baseline import WeightedClassifier, baseline
from zskl.baselines._linear_models import class_signatures, row_spectrum, sum_by_class
from zskl.estimators._inputs import Training
from zskl.estimators.base import add_standardized
from zskl.kernels import pairwise_distances

DISTANCES = ("euclidean", "standardized")
NOTHING = 1e-12  # of the largest energy: what a component has less is rounding
LEAST = 1e-4  # of the widest spread of all rows: what varies less within classes may be rounding, and is not stretched


@baseline
class EXEM(WeightedClassifier):
    """Exemplars: the mean of a class in feature space is predicted from its signature, and the nearest one wins.

    z are features in the first coordinates of their principal components. m_c (C, k) are the means of the seen
    classes there, and m their mean. Kernel ridge regression predicts them, one coordinate at a time::

        μ(y) = m + Σ_c k(y, y_c) a_c,   k(y, y') = exp(−‖y − y'‖²/σ²),   A = (K + λI)⁻¹ (m_c − m)
        score = −‖z − μ(y)‖,   or  −‖(z − μ(y)) / s‖  with the mean standard deviation s within the seen classes

    One eigendecomposition of K serves all λ, and one of XᵀX all numbers of components. Exemplars of seen classes are
    predicted like all others.

    Parameters
    ----------
    n_components : int, default=500
        Principal components k of the features, at most as many as there are.
    sigma : float, default=2.0
        Width σ > 0 of the kernel between signatures.
    lam : float, default=0.1
        Ridge λ > 0 of the regression.
    distance : {"standardized", "euclidean"}, default="standardized"
        Whether the distance divides each coordinate by its standard deviation within classes.

    Attributes
    ----------
    basis_ : ndarray of shape (d, k)
        The principal components, divided by s if the distance is standardized, in float32.
    center_ : ndarray of shape (k,)
        m in these coordinates, in float32.
    signatures_ : ndarray of shape (C, p)
        The scaled signatures y_c of the seen classes, in float32.
    coefficients_ : ndarray of shape (C, k)
        A in these coordinates, in float64.

    Notes
    -----
    Differs from the paper: kernel ridge regression instead of support vector regression (ν-SVR), with the same kernel.
    s is at least 1e-4 of the standard deviation of all rows along the first component, so no rounding is stretched.

    References
    ----------
    .. [1] S. Changpinyo, W.-L. Chao and F. Sha, "Predicting visual exemplars of unseen classes for zero-shot
       learning", ICCV 2017.
    .. [2] S. Changpinyo, W.-L. Chao, B. Gong and F. Sha, "Classifier and exemplar synthesis for zero-shot learning",
       IJCV 2020.
    """

    kind: ClassVar[str] = "exem"
    EXAMPLE: ClassVar[str] = "n_components=20"
    SUMMARY: ClassVar[str] = "Class exemplars predicted from signatures by kernel regression"
    GRID: ClassVar = add_standardized(
        {
            "n_components": (125, 250, 500),
            "sigma": (1.4, 2.0, 2.8),
            "lam": (0.01, 0.03, 0.1, 0.3),
            "distance": DISTANCES,
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
            "signature_scaling": ("center-l2", "sqrt-center-l2"),
        },
        {"signature_scaling": ("center-l2",)},
    )
    BOUNDS: ClassVar = {"n_components": (30, 2000), "sigma": (0.1, 30.0), "lam": (1e-4, 100.0)}
    LEARNED: ClassVar = {
        "basis_": ("d", "k"),
        "center_": ("k",),
        "signatures_": ("C", "p"),
        "coefficients_": ("C", "k"),
        "sigma_": None,
    }
    FREE: ClassVar = ("n_components", "sigma", "lam", "distance")
    CHECKS: ClassVar = {"sigma_": check_positive}
    OPTIONS: ClassVar = {"distance": DISTANCES}

    n_components: int = 500
    sigma: float = 2.0
    lam: float = 0.1
    distance: str = "standardized"
    _: KW_ONLY
    feature_scaling: str = "sqrt-center-l2"

    def _learn(self, training: Training) -> Callable[[Self], None]:
        Y = to_numpy(class_signatures(training)).astype(np.float64)
        means = to_numpy(sum_by_class(training)).astype(np.float64) / training.sizes[:, None]
        basis, deviations = principal_components(training, means)
        center = means.mean(axis=0)
        between = to_numpy(pairwise_distances(Y, Y))

        @cache
        def kernel(sigma: float) -> tuple[NumPyArray, NumPyArray]:
            energy, vectors = np.linalg.eigh(np.exp(-between / sigma**2))
            return np.maximum(energy, 0.0), vectors

        def finish(model: Self) -> None:
            energy, vectors = kernel(float(model.sigma))
            kept = basis[:, : model.n_components]
            if model.distance == "standardized":
                kept = kept / deviations[: model.n_components]
            targets = vectors.T @ ((means - center) @ kept)
            model.basis_, model.center_ = kept.astype(np.float32), (center @ kept).astype(np.float32)
            model.signatures_, model.sigma_ = Y.astype(np.float32), float(model.sigma)
            model.coefficients_ = vectors @ (targets / (energy + model.lam)[:, None])

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        Y = convert_like(Y, Y, "float64")  # coefficients can be large, and cancel
        weights = namespace(Y).exp(-pairwise_distances(Y, convert_like(self.signatures_, Y)) / self.sigma_**2)
        exemplars = convert_like(weights @ convert_like(self.coefficients_, Y), X)
        found = X @ convert_like(self.basis_, X) - convert_like(self.center_, X)
        return -namespace(X).sqrt(pairwise_distances(found, exemplars))


def principal_components(training: Training, means: NumPyArray) -> tuple[NumPyArray, NumPyArray]:
    """Principal components of the rows (d, r), the widest first, and the mean over classes of the standard deviations
    (r,) of their rows along these, for class means (C, d). Directions in which no row differs are none of them."""
    mass = float(training.sizes.sum())
    basis, energy = row_spectrum(training.X, training.weights, training.sizes @ means / mass)
    order = np.argsort(energy)[::-1]
    order = order[energy[order] > NOTHING * energy.max()] if energy.max() > 0 else order[:1]
    basis, energy = basis[:, order], energy[order]

    def squares(block: Array, codes: Array) -> Array:
        return ((block - convert_like(means, block)[codes]) @ convert_like(basis, block)) ** 2

    within = to_numpy(sum_by_class(training, squares)).astype(np.float64) / training.sizes[:, None]
    deviations = np.sqrt(within).mean(axis=0)
    least = LEAST * np.sqrt(energy.max() / mass)
    return basis, np.maximum(deviations, least) if deviations.max() > least else np.ones_like(deviations)
