"""A training step on a GPU: one setting and stacks of them, against eager automatic differentiation, in one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from autograd import Autograd
from shapes import BATCH, Problem
from zskl import ZeroShotKernelClassifier
from zskl.estimators._inputs import Training
from zskl.estimators.kernel_classifier import make_fused_step, make_step, stacked_objective
from zskl.training import solver

Way = Callable[[int], object]


def _on(device: str, array: Any) -> Any:
    return torch.from_numpy(array).to(device)


def ours(data: Problem, K: int, device: str = "cuda", whole: bool = True, **settings: Any) -> Way:
    """K settings in one stack through the solver's own loop, as a search runs them; `whole`: by fused kernels."""
    members = [
        ZeroShotKernelClassifier(sigma=0.8 + 0.01 * k, repulsion=1 + 0.1 * k, batch_size=BATCH, **settings)
        for k in range(K)
    ]
    C = len(data.Y)
    X, Y, codes = (_on(device, array) for array in (data.X, data.Y, data.codes))
    sizes = np.bincount(data.codes, minlength=C)
    training = Training(X, codes, Y, np.arange(C)[:, None], np.ones(C, int), sizes)
    objective = stacked_objective(members, X)
    W = _on(device, np.stack([data.W] * K))

    def run(steps: int) -> None:
        solver.minimise(
            *(make_step(objective, training, 0, False), solver.start_state(W)),
            n_rows=len(X),
            batch_size=BATCH,
            epochs=max(1, steps * BATCH // len(X)),
            seed=0,
            learning_rate=3e-4,
            steady=True,
            fuse=make_fused_step(objective, training) if whole else None,
        )
        torch.cuda.synchronize()

    return run


def autograd(data: Problem, device: str = "cuda") -> Way:
    its = Autograd(*(_on(device, array) for array in (data.W, data.X, data.Y, data.codes)))
    rng = np.random.default_rng(0)

    def run(steps: int) -> None:
        order = _on(device, np.stack([rng.permutation(len(data.X))[:BATCH] for _ in range(steps)]))
        for rows in order:
            its.step(rows)
        torch.cuda.synchronize()

    return run
