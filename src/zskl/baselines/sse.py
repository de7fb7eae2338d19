"""SSE, semantic similarity embedding: classes and samples are mixtures of seen classes."""

from collections.abc import Collection, Iterator
from dataclasses import KW_ONLY
from functools import partial
from typing import ClassVar

import numpy as np

from zskl._arrays import Array, convert_like, namespace, runs_on_gpu, to_numpy
from zskl._validation import check_option, check_positive
from zskl.baselines._baseline import baseline
from zskl.baselines._descent import Callback, DescentClassifier, Learned
from zskl.baselines._linear_models import class_membership, class_signatures
from zskl.estimators._inputs import Training
from zskl.estimators.base import add_standardized
from zskl.training import solver
from zskl.training.solver import DivergenceError, Progress

EMBEDDINGS = ("intersection", "relu")
ROWS = 128  # in a block
ENTRIES = 1 << 16, 1 << 26  # of φ in memory at once: on a CPU what fits into its cache, on a GPU more
SMOOTHING, EPSILON = 0.9, 1e-12  # of RMSprop
PASSES = 5000  # at most, to find a mixture
TOLERANCE = 1e-9  # of the largest change of a weight in one pass


def project_to_simplex(A: Array) -> Array:
    """The nearest point of the simplex {a ≥ 0, Σa = 1} to each row of A (m, k)."""
    xp = namespace(A)
    falling = xp.flip(xp.sort(A, axis=1), axis=1)
    ranks = xp.astype(xp.cumulative_sum(xp.ones_like(A[0, :])), A.dtype)
    surplus = (xp.cumulative_sum(falling, axis=1) - 1) / ranks  # (m, k) what to subtract if so many weights remain
    remain = xp.sum(xp.astype(falling > surplus, xp.int64), axis=1)  # (m,) ≥ 1
    columns = xp.astype(ranks, xp.int64)[None, :] == xp.reshape(remain, (-1, 1))
    taken = xp.sum(xp.where(columns, surplus, xp.zeros_like(surplus)), axis=1, keepdims=True)
    return xp.maximum(A - taken, xp.zeros_like(A)) if A.shape[1] > 1 else xp.ones_like(A)


def solve_mixtures(points: Array, corners: Array, gamma: float) -> Array:
    """argmin over a in the simplex of ½‖point − aᵀcorners‖² + ½ gamma ‖a‖², for each of the points (m, p): (m, k)."""
    # Accelerated projected gradient in float64; it starts again for a point that it overshoots.
    xp = namespace(points)
    points, corners = convert_like(points, points, "float64"), convert_like(corners, points, "float64")
    k = corners.shape[0]
    H = corners @ corners.T + gamma * xp.eye(k, dtype=points.dtype, device=points.device)
    linear = points @ corners.T
    step = 1 / float(xp.linalg.eigvalsh(H)[-1])
    A = xp.full(linear.shape, 1 / k, dtype=points.dtype, device=points.device)
    ahead, t = A, xp.ones_like(A[:, :1])
    for _ in range(PASSES):
        new = project_to_simplex(ahead - step * (ahead @ H - linear))
        overshot = xp.sum((ahead - new) * (new - A), axis=1, keepdims=True) > 0
        t = xp.where(overshot, xp.ones_like(t), t)
        following = (1 + xp.sqrt(1 + 4 * t * t)) / 2
        ahead = new + (t - 1) / following * (new - A)
        change = float(xp.max(xp.abs(new - A)))
        A, t = new, following
        if change < TOLERANCE:
            break
    return A


def split_by_sign(X: Array, signed: bool) -> Array:
    """max(0, X) (n, d), or if `signed` max(0, X) beside max(0, −X) (n, 2d)."""
    xp = namespace(X)
    zero = xp.zeros_like(X)
    positive = xp.maximum(X, zero)
    return xp.concat([positive, xp.maximum(-X, zero)], axis=1) if signed else positive


