"""Training of a stack: K estimators that differ in numbers alone learn their projections (K, d, p) in one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from zskl import kernels, solver, streaming
from zskl.arrays import Array, generator, like, namespace, to_numpy
from zskl.estimator import Training
from zskl.initialisation import INITIALISATIONS
from zskl.monitor import monitors
from zskl.objective import Objective
from zskl.solver import Progress, State
from zskl.streaming import StreamedRows

STACKABLE = ("sigma", "bias", "repulsion", "temperature", "learning_rate", "incoherence_weight")
LOOKED_AT = 256  # training rows scored after training
Callback = Callable[[Progress], object]


@dataclass(frozen=True)
class History:
    """The objective of each iteration (steps,); for each monitored set its (iterations, accuracies)."""

    objective: np.ndarray[Any, Any]
    accuracy: Mapping[str, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = field(default_factory=dict)


def train(
    members: Sequence[Any],
    X: Array,
    y: Any,
    signatures: Any,
    callback: Callback | None = None,
    monitor: Any = None,
    monitor_every: int = 100,
) -> None:
    """Fit kernel classifiers that differ in `STACKABLE` parameters alone; sets what each has learned."""
    for member in members:
        member._check_parameters()
    first = members[0]
    earlier = [_earlier(member) for member in members]
    training = first._prepare(X, y, signatures, streaming.wanted(first.streaming, X))
    streamed = training.X if isinstance(training.X, StreamedRows) else None
    for member in members[1:]:
        member.__dict__.update({name: value for name, value in vars(first).items() if name.endswith("_")})
    seed = int(check_random_state(first.random_state).randint(2**31 - 1))

    def column(values: list[float]) -> Array:
        return like(np.array(values, dtype=np.float64).reshape(-1, 1, 1), training.Y)

    def setting(name: str) -> Array:
        return column([getattr(member, name) for member in members])

    objective = Objective(
        kernels.stack([member._kernel() for member in members], column),
        loss=first.loss,
        balance=first.balance,
        incoherence=bool(first.incoherence),
        repulsion=setting("repulsion"),
        temperature=setting("temperature"),
        incoherence_weight=setting("incoherence_weight"),
    )
    watching = monitors(monitor, first, objective, monitor_every, training.Y)

    def after_step(progress: Progress) -> None:
        for one in watching:
            one.look(progress)
        if callback is not None:
            callback(progress)

    solution = solver.minimise(
        step_function(objective, training, seed, first.second_moment == "per_sample"),
        _starting_state(earlier, first.init, training, seed),
        n_rows=training.X.shape[0],
        batch_size=first.batch_size,
        epochs=first.epochs,
        seed=seed,
        learning_rate=setting("learning_rate"),
        schedule=first.schedule,
        decay=first.decay,
        smoothing=first.smoothing,
        epsilon=first.epsilon,
        callback=after_step if watching or callback is not None else None,
        steady=training.rows.shape[1] == 1 and streamed is None,
        order_of=None if streamed is None else streamed.batches,
    )
    W, V = to_numpy(solution.state.W), to_numpy(solution.state.V)
    lost = _vanished(objective, solution.state.W, training) & (solution.diverged < 0)
    solution.diverged[lost] = solution.state.steps - 1
    for k, member in enumerate(members):
        member.projection_ = W[k].copy()
        member.kernel_, member.incoherence_ = member._kernel(), bool(member.incoherence)
        member.diverged_ = int(solution.diverged[k]) if solution.diverged[k] >= 0 else None
        member.history_ = History(solution.objective[:, k], {one.name: one.curve(k) for one in watching})
        member._continuation = (V[k].copy(), solution.state.steps, solution.state.epochs) if member.warm_start else None


def step_function(objective: Objective, training: Training, seed: int, per_sample: bool) -> solver.Step:
    """The objective on the rows of one batch, against one signature per class drawn anew for each step."""
    sizes = like(training.sizes, training.Y)
    single = training.rows.shape[1] == 1

    def step(W: Array, rows: Array, t: int) -> tuple[Array, Array, Array | None]:
        Y = training.Y if single else training.Y[like(draw(training, seed, t), training.Y, "int64")]
        return objective.evaluate(W, training.X[rows], Y, training.codes[rows], sizes, per_sample)

    return step


def draw(training: Training, seed: int, t: int) -> np.ndarray[Any, Any]:
    """(C,) one row of `training.Y` per class, each of a class's rows equally likely, from (seed, step) alone."""
    choice = generator(seed, 2, t).integers(training.counts)
    drawn: np.ndarray[Any, Any] = training.rows[np.arange(len(choice)), choice]
    return drawn


def _vanished(objective: Objective, W: Array, training: Training) -> np.ndarray[Any, Any]:
    """(K,) whether every value of a radial kernel has underflown to 0: no gradient leads back from there."""
    scores = objective.scores(W, training.X[:LOOKED_AT], training.Y)
    return np.asarray(~to_numpy(scores).any(axis=(1, 2))) & objective.kernel.radial


def _earlier(member: Any) -> tuple[Any, Any, int, int] | None:
    """(W, V or None, steps, epochs) of the fit that a warm start goes on from."""
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
        if isinstance(X, StreamedRows):
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
