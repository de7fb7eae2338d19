"""`Objective.evaluate` for one projection in NumPy, in buffers that are made once: nothing of size d × p is allocated.

The formulas are those of `training/objective.py`; the tests compare the two. This one is quicker for three reasons.
W lies by columns, as Wᵀ (p, d): so rows are gathered, and W is kept, where the next product reads them, and nothing is
copied. The gradient is one product, [U; diag(b) Y]ᵀ [X; Z] with Z = Y Wᵀ, or [U; N]ᵀ [X; Wᵀ]. What lies between the
products is a few passes over (n, C): see `batch_slopes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zskl.arrays import Array, NumPyArray, to_numpy
from zskl.training.batch_slopes import Slopes
from zskl.training.crew import Crew
from zskl.training.objective import Evaluation, Objective, class_weights
from zskl.training.rmsprop import Update, updating


class CpuStep:
    """Evaluates `objective`, whose settings are plain numbers, on batches of n rows for W (1, d, p) and C classes.

    The gradient (1, d, p) it returns is its own buffer: it holds until the next call, and may be used up. Like the W of
    `place` it lies by columns. The threads of `crew` share the large products.
    """

    def __init__(
        self,
        objective: Objective,
        n: int,
        shape: tuple[int, int],
        C: int,
        sizes: NumPyArray,
        dtype: Any,
        crew: Crew | None = None,
    ) -> None:
        d, p = shape
        self.objective, self.n, self.crew = objective, n, crew or Crew()
        mine, others = class_weights(objective.balance, sizes)
        weights = to_numpy(mine), to_numpy(objective.repulsion * others)
        radial = objective.kernel.radial
        self.through_images = radial and objective.incoherence and p >= C  # Z = Y Wᵀ at d·p·C, else WᵀW at d·p²
        self.through_gram = not self.through_images and (objective.incoherence or not radial)
        below = C if self.through_images else p if self.through_gram else 0
        self.left, self.right = np.empty((n + below, d), dtype), np.empty((n + below, p), dtype)
        self.X, self.U = self.left[:n], self.right[:n]
        self.transposed = self.left[n:] if self.through_gram else np.empty((p, d), dtype)  # Wᵀ
        self.W: NumPyArray | None = None
        self.by_columns = np.empty((p, d), dtype)
        self.gradient = self.by_columns.T[None]
        self.P, self.S = np.empty((p, n), dtype).T, np.empty((n, C), dtype)  # Wᵀ Xᵀ is a quicker product than X W
        self.summed = np.empty((self.crew.size, n + p, n + p), dtype)  # products of each thread's features
        self.products = self.summed[0] if self.crew.size == 1 else np.empty((n + p, n + p), dtype)
        self.YM = np.empty((C, p), dtype)
        terms = 1 + (radial and objective.incoherence)
        self.row_norms, self.column_norms = np.empty((terms, n), dtype), np.empty((terms, C), dtype)
        self.D = np.empty((terms, n, C), dtype)
        self.slopes = Slopes(objective, weights, n, C, large=d * p)
        self.Y: NumPyArray | None = None
        size = float(d) * p * (n + below)
        self.columns, self.classes, self.features = (self.crew.shares(length, size) for length in (p, C, d))
        self.later = False

    def place(self, W: Array, V: Array, smoothing: float, epsilon: float) -> tuple[Array, Array, Update]:
        """W and V (1, d, p) as they are to lie: copies, of which this W is read where it is. And what moves them:
        from now on the gradient is computed there, a part by each thread, which then moves this part.
        """
        self.transposed[...] = to_numpy(W)[0].T
        self.W, self.later = self.transposed.T[None], True
        moments = np.array(to_numpy(V)[0].T, order="C").T[None]
        parts = [updating(self.W[:, :, part], moments[:, :, part], smoothing, epsilon) for part in self.columns]

        def update(gradient: Any, squares: Any, rate: float | Array) -> None:
            def work(k: int) -> None:
                self._gradient(k)
                parts[k](gradient[:, :, self.columns[k]], None, rate)

            self.crew.each(work)

        return self.W, moments, update

    def __call__(
        self, W: NumPyArray, features: NumPyArray, rows: NumPyArray, Y: NumPyArray, codes: NumPyArray
    ) -> Evaluation:
        """W (1, d, p), the rows (n,) of features (N, d), one signature per class Y (C, p), codes (n,)."""
        features.take(rows, axis=0, out=self.X, mode="clip")
        if W is not self.W:
            self.transposed[...] = W[0].T
        if Y is not self.Y:  # the same in every step, unless classes have several signatures
            self.Y, self.Yt = Y, np.ascontiguousarray(Y.T)
            self.column_norms[0] = np.vecdot(Y, Y)
            if self.objective.kernel.radial:
                self.Yt *= -2
        self.crew.each(self._products)
        if self.through_gram:
            if self.crew.size > 1:
                np.sum(self.summed, axis=0, out=self.products)
            self.P[...] = self.products[: self.n, self.n :]
        np.matmul(self.P, self.Yt, out=self.S)
        value = (self._radial if self.objective.kernel.radial else self._polynomial)(Y, codes)
        if not self.later:
            self.crew.each(self._gradient)
        return Evaluation(np.asarray([value], dtype=W.dtype), self.gradient, None)

    def _products(self, k: int) -> None:
        """One thread's part of the products with W that come before the kernel."""
        if self.through_gram:  # [X; Wᵀ] [X; Wᵀ]ᵀ holds X W and WᵀW: one product, of which a library computes a half
            part = self.left[:, self.features[k]]
            np.matmul(part, part.T, out=self.summed[k])
            return
        part = self.transposed[self.columns[k]]
        np.matmul(part, self.X.T, out=self.P.T[self.columns[k]])
        if self.through_images:
            assert self.Y is not None
            images = self.left[self.n :][self.classes[k]]
            np.matmul(self.Y[self.classes[k]], self.transposed, out=images)
            np.vecdot(images, images, out=self.column_norms[1, self.classes[k]])

    def _gradient(self, k: int) -> None:
        """One thread's columns of the gradient."""
        columns = self.columns[k]
        if self.through_gram and self.objective.kernel.radial:
            assert self.Y is not None
            np.matmul(self.YM.T, self.Y[:, columns], out=self.right[self.n :, columns])
        np.matmul(self.right[:, columns].T, self.left, out=self.by_columns[columns])

    def _radial(self, Y: NumPyArray, codes: NumPyArray) -> Any:
        """The loss; leaves in `right` what [X; Z] or [X; Wᵀ] is multiplied by. S is −2 X W Yᵀ."""
        P, D, n = self.P, self.D, self.n
        np.vecdot(P, P, out=self.row_norms[0])
        if len(D) == 2:
            self._norms_of_features(Y)
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
        return value

    def _norms_of_features(self, Y: NumPyArray) -> None:
        """‖xᵢ‖² (n,) and, through WᵀW, ‖W yⱼ‖² (C,)."""
        n = self.n
        if self.through_images:
            np.vecdot(self.X, self.X, out=self.row_norms[1])
            return
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
