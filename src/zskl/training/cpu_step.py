"""`Objective.evaluate` for one projection in NumPy, in buffers that are made once: nothing of size d × p is allocated.

The formulas are those of `training/objective.py`; the tests compare the two. This one is quicker for three reasons. The
products write into buffers. The gradient is one product, [Xᵀ, Z] [U; diag(b) Y] with Z = W Yᵀ, or [Xᵀ, W] [U; N]. What
lies between the products is a few passes over (n, C): see `batch_slopes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zskl.arrays import NumPyArray, to_numpy
from zskl.training.batch_slopes import Slopes
from zskl.training.objective import Evaluation, Objective, class_weights

APART = 16  # entries between two rows of a batch: columns of a power of 2 would compete for one place of the cache


class CpuStep:
    """Evaluates `objective`, whose settings are plain numbers, on batches of n rows for W (1, d, p) and C classes.

    The gradient (1, d, p) it returns is its own buffer: it holds until the next call, and may be used up.
    """

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
