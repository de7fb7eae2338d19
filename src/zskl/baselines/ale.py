"""ALE, attribute label embedding: a bilinear map under a ranking loss that weighs violations by rank.

Akata, Perronnin, Harchaoui and Schmid, "Label-Embedding for Image Classification", 2016.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from zskl.arrays import Array, like, namespace
from zskl.baselines.bilinear import BilinearClassifier, Loss, pushed, violations


def weighted_ranking(S: Array, own: Array, margin: float) -> tuple[Array, Array]:
    """(1/n) Σ_i (β_r / r) Σ_{j≠l} max(0, m + S_ij − S_il) of scores S (n, C), l = own[i], and its gradient (n, C).

    r is the number of violating classes, the rank of the own class up to the margin; β_r = Σ_{k≤r} 1/k.
    """
    xp = namespace(S)
    H = violations(S, own, margin)
    G = xp.astype(H > 0, S.dtype)
    weights = like(_rank_weights(S.shape[1]), S)[xp.astype(xp.sum(G, axis=1), xp.int64)][:, None]
    G *= weights
    return xp.sum(H * weights) / S.shape[0], pushed(G, own)


def _rank_weights(classes: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """β_r / r for r = 0, …, classes − 1; without violation there is nothing to weigh."""
    ranks = np.arange(1, max(2, classes))
    return np.concatenate([[0.0], np.cumsum(1 / ranks) / ranks])


class ALE(BilinearClassifier):
    """Scores xᵀWy; W minimises the weighted ranking loss by mini-batch descent with momentum.

    Differs from the paper: ranks are counted over all classes of a batch's scores rather than estimated from how many
    draws it took to find a violation.

    Parameters
    ----------
    margin : m > 0; W scales with it, so it matters against the start and the learning rate only
    batch_size, epochs, learning_rate, momentum : descent; a short last batch is left out
    feature_scaling, signature_scaling : see `zskl.scaling`; "none" inside a pipeline that scales
    signature_mean : whether signatures are centred on the mean of the "seen" classes or of "all" in the table
    device : None computes where X lies; "cuda" moves NumPy input to the GPU
    random_state : seed of the start and of the batches

    Attributes
    ----------
    projection_ : W (d, p) float32
    """

    kind: ClassVar[str] = "ale"
    LOSS: ClassVar[Loss] = staticmethod(weighted_ranking)
