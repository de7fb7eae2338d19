"""What the closed-form and linear baselines share: settings fitted at once, and sums and means over classes.

A method writes `_check_parameters`, and `_learn(training)`: the work that its free settings have in common, returning
the function that sets what one model has learned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zskl.arrays import Array, like, namespace
from zskl.estimator import Training

Visit = Callable[[int, Any], object]


def fit(models: Sequence[Any], X: Array, y: Any, signatures: Any, visit: Visit | None = None) -> None:
    """Fit models that differ in free settings alone, the common work once; each is handed to `visit` with its place."""
    for model in models:
        model._check_parameters()
    first = models[0]
    training = first._prepare(X, y, signatures)
    prepared = {name: value for name, value in vars(first).items() if name.endswith("_")}
    finish = first._learn(training)
    for place, model in enumerate(models):
        model.__dict__.update(prepared)
        finish(model)
        if visit is not None:
            visit(place, model)


def class_signatures(training: Training) -> Array:
    """(C, p) the mean of the signatures of each seen class."""
    if training.rows.shape[1] == 1:
        return training.Y[like(training.rows[:, 0], training.X, "int64")]
    own = np.arange(training.rows.shape[1]) < training.counts[:, None]  # (C, m)
    weights = np.zeros((len(training.counts), training.Y.shape[0]))
    np.add.at(weights, (np.arange(len(own))[:, None], training.rows), own / training.counts[:, None])
    return like(weights, training.X) @ training.Y


def class_sums(training: Training) -> Array:
    """(C, d) the sum of the training rows of each class."""
    return _members(training) @ training.X


def _members(training: Training) -> Array:
    """(C, n) 1 where a row is of a class."""
    xp = namespace(training.X)
    classes = like(np.arange(len(training.sizes)), training.X, "int64")
    return xp.astype(classes[:, None] == training.codes[None, :], training.X.dtype)
