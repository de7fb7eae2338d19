"""TransCLIP: a mixture of Gaussians over unlabelled rows, near descriptions."""

from typing import ClassVar

import numpy as np

from zskl.adapters._adapter import Answer, Task
from zskl.adapters._transductive import (
    ROUNDS,
    SOFTNESS,
    TINY,
    NeighbourGraph,
    TransductiveAdapter,
    log_density,
    spread,
)
from zskl.baselines._baseline import baseline
from zskl.estimators._blocks import scale_to_unit_length

SURE = 8  # rows of each class, those it is surest of, that its mean starts from


@baseline
class TransCLIP(TransductiveAdapter):
    """TransCLIP: a mixture of Gaussians over unlabelled rows, whose answers stay near descriptions and neighbours.

    Rounds of closed forms, from ŷ = softmax(scale · x·t)::

        z_i ∝ ŷ_i^λ exp(−‖(x_i − μ_c)/σ‖²/100 + Σ_j w_ij z_j),   μ_c = unit(Σ_i z_ic x_i)
        σ² = Σ_ic z_ic (x_i − μ_c)²/n,   w_ij = max(0, x_i·x_j)/2k for each of the k nearest rows j of i, and back

    The means start from the 8 rows that each class is surest of, σ² from 1/d; all classes share σ (d,). Examples are
    rows whose z is known: together they count 50 γ where all unlabelled rows count 1, and λ is halved.

    Parameters
    ----------
    lam : float, default=1.0
        What the first answers of a row count: λ ≥ 0.
    neighbours : int, default=3
        How many of the most similar rows are near: k.
    gamma : float, default=0.02
        What all examples count together: γ > 0. The paper chooses it on validation rows.

    Notes
    -----
    A row that is not among the unlabelled ones gets the same formula, with its own neighbours among these.

    References
    ----------
    .. [1] M. Zanella, B. Gérin and I. Ben Ayed, "Boosting vision-language models with transduction", NeurIPS 2024.
    """

    kind: ClassVar[str] = "transclip"
    SUMMARY: ClassVar[str] = "A Gaussian mixture over unlabelled rows near descriptions"
    TRIED: ClassVar = {"lam": (0.5, 1.0, 2.0), "scale": (25.0, 50.0, 100.0)}
    FROM_ZERO: ClassVar = ("lam",)

    lam: float = 1.0
    neighbours: int = 3
    gamma: float = 0.02

    def _answer(self, task: Task) -> Answer:
        graph = NeighbourGraph(task, self.neighbours)
        u = graph.rows
        if not len(u):
            return task.text_scores
        lam = np.float32(self.lam if not len(task.x) else self.lam / 2)
        first = lam * graph.first
        z, known = np.exp(graph.first), task.counts > 0
        means = u[np.argsort(-z, axis=0, kind="stable")[:SURE]].mean(axis=0)  # (c, d)
        means[known] = task.means[known]
        means = scale_to_unit_length(means)
        variance = np.full((1, u.shape[1]), 1 / u.shape[1], np.float32)
        mass = self.gamma * SOFTNESS / max(len(task.x), 1)
        everyone = np.concatenate([u, task.x])
        weights = np.concatenate([np.full(len(u), 1 / len(u)), np.full(len(task.x), mass)]).astype(np.float32)
        for _ in range(ROUNDS):
            z = graph.assign(first + log_density(u, means, variance), z)
            every = weights[:, None] * np.concatenate([z, task.targets])
            sums = every.T @ everyone
            means = np.where(every.sum(axis=0)[:, None] > TINY, scale_to_unit_length(sums), means)
            variance = spread(everyone, every, means).sum(axis=0, keepdims=True) / every.sum()
            variance = np.maximum(variance, np.float32(TINY))
        z = graph.assign(first + log_density(u, means, variance), z)
        return graph.answer(z, lambda x, text: lam * text + log_density(x, means, variance))
