"""Mini-batch RMSprop over a stack of projections (after Eq. 9). It sees a step function, never a kernel.

    V ← γV + (1 − γ) G₂,    W ← W − β_t G / (√V + ε)

Epoch e visits the rows in an order drawn from (seed, e) alone and the schedule is a function of the step index alone.
So a prefix of a run is a shorter run, and a run continued from its `State` is the longer run, bit for bit.
"""

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from zskl._arrays import Array, NumPyArray, contiguous_copy, convert_like, make_generator, namespace, to_numpy
from zskl.training._cpu_step import WORTH_COMPILING, compiled_update, update_in_blocks
from zskl.training._cuda import Replay, Tape, can_capture, make_fused_update, make_tape, make_tape_step

logger = logging.getLogger(__name__)
SCHEDULES: Mapping[str, Callable[[int, float, int], float]] = {  # of the step, `decay` and the steps of an epoch
    "constant": lambda t, decay, epoch: 1.0,
    "exponential": lambda t, decay, epoch: math.exp(-decay * t),
    "inverse-time": lambda t, decay, epoch: 1 / (1 + decay * t),
    "inverse-epochs": lambda t, decay, epoch: 1 / (1 + t / epoch),
}
SECOND_MOMENTS = ("batch", "per_sample")
BLOW_UP = 1e6  # an objective this many times its first size (or 1, if that is larger) has diverged
OUT_OF_REACH = 1e3  # so has a W with an entry this many times the largest of the first W (or 1)
LEAST_REPLAYED = 50  # steps below which capturing one is not worth it
LEAST_FUSED = 500  # steps below which compiling kernels is not worth it
CHECK_EVERY = 32  # steps between two checks of the objective: a check makes the host wait for a device
Update: TypeAlias = Callable[[Array, Array | None, float | Array], None]
Fuse: TypeAlias = Callable[[Array, Array, Tape], Callable[[float, float], None] | None]


class DivergenceError(ArithmeticError):
    """Raised by a fit whose objective left the finite range.

    Parameters
    ----------
    step : int
        The step at which it happened, counted from 0.
    learning_rate : float
        The step size of the run.
    advice : str, default=""
        What else to change, beside the learning rate.

    Attributes
    ----------
    step : int
        The step at which it happened, counted from 0.

    Examples
    --------
    >>> from zskl import DivergenceError
    >>> DivergenceError(12, 0.1).step
    12
    """

    def __init__(self, step: int, learning_rate: float, advice: str = "") -> None:
        super().__init__(step, learning_rate, advice)  # another process makes it again from these
        self.step = step

    def __str__(self) -> str:
        step, learning_rate, advice = self.args
        return (
            f"training diverged at step {step}: the objective is no longer a sensible finite number; "
            f"lower learning_rate (now {learning_rate:g}){advice}"
        )


@dataclass(frozen=True)
class State:
    """Where a run stands: projections W and second moments V (K, d, p), steps and epochs done."""

    W: Array
    V: Array
    steps: int = 0
    epochs: int = 0


@dataclass(frozen=True)
class Progress:
    """What a callback is handed after each step. `objective` (K,) and `projection` (K, d, p) are live: copy to keep."""

    step: int
    steps: int
    epoch: int
    epoch_ends: bool
    objective: Array
    projection: Array
    first: int = 0  # place of these K members in a stack that was too large to train at once


@dataclass(frozen=True)
class Solution:
    """The end of a run: its state, the objective of every step (steps, K), the step each member diverged at or −1."""

    state: State
    objective: NumPyArray
    diverged: NumPyArray


class Step(Protocol):
    """objective (K,), gradient (K, d, p), G₂ (K, d, p) or None for the squared gradient, at rows (n,) and step t."""

    def __call__(self, W: Array, rows: Array, t: int) -> tuple[Array, Array, Array | None]: ...


def start_state(W: Array) -> State:
    return State(W, namespace(W).zeros_like(W))


def batch_indices(n_rows: int, batch_size: int, seed: int, epoch: int) -> Iterator[NumPyArray]:
    """Row indices of one epoch's batches: a seeded shuffle, the short last batch left out."""
    order = make_generator(seed, 0, epoch).permutation(n_rows)
    size = min(batch_size, n_rows)
    for first in range(0, n_rows - size + 1, size):
        yield order[first : first + size]


