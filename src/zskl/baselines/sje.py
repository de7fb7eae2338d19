"""SJE, structured joint embedding: a bilinear map under a structured hinge on the most violating class.

Akata, Reed, Walter, Lee and Schiele, "Evaluation of Output Embeddings for Fine-Grained Image Classification", 2015.
"""

from __future__ import annotations

from typing import ClassVar

from zskl.arrays import Array, namespace
from zskl.baselines.bilinear import BilinearClassifier, Loss, pushed, violations


def structured_hinge(S: Array, own: Array, margin: float) -> tuple[Array, Array]:
    """(1/n) Σ_i max_{j≠l} max(0, m + S_ij − S_il) of scores S (n, C), l = own[i], and its gradient (n, C)."""
    xp = namespace(S)
    H = violations(S, own, margin)
    worst = xp.argmax(H, axis=1)
    largest = xp.max(H, axis=1)
    G = xp.zeros_like(S)
    G[xp.arange(S.shape[0], device=S.device), worst] = xp.astype(largest > 0, S.dtype)
    return xp.sum(largest) / S.shape[0], pushed(G, own)


class SJE(BilinearClassifier):
    """Scores xᵀWy; W minimises the hinge on the most violating class by mini-batch descent with momentum.

    Differs from the paper: batches and momentum, where the paper takes one sample at a time.

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

    kind: ClassVar[str] = "sje"
    LOSS: ClassVar[Loss] = staticmethod(structured_hinge)
