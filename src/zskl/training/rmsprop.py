"""One update of RMSprop, in place, in the quickest way that the arrays at hand allow.

    V ← γV + (1 − γ) G₂,    W ← W − β G / (√V + ε)

NumPy: one pass compiled by numba where that is installed, else blocks that stay in the processor's cache. Both do the
same operations in the same order, so that they agree bit for bit.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from zskl.arrays import Array

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 32768  # entries of W updated at a time: a few such blocks stay in the processor's cache
WORTH_COMPILING = 1 << 15  # entries of W below which blocks are as quick, and importing numba would take longer


def update(
    W: Array, V: Array, gradient: Array, squares: Array | None, rate: float | Array, smoothing: float, epsilon: float
) -> None:
    """Move W and V (K, d, p) by one step; squares (K, d, p) is G₂ (None: G²), the rate a number or (K, 1, 1).

    The gradient may be used up.
    """
    if not (isinstance(W, np.ndarray) and isinstance(V, np.ndarray) and isinstance(gradient, np.ndarray)):
        _with_torch(W, V, gradient, squares, rate, smoothing, epsilon)
        return
    walk = (compiled() if W[0].size >= WORTH_COMPILING else None) or in_blocks
    number = W.dtype.type
    rates = np.asarray(rate, dtype=W.dtype).reshape(-1)
    constants = number(smoothing), number(1 - smoothing), number(epsilon)
    for k in range(len(W)):
        w, v, g = (np.reshape(array[k], -1, copy=False) for array in (W, V, gradient))  # a copy would be moved in vain
        g2 = g if squares is None else squares[k].reshape((-1,))
        walk(w, v, g, g2, squares is None, rates[k % len(rates)], *constants)


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
    """`in_blocks` as one loop in machine code, kept on disk for the next process; None without numba."""
    try:
        import numba
    except ImportError:
        return None

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

    try:  # no fastmath: the operations stay those of `in_blocks`
        return numba.njit(nogil=True, error_model="numpy", cache=True)(one_pass)
    except RuntimeError:  # no folder to keep it in
        return numba.njit(nogil=True, error_model="numpy")(one_pass)


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
