"""One training step captured as a CUDA graph and replayed: the host says go, and hands over nothing else.

The order of the rows, the rates and the place in both lie on the device; the graph moves the place on by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zskl.arrays import Array, NumPyArray, is_torch

if TYPE_CHECKING:
    from torch import Tensor

WARM_UP = 3  # steps before the capture, undone afterwards: libraries set themselves up in the first


def possible(W: Array) -> bool:
    """Whether W is where a step can be captured: on a CUDA device."""
    return is_torch(W) and str(W.device).startswith("cuda")


@dataclass(frozen=True)
class Tape:
    """What the steps of an epoch read and write, on the device; `place` (1,) is the number of the next one."""

    order: Tensor  # (steps, batch) rows
    rates: Tensor  # (steps, K, 1, 1)
    objectives: Tensor  # (steps, K)
    place: Tensor


class Replay:
    """`step(tape)` moves W and V in place by the step at the tape's place and writes its objective there."""

    def __init__(self, step: Callable[[Tape], object], tape: Tape, W: Tensor, V: Tensor) -> None:
        import torch

        self.tape = tape

        def go() -> None:
            step(tape)
            tape.place.add_(1)

        before = W.clone(), V.clone()
        with torch.cuda.device(W.device):  # where streams are made and kernels launched
            try:
                aside = torch.cuda.Stream()
                aside.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(aside):
                    for _ in range(WARM_UP):
                        tape.place.zero_()
                        go()
                torch.cuda.current_stream().wait_stream(aside)
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    go()
            finally:
                W.copy_(before[0])
                V.copy_(before[1])

    def begin(self, order: NumPyArray, rates: Tensor) -> None:
        """The rows (steps, batch) and rates (steps, K, 1, 1) of the epoch that comes."""
        self.tape.order.copy_(self.tape.order.new_tensor(order))
        self.tape.rates.copy_(rates)
        self.tape.place.zero_()

    def step(self, number: int) -> Tensor:
        """Replay the step; its objective (K,) is read from the place it will be written to."""
        self.graph.replay()
        return self.tape.objectives[number]


def tape(W: Tensor, steps: int, batch: int) -> Tape:
    """An empty one, where W (K, d, p) is."""
    K = W.shape[0]
    order = W.new_zeros((steps, batch)).long()
    return Tape(order, W.new_zeros((steps, K, 1, 1)), W.new_zeros((steps, K)), order.new_zeros(1))


def one_by_one(move: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tape], None]:
    """A step of the tape from `move(rows, rate) → objective (K,)`."""

    def step(tape: Tape) -> None:
        objective = move(tape.order[tape.place][0], tape.rates[tape.place][0])
        tape.objectives.index_copy_(0, tape.place, objective[None].to(tape.objectives.dtype))

    return step
