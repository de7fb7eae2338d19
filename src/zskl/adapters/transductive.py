"""Adapters that learn from unlabelled rows: Gaussian mixtures (TransCLIP, StatA), and labels on a graph (ZLaP)."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array

from zskl._validation import check_positive
from zskl.adapters._adapter import (
    Answer,
    Rows,
    Task,
    TransductiveAdapter,
    answer_known_rows,
    nearest_rows,
    softmax_rows,
)
from zskl.baselines._baseline import baseline
from zskl.estimators._blocks import scale_to_unit_length

SURE = 8  # rows of each class, those it is surest of, that its mean starts from
ROUNDS, INNER = 10, 5  # of the mixtures, and of their neighbours in each
PROPAGATIONS = 60
SOFTNESS = 50.0  # what the logarithms of densities are divided by, in the authors' experiments
TINY = 1e-12


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


class NeighbourGraph:
    """Unlabelled rows, or examples where there are none, and the nearest rows of each among these and the examples."""

    def __init__(self, task: Task, k: int) -> None:
        self.task, self.k = task, k
        self.rows = task.unlabelled if len(task.unlabelled) else task.x
        self._everyone = np.concatenate([self.rows, task.x])
        self.first = self._texts(self.rows)  # (n, c) log ŷ
        n = len(self.rows)
        places, cosines = nearest_rows(self.rows, self._everyone, k, skip_same=True) if n else (np.empty((0, 0)),) * 2
        owners = np.repeat(np.arange(n), places.shape[1])
        edges = np.maximum(cosines, 0).ravel() / (2 * k), (owners, places.ravel().astype(np.int64))
        one_way = csr_array(edges, shape=(n, len(self._everyone)), dtype=np.float32)
        self._among, self._given = one_way[:, :n] + one_way[:, :n].T, 2 * one_way[:, n:]

    def _texts(self, x: Rows) -> Rows:
        found: Rows = np.log(self.task.text_probabilities(x) + np.float32(TINY))
        return found

    def assign(self, logits: Rows, z: Rows) -> Rows:
        """z (n, c) after some rounds, in which neighbours pull each other."""
        pull = self._given @ self.task.targets
        for _ in range(INNER):
            z = softmax_rows(logits + self._among @ z + pull)
        return z

    def answer(self, z: Rows, formula: Callable[[Rows, Rows], Rows]) -> Answer:
        """The logarithm of z for the rows; for others a formula of x and log ŷ, and what their neighbours add."""
        every = np.concatenate([z, self.task.targets])

        def others(x: Rows) -> Rows:
            places, cosines = nearest_rows(x, self._everyone, self.k, skip_same=True)
            pull = np.einsum("nk,nkc->nc", np.maximum(cosines, 0) / self.k, every[places])
            found = formula(x, self._texts(x)) + pull
            # As logarithms of probabilities, so that both kinds of rows have one scale.
            return np.asarray(np.log(softmax_rows(found) + TINY), np.float32)

        return answer_known_rows(self.rows, np.log(z + np.float32(TINY)), others)


def log_density(x: Rows, means: Rows, variance: Rows) -> Rows:
    """(n, c) of Gaussians with means (c, d) and variances (c or 1, d), without determinants, softened."""
    inverse = 1 / variance
    found = x @ (means * inverse).T - 0.5 * ((x * x) @ inverse.T + (means * means * inverse).sum(axis=1))
    return np.asarray(found / SOFTNESS, np.float32)


def spread(x: Rows, z: Rows, means: Rows) -> Rows:
    """(c, d) Σ_i z_ic (x_i − μ_c)²."""
    found = z.T @ (x * x) - 2 * (z.T @ x) * means + z.sum(axis=0)[:, None] * means * means
    return np.asarray(np.maximum(found, 0), np.float32)


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


@baseline
class ZLaP(TransductiveAdapter):
    """ZLaP: zero-shot label propagation from descriptions to unlabelled rows, over nearest neighbours.

    The nodes are rows and descriptions. A row has an edge to the k rows that are most like it, and to the k nearest
    descriptions, of weight s^γ where s ≥ 0 is the cosine; both are kept apart, because rows are nearer to each other
    than to descriptions::

        Z = (I − a D^(−½) (S + Sᵀ)/2 D^(−½))⁻¹ L,   score(x_i, c) = log z_ic

    L has a 1 for each description, and for each example, in the column of its class. A row that is not among the
    unlabelled ones gets Σ_j s_j^γ z_j over its neighbours.

    Parameters
    ----------
    k : int, default=5
        Nearest rows, and nearest descriptions, of a row.
    gamma : float, default=5.0
        The power γ > 0 of similarities.
    decay : float, default=0.3
        What a step along the graph leaves: a in (0, 1).

    References
    ----------
    .. [1] V. Stojnić, Y. Kalantidis and G. Tolias, "Label propagation for zero-shot classification with vision-language
       models", CVPR 2024.
    """

    kind: ClassVar[str] = "zlap"
    SUMMARY: ClassVar[str] = "Labels spread from descriptions over unlabelled rows"
    TRIED: ClassVar = {"k": (5, 10, 20), "gamma": (3.0, 5.0, 10.0), "decay": (0.3, 0.6, 0.9)}

    k: int = 5
    gamma: float = 5.0
    decay: float = 0.3

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if check_positive("decay", self.decay) >= 1:
            raise ValueError(f"decay is {self.decay!r}: expected a number between 0 and 1")

    def _answer(self, task: Task) -> Answer:
        rows = np.concatenate([task.unlabelled, task.x])
        if not len(rows):
            return task.text_scores
        texts, c, n = task.texts, task.classes, len(rows)
        near = nearest_rows(rows, rows, self.k, skip_same=True)
        described = nearest_rows(rows, texts, self.k, skip_same=False)
        owners, others, weights = [], [], []
        for (places, cosines), offset in ((near, c), (described, 0)):
            owners.append(np.repeat(np.arange(n) + c, places.shape[1]))
            others.append(places.ravel() + offset)
            weights.append(np.maximum(cosines.ravel(), 0).astype(np.float64) ** self.gamma)
        edges = np.concatenate(weights), (np.concatenate(owners), np.concatenate(others))
        S = csr_array(edges, shape=(c + n, c + n))
        S = (S + S.T) / 2
        root = diags_array(1 / np.sqrt(np.maximum(S.sum(axis=1), TINY)))
        S = self.decay * (root @ S @ root)
        labels = np.zeros((c + n, c))
        labels[:c] = np.diag(task.described.astype(np.float64))
        labels[c + len(task.unlabelled) :] = task.targets
        z = labels
        for _ in range(PROPAGATIONS):
            z = S @ z + labels

        def answer(x: Rows) -> Rows:
            found = np.zeros((len(x), c))
            for (places, cosines), nodes in (
                (nearest_rows(x, rows, self.k, skip_same=True), z[c:]),
                (nearest_rows(x, texts, self.k, skip_same=False), z[:c]),
            ):
                found += np.einsum("nk,nkc->nc", np.maximum(cosines, 0).astype(np.float64) ** self.gamma, nodes[places])
            return np.log(found + TINY).astype(np.float32)

        if not len(task.unlabelled):
            return answer
        known = np.log(z[c : c + len(task.unlabelled)] + TINY).astype(np.float32)
        return answer_known_rows(task.unlabelled, known, answer)
