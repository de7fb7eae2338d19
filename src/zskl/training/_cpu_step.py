"""A training step in NumPy: loss and gradient of a batch in buffers that are made once, and the update of RMSprop.

The formulas are those of `objective`; the tests compare the two. Products write into buffers, so nothing of size d × p
is allocated. The gradient is one product, [Xᵀ, Z] [U; diag(b) Y] with Z = W Yᵀ, or [Xᵀ, W] [U; N]. Between the products
are a few passes over (n, C), where the loss reaches the true class by index. Where numba is installed and W is large
enough to be worth it, loops are compiled.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from zskl._arrays import NumPyArray, to_numpy
from zskl.kernels import Cauchy, Gaussian
from zskl.training.objective import Evaluation, Objective, class_weights

BLOCK = 32768  # entries of W updated at a time: a few such blocks stay in the processor's cache
WORTH_COMPILING = 1 << 15  # entries of W below which blocks are as quick, and importing numba would take longer
APART = 16  # entries between two rows of a batch: columns of a power of 2 would compete for one place of the cache
NEW_ARRAYS = Gaussian, Cauchy  # kernels that hand back arrays of their own, which need not be looked at


def compile_loop(loop: Callable[..., Any], sums_in_any_order: bool = False) -> Any:
    """The function as machine code, kept on disk for the next process; None without numba. Sums in any order are
    several at once; what is not a number or infinite stays so."""
    try:
        import numba
    except ImportError:
        return None
    options = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc"} if sums_in_any_order else False}
    try:
        return numba.njit(cache=True, **options)(loop)
    except RuntimeError:  # no folder to keep it in
        return numba.njit(**options)(loop)


class Slopes:
    """Loss and ∂loss/∂t at t (terms, n, C), for `weights` (C,) of own samples and others, and W of size `large`."""

    def __init__(
        self, objective: Objective, weights: tuple[NumPyArray, NumPyArray], n: int, C: int, large: int
    ) -> None:
        self.objective, self.weights, self.rows = objective, weights, np.arange(n)
        wanted = objective.loss == "squared" and large >= WORTH_COMPILING
        self.walk = compile_squared_loss() if wanted else None
        dtype = weights[0].dtype
        self.sums = np.empty((n, 1), dtype), np.empty((C, 1), dtype)

    def __call__(
        self, t: NumPyArray, codes: NumPyArray, factor: float
    ) -> tuple[Any, NumPyArray, NumPyArray, NumPyArray]:
        """The loss, and of G = `factor` · ∂(n·loss)/∂t (terms, n, C) its sum over terms (n, C), the first term's over
        classes (n, 1) and the second's over rows (C, 1)."""
        o = self.objective
        k, slope = _kernel_value_and_slope(o, t)
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
def compile_squared_loss() -> Any:
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

    return compile_loop(one_pass, sums_in_any_order=True)


def _kernel_value_and_slope(o: Objective, t: NumPyArray) -> tuple[NumPyArray, NumPyArray]:
    """Value and slope at t. Both are changed in place later, so each is an array of its own."""
    k = o.kernel.value(t)
    slope = o.kernel.slope(t, k)
    if type(o.kernel) in NEW_ARRAYS and isinstance(k, np.ndarray) and k.dtype == t.dtype:
        return k, np.asarray(slope)
    k, slope = to_numpy(k), to_numpy(slope)
    shared = np.may_share_memory(slope, k) or np.may_share_memory(slope, t)
    return _own_array(k, t, np.may_share_memory(k, t)), _own_array(slope, t, shared)


def _own_array(array: NumPyArray, t: NumPyArray, shared: bool) -> NumPyArray:
    """The array itself, or a copy if it is shared, read-only, of another type or smaller than t."""
    if shared or array.dtype != t.dtype or array.shape != t.shape or not array.flags.writeable:
        return np.array(np.broadcast_to(array, t.shape), dtype=t.dtype)
    return array


def loss_in_place(
    o: Objective, k: NumPyArray, codes: NumPyArray, rows: NumPyArray, weights: tuple[NumPyArray, NumPyArray]
) -> tuple[Any, NumPyArray]:
    """The loss of kernel values k (terms, n, C), used up, and ∂(n·loss)/∂k; weights (C,) of own samples and others."""
    n = k.shape[1]
    if o.loss == "softmax":
        return _softmax_loss(o, k, codes, rows)
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


def _softmax_loss(o: Objective, k: NumPyArray, codes: NumPyArray, rows: NumPyArray) -> tuple[Any, NumPyArray]:
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


