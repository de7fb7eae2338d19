"""CMT, cross-modal transfer: a network into signature space; CMT* first asks whether a sample is of a seen class."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from zskl._arrays import Array, NumPyArray, convert_like, make_generator, namespace, to_numpy
from zskl.baselines import _linear_models
from zskl.baselines._baseline import baseline
from zskl.baselines._descent import Callback, DescentClassifier, Learned, Problem, signature_coordinates
from zskl.baselines._linear_models import class_signatures, row_blocks
from zskl.estimators._candidates import Question, best_row_scores
from zskl.estimators._inputs import Training
from zskl.estimators.base import add_standardized
from zskl.kernels import pairwise_distances
from zskl.training.solver import DivergenceError

START = 0.3  # size of the input of tanh at the start, where tanh is nearly linear
TRIED = {
    "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
    "signature_scaling": ("center-l2", "sqrt-center-l2"),
    "hidden": (128, 256),
    "learning_rate": (1.0,),
    "epochs": (5, 10, 20),
}
FEW = {"signature_scaling": ("center-l2",), "hidden": (128,)}  # beside standardised features


class NetworkProblem(Problem):
    """(1/n) Σ_i ‖tanh(x_i A) B / √h − y_i‖² over A (d, h) and B (h, r)."""

    def __init__(self, training: Training, seed: int, hidden: int) -> None:
        xp = namespace(training.Y)
        self.X, (Z, self.basis) = training.X, signature_coordinates(class_signatures(training))
        self.targets = Z[training.codes]
        self.scale = hidden**-0.5  # not part of B, so that both layers learn at one rate
        d, p = self.X.shape[1], self.basis.shape[0]
        squares = xp.concat([xp.sum(block * block, axis=1) for _, block in row_blocks(self.X)])
        length = float(xp.sqrt(xp.mean(squares))) or 1.0
        draw = make_generator(seed, 1)
        A = convert_like(draw.standard_normal((d, hidden)) * (START / length), self.basis)
        B = convert_like(draw.standard_normal((hidden, p)) * (hidden * p) ** -0.5, self.basis) @ self.basis
        self.weights, self.gradients = [A, B], [xp.zeros_like(A), xp.zeros_like(B)]

    def step(self, rows: Array) -> Array:
        (A, B), X = self.weights, self.X[rows]
        xp = namespace(X)
        H = xp.tanh(X @ A)
        E = (H @ B) * self.scale - self.targets[rows]
        value: Array = xp.sum(E * E) / X.shape[0]
        E *= 2 * self.scale / X.shape[0]
        xp.matmul(H.mT, E, out=self.gradients[1])
        xp.matmul(X.mT, (E @ B.mT) * (1 - H * H), out=self.gradients[0])
        return value

    def learned_arrays(self) -> Learned:
        A, B = self.weights
        return {"hidden_": to_numpy(A).copy(), "output_": to_numpy((B * self.scale) @ self.basis.mT)}


def embed(X: Array, A: Array, B: Array) -> Array:
    """f(x) = tanh(xA)B (n, p) of scaled samples X (n, d)."""
    return namespace(X).tanh(X @ convert_like(A, X)) @ convert_like(B, X)


@baseline
class CMT(DescentClassifier):
    """Cross-modal transfer: a two-layer network into signature space, where the nearest signature wins.

    Scores are −‖f(x) − y‖² with f(x) = tanh(xA)B. A and B minimise ‖f(x) − y‖² over the training rows.

    Parameters
    ----------
    hidden : int, default=128
        Units h of the hidden layer.

    Attributes
    ----------
    hidden_ : ndarray of shape (d, h)
        A, in float32.
    output_ : ndarray of shape (h, p)
        B, in float32.

    Notes
    -----
    Differs from the paper: mini-batch descent with momentum instead of L-BFGS.

    References
    ----------
    .. [1] R. Socher, M. Ganjoo, C. D. Manning and A. Y. Ng, "Zero-shot learning through cross-modal transfer", NIPS
       2013.
    """

    kind: ClassVar[str] = "cmt"
    EXAMPLE: ClassVar[str] = "random_state=0"
    SUMMARY: ClassVar[str] = "Cross-modal transfer: a two-layer network into signature space"
    GRID: ClassVar = add_standardized({**TRIED, "learning_rate": (0.3, 1.0)}, FEW)
    BOUNDS: ClassVar = {"hidden": (32, 512), "learning_rate": (0.03, 10.0), "epochs": (1, 160)}
    LEARNED: ClassVar = {"hidden_": ("d", "h"), "output_": ("h", "p")}

    _: KW_ONLY
    hidden: int = 128
    batch_size: int = 64
    epochs: int = 20
    learning_rate: float = 0.3
    momentum: float = 0.9

    def _problem(self, training: Training, seed: int) -> NetworkProblem:
        return NetworkProblem(training, seed, self.hidden)

    def _scores(self, X: Array, Y: Array) -> Array:
        return -pairwise_distances(embed(X, self.hidden_, self.output_), Y)


# Novelty: is a sample of a seen class at all?

HELD_OUT = 5  # hold out one class in five, and one row in five of the other classes, to choose the threshold
FLOOR = 0.01  # a class has at least this share of the mean spread


@dataclass(frozen=True)
class Trial:
    """Training rows of some classes, and rows to judge the threshold on: more of these classes, and of others."""

    inner: Training
    X: Array  # (n, d) rows held out
    codes: NumPyArray  # (n,) index into the inner classes, or for a class held out into Y
    seen: NumPyArray  # (n,) whether a row is of an inner class
    Y: Array  # (c, p) signatures of the classes held out


def hold_out_classes(training: Training, seed: int) -> Trial | None:
    """A seeded trial with whole classes and some rows of the others held out; None if too little would be left."""
    codes, draw, classes = to_numpy(training.codes), make_generator(seed, 4), len(training.sizes)
    order = draw.permutation(classes)
    n_held = max(1, classes // HELD_OUT)
    held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
    shuffled = draw.permutation(len(codes))
    apart = [rows[: max(1, len(rows) // HELD_OUT)] for rows in (shuffled[codes[shuffled] == c] for c in kept)]
    apart = [rows for rows, c in zip(apart, kept, strict=True) if training.sizes[c] > 1]
    if len(kept) < 2 or not apart:
        return None
    seen_rows, unseen_rows = np.concatenate(apart), np.flatnonzero(np.isin(codes, held))
    inner_rows = np.setdiff1d(np.arange(len(codes)), np.concatenate([seen_rows, unseen_rows]))
    inner_codes = np.searchsorted(kept, codes[inner_rows])

    def index(rows: NumPyArray) -> Array:
        return convert_like(rows, training.Y, "int64")

    return Trial(
        inner=Training(
            X=training.X[index(inner_rows)],
            codes=index(inner_codes),
            Y=training.Y,
            rows=training.rows[kept],
            counts=training.counts[kept],
            sizes=np.bincount(inner_codes, minlength=len(kept)),
        ),
        X=training.X[index(np.concatenate([seen_rows, unseen_rows]))],
        codes=np.concatenate([np.searchsorted(kept, codes[seen_rows]), np.searchsorted(held, codes[unseen_rows])]),
        seen=np.arange(len(seen_rows) + len(unseen_rows)) < len(seen_rows),
        Y=class_signatures(training)[index(held)],
    )


def class_spreads(F: Array, prototypes: Array, codes: Array) -> NumPyArray:
    """(C,) mean ‖f_i − w_l‖² of each class, for embedded rows F (n, p) of classes `codes`: its isometric Gaussian."""
    own = to_numpy(namespace(F).sum((F - prototypes[codes]) ** 2, axis=1)).astype(np.float64)
    classes = to_numpy(codes)
    mean = np.bincount(classes, own, len(prototypes)) / np.bincount(classes, minlength=len(prototypes))
    return np.maximum(mean, max(FLOOR * mean.mean(), 1e-12)).astype(np.float32)


def novelty_scores(F: Array, prototypes: Array, spread: Array) -> Array:
    """(n,) min_l ‖f_i − w_l‖² / s_l: above a threshold τ, f lies outside the radius √(τ s_l) of every seen class."""
    return namespace(F).min(pairwise_distances(F, convert_like(prototypes, F)) / convert_like(spread, F), axis=1)


def best_threshold(novel: NumPyArray, right: NumPyArray, codes: NumPyArray, seen: NumPyArray) -> float:
    """The τ of the best harmonic mean for novelties (n,); `right` (n,) are answers once rows are on their side of τ."""
    share = np.zeros(len(novel))  # what a right row adds to its mean per-class accuracy
    for kind in (seen, ~seen):
        _, index, sizes = np.unique(codes[kind], return_inverse=True, return_counts=True)
        share[kind] = right[kind] / (sizes[index] * len(sizes))
    order = np.argsort(novel, kind="stable")
    n, seen, share = novel[order], seen[order], share[order]
    kept = np.concatenate([[0.0], np.cumsum(share * seen)])  # with the threshold above the first k rows
    found = np.sum(share * ~seen) - np.concatenate([[0.0], np.cumsum(share * ~seen)])
    harmonic = kept * found / np.maximum(kept + found, 1e-12)
    harmonic[1:-1][n[1:] <= n[:-1]] = -1  # no threshold lies between equals
    k = int(np.argmax(harmonic))
    return float((n[max(k - 1, 0)] + n[min(k, len(n) - 1)]) / 2)


USUAL = 0.95  # share of training rows below the threshold, if there are too few classes to hold one out


@baseline
class CMTStar(CMT):
    """Cross-modal transfer that first asks whether a sample is of a seen class at all.

    A sample is novel if it lies outside the radius √(τ s_l) around every seen class l, where s_l is the mean
    squared distance of the class's training rows to its signature: ν = min_l ‖f(x) − y_l‖² / s_l > τ. If a sample
    is not novel, all seen classes come before the unseen ones, ranked by their probabilities p under a multinomial
    logistic regression. If it is novel, all unseen classes come first, ranked by −‖f(x) − y‖²::

        seen:    ±1 + (τ − ν)/(τ + ν) + 1 / (1 − log p)        unseen:    1 / (1 + ‖f(x) − y‖²)

    So a constant that is subtracted from the scores of seen classes moves the threshold. A class is seen by its
    name; how a table at predict time describes it does not matter.

    Parameters
    ----------
    C : float, default=10.0
        Inverse strength of the ridge of the logistic regression.
    hidden : int, default=128
        Units h of the hidden layer of the network.

    Attributes
    ----------
    hidden_ : ndarray of shape (d, h)
        A of the network tanh(xA)B, in float32.
    output_ : ndarray of shape (h, p)
        B of the network, in float32.
    prototypes_ : ndarray of shape (C, p)
        Scaled signatures of the seen classes.
    spreads_ : ndarray of shape (C,)
        The mean squared distance s of each seen class.
    classifier_ : ndarray of shape (d, C)
        Weights of the logistic regression of the seen classes.
    intercepts_ : ndarray of shape (C,)
        Its intercepts.
    threshold_ : float
        τ.

    Notes
    -----
    Differs from the paper: there is one τ for all classes, the one with the highest harmonic mean on classes held out
    of the training rows. The paper sets a fraction of training rows by hand. Training is by descent instead of L-BFGS.

    References
    ----------
    .. [1] R. Socher, M. Ganjoo, C. D. Manning and A. Y. Ng, "Zero-shot learning through cross-modal transfer", NIPS
       2013.
    """

    kind: ClassVar[str] = "cmt-star"
    EXAMPLE: ClassVar[str] = "random_state=0"
    SUMMARY: ClassVar[str] = "Cross-modal transfer with novelty detection"
    GRID: ClassVar = add_standardized(TRIED, FEW)
    COPIES: ClassVar[bool] = True  # it holds rows out, and turns them for its classifier
    BOUNDS: ClassVar = {"hidden": (32, 512), "epochs": (1, 160)}
    LEARNED: ClassVar = {
        **CMT.LEARNED,
        "prototypes_": ("C", "p"),
        "spreads_": ("C",),
        "classifier_": ("d", "C"),
        "intercepts_": ("C",),
        "threshold_": None,
    }

    _: KW_ONLY
    C: float = 10.0

    def _train(
        self, training: Training, seed: int, wanted: Collection[int], callback: Callback | None = None
    ) -> Iterator[tuple[int, Learned]]:
        trial = hold_out_classes(training, seed)
        thresholds: dict[int, float] = {}
        failure: DivergenceError | None = None
        if trial is not None:
            W, b = _linear_models.logistic_path(trial.inner)(self.C)
            logits = trial.X @ convert_like(W, trial.X) + convert_like(b, trial.X)
            answers = to_numpy(namespace(logits).argmax(logits, axis=1))
            try:
                for epochs, learned in super()._train(trial.inner, seed, wanted):
                    thresholds[epochs] = choose_threshold(trial, learned, answers)
            except DivergenceError as error:
                failure = error
        W, b = _linear_models.logistic_path(training)(self.C)
        prototypes = class_signatures(training)
        for epochs, learned in super()._train(training, seed, wanted, callback):
            if failure is not None and epochs not in thresholds:
                raise failure
            F = embed(training.X, learned["hidden_"], learned["output_"])
            spread = class_spreads(F, prototypes, training.codes)
            usual = np.quantile(to_numpy(novelty_scores(F, prototypes, spread)), USUAL)
            learned |= {"prototypes_": to_numpy(prototypes).copy(), "spreads_": spread, "classifier_": W.copy()}
            yield epochs, learned | {"intercepts_": b.copy(), "threshold_": thresholds.get(epochs, float(usual))}

    def _candidate_scorer(self, question: Question) -> Callable[[Array], Array]:
        return lambda X: self._answer(X, question)

    def _answer(self, X: Array, question: Question) -> Array:
        known = {label: code for code, label in enumerate(self.seen_classes_.tolist())}
        xp = namespace(X)
        F = embed(X, self.hidden_, self.output_)
        scores = best_row_scores(1 / (1 + pairwise_distances(F, question.Y)), question.rows)
        codes = np.array([known.get(label, -1) for label in question.labels.tolist()])
        if (codes < 0).all():
            return scores
        nu, tau = novelty_scores(F, self.prototypes_, self.spreads_), max(self.threshold_, 1e-12)
        logits = X @ convert_like(self.classifier_, X) + convert_like(self.intercepts_, X)
        logits = logits - xp.max(logits, axis=1, keepdims=True)
        log_p = logits - xp.log(xp.sum(xp.exp(logits), axis=1, keepdims=True))
        offset = xp.where(nu <= tau, xp.ones_like(nu), -xp.ones_like(nu)) + (tau - nu) / (tau + nu)
        of_class = offset[:, None] + 1 / (1 - log_p)  # (n, C)
        own = xp.take(of_class, convert_like(np.maximum(codes, 0), X, "int64"), axis=1)  # (n, c)
        return xp.where(convert_like(codes >= 0, X, "bool"), own, scores)

    @classmethod
    def _from_json(cls, name: str, value: Any) -> Any:
        if name == "threshold_" and not (isinstance(value, float) and 0 <= value < float("inf")):
            raise ValueError(f"its threshold is {value!r}")
        return value


def choose_threshold(trial: Trial, learned: Learned, answers: NumPyArray) -> float:
    """The threshold for a network trained on the inner rows; `answers` (n,) are those of the inner classifier."""
    inner, weights = trial.inner, (learned["hidden_"], learned["output_"])
    prototypes = class_signatures(inner)
    spread = class_spreads(embed(inner.X, *weights), prototypes, inner.codes)
    F = embed(trial.X, *weights)
    nearest = to_numpy(namespace(F).argmin(pairwise_distances(F, trial.Y), axis=1))
    right = np.where(trial.seen, answers, nearest) == trial.codes
    return best_threshold(to_numpy(novelty_scores(F, prototypes, spread)), right, trial.codes, trial.seen)
