"""One update of RMSprop, in place, in the quickest way that the given arrays allow.

    V ← γV + (1 − γ) G₂,    W ← W − β G / (√V + ε)

NumPy: one pass compiled by numba where that is installed, else blocks that stay in the processor's cache. Both do the
same operations in the same order, so that they agree bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from zskl.arrays import Array
from zskl.training import machine_code

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 32768  # entries of W updated at a time: a few such blocks stay in the processor's cache
WORTH_COMPILING = 1 << 15  # entries of W below which blocks are as quick, and importing numba would take longer


Update: TypeAlias = Callable[[Array, Array | None, float | Array], None]


def updating(W: Array, V: Array, smoothing: float, epsilon: float) -> Update:
    """What moves W and V (K, d, p) by one step, given gradient, squares and rate.

    The gradient (K, d, p) may be used up; squares (K, d, p) is G₂ (None: G²), the rate a number or (K, 1, 1). NumPy
    arrays lie by rows.
    """
    if not (isinstance(W, np.ndarray) and isinstance(V, np.ndarray)):
        return lambda gradient, squares, rate: _with_torch(W, V, gradient, squares, rate, smoothing, epsilon)
    walk = (compiled() if W[0].size >= WORTH_COMPILING else None) or in_blocks
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


def in_blocks(
    w: Any, v: Any, g: Any, g2: Any, square: bool, rate: Any, smoothing: Any, rest: Any, epsilon: Any
) -> None:
    """The update of flat arrays (m,); `square` says that G₂ is g² and not g2, `rest` is 1 − smoothing."""
    scratch = np.empty(min(BLOCK, len(w)), dtype=w.dtype)
    for first in range(0, len(w), BLOCK):
        here = slice(first, first + BLOCK)
        one, moment = g[here], v[here]
        t = scratch[: len(one)]
        np.multiply(one, one, out=t) if square else np.copyto(t, g2[here])
        t *= rest
        moment *= smoothing
        moment += t
        np.sqrt(moment, out=t)
        t += epsilon
        one *= rate
        one /= t
        w[here] -= one


@cache
def compiled() -> Any:
    """`in_blocks` as one loop in machine code; None without numba."""

    def one_pass(
        w: Any, v: Any, g: Any, g2: Any, square: bool, rate: Any, smoothing: Any, rest: Any, epsilon: Any
    ) -> None:
        if square:
            for i in range(w.size):
                v[i] = v[i] * smoothing + g[i] * g[i] * rest
                w[i] -= g[i] * rate / (np.sqrt(v[i]) + epsilon)
        else:
            for i in range(w.size):
                v[i] = v[i] * smoothing + g2[i] * rest
                w[i] -= g[i] * rate / (np.sqrt(v[i]) + epsilon)

    return machine_code.compiled(one_pass)


def _with_torch(
    W: Tensor,
    V: Tensor,
    gradient: Tensor,
    squares: Tensor | None,
    rate: float | Tensor,
    smoothing: float,
    epsilon: float,
) -> None:
    V *= smoothing
    if squares is None:
        V.addcmul_(gradient, gradient, value=1 - smoothing)
    else:
        V.add_(squares, alpha=1 - smoothing)
    gradient *= rate
    W.addcdiv_(gradient, V.sqrt().add_(epsilon), value=-1)
