"""GDA: a Gaussian of examples for each class, beside descriptions."""

from typing import ClassVar

import numpy as np
from scipy.linalg import solve

from zskl.adapters._adapter import Adapter, Answer, Rows, Task
from zskl.baselines._baseline import baseline


@baseline
class GDA(Adapter):
    """GDA: a Gaussian for each class, all of one covariance, beside the scores of descriptions.

    In closed form::

        score(x, c) = scale · x·t_c + α (x·P μ_c − ½ μ_c·P μ_c),   P = d (AᵀA + tr(AᵀA)/(m − 1) I)⁻¹

    μ_c is the mean of the examples of c, A (m, d) holds the examples minus the means of their classes. With one example
    of each class A is zero; then P is a multiple of the identity, from the spread of all examples. A class without
    examples gets the mean of the Gaussian terms of the others.

    Parameters
    ----------
    alpha : float, default=0.1
        What the Gaussians count beside descriptions: α ≥ 0. The paper chooses it on validation rows of the classes
        themselves. 0.1 makes both terms about as large for CLIP.

    References
    ----------
    .. [1] Z. Wang, J. Liang, L. Sheng, R. He, Z. Wang and T. Tan, "A hard-to-beat baseline for training-free CLIP-based
       adaptation", ICLR 2024.
    """

    kind: ClassVar[str] = "gda"
    SUMMARY: ClassVar[str] = "Gaussians of examples beside descriptions"
    TRIED: ClassVar = {"alpha": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0)}
    FROM_ZERO: ClassVar = ("alpha",)

    alpha: float = 0.1

    def _answer(self, task: Task) -> Answer:
        taught = task.counts > 0
        if not taught.any():
            return task.text_scores
        means = task.means[taught]
        weights = np.zeros_like(task.means)
        weights[taught] = weigh_means(task.x - task.means[task.own], task.x, means)
        bias = -0.5 * (weights * task.means).sum(axis=1)

        def answer(x: Rows) -> Rows:
            found = x @ weights.T + bias
            found[:, ~taught] = found[:, taught].mean(axis=1, keepdims=True)
            return np.asarray(task.text_scores(x) + np.float32(self.alpha) * found)

        return answer


def weigh_means(centred: Rows, x: Rows, means: Rows) -> Rows:
    """P μ (c, d), by the smaller of the two systems."""
    m, d = x.shape
    A = centred.astype(np.float64)
    total = float((A * A).sum())
    # Rounding leaves crumbs where every example is the mean of its class.
    if total <= 1e-9 * m:
        spread = float(((x - x.mean(axis=0)) ** 2).sum()) / max(m - 1, 1)
        return np.asarray(d / max(spread, 1e-6) * means, np.float32)
    ridge, M = total / max(m - 1, 1), means.astype(np.float64)
    if m < d:
        inner = solve(A @ A.T + ridge * np.eye(m), A @ M.T, assume_a="pos")
        found = (M - inner.T @ A) / ridge
    else:
        found = solve(A.T @ A + ridge * np.eye(d), M.T, assume_a="pos").T
    return np.asarray(d * found, np.float32)
