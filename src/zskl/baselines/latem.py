"""LatEm, latent embeddings: several bilinear maps; the best one scores."""

from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np

from zskl._arrays import Array, NumPyArray, convert_like, namespace, to_numpy
from zskl._validation import check_positive
from zskl.baselines._baseline import baseline
from zskl.baselines._descent import DescentClassifier, Learned, signature_coordinates
from zskl.baselines._linear_models import class_signatures
from zskl.baselines.bilinear import balance_gradient, initial_maps, margin_violations
from zskl.estimators._inputs import Training
from zskl.estimators.base import add_standardized


def mean_hinge(S: Array, own: Array, margin: float) -> tuple[Array, Array]:
    """(1/n) Σ_i E_{j≠l} max(0, m + S_ij − S_il) and its gradient for S (n, C), l = own[i], each j equally likely."""
    xp = namespace(S)
    H = margin_violations(S, own, margin)
    others = max(1, S.shape[1] - 1)
    return xp.sum(H) / (S.shape[0] * others), balance_gradient(xp.astype(H > 0, S.dtype) / others, own)


class LatentProblem:
    """W (K, d, r); every `prune_every` epochs, maps that score the own class of few rows are left out."""

    def __init__(self, training: Training, seed: int, model: "LatEm") -> None:
        self.X, self.codes, self.margin = training.X, training.codes, model.margin
        self.prune_every, self.prune_below = model.prune_every, model.prune_below
        self.Z, self.basis = signature_coordinates(class_signatures(training))
        xp = namespace(self.basis)
        W = initial_maps(self.X.shape[1], self.basis, seed, model.n_maps)
        self.weights, self.gradients = [W], [xp.zeros_like(W)]
        self.chosen = xp.zeros_like(W[:, 0, 0])  # (K,) rows whose own class each map has scored since the last pruning

    def step(self, rows: Array) -> Array:
        (W,), X, own = self.weights, self.X[rows], self.codes[rows]
        xp = namespace(X)
        S = (X @ W) @ self.Z.mT  # (K, n, C)
        best = xp.argmax(S, axis=0) == xp.arange(S.shape[0], device=S.device)[:, None, None]  # map by map
        value, G = mean_hinge(xp.max(S, axis=0), own, self.margin)
        xp.matmul(X.mT, (best * G) @ self.Z, out=self.gradients[0])
        each = xp.arange(S.shape[1], device=S.device)
        self.chosen += xp.sum(xp.astype(best[:, each, own], S.dtype), axis=1)
        return value

    def end_epoch(self, epochs: int) -> NumPyArray | None:
        if epochs % self.prune_every:
            return None
        chosen = to_numpy(self.chosen)
        kept = np.flatnonzero(chosen >= min(self.prune_below * chosen.sum(), chosen.max()))
        self.chosen = namespace(self.chosen).zeros_like(self.chosen[: len(kept)])
        return kept if len(kept) < len(chosen) else None

    def learned_arrays(self) -> Learned:
        return {"projections_": to_numpy(self.weights[0] @ self.basis.mT)}


@baseline
class LatEm(DescentClassifier):
    """Latent embeddings: several bilinear maps; the best one scores.

    Scores are max_k xᵀW_k y. The maps minimise the expected hinge of a row and another class, each equally likely, by
    mini-batch descent with momentum. Of own and other class each is scored by its best map, which alone moves.

    Parameters
    ----------
    n_maps : int, default=2
        Maps K at the start.
    prune_every : int, default=5
        After every so many epochs, maps that score too few rows are left out.
    prune_below : float, default=0.05
        Share of the training rows whose own class a map must score to stay; 0 keeps all maps.
    margin : float, default=1.0
        Margin m > 0 of the loss. The maps scale with it, so it only matters against the start and the learning rate.

    Attributes
    ----------
    projections_ : ndarray of shape (k, d, p)
        The maps W_k that are left, in float32.

    Notes
    -----
    Differs from the paper: each step has the whole expectation over the other classes. The paper draws one of them for
    each row, which has the same gradient on average.

    References
    ----------
    .. [1] Y. Xian, Z. Akata, G. Sharma, Q. Nguyen, M. Hein and B. Schiele, "Latent embeddings for zero-shot
       classification", CVPR 2016.
    """

    kind: ClassVar[str] = "latem"
    EXAMPLE: ClassVar[str] = "epochs=10, random_state=0"
    SUMMARY: ClassVar[str] = "Latent embeddings: several bilinear maps, the best one scores"
    GRID: ClassVar = add_standardized(
        {
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
            "signature_scaling": ("center-l2", "sqrt-center-l2"),
            "n_maps": (2, 4),
            "learning_rate": (1.0, 3.0),
            "epochs": (10, 20, 40),
        },
        {"signature_scaling": ("center-l2",), "n_maps": (2,)},
    )
    BOUNDS: ClassVar = {"n_maps": (1, 16), "learning_rate": (0.03, 100.0), "epochs": (1, 160)}
    LEARNED: ClassVar = {"projections_": ("*", "d", "p")}

    _: KW_ONLY
    n_maps: int = 2
    prune_every: int = 5
    prune_below: float = 0.05
    margin: float = 1.0
    batch_size: int = 64
    epochs: int = 20
    learning_rate: float = 1.0
    momentum: float = 0.9

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if check_positive("prune_below", self.prune_below, zero_allowed=True) > 1:
            raise ValueError(f"prune_below is {self.prune_below!r}: expected a share between 0 and 1")

    def _problem(self, training: Training, seed: int) -> LatentProblem:
        return LatentProblem(training, seed, self)

    def _scores(self, X: Array, Y: Array) -> Array:
        first, *others = convert_like(self.projections_, X)
        best = (X @ first) @ Y.mT
        for W in others:
            best = namespace(X).maximum(best, (X @ W) @ Y.mT)
        return best
