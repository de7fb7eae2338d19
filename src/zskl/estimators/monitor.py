"""Accuracy on given rows during a run. A monitor looks at the projection and never changes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from zskl import metrics
from zskl.arrays import Array, NumPyArray, like, namespace, to_numpy
from zskl.estimators.candidates import best_of_rows, choose
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.inputs import check_features
from zskl.parameters import count
from zskl.signatures.table import as_labels
from zskl.training.objective import Objective
from zskl.training.solver import Progress


class Monitor:
    """Mean per-class accuracy of rows X with classes y, among the classes in y, every few iterations."""

    def __init__(
        self, name: str, X: Array, y: Any, estimator: ZeroShotClassifier, objective: Objective, every: int, place: Array
    ) -> None:
        self.name = name
        self.every = every
        self.objective = objective
        self.X = like(estimator.feature_scaling_.apply(check_features(estimator, X)), place)
        self.y = as_labels(y, f"the labels of monitor {name!r}", estimator.candidates_.tolist())
        if len(self.y) != self.X.shape[0]:
            raise ValueError(f"monitor {name!r} has {self.X.shape[0]} rows but {len(self.y)} labels")
        table = choose(estimator, None, np.unique(self.y))
        self.classes, self.rows = table.classes, table.padded_rows()
        self.Y = like(estimator.signature_scaling_.apply(table.matrix), self.X)
        self.iterations: list[int] = []
        self.accuracies: list[list[float]] = []

    def look(self, progress: Progress) -> None:
        if progress.step % self.every and progress.step != progress.steps:
            return
        scores = best_of_rows(self.objective.scores(progress.projection, self.X, self.Y), self.rows)
        best = to_numpy(namespace(scores).argmax(scores, axis=-1))  # (K, n)
        self.iterations.append(progress.step)
        self.accuracies.append([metrics.mean_per_class_accuracy(self.y, self.classes[row]) for row in best])

    def curve(self, member: int) -> tuple[NumPyArray, NumPyArray]:
        """(iterations, accuracies) of one member of the stack."""
        return np.array(self.iterations), np.array([row[member] for row in self.accuracies])


def monitors(
    given: Any, estimator: ZeroShotClassifier, objective: Objective, every: int, place: Array
) -> list[Monitor]:
    """A monitor for (X, y), or for each of a mapping from names to such pairs, kept where the array `place` is."""
    if given is None:
        return []
    every = count("monitor_every", every)
    named = given if isinstance(given, Mapping) else {"monitor": given}
    for name, pair in named.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"monitor {name!r} is a {type(pair).__name__}: expected a pair (X, y)")
    return [Monitor(str(name), X, y, estimator, objective, every, place) for name, (X, y) in named.items()]
