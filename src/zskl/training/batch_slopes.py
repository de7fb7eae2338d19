"""Loss of one batch and what its gradient is made of, from distances: all that lies between the large products.

The formulas are those of `training/objective.py`. The loss reaches the true class by index, not by masks (n, C). The
squared loss is one pass compiled by numba, where that is installed and a step is large enough to be worth it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from zskl.arrays import NumPyArray, to_numpy
from zskl.kernels import Cauchy, Gaussian
from zskl.training.machine_code import compiled
from zskl.training.objective import Objective
from zskl.training.rmsprop import WORTH_COMPILING

OURS = Gaussian, Cauchy  # kernels that hand back arrays of their own, which need not be looked at


class Slopes:
    """Maps distances or products t (terms, n, C) and codes (n,) to the loss and ∂loss/∂t in the form that a step needs.

    `weights` are those of each class (C,) for its own samples and for others; `large` is the size of W.
    """

    def __init__(
        self, objective: Objective, weights: tuple[NumPyArray, NumPyArray], n: int, C: int, large: int
    ) -> None:
        self.objective, self.weights, self.rows = objective, weights, np.arange(n)
        wanted = objective.loss == "squared" and large >= WORTH_COMPILING
        self.walk = squared_in_one_pass() if wanted else None
        dtype = weights[0].dtype
        self.sums = np.empty((n, 1), dtype), np.empty((C, 1), dtype)

    def __call__(
        self, t: NumPyArray, codes: NumPyArray, factor: float
    ) -> tuple[Any, NumPyArray, NumPyArray, NumPyArray]:
        """The loss, and of G = `factor` · ∂(n·loss)/∂t (terms, n, C) its sum over terms (n, C), the first term's over
        classes (n, 1) and the second's over rows (C, 1).
        """
        o = self.objective
        k, slope = _kernel(o, t)
        if self.walk is not None:
            value = self.walk(k, slope, codes, *self.weights, slope.dtype.type(factor), *self.sums)
            return value / len(codes), slope[0], *self.sums
        value, outer = loss_in_place(o, k, codes, self.rows, self.weights)
        slope *= outer
        slope *= factor
        A = slope[0]
        a, b = self.sums
        A.sum(axis=1, keepdims=True, out=a)
        if len(slope) == 2:
            slope[1].sum(axis=0, out=b[:, 0])
            A += slope[1]
        return value, A, a, b


@cache
def squared_in_one_pass() -> Any:
    """The squared loss of `loss_in_place` and its slopes as one loop in machine code; None without numba."""

    def one_pass(k: Any, slope: Any, codes: Any, own: Any, others: Any, factor: Any, a: Any, b: Any) -> Any:
        terms, n, C = k.shape
        loss = 0.0
        b[:] = 0
        for i in range(n):
            mine = codes[i]
            for term in range(terms):
                error = k[term, i, mine] - 1  # (k − t)², t = 1 for the true class
                weighted = own[mine] * error
                moved = slope[term, i, mine] * (weighted + weighted) * factor
                k[term, i, mine] = 0  # so that the loop below passes it over
                slope[term, i, mine] = 0
                losses, total = weighted * error, moved
                for j in range(C):
                    weight = others[j] * k[term, i, j]
                    losses += weight * k[term, i, j]
                    slope[term, i, j] *= (weight + weight) * factor
                    total += slope[term, i, j]
                slope[term, i, mine] = moved
                loss += losses
                if term == 0:
                    a[i, 0] = total
                else:
                    for j in range(C):
                        b[j, 0] += slope[1, i, j]
                        slope[0, i, j] += slope[1, i, j]
        return loss

    return compiled(one_pass, sums_in_any_order=True)


def _kernel(o: Objective, t: NumPyArray) -> tuple[NumPyArray, NumPyArray]:
    """Value and slope at t. Both are changed in place later, so each is an array of its own."""
    k = o.kernel.value(t)
    slope = o.kernel.slope(t, k)
    if type(o.kernel) in OURS and isinstance(k, np.ndarray) and k.dtype == t.dtype:
        return k, np.asarray(slope)
    k, slope = to_numpy(k), to_numpy(slope)
    shared = np.may_share_memory(slope, k) or np.may_share_memory(slope, t)
    return _own(k, t, np.may_share_memory(k, t)), _own(slope, t, shared)


def _own(array: NumPyArray, t: NumPyArray, shared: bool) -> NumPyArray:
    """The array itself, or a copy if it is shared, read-only, of another type or smaller than t."""
    if shared or array.dtype != t.dtype or array.shape != t.shape or not array.flags.writeable:
        return np.array(np.broadcast_to(array, t.shape), dtype=t.dtype)
    return array


def loss_in_place(
    o: Objective, k: NumPyArray, codes: NumPyArray, rows: NumPyArray, weights: tuple[NumPyArray, NumPyArray]
) -> tuple[Any, NumPyArray]:
    """The loss of kernel values k (terms, n, C) and ∂(n·loss)/∂k of that shape, or one for all terms; k is used up.

    `weights` are those of each class (C,) for its own samples and for others.
    """
    n = k.shape[1]
    if o.loss == "softmax":
        return _softmax(o, k, codes, rows)
    own, others = weights[0][codes], weights[1]  # (n,) and (C,)
    mine = k[:, rows, codes]  # (terms, n)
    if o.loss == "linear":
        k[:, rows, codes] = 0
        value = (others * k).sum() - (own * mine).sum()
        k[...] = others
        k[:, rows, codes] = -own
        return value / n, k
    mine -= 1  # (k − t)², t = 1 for the true class
    weighted = own * mine
    k[:, rows, codes] = 0
    value = np.vdot(others * k, k) + np.vdot(weighted, mine)
    k *= 2 * others
    weighted *= 2
    k[:, rows, codes] = weighted
    return value / n, k


def _softmax(o: Objective, k: NumPyArray, codes: NumPyArray, rows: NumPyArray) -> tuple[Any, NumPyArray]:
    logits = k[0] if len(k) == 1 else np.add(k[0], k[1], out=k[0])
    logits *= 1 / o.temperature
    logits -= logits.max(axis=1, keepdims=True)
    mine = logits[rows, codes]
    slope = np.exp(logits, out=logits)
    slope[rows, codes] = 0
    others = slope.sum(axis=1)
    total = others + np.exp(mine)
    losses = np.where(mine == 0, np.log1p(others), np.log(total) - mine)  # mine is 0 where the true class leads
    slope[rows, codes] = -others  # q − 1 as −Σ of the other q: no cancellation
    slope /= (total * o.temperature)[:, None]
    return losses.sum() / len(rows), slope
