"""Methods of which one fit serves many settings: the work that these share is done once.

Also the sums and means over classes that closed forms are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from zskl.arrays import Array, like, namespace
from zskl.estimators.estimator import Training, ZeroShotClassifier
from zskl.scaling import Scaling
from zskl.training.solver import DivergenceError

unit = Scaling(("l2",)).apply  # rows of unit length; a row of zeros stays zero


class SharedClassifier(ZeroShotClassifier):
    """A method without steps, so without use for a callback: it writes `_learn`, `_check_parameters` and `_scores`."""

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _learn(self, training: Training) -> Callable[[Self], None]:
        """Do what the settings in `FREE` have in common; returns what sets on one model all that `LEARNED` lists."""
        raise NotImplementedError

    def fit(self, X: Array, y: Any, signatures: Any = None, *, callback: Any = None) -> Self:
        """Learn from rows X (n, d), their classes y (n,) and the classes' signatures.

        `signatures` is a data frame, a mapping class → vector, an array with a row per class of sorted(set(y)), or None
        for one-hot rows; classes that are not in y become further candidates. `callback` is never called: the method
        has no steps.
        """
        with self._all_or_nothing():
            self._check_parameters()
            self._learn(self._prepare(X, y, signatures))(self)
        return self

    def _fit_together(
        self,
        settings: Sequence[Mapping[str, Any]],
        X: Array,
        y: Any,
        signatures: Any,
        visit: Callable[[int, Self | DivergenceError], object],
    ) -> None:
        models = [clone(self).set_params(**setting) for setting in settings]
        for model in models:
            model._check_parameters()
        training = models[0]._prepare(X, y, signatures)
        prepared = {name: value for name, value in vars(models[0]).items() if name.endswith("_")}
        finish = models[0]._learn(training)
        for place, model in enumerate(models):
            vars(model).update(prepared)
            finish(model)
            visit(place, model)


def class_signatures(training: Training) -> Array:
    """(C, p) the mean of the signatures of each seen class."""
    if training.rows.shape[1] == 1:
        return training.Y[like(training.rows[:, 0], training.X, "int64")]
    own = np.arange(training.rows.shape[1]) < training.counts[:, None]  # (C, m): not padding
    weights = np.zeros((len(training.counts), training.Y.shape[0]))
    np.add.at(weights, (np.arange(len(own))[:, None], training.rows), own / training.counts[:, None])
    return like(weights, training.Y) @ training.Y


def members(training: Training) -> Array:
    """(n, C) 1 where a row is of a class, else 0."""
    classes = like(np.arange(len(training.sizes)), training.X, "int64")
    return namespace(training.X).astype(training.codes[:, None] == classes[None, :], training.X.dtype)


def class_sums(training: Training) -> Array:
    """(C, d) the sum of the training rows of each class."""
    sums: Array = members(training).T @ training.X
    return sums
