"""StatA: a mixture of Gaussians over unlabelled rows, anchored to descriptions."""

from typing import ClassVar

import numpy as np

from zskl.adapters._adapter import Answer, Task
from zskl.adapters._transductive import ROUNDS, TINY, NeighbourGraph, TransductiveAdapter, log_density, spread
from zskl.baselines._baseline import baseline
from zskl.estimators._blocks import scale_to_unit_length


@baseline
class StatA(TransductiveAdapter):
    """StatA: as TransCLIP, with a statistical anchor, so that a class with few rows stays where its description is.

    Rounds of closed forms, from ŷ = softmax(scale · x·t), with the neighbours w of TransCLIP::

        z_i ∝ ŷ_i exp(−‖(x_i − μ_c)/σ_c‖²/100 + Σ_j w_ij z_j),   n_c = Σ_i z_ic,   β_c = n_c / (α + n_c)
        μ_c = unit(β_c unit(Σ_i z_ic x_i) + (1 − β_c) t_c)
        σ_c² = β_c Σ_i z_ic (x_i − μ_c)²/n_c + (1 − β_c)(σ₀² + (t_c − μ_c)²)

    σ₀² is the spread of the rows about the descriptions, by ŷ. Examples are further rows whose z is known, which the
    paper does not have.

    Parameters
    ----------
    alpha : float, default=1.0
        What a description is worth, in rows: α > 0.
    neighbours : int, default=3
        How many of the most similar rows are near.

    References
    ----------
    .. [1] M. Zanella, C. Fuchs, C. De Vleeschouwer and I. Ben Ayed, "Realistic test-time adaptation of vision-language
       models", CVPR 2025.
    """

    kind: ClassVar[str] = "stata"
    SUMMARY: ClassVar[str] = "A Gaussian mixture over unlabelled rows anchored to descriptions"
    TRIED: ClassVar = {"alpha": (0.3, 1.0, 3.0, 10.0), "scale": (25.0, 50.0, 100.0)}

    alpha: float = 1.0
    neighbours: int = 3

    def _answer(self, task: Task) -> Answer:
        graph = NeighbourGraph(task, self.neighbours)
        u = graph.rows
        if not len(u):
            return task.text_scores
        anchor = np.where(task.described[:, None], task.texts, scale_to_unit_length(task.means))
        z = np.exp(graph.first)
        start = spread(u, z, anchor).sum(axis=0) / np.float32(len(u))
        means, variance = anchor, np.maximum(start, np.float32(TINY))[None]
        everyone = np.concatenate([u, task.x])
        for _ in range(ROUNDS):
            z = graph.assign(graph.first + log_density(u, means, variance), z)
            every = np.concatenate([z, task.targets])
            mass = every.sum(axis=0)[:, None]
            share = (mass / (self.alpha + mass)).astype(np.float32)
            means = scale_to_unit_length(share * scale_to_unit_length(every.T @ everyone) + (1 - share) * anchor)
            own = spread(everyone, every, means) / np.maximum(mass, TINY)
            variance = share * own + (1 - share) * (start + (anchor - means) ** 2)
            variance = np.maximum(variance, TINY).astype(np.float32)
        z = graph.assign(graph.first + log_density(u, means, variance), z)
        return graph.answer(z, lambda x, text: text + log_density(x, means, variance))
