"""Mini-batch gradient descent with momentum, and the fits that use it.

    V ← μV − η (∇ + λW),    W ← W + V

Epoch e visits the rows in an order drawn from (seed, e) alone, and the rate is constant. So the first epochs of a run
are a shorter run, and one run serves every number of epochs.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.base import clone

from zskl._arrays import Array, NumPyArray, convert_like, namespace, resolve_seed, to_numpy
from zskl._validation import check_positive
from zskl.baselines._baseline import Baseline
from zskl.estimators._inputs import Training, refuse_weights
from zskl.estimators.base import Visit
from zskl.training.rows import ScaledRows
from zskl.training.solver import BLOW_UP, DivergenceError, Progress, batch_indices

Callback = Callable[[Progress], object]
Learned = dict[str, Any]
RANK = 1e-5  # relative to the longest: a direction in which signatures reach no further is a rounding error


class Problem(Protocol):
    """What is minimised: weights, which are changed in place, and space for their gradients."""

    weights: list[Array]
    gradients: list[Array]

    def step(self, rows: Array) -> Array:
        """The objective () on a batch of rows (n,); writes `gradients`."""

    def end_epoch(self, epochs: int) -> NumPyArray | None:
        """Which entries of the first axis of all weights to keep after so many epochs; None for all."""
        return None

    def learned_arrays(self) -> Learned:
        """What the estimator keeps, as arrays of its own."""


def run_descent(
    problem: Problem,
    *,
    n_rows: int,
    batch_size: int,
    epochs: int,
    seed: int,
    learning_rate: float,
    momentum: float,
    weight_decay: float = 0.0,
    callback: Callback | None = None,
) -> Iterator[int]:
    """Train in place; yields the number of epochs done after each. Raises `DivergenceError` after one that diverged."""
    xp = namespace(problem.weights[0])
    velocities = [xp.zeros_like(W) for W in problem.weights]
    per_epoch = n_rows // min(batch_size, n_rows)
    first = None
    for epoch in range(epochs):
        objectives: list[Array] = []
        for rows in batch_indices(n_rows, batch_size, seed, epoch):
            with np.errstate(all="ignore"):  # a diverging run overflows; the check is at the end of the epoch
                objectives.append(problem.step(convert_like(rows, problem.weights[0], "int64")))
                for W, V, G in zip(problem.weights, velocities, problem.gradients, strict=True):
                    if weight_decay:
                        G += weight_decay * W
                    V *= momentum
                    G *= learning_rate
                    V -= G
                    W += V
            if callback is not None:
                done, now = epoch * per_epoch + len(objectives), xp.reshape(objectives[-1], (1,))
                ends = len(objectives) == per_epoch
                callback(Progress(done, epochs * per_epoch, epoch, ends, now, problem.weights[0]))
        values = to_numpy(xp.stack(objectives)).astype(np.float64)
        first = values[0] if first is None else first
        gone = ~(np.abs(values) <= BLOW_UP * max(1.0, abs(float(np.nan_to_num(first, posinf=0)))))  # True for NaN too
        if gone.any() or not all(bool(xp.all(xp.isfinite(W))) for W in problem.weights):
            step = int(gone.argmax()) if gone.any() else per_epoch - 1
            raise DivergenceError(epoch * per_epoch + step, learning_rate)
        kept = problem.end_epoch(epoch + 1)
        if kept is not None:
            index = convert_like(kept, problem.weights[0], "int64")
            problem.weights = [W[index] for W in problem.weights]
            problem.gradients = [G[index] for G in problem.gradients]
            velocities = [V[index] for V in velocities]
        yield epoch + 1


class DescentClassifier(Baseline):
    """Trained by `run_descent`. A subclass writes `_problem` and `_scores`, and has the settings named here."""

    FREE: ClassVar[tuple[str, ...]] = ("epochs",)
    DECAYS: ClassVar[bool] = True  # whether `run_descent` adds the penalty of weights, not the problem's gradients
    COPIES: ClassVar[bool] = False  # whether it needs all scaled rows at once
    batch_size: int
    epochs: int
    learning_rate: float
    momentum: float
    weight_decay: float = 0.0  # a setting of some methods
    random_state: int | np.random.RandomState | None

    def _problem(self, training: Training, seed: int) -> Problem:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if check_positive("momentum", self.momentum, zero_allowed=True) >= 1:
            raise ValueError(f"momentum is {self.momentum!r}: expected a number from 0 to below 1")

    @refuse_weights
    def fit(self, X: Array, y: Any, signatures: Any = None, *, callback: Callback | None = None) -> Self:
        with self._all_or_nothing():
            self._check_parameters()
            training = self._prepare(X, y, signatures, None if self.COPIES else ScaledRows)
            for _, learned in self._train(training, self._seed(), [self.epochs], callback):
                self.__dict__.update(learned)
        return self

    def _fit_together(
        self, settings: Sequence[Mapping[str, Any]], X: Array, y: Any, signatures: Any, visit: Visit
    ) -> None:
        """One run that serves every number of epochs among the settings."""
        models = [clone(self).set_params(**setting) for setting in settings]
        for model in models:
            model._check_parameters()
        last = max(models, key=lambda model: int(model.epochs))
        training = last._prepare(X, y, signatures, None if self.COPIES else ScaledRows)
        prepared = {name: value for name, value in vars(last).items() if name.endswith("_")}
        waiting = dict(enumerate(models))
        try:
            for epochs, learned in last._train(training, last._seed(), {model.epochs for model in models}):
                for place in [place for place, model in waiting.items() if model.epochs == epochs]:
                    model = waiting.pop(place)
                    model.__dict__.update(prepared | learned)
                    visit(place, model)
        except DivergenceError as error:
            for place in waiting:
                visit(place, error)

    def _seed(self) -> int:
        return resolve_seed(self.random_state)

    def _train(
        self, training: Training, seed: int, wanted: Collection[int], callback: Callback | None = None
    ) -> Iterator[tuple[int, Learned]]:
        """(epochs, what was learned) for each wanted number of epochs, in rising order."""
        problem = self._problem(training, seed)
        finished = run_descent(
            problem,
            n_rows=training.X.shape[0],
            batch_size=self.batch_size,
            epochs=max(wanted),
            seed=seed,
            learning_rate=self.learning_rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay if self.DECAYS else 0.0,
            callback=callback,
        )
        for epochs in finished:
            if epochs in wanted:
                yield epochs, problem.learned_arrays()


def signature_coordinates(Y: Array) -> tuple[Array, Array]:
    """Z (C, r) and orthonormal columns Q (p, r) with Y = ZQᵀ, r the rank of Y; for r = p all coordinates, Q = I.
    Descent moves a map only within the span of the training signatures. Centred ones of C classes span C − 1
    directions; one more would be rounding errors."""
    exact = to_numpy(Y).astype(np.float64)
    _, sizes, directions = np.linalg.svd(exact, full_matrices=False)
    rank = max(1, int(np.sum(sizes > RANK * sizes[0])))
    if rank == Y.shape[1]:
        return Y, convert_like(np.eye(rank), Y)
    basis = directions[:rank].T
    return convert_like(exact @ basis, Y), convert_like(basis, Y)
