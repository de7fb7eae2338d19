"""ALE, attribute label embedding: a bilinear map under a ranking loss that weighs violations by rank."""

from typing import ClassVar

import numpy as np

from zskl._arrays import Array, convert_like, namespace
from zskl.baselines._baseline import baseline
from zskl.baselines._descent import BilinearClassifier, Loss, balance_gradient, margin_violations
from zskl.estimators.base import add_standardized


def weighted_ranking(S: Array, own: Array, margin: float) -> tuple[Array, Array]:
    """(1/n) Σ_i (β_r / r) Σ_{j≠l} max(0, m + S_ij − S_il) of scores S (n, C), l = own[i], and its gradient (n, C). r is
    the number of violating classes, the rank of the own class up to the margin; β_r = Σ_{k≤r} 1/k."""
    xp = namespace(S)
    H = margin_violations(S, own, margin)
    G = xp.astype(H > 0, S.dtype)
    ranks = np.arange(1, max(2, S.shape[1]))
    by_rank = convert_like(np.concatenate([[0.0], np.cumsum(1 / ranks) / ranks]), S)  # β_r / r for r = 0, …, C − 1
    weights = by_rank[xp.astype(xp.sum(G, axis=1), xp.int64)][:, None]
    G *= weights
    return xp.sum(H * weights) / S.shape[0], balance_gradient(G, own)


@baseline
class ALE(BilinearClassifier):
    """Attribute label embedding: a bilinear map under a loss that weighs violations by rank.

    Scores are xᵀWy. W minimises the weighted ranking loss by mini-batch descent with momentum.

    Notes
    -----
    Differs from the paper: ranks are counted over the scores of a batch against all classes. The paper draws
    classes until one violates the margin, and estimates the rank from the number of draws.

    References
    ----------
    .. [1] Z. Akata, F. Perronnin, Z. Harchaoui and C. Schmid, "Label-embedding for image classification", TPAMI 2016.
    """

    kind: ClassVar[str] = "ale"
    EXAMPLE: ClassVar[str] = "epochs=10, random_state=0"
    SUMMARY: ClassVar[str] = "Bilinear map, violations weighed by rank"
    GRID: ClassVar = add_standardized(
        {
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
            "signature_scaling": ("center-l2", "sqrt-center-l2"),
            "weight_decay": (0.0, 1e-4),
            "learning_rate": (0.1, 0.3),
            "epochs": (5, 10, 20, 40),
        },
        {"signature_scaling": ("center-l2",), "weight_decay": (0.0,)},
    )
    BOUNDS: ClassVar = {"weight_decay": (0.0, 1e-3), "learning_rate": (0.01, 3.0), "epochs": (1, 320)}
    LOSS: ClassVar[Loss] = staticmethod(weighted_ranking)
