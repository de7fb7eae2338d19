"""Training of a stack: K estimators that differ only in numbers learn their projections (K, d, p) in one run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from zskl import kernels
from zskl.arrays import Array, NumPyArray, free_memory, generator, is_torch, like, namespace, seed_from, to_numpy
from zskl.estimators.estimator import Training
from zskl.estimators.monitor import monitors
from zskl.training import fused, solver, streaming
from zskl.training.cpu_step import CpuStep
from zskl.training.cuda_graph import Tape
from zskl.training.initialisation import INITIALISATIONS
from zskl.training.objective import Objective
from zskl.training.scaled_rows import ScaledRows
from zskl.training.solver import Progress, State
from zskl.training.streaming import StreamedRows

if TYPE_CHECKING:
    from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier

logger = logging.getLogger(__name__)
STACKABLE = ("sigma", "bias", "repulsion", "temperature", "learning_rate", "incoherence_weight")
WEIGHTS = ("repulsion", "temperature", "incoherence_weight")
SHARE = 0.8  # of the free memory of a GPU that a stack may take
MATRICES = 12  # arrays (d, p) that a member needs while it trains, with what a step holds for a while
IMAGES = 4  # arrays (d, C)
LOOKED_AT = 256  # training rows scored after training
Callback = Callable[[Progress], object]


@dataclass(frozen=True)
class History:
    """The objective of each iteration (steps,); for each monitored set its (iterations, accuracies)."""

    objective: NumPyArray
    accuracy: Mapping[str, tuple[NumPyArray, NumPyArray]] = field(default_factory=dict)


def train(
    members: Sequence[ZeroShotKernelClassifier],
    X: Array,
    y: Any,
    signatures: Any,
    callback: Callback | None = None,
    monitor: Any = None,
    monitor_every: int = 100,
) -> None:
    """Fit kernel classifiers that differ only in `STACKABLE` parameters, and set what each has learned."""
    for member in members:
        member._check_parameters()
    first = members[0]
    earlier = [_earlier(member) for member in members]
    training = first._prepare(X, y, signatures, streaming.reader(first.streaming, X))
    for member in members[1:]:
        member.__dict__.update({name: value for name, value in vars(first).items() if name.endswith("_")})
    seed = seed_from(first.random_state)
    size = members_at_once(len(members), training)
    for place in range(0, len(members), size):
        part = members[place : place + size]
        start = _starting_state(earlier[place : place + size], first.init, training, seed)
        _train(part, place, training, seed, start, callback, monitor, monitor_every)


def members_at_once(count: int, training: Training) -> int:
    """How many of `count` members train at once: all, or on a GPU as many as its free memory holds."""
    free = free_memory(training.Y)
    if free is None:
        return count
    (n, d), (C, p) = training.X.shape, training.Y.shape
    size = max(1, min(count, int(free * SHARE / (4 * (MATRICES * d * p + IMAGES * d * C)))))
    if size < count:
        logger.warning(
            "%d projections of %d × %d, on %d rows, do not fit into the %.1f GiB of GPU memory that are free: "
            "training %d at a time",
            *(count, d, p, n, free / 2**30, size),
        )
    return size


def _train(
    members: Sequence[ZeroShotKernelClassifier],
    place: int,
    training: Training,
    seed: int,
    start: State,
    callback: Callback | None,
    monitor: Any,
    monitor_every: int,
) -> None:
    """Train the members that stand from `place` on in their stack, and set what each has learned."""
    first = members[0]
    objective = stacked_objective(members, training.Y)
    watching = monitors(monitor, first, objective, monitor_every, training.Y)

    def after_step(progress: Progress) -> None:
        for one in watching:
            one.look(progress)
        if callback is not None:
            callback(replace(progress, first=place))

    streamed = training.X if isinstance(training.X, StreamedRows) else None
    per_sample = first.second_moment == "per_sample"
    alone = len(members) == 1 and not is_torch(training.Y) and not per_sample
    solution = solver.minimise(
        quick_step(first, training, seed) if alone else step_function(objective, training, seed, per_sample),
        start,
        n_rows=training.X.shape[0],
        batch_size=first.batch_size,
        epochs=first.epochs,
        seed=seed,
        learning_rate=column([member.learning_rate for member in members], training.Y),
        schedule=first.schedule,
        decay=first.decay,
        smoothing=first.smoothing,
        epsilon=first.epsilon,
        callback=after_step if watching or callback is not None else None,
        steady=training.rows.shape[1] == 1 and streamed is None,
        fuse=None if per_sample else fusing(objective, training),
        order_of=None if streamed is None else streamed.batches,
    )
    W = to_numpy(solution.state.W)
    V = to_numpy(solution.state.V) if any(member.warm_start for member in members) else None
    lost = _vanished(objective, solution.state.W, training) & (solution.diverged < 0)
    solution.diverged[lost] = solution.state.steps - 1
    for k, member in enumerate(members):
        member.projection_ = W[k].copy()
        member.kernel_, member.incoherence_ = member._kernel(), bool(member.incoherence)
        member.diverged_ = int(solution.diverged[k]) if solution.diverged[k] >= 0 else None
        member.history_ = History(solution.objective[:, k], {one.name: one.curve(k) for one in watching})
        member._continuation = None if V is None else (V[k].copy(), solution.state.steps, solution.state.epochs)


def column(values: Sequence[float], place: Array) -> Array:
    """(K, 1, 1) where `place` is."""
    return like(np.array(values, dtype=np.float64).reshape(-1, 1, 1), place)


def stacked_objective(members: Sequence[ZeroShotKernelClassifier], place: Array) -> Objective:
    """The objective of members that differ only in `STACKABLE` parameters."""
    first = members[0]
    return Objective(
        kernels.stack([member._kernel() for member in members], lambda values: column(values, place)),
        loss=first.loss,
        balance=first.balance,
        incoherence=bool(first.incoherence),
        **{name: column([getattr(member, name) for member in members], place) for name in WEIGHTS},
    )


def fusing(objective: Objective, training: Training) -> solver.Fuse:
    """What makes one function of a whole step, on a GPU that has the kernels for it."""

    def fuse(W: Array, V: Array, tape: Tape) -> Any:
        if not fused.possible(objective, W, tape.order.shape[1], len(training.rows)):
            return None
        sizes = like(training.sizes, training.Y)
        return fused.FusedStep(objective, training.X, training.Y, training.codes, sizes, W, V, tape)

    return fuse


def step_function(objective: Objective, training: Training, seed: int, per_sample: bool) -> solver.Step:
    """The objective on the rows of one batch, against one signature per class drawn again for each step."""
    sizes = like(training.sizes, training.Y)
    single = training.rows.shape[1] == 1

    def step(W: Array, rows: Array, t: int) -> tuple[Array, Array, Array | None]:
        Y = training.Y if single else training.Y[like(draw(training, seed, t), training.Y, "int64")]
        return objective.evaluate(W, training.X[rows], Y, training.codes[rows], sizes, per_sample)

    return step


def quick_step(member: ZeroShotKernelClassifier, training: Training, seed: int) -> solver.Step:
    """`step_function` of one classifier on NumPy arrays, in buffers made once."""
    n = min(member.batch_size, training.X.shape[0])
    signatures, codes = to_numpy(training.Y), to_numpy(training.codes)
    shape, sizes = (training.X.shape[1], signatures.shape[1]), like(training.sizes, signatures)
    evaluate = CpuStep(member._objective(), n, shape, len(training.rows), sizes, signatures.dtype)
    single = training.rows.shape[1] == 1

    def step(W: Array, rows: Array, t: int) -> tuple[Array, Array, Array | None]:
        assert isinstance(W, np.ndarray)
        assert isinstance(rows, np.ndarray)
        Y = signatures if single else signatures[draw(training, seed, t)]
        return evaluate(W, training.X, rows, Y, codes[rows])

    return step


def draw(training: Training, seed: int, t: int) -> NumPyArray:
    """(C,) one row of `training.Y` per class, each of its rows equally likely; depends only on seed and step."""
    choice = generator(seed, 2, t).integers(training.counts)
    drawn: NumPyArray = training.rows[np.arange(len(choice)), choice]
    return drawn


def _vanished(objective: Objective, W: Array, training: Training) -> NumPyArray:
    """(K,) whether every value of a radial kernel has become 0 by underflow: no gradient leads back from there."""
    scores = objective.scores(W, training.X[:LOOKED_AT], training.Y)
    return np.asarray(~to_numpy(scores).any(axis=(1, 2))) & objective.kernel.radial


def _earlier(member: ZeroShotKernelClassifier) -> tuple[Any, Any, int, int] | None:
    """(W, V or None, steps, epochs) of the fit that a warm start continues."""
    if not member.warm_start or not hasattr(member, "projection_"):
        return None
    return (member.projection_, *(getattr(member, "_continuation", None) or (None, 0, 0)))


def _starting_state(
    earlier: Sequence[tuple[Any, Any, int, int] | None], init: str, training: Training, seed: int
) -> State:
    X, Y = training.X, training.Y
    if earlier[0] is None:
        xp = namespace(Y)
        means = xp.stack([xp.mean(Y[like(np.unique(rows), Y, "int64")], axis=0) for rows in training.rows])
        if isinstance(X, ScaledRows):
            W = streaming.projection(init, X, lambda codes: means[codes], training.codes, seed)
        else:
            W = INITIALISATIONS[init](X, means[training.codes], seed)
        return solver.start(xp.stack([W] * len(earlier)))
    past = [one for one in earlier if one is not None]
    found, expected = past[0][0].shape, (X.shape[1], Y.shape[1])
    if found != expected:
        raise ValueError(
            f"warm start from a projection of shape {found}, but the data need {expected} (features, attributes): "
            "keep both, or set warm_start=False"
        )
    W = like(np.stack([one[0] for one in past]), Y)
    if past[0][1] is None:  # a loaded model: only its projection is known
        return solver.start(W)
    return State(W, like(np.stack([one[1] for one in past]), Y), past[0][2], past[0][3])
