"""Mini-batch RMSprop over a stack of projections (after Eq. 9). Sees a step function, never a kernel.

    V ← γV + (1 − γ) G₂,    W ← W − β_t G / (√V + ε)

Epoch e visits the rows in an order drawn from (seed, e) alone and the schedule is a function of the step index alone,
so a prefix of a run is a shorter run, and a run continued from its `State` is the longer run, bit for bit.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from zskl.arrays import Array, NumPyArray, contiguous_copy, generator, like, namespace, to_numpy
from zskl.training import cuda_graph
from zskl.training.rmsprop import updating

logger = logging.getLogger(__name__)
SCHEDULES: Mapping[str, Callable[[int, float], float]] = {
    "constant": lambda t, decay: 1.0,
    "exponential": lambda t, decay: math.exp(-decay * t),
    "inverse-time": lambda t, decay: 1 / (1 + decay * t),
}
SECOND_MOMENTS = ("batch", "per_sample")
BLOW_UP = 1e6  # an objective this many times its first size (or 1, if that is larger) has diverged
OUT_OF_REACH = 1e3  # so has a W with an entry this many times the largest of the first W (or 1)
LEAST_REPLAYED = 50  # steps below which capturing one is not worth it
LEAST_FUSED = 500  # steps below which compiling kernels is not worth it
LOOK_EVERY = 32  # steps between two looks at the objective: a look makes the host wait for a device


class DivergenceError(ArithmeticError):
    """
    Raised by a fit whose objective left the finite range.

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


Fuse: TypeAlias = Callable[[Array, Array, cuda_graph.Tape], Callable[[float, float], None] | None]


def start(W: Array) -> State:
    """A run that has not begun."""
    return State(W, namespace(W).zeros_like(W))


def batches(n_rows: int, batch_size: int, seed: int, epoch: int) -> Iterator[NumPyArray]:
    """Row indices of one epoch's batches: a seeded shuffle, the short last batch left out."""
    order = generator(seed, 0, epoch).permutation(n_rows)
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
    are the rows of an epoch's batches where they are not those of `batches`.

    A member whose objective diverges is marked, and the others continue. The run ends early when all have diverged.
    """
    W, V = contiguous_copy(state.W), contiguous_copy(state.V)  # the run moves no array of yours
    update = updating(W, V, smoothing, epsilon)
    per_epoch = n_rows // min(batch_size, n_rows)
    total = epochs * per_epoch
    rates = like(np.reshape(_numbers(learning_rate), (-1, 1, 1)), W)  # (K, 1, 1) or (1, 1, 1)

    def shuffled(size: int, seed: int, epoch: int) -> Iterator[NumPyArray]:
        return batches(n_rows, size, seed, epoch)

    def move(rows: Array, rate: Array, t: int = 0) -> Array:
        objective, gradient, squares = step(W, rows, t)
        update(gradient, squares, rate)
        return objective

    graph = None
    if steady and cuda_graph.possible(W) and total >= LEAST_REPLAYED:
        tape = cuda_graph.tape(W, per_epoch, min(batch_size, n_rows))
        whole = fuse(W, V, tape) if fuse is not None and total >= LEAST_FUSED else None
        graph = _captured(whole, cuda_graph.one_by_one(move), tape, W, V, smoothing, epsilon)
    watch = _Watch(W)
    done = 0
    with np.errstate(all="ignore"):  # a diverging member overflows; the watch reports it
        for epoch in range(state.epochs, state.epochs + epochs):
            order = (order_of or shuffled)(batch_size, seed, epoch)
            factors = [SCHEDULES[schedule](state.steps + done + i, decay) for i in range(per_epoch)]
            if graph is not None:
                graph.begin(np.stack(list(order)), rates[None] * like(np.reshape(factors, (-1, 1, 1, 1)), W))
            for i in range(per_epoch):
                if graph is not None:
                    objective = graph.step(i)
                else:
                    rows = next(order)
                    here = rows if isinstance(W, np.ndarray) else like(rows, W, "int64")
                    objective = move(here, rates * factors[i], state.steps + done)
                done += 1
                ends = i + 1 == per_epoch
                watch.see(objective, W, ends)
                if callback is not None:
                    callback(Progress(done, total, epoch, ends, objective, W))
                if watch.all_gone:
                    return _finish(watch, W, V, state, done, epoch + 1)
    return _finish(watch, W, V, state, done, state.epochs + epochs)


def _numbers(rates: float | Array) -> NumPyArray:
    return np.asarray(rates) if isinstance(rates, int | float) else to_numpy(rates)


def _captured(
    whole: Callable[[float, float], None] | None,
    plain: Callable[[cuda_graph.Tape], None],
    tape: cuda_graph.Tape,
    W: Array,
    V: Array,
    smoothing: float,
    epsilon: float,
) -> cuda_graph.Replay:
    """The step as a graph: by fused kernels, or by plain ones where these cannot be compiled for the device."""
    if whole is not None:
        try:
            return cuda_graph.Replay(lambda _: whole(smoothing, epsilon), tape, W, V)
        except Exception as error:  # compilers and drivers raise their own errors
            reason = str(error).partition("\n")[0][:200]
            logger.warning("fused kernels cannot be used here (%s: %s): using plain ones", type(error).__name__, reason)
    return cuda_graph.Replay(plain, tape, W, V)


def _finish(watch: _Watch, W: Array, V: Array, state: State, done: int, epochs: int) -> Solution:
    objective, diverged = watch.close(W)
    diverged = np.where(diverged >= 0, diverged + state.steps, -1)
    return Solution(State(W, V, state.steps + done, epochs), objective, diverged)


class _Watch:
    """Keeps the objective of every step, and finds the first step at which each member diverged."""

    def __init__(self, W: Array) -> None:
        self.reach = OUT_OF_REACH * np.maximum(1, _sizes(W))
        self.seen: list[NumPyArray] = []  # on the host
        self.waiting: list[Array] = []  # possibly still on a device
        self.diverged = np.full(len(self.reach), -1, dtype=np.int64)
        self.all_gone = False

    def see(self, objective: Array, W: Array, now: bool) -> None:
        """Look every few steps, and at the end of each epoch, so that a shorter run finds the same."""
        self.waiting.append(objective)
        if now or len(self.waiting) >= LOOK_EVERY:
            self.look(W)

    def look(self, W: Array) -> None:
        if not self.waiting:
            return
        xp = namespace(self.waiting[0])
        block = to_numpy(xp.stack(self.waiting)).astype(np.float64)
        self.waiting.clear()
        first_step = len(self.seen)
        self.seen.extend(block)
        limit = BLOW_UP * np.maximum(1, np.abs(np.nan_to_num(self.seen[0], posinf=0, neginf=0)))
        gone = ~(np.abs(block) <= limit)  # also True for NaN
        newly = gone.any(axis=0) & (self.diverged < 0)
        self.diverged[newly] = first_step + gone.argmax(axis=0)[newly]
        far = ~(_sizes(W) <= self.reach) & (self.diverged < 0)  # a bounded loss stays finite even if W runs away
        self.diverged[far] = len(self.seen) - 1
        self.all_gone = bool((self.diverged >= 0).all())

    def close(self, W: Array) -> tuple[NumPyArray, NumPyArray]:
        self.look(W)
        return np.array(self.seen).reshape(-1, len(self.diverged)), self.diverged


def _sizes(W: Array) -> NumPyArray:
    """The largest |entry| of each member (K,); NaN where one is."""
    xp = namespace(W)
    return to_numpy(xp.maximum(xp.max(W, axis=(1, 2)), -xp.min(W, axis=(1, 2))))  # |W| would be another array
