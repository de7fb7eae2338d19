"""`Objective.evaluate` for one projection in NumPy, in buffers that are made once: nothing of size d × p is allocated.

The formulas are those of `training/objective.py`; the tests compare the two. This one is quicker for two reasons. The
products write into buffers, and the gradient is one product, [Xᵀ, Z] [U; diag(b) Y] or [Xᵀ, W] [U; N]. The loss reaches
the true class by index, not by masks (n, C).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zskl.arrays import NumPyArray, to_numpy
from zskl.training.objective import Evaluation, Objective, class_weights


class CpuStep:
    """Evaluates `objective`, whose settings are plain numbers, on batches of n rows for W (1, d, p) and C classes.

    The gradient (1, d, p) it returns is its own buffer: it holds until the next call, and may be used up.
    """

    def __init__(
        self, objective: Objective, n: int, shape: tuple[int, int], C: int, sizes: NumPyArray, dtype: Any
    ) -> None:
        d, p = shape
        self.objective = objective
        mine, others = class_weights(objective.balance, sizes)
        self.weights = to_numpy(mine), to_numpy(objective.repulsion * others)
        self.X = np.empty((n, d), dtype)
        self.P, self.U = np.empty((n, p), dtype), np.empty((n, p), dtype)
        self.S, self.D = np.empty((n, C), dtype), np.empty((1 + objective.incoherence, n, C), dtype)
        self.gradient = np.empty((1, d, p), dtype)
        self.rows = np.arange(n)
        radial = objective.kernel.radial
        self.through_images = radial and objective.incoherence and p >= C
        self.through_gram = not self.through_images and (objective.incoherence or not radial)
        self.Y: NumPyArray | None = None
        if self.through_images:  # Z = W Yᵀ at d·p·C
            self.left, self.right = np.empty((d, n + C), dtype), np.empty((n + C, p), dtype)
            self.weighted, self.U = self.right[n:], self.right[:n]
        if self.through_gram:  # WᵀW at d·p²
            self.left, self.right = np.empty((d, n + p), dtype), np.empty((n + p, p), dtype)
            self.N, self.U, self.YM = self.right[n:], self.right[:n], np.empty((C, p), dtype)
            self.products = np.empty((n + p, n + p), dtype)
            self.M = self.products[n:, n:]

    def __call__(
        self, W: NumPyArray, features: NumPyArray, rows: NumPyArray, Y: NumPyArray, codes: NumPyArray
    ) -> Evaluation:
        """W (1, d, p), the rows (n,) of features (N, d), one signature per class Y (C, p), codes (n,)."""
        X, w = self.X, W[0]
        features.take(rows, axis=0, out=X, mode="clip")
        if Y is not self.Y:  # the same in every step, unless classes have several signatures
            self.Y, self.Yt, self.y_norms = Y, np.ascontiguousarray(Y.T), np.vecdot(Y, Y)
        if self.through_gram:  # [Xᵀ, W]ᵀ [Xᵀ, W] holds X W and WᵀW: one product, of which a library computes a half
            n = len(X)
            self.left[:, :n] = X.T
            self.left[:, n:] = w
            np.matmul(self.left.T, self.left, out=self.products)
            self.P[...] = self.products[:n, n:]
        else:
            np.matmul(X, w, out=self.P)
        np.matmul(self.P, self.Yt, out=self.S)
        value = (self._radial if self.objective.kernel.radial else self._polynomial)(w, Y, codes)
        return Evaluation(np.asarray([value], dtype=w.dtype), self.gradient, None)

    def _radial(self, w: NumPyArray, Y: NumPyArray, codes: NumPyArray) -> Any:
        o, X, P, S, U, G, D = self.objective, self.X, self.P, self.S, self.U, self.gradient[0], self.D
        S *= -2
        np.add(S, np.vecdot(P, P)[:, None], out=D[0])
        D[0] += self.y_norms
        if o.incoherence:
            np.add(S, np.vecdot(X, X)[:, None], out=D[1])
            D[1] += self._image_norms(w, Y)
        np.maximum(D, 0, out=D)
        k, slope = _kernel(o, D)
        value, outer = loss_in_place(o, k, codes, self.rows, self.weights)
        slope *= outer
        slope *= 2 / len(X)
        A = slope[0]
        P *= A.sum(axis=1, keepdims=True)
        if o.incoherence:
            b = slope[1].sum(axis=0)[:, None]
            A += slope[1]
        np.matmul(A, Y, out=U)
        np.subtract(P, U, out=U)
        if not o.incoherence:
            np.matmul(X.T, U, out=G)
        elif self.through_images:
            np.multiply(Y, b, out=self.weighted)
            np.matmul(self.left, self.right, out=G)
        else:
            np.multiply(Y, b, out=self.YM)
            np.matmul(self.Yt, self.YM, out=self.N)
            np.matmul(self.left, self.right, out=G)
        return value

    def _image_norms(self, w: NumPyArray, Y: NumPyArray) -> NumPyArray:
        """‖W yⱼ‖² (C,); leaves [Xᵀ, Z] in `left` where it goes through Z = W Yᵀ."""
        norms: NumPyArray
        if self.through_images:
            n = len(self.X)
            np.matmul(w, Y.T, out=self.left[:, n:])
            self.left[:, :n] = self.X.T
            norms = np.einsum("ij,ij->j", self.left[:, n:], self.left[:, n:])
            return norms
        np.matmul(Y, self.M, out=self.YM)
        norms = np.vecdot(self.YM, Y)
        return norms

    def _polynomial(self, w: NumPyArray, Y: NumPyArray, codes: NumPyArray) -> Any:
        o, X, S, M, N = self.objective, self.X, self.S, self.M, self.N
        k, slope = _kernel(o, S[None])
        value, outer = loss_in_place(o, k, codes, self.rows, self.weights)
        slope *= outer
        A = slope[0]
        A *= 1 / len(X)
        np.matmul(A, Y, out=self.U)
        alpha = float(o.incoherence_weight)
        penalty = np.vdot(M, M) - np.trace(M)
        np.multiply(M, 4 * alpha, out=N)
        N.reshape(-1)[:: len(N) + 1] -= 2 * alpha  # W (4αWᵀW − 2αI): the penalty's gradient
        np.matmul(self.left, self.right, out=self.gradient[0])
        return value + alpha * penalty


def _kernel(o: Objective, t: NumPyArray) -> tuple[NumPyArray, NumPyArray]:
    """Value and slope at t. Both are changed in place later, so each is an array of its own."""
    k = to_numpy(o.kernel.value(t))
    slope = to_numpy(o.kernel.slope(t, k))
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