def minimise(
    step: Step,
    state: State,
    *,
    n_rows: int,
    batch_size: int,
    epochs: int,
    seed: int,
    learning_rate: float | Array,
    schedule: str = "constant",
    decay: float = 0.0,
    smoothing: float = 0.99,
    epsilon: float = 1e-6,
    callback: Callable[[Progress], object] | None = None,
    steady: bool = False,
    fuse: Fuse | None = None,
    order_of: Callable[[int, int, int], Iterator[NumPyArray]] | None = None,
) -> Solution:
    """Run `epochs` further epochs from `state`; `learning_rate` is a number or (K, 1, 1).

    `steady` says that `step` does not look at t, so that one step can be captured and replayed on a GPU; `fuse` makes
    the function that then does step and update at once, or None where it cannot. `order_of(batch_size, seed, epoch)`
    are the rows of an epoch's batches where they are not those of `batch_indices`.
    A member whose objective diverges is marked, and the others continue. The run ends early when all have diverged.
    """
    W, V = contiguous_copy(state.W), contiguous_copy(state.V)  # the run moves no array of yours
    update = make_update(W, V, smoothing, epsilon)
    per_epoch = n_rows // min(batch_size, n_rows)
    total = epochs * per_epoch
    rates = convert_like(np.reshape(to_numpy(learning_rate), (-1, 1, 1)), W)  # (K, 1, 1) or (1, 1, 1)

    def move(rows: Array, rate: Array, t: int = 0) -> Array:
        objective, gradient, squares = step(W, rows, t)
        update(gradient, squares, rate)
        return objective

    graph = None
    if steady and can_capture(W) and total >= LEAST_REPLAYED:
        tape = make_tape(W, per_epoch, min(batch_size, n_rows))
        whole = fuse(W, V, tape) if fuse is not None and total >= LEAST_FUSED else None
        fused = None if whole is None else lambda _: whole(smoothing, epsilon)
        graph = _capture_step(fused, make_tape_step(move), tape, W, V)
    monitor = _DivergenceMonitor(W)
    done = 0
    with np.errstate(all="ignore"):  # a diverging member overflows; the monitor reports it
        for epoch in range(state.epochs, state.epochs + epochs):
            order = order_of(batch_size, seed, epoch) if order_of else batch_indices(n_rows, batch_size, seed, epoch)
            factors = [SCHEDULES[schedule](state.steps + done + i, decay, per_epoch) for i in range(per_epoch)]
            if graph is not None:
                graph.begin(np.stack(list(order)), rates[None] * convert_like(np.reshape(factors, (-1, 1, 1, 1)), W))
            for i in range(per_epoch):
                if graph is not None:
                    objective = graph.step(i)
                else:
                    rows = next(order)
                    here = rows if isinstance(W, np.ndarray) else convert_like(rows, W, "int64")
                    objective = move(here, rates * factors[i], state.steps + done)
                done += 1
                ends = i + 1 == per_epoch
                monitor.add(objective, W, ends)
                if callback is not None:
                    callback(Progress(done, total, epoch, ends, objective, W))
                if monitor.all_diverged:
                    return _finish_run(monitor, W, V, state, done, epoch + 1)
    return _finish_run(monitor, W, V, state, done, state.epochs + epochs)


def _capture_step(
    fused: Callable[[Tape], None] | None, plain: Callable[[Tape], None], tape: Tape, W: Any, V: Any
) -> Replay:
    """The step as a graph: by fused kernels, or by plain ones where these cannot be compiled for the device."""
    if fused is not None:
        try:
            return Replay(fused, tape, W, V)
        except Exception as error:  # compilers and drivers raise their own errors
            reason = str(error).partition("\n")[0][:200]
            logger.warning("fused kernels cannot be used here (%s: %s): using plain ones", type(error).__name__, reason)
    return Replay(plain, tape, W, V)


def _finish_run(monitor: "_DivergenceMonitor", W: Array, V: Array, state: State, done: int, epochs: int) -> Solution:
    objective, diverged = monitor.finish(W)
    diverged = np.where(diverged >= 0, diverged + state.steps, -1)
    return Solution(State(W, V, state.steps + done, epochs), objective, diverged)


class _DivergenceMonitor:
    """Keeps the objective of every step, and finds the first step at which each member diverged."""

    def __init__(self, W: Array) -> None:
        self.reach = OUT_OF_REACH * np.maximum(1, _largest_entries(W))
        self.seen: list[NumPyArray] = []  # on the host
        self.waiting: list[Array] = []  # possibly still on a device
        self.diverged = np.full(len(self.reach), -1, dtype=np.int64)
        self.all_diverged = False

    def add(self, objective: Array, W: Array, now: bool) -> None:
        """Check every few steps, and at the end of each epoch, so that a shorter run finds the same."""
        self.waiting.append(objective)
        if now or len(self.waiting) >= CHECK_EVERY:
            self.check(W)

    def check(self, W: Array) -> None:
        if not self.waiting:
            return
        block = to_numpy(namespace(self.waiting[0]).stack(self.waiting)).astype(np.float64)
        self.waiting.clear()
        first_step = len(self.seen)
        self.seen.extend(block)
        limit = BLOW_UP * np.maximum(1, np.abs(np.nan_to_num(self.seen[0], posinf=0, neginf=0)))
        gone = ~(np.abs(block) <= limit)  # also True for NaN
        newly = gone.any(axis=0) & (self.diverged < 0)
        self.diverged[newly] = first_step + gone.argmax(axis=0)[newly]
        # A bounded loss stays finite even if W runs away.
        far = ~(_largest_entries(W) <= self.reach) & (self.diverged < 0)
        self.diverged[far] = len(self.seen) - 1
        self.all_diverged = bool((self.diverged >= 0).all())

    def finish(self, W: Array) -> tuple[NumPyArray, NumPyArray]:
        self.check(W)
        return np.array(self.seen).reshape(-1, len(self.diverged)), self.diverged


