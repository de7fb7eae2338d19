"""Small problems and fits for a GPU."""

import numpy as np
import pytest

from zskl import ZeroShotKernelClassifier

torch = pytest.importorskip("torch", reason="PyTorch is not installed: tests on a GPU")
DEVICE = "cuda"


def make_problem(n=120, d=20, seen=6, unseen=3, p=8, rows_per_class=1):
    """Training rows and integer labels, signatures of all classes as a mapping, and new rows."""
    rng = np.random.default_rng(0)
    classes = seen + unseen
    means, Y = rng.standard_normal((p, d)) / p**0.5, rng.standard_normal((classes, p))
    y, new_y = np.arange(n) % seen, seen + np.arange(50) % unseen
    X, new = (Y[k] @ means + 0.3 * rng.standard_normal((len(k), d)) for k in (y, new_y))
    table = {k: Y[k] + 0.05 * rng.standard_normal((rows_per_class, p)) for k in range(classes)}
    return X.astype(np.float32), y, table, new.astype(np.float32), new_y


X, y, TABLE, NEW, NEW_Y = make_problem()


def estimator(kernel="gaussian", **settings):
    return ZeroShotKernelClassifier(kernel, **{"random_state": 0, "epochs": 4, **settings})


def on_gpu(array):
    return torch.tensor(array, device=DEVICE)
