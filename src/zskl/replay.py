"""One training step captured as a CUDA graph and replayed: the host says go, and hands over nothing else.

The order of the rows, the rates and the place in both lie on the device; the graph moves the place on by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zskl.arrays import Array, is_torch

WARM_UP = 3  # steps before the capture, undone afterwards: libraries set themselves up in the first


def possible(W: Array) -> bool:
    """Whether W is where a step can be captured: on a CUDA device."""
    return is_torch(W) and str(W.device).startswith("cuda")


class Replay:
    """`body(rows, rate) → objective (K,)` moves W and V in place by one step; rows (batch,), rate (K, 1, 1)."""

    def __init__(self, body: Callable[[Array, Array], Array], W: Array, V: Array, steps: int, batch: int) -> None:
        import torch

        K = W.shape[0]
        self.order = torch.zeros((steps, batch), dtype=torch.int64, device=W.device)
        self.rates = torch.zeros((steps, K, 1, 1), dtype=W.dtype, device=W.device)
        self.objectives = torch.zeros((steps, K), dtype=W.dtype, device=W.device)
        self.place = torch.zeros(1, dtype=torch.int64, device=W.device)

        def go() -> None:
            objective = body(self.order[self.place][0], self.rates[self.place][0])
            self.objectives.index_copy_(0, self.place, objective[None].to(W.dtype))
            self.place += 1

        before = W.clone(), V.clone()
        aside = torch.cuda.Stream(W.device)
        aside.wait_stream(torch.cuda.current_stream(W.device))
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                self.place.zero_()
                go()
        torch.cuda.current_stream(W.device).wait_stream(aside)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            go()
        W.copy_(before[0])
        V.copy_(before[1])

    def begin(self, order: np.ndarray[Any, Any], rates: Array) -> None:
        """The rows (steps, batch) and rates (steps, K, 1, 1) of the epoch that comes."""
        self.order.copy_(self.order.new_tensor(order))
        self.rates.copy_(rates)
        self.place.zero_()

    def step(self, number: int) -> Array:
        """Replay the step; its objective (K,) is read from the place it will be written to."""
        self.graph.replay()
        return self.objectives[number]
