"""ALE, DeViSE and SJE: a bilinear map xᵀWy under three losses of its scores, by descent; LatEm: the best of several."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np

from zskl._arrays import Array, NumPyArray, convert_like, make_generator, namespace, to_numpy
from zskl._validation import check_positive
from zskl.baselines._baseline import baseline
from zskl.baselines._descent import DescentClassifier, Learned, Problem, signature_coordinates
from zskl.baselines._linear_models import class_signatures
from zskl.estimators._inputs import Training
from zskl.estimators.base import add_standardized
from zskl.estimators.explanation import ScoreParts

Loss = Callable[[Array, Array, float], tuple[Array, Array]]
SCALINGS = {  # those that validation tries
    "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
    "signature_scaling": ("center-l2", "sqrt-center-l2"),
}
EPOCHS = (5, 10, 20, 40)


class BilinearProblem(Problem):
    """xᵀWy under a loss of the scores S = XWYᵀ (n, C); with G = ∂loss/∂S the gradient of a batch is XᵀGY."""

    def __init__(self, training: Training, seed: int, loss: Loss, margin: float) -> None:
        self.X, self.codes, self.loss, self.margin = training.X, training.codes, loss, margin
        self.Z, self.basis = signature_coordinates(class_signatures(training))
        self.weights = [initial_maps(self.X.shape[1], self.basis, seed, 1)[0]]
        self.gradients = [namespace(self.basis).zeros_like(self.weights[0])]

    def step(self, rows: Array) -> Array:
        X = self.X[rows]
        value, G = self.loss((X @ self.weights[0]) @ self.Z.mT, self.codes[rows], self.margin)
        namespace(X).matmul(X.mT, G @ self.Z, out=self.gradients[0])
        return value

    def learned_arrays(self) -> Learned:
        return {"projection_": to_numpy(self.weights[0] @ self.basis.mT)}


def initial_maps(d: int, basis: Array, seed: int, maps: int) -> Array:
    """(maps, d, r) drawn in signature space, so that the draw does not depend on the coordinates."""
    return convert_like(make_generator(seed, 1).standard_normal((maps, d, basis.shape[0])) / d**0.5, basis) @ basis


def margin_violations(S: Array, own: Array, margin: float) -> Array:
    """(n, C) max(0, m + S_ij − S_il) with l the row's own class; 0 for that class."""
    xp = namespace(S)
    each = xp.arange(S.shape[0], device=S.device)
    H = S - S[each, own][:, None]
    H += margin
    H[each, own] = 0.0
    return xp.maximum(H, xp.zeros_like(H))


def balance_gradient(G: Array, own: Array) -> Array:
    """G / n (n, C), with what it adds to wrong classes subtracted from the own class; changes G."""
    xp = namespace(G)
    each = xp.arange(G.shape[0], device=G.device)
    G /= G.shape[0]
    G[each, own] = -xp.sum(G, axis=1)  # the own class itself is 0 so far
    return G


@baseline
class BilinearClassifier(DescentClassifier):
    """A bilinear map under one loss, which a subclass sets as `LOSS`."""

    EXAMPLE: ClassVar[str] = "epochs=10, random_state=0"
    LEARNED: ClassVar = {"projection_": ("d", "p")}
    LOSS: ClassVar[Loss]

    _: KW_ONLY
    margin: float = 1.0
    batch_size: int = 64
    epochs: int = 20
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 0.0

    def _problem(self, training: Training, seed: int) -> BilinearProblem:
        return BilinearProblem(training, seed, type(self).LOSS, self.margin)

    def _scores(self, X: Array, Y: Array) -> Array:
        return (X @ convert_like(self.projection_, X)) @ Y.mT

    def _score_parts(self) -> ScoreParts:
        return ScoreParts(self.projection_)


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
    SUMMARY: ClassVar[str] = "Bilinear map, violations weighed by rank"
    GRID: ClassVar = add_standardized(
        {**SCALINGS, "weight_decay": (0.0, 1e-4), "learning_rate": (0.1, 0.3), "epochs": EPOCHS},
        {"signature_scaling": ("center-l2",), "weight_decay": (0.0,)},
    )
    BOUNDS: ClassVar = {"weight_decay": (0.0, 1e-3), "learning_rate": (0.01, 3.0), "epochs": (1, 320)}
    LOSS: ClassVar[Loss] = staticmethod(weighted_ranking)


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
    SUMMARY: ClassVar[str] = "Bilinear map, pairwise hinge over all wrong classes"
    GRID: ClassVar = add_standardized(
        {**SCALINGS, "weight_decay": (0.0, 1e-3), "learning_rate": (0.01, 0.03), "epochs": EPOCHS},
        {"signature_scaling": ("center-l2",), "weight_decay": (0.0,)},
    )
    BOUNDS: ClassVar = {"weight_decay": (0.0, 1e-2), "learning_rate": (0.001, 0.3), "epochs": (1, 320)}
    LOSS: ClassVar[Loss] = staticmethod(pairwise_hinge)


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
    SUMMARY: ClassVar[str] = "Bilinear map, structured hinge on the most violating class"
    GRID: ClassVar = add_standardized(
        {**SCALINGS, "learning_rate": (0.1, 0.3), "epochs": EPOCHS},
        {"signature_scaling": ("center-l2",), "epochs": (5, 10, 20)},
    )
    BOUNDS: ClassVar = {"learning_rate": (0.01, 3.0), "epochs": (1, 160)}
    LOSS: ClassVar[Loss] = staticmethod(structured_hinge)


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
        {**SCALINGS, "n_maps": (2, 4), "learning_rate": (1.0, 3.0), "epochs": (10, 20, 40)},
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