def compute_sse_similarities(X: Array, w: Array, V: Array, embedding: str) -> Array:
    """π (n, C) of rows X (n, d) for w (d,) and V (C, d)."""
    xp = namespace(X)
    parts = []
    for start in range(0, X.shape[0], ROWS):
        rows = X[start : start + ROWS]
        blocks = [_embed_features(rows, V[some], embedding) @ w for some in _split_sse_rows(rows, V)]
        parts.append(xp.concat(blocks, axis=0).T)
    return xp.concat(parts, axis=0)


def similarity_gradients(X: Array, w: Array, V: Array, embedding: str, slope: Array) -> tuple[Array, Array]:
    """∂/∂w (d,) and ∂/∂V (C, d) of Σ slope ∘ π, for slope (n, C)."""
    xp = namespace(X)
    slope = slope.T  # (C, n)
    by_w, by_V = xp.zeros_like(w), []
    for some in _split_sse_rows(X, V):
        by_w += xp.sum(slope[some][:, None, :] @ _embed_features(X, V[some], embedding), axis=(0, 1))
        above = xp.astype(X[None, :, :] > V[some][:, None, :], X.dtype)  # where a threshold binds
        by_V.append((slope[some][:, None, :] @ above)[:, 0, :])
    return by_w, (w if embedding == "intersection" else -w) * xp.concat(by_V, axis=0)


def margin_loss(F: Array, own: Array, margins: Array, alignment: float) -> tuple[Array, Array]:
    """The first two terms of SSE's objective and their gradient (n, C), for scores F and one-hot rows `own` (n, C)."""
    xp = namespace(F)
    n, C = F.shape
    ahead = xp.sum(own * F, axis=1, keepdims=True) - F  # (n, C) of the row's class, before the others
    lack = own @ margins - ahead
    short = xp.astype(lack > 0, F.dtype)  # never in the row's own class, where both sides are 0
    value, slope = xp.sum(lack * short) / (n * C), short / (n * C)
    if alignment:
        sizes = xp.sum(own, axis=0)  # (C,)
        there = xp.astype(sizes > 0, F.dtype)
        share = own / xp.maximum(sizes, xp.ones_like(sizes))
        lack = margins - share.T @ ahead
        short = xp.astype(lack > 0, F.dtype) * there[:, None]
        weight = alignment / (float(xp.sum(there)) * C)
        value, slope = value + weight * xp.sum(lack * short), slope + weight * (share @ short)
    return value, slope - own * xp.sum(slope, axis=1, keepdims=True)


class SimilarityProblem:
    """What the solver sees: one matrix (1, 1 + C, d), w over v, each in units of its size at the start."""

    def __init__(self, training: Training, gamma: float, embedding: str, alignment: float, ridge: float) -> None:
        xp = namespace(training.X)
        self.gamma, self.embedding, self.alignment, self.ridge = gamma, embedding, alignment, ridge
        self.halves = 1 + bool(xp.any(training.X < 0))
        self.X, self.own = split_by_sign(training.X, self.halves > 1), class_membership(training)
        self.seen = class_signatures(training)
        self.Z = convert_like(solve_mixtures(self.seen, self.seen, gamma), self.X)  # (C, C)
        C = self.Z.shape[0]
        self.margins = (1 - self.Z @ self.Z.T) * (1 - convert_like(np.eye(C), self.X))
        V = self.own.T @ self.X / convert_like(training.sizes, self.X)[:, None]
        w = (1 if embedding == "intersection" else -1) * xp.ones_like(V[0, :])
        F = compute_sse_similarities(V, w, V, embedding) @ self.Z.T
        ahead = xp.sum(F * convert_like(np.eye(C), F), axis=1, keepdims=True) - F
        fit = float(xp.sum(ahead * self.margins)), float(xp.sum(ahead * ahead))  # by how much class means are ahead
        size = fit[0] / fit[1] if min(fit) > 0 else 1.0
        spread = float(xp.mean(xp.abs(V))) or 1.0
        self.units = convert_like(np.array([size] + [spread] * C)[:, None], self.X)  # (1 + C, 1)
        self.start = (xp.concat([size * w[None, :], V], axis=0) / self.units)[None]

    def step(self, W: Array, rows: Array, t: int) -> tuple[Array, Array, Array | None]:
        xp = namespace(W)
        now = W[0] * self.units
        w, V, X = now[0], now[1:], self.X[rows]
        F = compute_sse_similarities(X, w, V, self.embedding) @ self.Z.T
        value, slope = margin_loss(F, self.own[rows], self.margins, self.alignment)
        by_w, by_V = similarity_gradients(X, w, V, self.embedding, slope @ self.Z)
        gradient = xp.concat([by_w[None, :], by_V], axis=0) + self.ridge * now
        value = value + 0.5 * self.ridge * xp.sum(now * now)
        return xp.reshape(value, (1,)), (self.units * gradient)[None], None

    def learned_arrays(self, W: Array) -> Learned:
        now = to_numpy(W[0] * self.units).reshape(len(self.units), self.halves, -1)
        return {
            "weights_": now[0].copy(),
            "thresholds_": now[1:].copy(),
            "seen_": to_numpy(self.seen),
            "gamma_": float(self.gamma),
            "embedding_": self.embedding,
        }