def _largest_entries(W: Array) -> NumPyArray:
    """The largest |entry| of each member (K,); NaN where one is."""
    xp = namespace(W)
    return to_numpy(xp.maximum(xp.max(W, axis=(1, 2)), -xp.min(W, axis=(1, 2))))  # |W| would be another array


def make_update(W: Array, V: Array, smoothing: float, epsilon: float) -> Update:
    """What moves W and V (K, d, p) by a gradient, which may be used up, G₂ or None for its square, and a rate."""
    if not (isinstance(W, np.ndarray) and isinstance(V, np.ndarray)):
        return make_fused_update(W, V, smoothing, epsilon) or _torch_update(W, V, smoothing, epsilon)
    walk = (compiled_update() if W[0].size >= WORTH_COMPILING else None) or update_in_blocks
    number = W.dtype.type
    constants = number(smoothing), number(1 - smoothing), number(epsilon)
    flat = [[np.reshape(array[k], -1, copy=False) for array in (W, V)] for k in range(len(W))]  # W itself moves

    def move(gradient: Any, squares: Any, rate: float | Array) -> None:
        rates = np.asarray(rate, dtype=W.dtype).reshape(-1)
        for k, (w, v) in enumerate(flat):
            g = np.reshape(gradient[k], -1, copy=False)
            g2 = g if squares is None else np.reshape(squares[k], -1)
            walk(w, v, g, g2, squares is None, rates[k % len(rates)], *constants)

    return move


def _torch_update(W: Any, V: Any, smoothing: float, epsilon: float) -> Update:
    def move(gradient: Any, squares: Any, rate: float | Array) -> None:
        V.mul_(smoothing)
        if squares is None:
            V.addcmul_(gradient, gradient, value=1 - smoothing)
        else:
            V.add_(squares, alpha=1 - smoothing)
        gradient.mul_(rate)
        W.addcdiv_(gradient, V.sqrt().add_(epsilon), value=-1)

    return move


# Where a projection W (d, p) starts


def draw_uniform(X: Array, targets: Array, seed: int) -> Array:
    """The authors' choice: independent entries, uniform in [0, 2/d)."""
    d, p = X.shape[1], targets.shape[1]
    return convert_like(make_generator(seed, 1).uniform(0, 2 / d, size=(d, p)), X)


def draw_orthogonal(X: Array, targets: Array, seed: int) -> Array:
    """Orthonormal columns (WᵀW = I) where p ≤ d, orthonormal rows otherwise: incoherent from the first step."""
    d, p = X.shape[1], targets.shape[1]
    Q, R = np.linalg.qr(make_generator(seed, 1).standard_normal((max(d, p), min(d, p))))
    Q *= np.sign(np.diag(R))  # makes the draw uniform over such matrices
    return convert_like(Q if d >= p else Q.T, X)


def polarise(X: Array, targets: Array, seed: int) -> Array:
    """The best W for the linear kernel: W ∝ XᵀY maximises ⟨X W Yᵀ, L⟩ for `targets` Y (n, p), at min_a ‖a X W − Y‖²."""
    xp = namespace(X)
    M = X.mT @ targets / X.shape[0]
    P = X @ M
    energy = float(xp.sum(P * P))
    return M * (float(xp.sum(P * targets)) / energy if energy > 0 else 0.0)


def polarise_in_blocks(blocks: Callable[[], Iterator[tuple[Array, Array]]], n_rows: int) -> Array:
    """`polarise` from two passes over blocks (X, targets) of the rows, with sums in float64."""
    M = None
    for X, targets in blocks():
        part = convert_like(X.mT @ targets, X, "float64")
        M = part if M is None else M + part
    assert M is not None  # there are training rows
    M = convert_like(M / n_rows, X)
    xp = namespace(X)
    energy = along = 0.0
    for X, targets in blocks():
        P = X @ M
        energy += float(xp.sum(P * P))
        along += float(xp.sum(P * targets))
    return M * (along / energy if energy > 0 else 0.0)


INITIALISATIONS: Mapping[str, Callable[[Array, Array, int], Array]] = {
    "polarised": polarise,
    "uniform": draw_uniform,
    "orthogonal": draw_orthogonal,
}
