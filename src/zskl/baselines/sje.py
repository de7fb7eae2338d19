"""SJE, structured joint embedding: a bilinear map under a structured hinge on the most violating class."""

from typing import ClassVar

from zskl._arrays import Array, namespace
from zskl.baselines._baseline import baseline
from zskl.baselines._descent import BilinearClassifier, Loss, balance_gradient, margin_violations
from zskl.estimators.base import add_standardized


def structured_hinge(S: Array, own: Array, margin: float) -> tuple[Array, Array]:
    """(1/n) Σ_i max_{j≠l} max(0, m + S_ij − S_il) of scores S (n, C), l = own[i], and its gradient (n, C)."""
    xp = namespace(S)
    H = margin_violations(S, own, margin)
    worst = xp.argmax(H, axis=1)
    largest = xp.max(H, axis=1)
    G = xp.zeros_like(S)
    G[xp.arange(S.shape[0], device=S.device), worst] = xp.astype(largest > 0, S.dtype)
    return xp.sum(largest) / S.shape[0], balance_gradient(G, own)


@baseline
class SJE(BilinearClassifier):
    """Structured joint embedding: a bilinear map under a hinge on the most violating class.

    Scores are xᵀWy. W minimises the structured hinge by mini-batch descent with momentum.

    Notes
    -----
    Differs from the paper: batches and momentum. The paper takes one sample at a time.

    References
    ----------
    .. [1] Z. Akata, S. Reed, D. Walter, H. Lee and B. Schiele, "Evaluation of output embeddings for fine-grained
       image classification", CVPR 2015.
    """

    kind: ClassVar[str] = "sje"
    EXAMPLE: ClassVar[str] = "epochs=10, random_state=0"
    SUMMARY: ClassVar[str] = "Bilinear map, structured hinge on the most violating class"
    GRID: ClassVar = add_standardized(
        {
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
            "signature_scaling": ("center-l2", "sqrt-center-l2"),
            "learning_rate": (0.1, 0.3),
            "epochs": (5, 10, 20, 40),
        },
        {"signature_scaling": ("center-l2",), "epochs": (5, 10, 20)},
    )
    BOUNDS: ClassVar = {"learning_rate": (0.01, 3.0), "epochs": (1, 160)}
    LOSS: ClassVar[Loss] = staticmethod(structured_hinge)
