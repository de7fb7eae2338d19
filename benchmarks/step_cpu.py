"""A training step on the CPU: ours, the floor, and PyTorch's automatic differentiation, in one process.

The floor is what no version can leave out: the matrix products of the cheaper algebraic form, written into buffers
that are there, and one compiled pass over W for the update, in the quicker of two layouts of W. Everything else
(distances, kernels, losses, gathering rows, the loop of the solver, the watch for divergence) counts against us.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shapes import BATCH, Problem
from zskl import ZeroShotKernelClassifier
from zskl.estimators._inputs import Training
from zskl.estimators.kernel_classifier import make_cpu_step, make_step
from zskl.training import _cpu_step, solver

KERNEL = {"kernel": "gaussian", "sigma": 1.0, "repulsion": 1.0, "batch_size": BATCH}
Way = Callable[[int], object]


def ours(data: Problem, plain: bool = False, **settings: Any) -> Way:
    """The solver's own loop with the step that `fit` uses; `plain` with the readable `training.objective`."""
    member = ZeroShotKernelClassifier(**{**KERNEL, **settings})
    C = len(data.Y)
    rows = np.arange(C)[:, None]
    training = Training(data.X, data.codes, data.Y, rows, np.ones(C, int), np.bincount(data.codes, minlength=C))
    step = make_step(member._objective(), training, 0, False) if plain else make_cpu_step(member, training, 0)

    def run(steps: int) -> object:
        state = solver.start_state(data.W[None])
        return solver.minimise(
            *(step, state),
            n_rows=len(data.X),
            batch_size=member.batch_size,
            epochs=max(1, steps * member.batch_size // len(data.X)),
            seed=0,
            learning_rate=3e-4,
        )

    return run


def autograd(data: Problem) -> Way:
    import torch

    from autograd import Autograd

    rng = np.random.default_rng(0)
    its = Autograd(*(torch.from_numpy(array) for array in (data.W, data.X, data.Y, data.codes)))

    def run(steps: int) -> None:
        order = torch.from_numpy(rng.permutation(len(data.X))).reshape(-1, BATCH)
        for step in range(steps):
            its.step(order[step % len(order)])

    return run


def floor(data: Problem, by_columns: bool = False) -> Way:
    """Products into buffers that are there, and one pass for the update; W lies by rows or by columns."""
    (d, p), C, n = data.W.shape, len(data.Y), BATCH
    Y, W, V, G = data.Y, data.W.copy(), np.zeros_like(data.W), np.empty_like(data.W)
    rng = np.random.default_rng(0)

    def buffer(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=np.float32)

    def matrix(*shape: int) -> Any:
        """Of as many rows, but columns one after the other if W is to lie so."""
        return buffer(*shape[::-1]).T if by_columns else buffer(*shape)

    q = C if p >= C else p
    P, S, A, U, YM = buffer(n, p), buffer(n, C), buffer(n, C), buffer(n, p), buffer(C, p)
    joint, below, products = matrix(d, n + q), buffer(n + q, p), buffer(n + q, n + q)
    M, N, Yt, X = buffer(p, p), buffer(p, p), np.ascontiguousarray(Y.T), data.X[:n].copy()
    placed, moved = (array.reshape(p, d).T if by_columns else array for array in (W, G))
    walk = _cpu_step.compiled_update() or _cpu_step.update_in_blocks
    constants = [np.float32(number) for number in (1e-9, 0.99, 0.01, 1e-6)]

    def run(steps: int) -> None:
        for _ in range(steps):
            np.matmul(P, Yt, out=S)
            np.matmul(A, Y, out=U)
            if p >= C:
                np.matmul(X, placed, out=P)
                np.matmul(placed, Y.T, out=joint[:, n:])
            else:
                np.matmul(joint.T, joint, out=products)  # X W and WᵀW in one
                np.matmul(Y, M, out=YM)
                np.matmul(Yt, YM, out=N)
            np.matmul(joint, below, out=moved)
            walk(W.reshape(-1), V.reshape(-1), G.reshape(-1), G.reshape(-1), True, *constants)

    return run
