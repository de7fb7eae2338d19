"""DeViSE: a bilinear map under a pairwise hinge over all wrong classes.

Frome, Corrado, Shlens, Bengio, Dean, Ranzato and Mikolov, "DeViSE: A Deep Visual-Semantic Embedding Model", 2013.
"""

from __future__ import annotations

from typing import ClassVar

from zskl.arrays import Array, namespace
from zskl.baselines.bilinear import BilinearClassifier, Loss, pushed, violations


def pairwise_hinge(S: Array, own: Array, margin: float) -> tuple[Array, Array]:
    """(1/n) Σ_i Σ_{j≠l} max(0, m + S_ij − S_il) of scores S (n, C), l = own[i], and its gradient (n, C)."""
    xp = namespace(S)
    H = violations(S, own, margin)
    return xp.sum(H) / S.shape[0], pushed(xp.astype(H > 0, S.dtype), own)


class DeViSE(BilinearClassifier):
    """Scores xᵀWy; W minimises the pairwise hinge over all wrong classes by mini-batch descent with momentum.

    Differs from the paper: the sum runs over all wrong classes rather than up to the first violated one that is drawn,
    and the network that made the features is left alone.

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

    kind: ClassVar[str] = "devise"
    LOSS: ClassVar[Loss] = staticmethod(pairwise_hinge)