def _embed_features(X: Array, V: Array, embedding: str) -> Array:
    """φ (k, n, d) for V (k, d)."""
    xp = namespace(X)
    if embedding == "intersection":
        return xp.minimum(X[None, :, :], V[:, None, :])
    difference = X[None, :, :] - V[:, None, :]
    return xp.maximum(difference, 0 * difference)


def _split_sse_rows(X: Array, V: Array) -> Iterator[slice]:
    height = max(1, ENTRIES[runs_on_gpu(X, None)] // (X.shape[0] * X.shape[1]))
    for start in range(0, V.shape[0], height):
        yield slice(start, start + height)


@baseline
class SSE(DescentClassifier):
    """Semantic similarity embedding: classes and samples are mixtures of seen classes.

    A class is a point z of the simplex, a sample is described by the features it has in common with each seen
    class::

        z_c = argmin over the simplex of ½‖y_c − Σ_s z_s y_s‖² + γ/2 ‖z‖²
        f(x, c) = Σ_s z_cs ⟨w, φ_s(x)⟩,   φ_s(x) = min(x, v_s) ("intersection") or max(0, x − v_s) ("relu")

    With Δ(c, c') = 1 − z_cᵀz_c', the vectors w (d,) and v_s (d,) of the seen classes minimise::

        mean_{i,c} max(0, Δ(y_i, c) − f(x_i, y_i) + f(x_i, c))
        + alignment · mean_{k,c} max(0, Δ(k, c) − mean_{i of class k} (f(x_i, k) − f(x_i, c)))
        + ½ ridge (‖w‖² + Σ_s ‖v_s‖²)

    The two embeddings differ only by ⟨w, x⟩ and the sign of w, so they rank alike if training starts alike.
    Features are split into max(0, x) and, if training rows have negative values, max(0, −x): then two samples have
    in common what both have much of, or little.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight γ > 0 of the squared length of a mixture. The larger it is, the more seen classes mix.
    embedding : {"intersection", "relu"}, default="intersection"
        How a sample is compared with a seen class.
    alignment : float, default=1.0
        Weight ≥ 0 of the margins of class means against those of rows.
    ridge : float, default=1e-4
        Weight ≥ 0 of the squared lengths of w and v.
    learning_rate : float, default=0.1
        Length of a step, in units of what w and v start from.
    random_state : int, RandomState or None, default=None
        Seed of the batches. None takes another seed in every fit.

    Attributes
    ----------
    weights_ : ndarray of shape (h, d)
        w, in float32; h is 2 with negative parts, else 1.
    thresholds_ : ndarray of shape (C, h, d)
        v, in float32.
    seen_ : ndarray of shape (C, p)
        Scaled signatures of the seen classes, in float32.

    Notes
    -----
    Differs from the paper: w and v are learned together, by mini-batch RMSprop from class means v and constant w;
    the paper learns them in turns. The means of the alignment are over the rows of a class in the batch. The mean
    over the last epoch is kept.

    References
    ----------
    .. [1] Z. Zhang and V. Saligrama, "Zero-shot learning via semantic similarity embedding", ICCV 2015.
    """

    kind: ClassVar[str] = "sse"
    EXAMPLE: ClassVar[str] = "random_state=0"
    SUMMARY: ClassVar[str] = "Semantic similarity embedding: classes and samples as mixtures of seen classes"
    GRID: ClassVar = add_standardized(
        {"gamma": (0.3, 1.0), "alignment": (1.0, 10.0), "epochs": (3, 6, 12), "feature_scaling": ("sqrt-l2",)},
        {"gamma": (1.0,), "alignment": (1.0,), "epochs": (3, 6)},
    )
    BOUNDS: ClassVar = {"gamma": (0.01, 30.0), "alignment": (0.1, 100.0), "epochs": (1, 24)}
    LEARNED: ClassVar = {
        "weights_": ("h", "d"),
        "thresholds_": ("C", "h", "d"),
        "seen_": ("C", "p"),
        "gamma_": None,
        "embedding_": None,
    }
    CHECKS: ClassVar = {"gamma_": check_positive, "embedding_": partial(check_option, options=EMBEDDINGS)}
    OPTIONS: ClassVar = {"embedding": EMBEDDINGS}
    COPIES: ClassVar[bool] = True  # it splits all rows by sign
    momentum = 0.0  # the solver's moments are its own

    gamma: float = 1.0
    embedding: str = "intersection"
    _: KW_ONLY
    alignment: float = 1.0
    ridge: float = 1e-4
    batch_size: int = 64
    epochs: int = 5
    learning_rate: float = 0.1
    feature_scaling: str = "l2"

    def _train(
        self, training: Training, seed: int, wanted: Collection[int], callback: Callback | None = None
    ) -> Iterator[tuple[int, Learned]]:
        problem = SimilarityProblem(training, self.gamma, self.embedding, self.alignment, self.ridge)
        total, steps = 0 * problem.start, 0
        found: list[tuple[int, Learned]] = []

        def after_step(progress: Progress) -> None:
            nonlocal total, steps
            total, steps = total + progress.projection, steps + 1
            if callback is not None:
                callback(progress)
            if progress.epoch_ends:
                if progress.epoch + 1 in wanted:
                    found.append((progress.epoch + 1, problem.learned_arrays(total / steps)))
                total, steps = 0 * problem.start, 0

        solution = solver.minimise(
            problem.step,
            solver.start_state(problem.start),
            n_rows=training.X.shape[0],
            batch_size=self.batch_size,
            epochs=max(wanted),
            seed=seed,
            learning_rate=self.learning_rate,
            smoothing=SMOOTHING,
            epsilon=EPSILON,
            callback=after_step,
        )
        failed = int(solution.diverged[0])
        per_epoch = training.X.shape[0] // min(self.batch_size, training.X.shape[0])
        yield from (pair for pair in found if failed < 0 or pair[0] * per_epoch <= failed)
        if failed >= 0:
            raise DivergenceError(failed, self.learning_rate)

    def _scores(self, X: Array, Y: Array) -> Array:
        w, V = self.weights_.reshape(-1), self.thresholds_.reshape(len(self.thresholds_), -1)
        X = split_by_sign(X, signed=len(self.weights_) > 1)
        found = compute_sse_similarities(X, convert_like(w, X), convert_like(V, X), self.embedding_)
        return found @ convert_like(solve_mixtures(Y, convert_like(self.seen_, Y), self.gamma_), X).T
