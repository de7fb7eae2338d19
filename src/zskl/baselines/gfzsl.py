"""GFZSL: a Gaussian for each class, whose mean and variances are predicted from its signature."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import cache, partial
from typing import Any, ClassVar, Self

import numpy as np

from zskl._arrays import Array, NumPyArray, convert_like, namespace, to_numpy
from zskl._validation import check_option, check_positive
from zskl.baselines._baseline import WeightedClassifier, baseline
from zskl.baselines._linear_models import class_signatures, sum_by_class
from zskl.estimators._inputs import Training
from zskl.estimators.base import add_standardized
from zskl.kernels import pairwise_distances

KERNELS = ("linear", "gaussian")
LEAST = 1e-8  # of the largest variance within classes: a column with less may hold rounding, and is not stretched


@baseline
class GFZSL(WeightedClassifier):
    """Generative framework: each class is a Gaussian, predicted from its signature; the likeliest class wins.

    Features are independent within a class, with mean μ_c and variances s_c. For the seen classes c both are estimated
    from rows, the variances with a prior. For any class they are predicted from its signature by ridge regression,
    linear or with a Gaussian kernel::

        s_c = (Σ_i (x_i − μ_c)² + r v) / (N_c + r),   v the mean variance within the seen classes
        μ(y) = m + Σ_c k(y, y_c) a_c,        A = (K + λI)⁻¹ (μ_c − m)
        log s(y) = l + Σ_c k(y, y_c) b_c,    B = (K + κI)⁻¹ (log s_c − l),   k = yᵀy'  or  exp(−‖y − y'‖²/σ²)
        score = log N(x; μ(y), s(y))

    m and l are means over the seen classes. One eigendecomposition of K serves all ridges. Gaussians of seen classes
    are predicted like all others.

    Parameters
    ----------
    kernel : {"linear", "gaussian"}, default="gaussian"
        The kernel k between signatures.
    sigma : float, default=2.0
        Width σ > 0 of the Gaussian kernel.
    lam : float, default=0.1
        Ridge λ > 0 of the regression of means.
    variance_lam : float, default=1.0
        Ridge κ > 0 of the regression of variances.
    prior_rows : float, default=100.0
        How many rows r > 0 the prior of the variances is worth.

    Attributes
    ----------
    center_ : ndarray of shape (d,)
        m, in float32.
    deviations_ : ndarray of shape (d,)
        √v, in float32.
    log_variances_ : ndarray of shape (d,)
        l, in units of v, in float32.
    signatures_ : ndarray of shape (C, p)
        The scaled signatures y_c of the seen classes, in float32.
    mean_coefficients_ : ndarray of shape (C, d)
        A, in units of √v, in float64.
    variance_coefficients_ : ndarray of shape (C, d)
        B, in float64.

    Notes
    -----
    Differs from the paper: variances are shrunk towards those of all classes by r, where the paper leaves the prior
    open, and the regressions have a constant. The transductive version is left out.

    References
    ----------
    .. [1] V. K. Verma and P. Rai, "A simple exponential family framework for zero-shot learning", ECML-PKDD 2017.
    """

    kind: ClassVar[str] = "gfzsl"
    EXAMPLE: ClassVar[str] = "lam=0.1"
    SUMMARY: ClassVar[str] = "Gaussians of classes predicted from signatures by ridge regression"
    GRID: ClassVar = add_standardized(
        {
            "kernel": KERNELS,
            "sigma": (1.4, 2.0, 2.8),
            "lam": (0.01, 0.1, 1.0),
            "variance_lam": (1.0, 10.0),
            "prior_rows": (30.0, 300.0),
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
            "signature_scaling": ("center-l2", "sqrt-center-l2"),
        },
        {"signature_scaling": ("center-l2",), "prior_rows": (300.0,)},
    )
    BOUNDS: ClassVar = {"sigma": (0.1, 30.0), "lam": (1e-4, 1e3), "variance_lam": (1e-3, 1e5), "prior_rows": (0.1, 1e6)}
    LEARNED: ClassVar = {
        "center_": ("d",),
        "deviations_": ("d",),
        "log_variances_": ("d",),
        "signatures_": ("C", "p"),
        "mean_coefficients_": ("C", "d"),
        "variance_coefficients_": ("C", "d"),
        "kernel_": None,
        "sigma_": None,
    }
    FREE: ClassVar = ("kernel", "sigma", "lam", "variance_lam", "prior_rows")
    CHECKS: ClassVar = {"kernel_": partial(check_option, options=KERNELS), "sigma_": check_positive}
    OPTIONS: ClassVar = {"kernel": KERNELS}

    kernel: str = "gaussian"
    sigma: float = 2.0
    lam: float = 0.1
    variance_lam: float = 1.0
    prior_rows: float = 100.0
    _: KW_ONLY
    feature_scaling: str = "sqrt-center-l2"

    def _effective_settings(self) -> dict[str, Any]:
        found = super()._effective_settings()
        return found if self.kernel == "gaussian" else {**found, "sigma": None}

    def _learn(self, training: Training) -> Callable[[Self], None]:
        Y = to_numpy(class_signatures(training)).astype(np.float64)
        means = to_numpy(sum_by_class(training)).astype(np.float64) / training.sizes[:, None]

        def squares(block: Array, codes: Array) -> Array:
            return (block - convert_like(means, block)[codes]) ** 2

        scatter = to_numpy(sum_by_class(training, squares)).astype(np.float64)  # (C, d)
        variance = scatter.sum(axis=0) / training.sizes.sum()
        # A column that never varies within a class says nothing about how far its values are apart.
        variance = np.maximum(variance, LEAST * variance.max()) if variance.max() > 0 else np.ones_like(variance)
        deviations, center = np.sqrt(variance), means.mean(axis=0)

        @cache
        def spectrum(kernel: str, sigma: float) -> tuple[NumPyArray, NumPyArray]:
            energy, vectors = np.linalg.eigh(to_numpy(kernel_matrix(kernel, sigma, Y, Y)))
            return np.maximum(energy, 0.0), vectors

        def finish(model: Self) -> None:
            energy, vectors = spectrum(str(model.kernel), float(model.sigma))

            def regress(targets: NumPyArray, ridge: float) -> NumPyArray:
                return vectors @ ((vectors.T @ targets) / (energy + ridge)[:, None])

            r = float(model.prior_rows)
            logs = np.log((scatter / variance + r) / (training.sizes[:, None] + r))
            level = logs.mean(axis=0)
            model.center_, model.deviations_ = center.astype(np.float32), deviations.astype(np.float32)
            model.log_variances_, model.signatures_ = level.astype(np.float32), Y.astype(np.float32)
            model.mean_coefficients_ = regress((means - center) / deviations, float(model.lam))
            model.variance_coefficients_ = regress(logs - level, float(model.variance_lam))
            model.kernel_, model.sigma_ = str(model.kernel), float(model.sigma)

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        xp, Y = namespace(Y), convert_like(Y, Y, "float64")  # coefficients can be large, and cancel
        weights = kernel_matrix(self.kernel_, self.sigma_, Y, convert_like(self.signatures_, Y))
        means = weights @ convert_like(self.mean_coefficients_, Y)
        logs = weights @ convert_like(self.variance_coefficients_, Y) + convert_like(self.log_variances_, Y)
        precision = xp.exp(-logs)
        constant = xp.sum(means * means * precision + logs, axis=1)
        Z = (X - convert_like(self.center_, X)) / convert_like(self.deviations_, X)
        products = (Z * Z) @ convert_like(precision, X).T - 2 * (Z @ convert_like(means * precision, X).T)
        return -0.5 * (products + convert_like(constant, X))


def kernel_matrix(kernel: str, sigma: float, A: Array, B: Array) -> Array:
    """k of the rows of A and B."""
    return A @ B.T if kernel == "linear" else namespace(A).exp(-pairwise_distances(A, B) / sigma**2)