class CpuStep:
    """Loss and gradient of a batch of n rows and one W; the gradient's buffer holds until the next call."""

    def __init__(
        self, objective: Objective, n: int, shape: tuple[int, int], C: int, sizes: NumPyArray, dtype: Any
    ) -> None:
        d, p = shape
        self.objective, self.n = objective, n
        mine, others = class_weights(objective.balance, sizes)
        weights = to_numpy(mine), to_numpy(objective.repulsion * others)
        radial = objective.kernel.radial
        self.through_images = radial and objective.incoherence and p >= C  # Z = W Yᵀ at d·p·C, else WᵀW at d·p²
        self.through_gram = not self.through_images and (objective.incoherence or not radial)
        below = C if self.through_images else p if self.through_gram else 0
        self.left, self.right = np.empty((d, n + below), dtype), np.empty((n + below, p), dtype)
        self.X, self.U = np.empty((n, d + APART), dtype)[:, :d], self.right[:n]
        self.gradient = np.empty((1, d, p), dtype)
        self.P, self.S = np.empty((n, p), dtype), np.empty((n, C), dtype)
        self.products, self.YM = np.empty((n + p, n + p), dtype), np.empty((C, p), dtype)
        terms = 1 + (radial and objective.incoherence)
        self.row_norms, self.column_norms = np.empty((terms, n), dtype), np.empty((terms, C), dtype)
        self.D = np.empty((terms, n, C), dtype)
        self.slopes = Slopes(objective, weights, n, C, large=d * p)
        self.Y: NumPyArray | None = None

    def __call__(
        self, W: NumPyArray, features: NumPyArray, rows: NumPyArray, Y: NumPyArray, codes: NumPyArray
    ) -> Evaluation:
        """W (1, d, p), the rows (n,) of features (N, d), one signature per class Y (C, p), codes (n,)."""
        n, w = self.n, W[0]
        features.take(rows, axis=0, out=self.X, mode="clip")
        self.left[:, :n] = self.X.T
        if Y is not self.Y:  # the same in every step, unless classes have several signatures
            self.Y, self.Yt = Y, np.ascontiguousarray(Y.T)
            self.column_norms[0] = np.vecdot(Y, Y)
            self.factored = -2 * self.Yt if self.objective.kernel.radial else self.Yt
        if self.through_gram:  # [Xᵀ, W]ᵀ [Xᵀ, W] holds X W and WᵀW: one product, of which a library computes a half
            self.left[:, n:] = w
            np.matmul(self.left.T, self.left, out=self.products)
            self.P[...] = self.products[:n, n:]
        else:
            np.matmul(self.X, w, out=self.P)
        np.matmul(self.P, self.factored, out=self.S)
        value = self._radial(w, Y, codes) if self.objective.kernel.radial else self._polynomial(Y, codes)
        np.matmul(self.left, self.right, out=self.gradient[0])
        return Evaluation(np.asarray([value], dtype=W.dtype), self.gradient, None)

    def _radial(self, w: NumPyArray, Y: NumPyArray, codes: NumPyArray) -> Any:
        """The loss; leaves in `right` what [Xᵀ, Z] or [Xᵀ, W] is multiplied by. S is −2 X W Yᵀ."""
        P, D, n = self.P, self.D, self.n
        np.vecdot(P, P, out=self.row_norms[0])
        if len(D) == 2:
            self._norms_of_features(w, Y)
        np.add(self.S, self.row_norms[:, :, None], out=D)
        D += self.column_norms[:, None]
        np.maximum(D, 0, out=D)
        value, A, a, b = self.slopes(D, codes, 2 / n)
        np.matmul(A, Y, out=self.U)
        P *= a
        np.subtract(P, self.U, out=self.U)
        if self.through_images:
            np.multiply(Y, b, out=self.right[n:])
        elif self.through_gram:
            np.multiply(Y, b, out=self.YM)
            np.matmul(self.Yt, self.YM, out=self.right[n:])
        return value

    def _norms_of_features(self, w: NumPyArray, Y: NumPyArray) -> None:
        """‖xᵢ‖² (n,) and ‖W yⱼ‖² (C,); leaves Z = W Yᵀ in `left` where it goes through that."""
        n = self.n
        if self.through_images:
            images = self.left[:, n:]
            np.matmul(w, Y.T, out=images)
            np.vecdot(self.X, self.X, out=self.row_norms[1])
            np.einsum("ij,ij->j", images, images, out=self.column_norms[1])
        else:
            self.row_norms[1] = self.products.reshape(-1)[: n * len(self.products) : len(self.products) + 1]
            np.matmul(Y, self.products[n:, n:], out=self.YM)
            np.vecdot(self.YM, Y, out=self.column_norms[1])

    def _polynomial(self, Y: NumPyArray, codes: NumPyArray) -> Any:
        n, M, N = self.n, self.products[self.n :, self.n :], self.right[self.n :]
        value, A, _, _ = self.slopes(self.S[None], codes, 1 / n)
        np.matmul(A, Y, out=self.U)
        alpha = float(self.objective.incoherence_weight)
        penalty = np.vdot(M, M) - np.trace(M)
        np.multiply(M, 4 * alpha, out=N)
        N.reshape(-1)[:: len(N) + 1] -= 2 * alpha  # W (4αWᵀW − 2αI): the penalty's gradient
        return value + alpha * penalty


def update_in_blocks(
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
def compiled_update() -> Any:
    """`update_in_blocks` as one loop in machine code; None without numba."""

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

    return compile_loop(one_pass)
