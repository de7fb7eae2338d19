"""ZLaP: labels spread from descriptions over a graph of unlabelled rows."""

from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array

from zskl._validation import check_positive
from zskl.adapters._adapter import Answer, Rows, Task
from zskl.adapters._transductive import TINY, TransductiveAdapter, answer_known_rows, nearest_rows
from zskl.baselines._baseline import baseline

PROPAGATIONS = 60


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
