"""DeViSE: a bilinear map under a pairwise hinge over all wrong classes."""

from typing import ClassVar

from zskl._arrays import Array, namespace
from zskl.baselines._baseline import baseline
from zskl.baselines._descent import BilinearClassifier, Loss, balance_gradient, margin_violations
from zskl.estimators.base import add_standardized


def pairwise_hinge(S: Array, own: Array, margin: float) -> tuple[Array, Array]:
    """(1/n) Σ_i Σ_{j≠l} max(0, m + S_ij − S_il) of scores S (n, C), l = own[i], and its gradient (n, C)."""
    xp = namespace(S)
    H = margin_violations(S, own, margin)
    return xp.sum(H) / S.shape[0], balance_gradient(xp.astype(H > 0, S.dtype), own)


@baseline
class DeViSE(BilinearClassifier):
    """Deep visual-semantic embedding: a bilinear map under a hinge over all wrong classes.

    Scores are xᵀWy. W minimises the pairwise hinge by mini-batch descent with momentum.

    Notes
    -----
    Differs from the paper: the sum runs over all wrong classes. The paper stops at the first violating class that
    it draws. The network that made the features is not trained.

    References
    ----------
    .. [1] A. Frome, G. S. Corrado, J. Shlens, S. Bengio, J. Dean, M. Ranzato and T. Mikolov, "DeViSE: a deep
       visual-semantic embedding model", NIPS 2013.
    """

    kind: ClassVar[str] = "devise"
    EXAMPLE: ClassVar[str] = "epochs=10, random_state=0"
    SUMMARY: ClassVar[str] = "Bilinear map, pairwise hinge over all wrong classes"
    GRID: ClassVar = add_standardized(
        {
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
            "signature_scaling": ("center-l2", "sqrt-center-l2"),
            "weight_decay": (0.0, 1e-3),
            "learning_rate": (0.01, 0.03),
            "epochs": (5, 10, 20, 40),
        },
        {"signature_scaling": ("center-l2",), "weight_decay": (0.0,)},
    )
    BOUNDS: ClassVar = {"weight_decay": (0.0, 1e-2), "learning_rate": (0.001, 0.3), "epochs": (1, 320)}
    LOSS: ClassVar[Loss] = staticmethod(pairwise_hinge)
