"""What a worker does: train settings on one fold, and judge them on its validation rows."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from zskl.arrays import Array, is_torch, to_numpy
from zskl.estimators.candidates import Question, choose
from zskl.estimators.class_means.bench import Bench
from zskl.estimators.class_means.crowdings import Crowdings
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.inputs import check_features
from zskl.estimators.stack_scores import Moment
from zskl.metrics.row_gaps import Sides, best_scores, told
from zskl.metrics.seen_unseen import Margins, shares, sorted_margins
from zskl.selection.material import Material
from zskl.signatures.table import SignatureTable
from zskl.training.solver import DivergenceError

Together = Moment | Crowdings  # models that a device scores in one pass


@dataclass(frozen=True)
class Task:
    """Settings that one fit serves, on one fold. `places` are their places in the search."""

    fold: int
    places: tuple[int, ...]
    settings: tuple[dict[str, Any], ...]


def examine(material: Material, task: Task) -> list[tuple[int, Margins | int]]:
    """For each place its margins, or the step at which it diverged."""
    examiner = Examiner(material, task.fold)
    found: dict[int, Margins | int | Future[Margins | int]] = {}

    def visit(index: int, model: ZeroShotClassifier | DivergenceError) -> None:
        place = task.places[index]
        found[place] = model.step if isinstance(model, DivergenceError) else examiner.judge(model, aside)

    y = material.y[material.folds[task.fold].train]
    estimator = clone(material.estimator)
    with ThreadPoolExecutor(1) as aside:  # which starts no thread before its first job
        estimator._fit_together(task.settings, material.training(task.fold), y, material.table, visit)
    ended = {place: one.result() if isinstance(one, Future) else one for place, one in found.items()}
    return sorted(ended.items(), key=lambda item: item[0])


class Examiner:
    """Scores the validation rows of a fold for all its classes; models of one scaling share the scaled rows."""

    def __init__(self, material: Material, fold: int) -> None:
        part = material.folds[fold]
        self.X, y = material.validation(fold), material.y[part.validation]
        classes = np.unique(material.y[np.concatenate([part.train, part.validation])])
        self.table = material.table.select(classes)
        self.own: NDArray[np.int64] = np.searchsorted(classes, y)  # (n,) column of each row's class
        self.is_seen = np.isin(classes, material.y[part.train])  # (c,)
        self.shares = shares(self.own, self.is_seen)
        self._asked: tuple[Array, Question] | None = None
        self._sides: Sides | None = None
        self._moment: tuple[Together, Future[NDArray[Any]]] | None = None

    def judge(self, model: ZeroShotClassifier, aside: Executor) -> Margins | int | Future[Margins | int]:
        """The margins of a model, or the step at which it diverged. A device scores the models of a stack in one pass,
        and goes on while a thread fetches and sorts what it has found."""
        scaled, question = self._question(model)
        if self._sides is None:
            self._sides = Sides(self.own, self.is_seen, scaled)
        stacked: tuple[Together, int] | None = getattr(model, "_member", None)
        if stacked is not None and is_torch(scaled):
            moment, k = stacked
            if self._moment is None or self._moment[0] is not moment:
                best = moment.best_scores(scaled, question, self._sides)
                self._moment = moment, aside.submit(to_numpy, best)
            fetched = self._moment[1]
            return aside.submit(lambda: self._margins(fetched.result()[:, k], 0))
        found = best_scores(model._answerer(question)(scaled), self._sides)
        diverged = getattr(model, "diverged_", None) or 0
        if is_torch(found):
            return aside.submit(lambda: self._margins(to_numpy(found), diverged))
        return self._margins(to_numpy(found), diverged)

    def _margins(self, found: NDArray[Any], diverged: int) -> Margins | int:
        """From the best scores (4, n) of the rows."""
        gap, largest, right, finite = told(found)
        return sorted_margins(gap, largest, right, self.shares) if finite.all() else diverged

    def _question(self, model: ZeroShotClassifier) -> tuple[Array, Question]:
        if self._asked is None:
            scaled = model._scaled(check_features(model, self.X, dense_for=None))
            self._asked = scaled, model._question(scaled, choose(model, self.table, None))
        return self._asked

    def scores(self, model: ZeroShotClassifier, table: SignatureTable | None = None) -> NDArray[Any]:
        """Scores (n, c) as a NumPy array; with a `table`, of classes as it describes them."""
        scaled, question = self._question(model)
        if table is not None:
            question = model._question(scaled, choose(model, table.select(self.table.classes), None))
        return to_numpy(model._answerer(question)(scaled))

    def bench(self, model: ZeroShotClassifier) -> Bench | None:
        """These rows, to try examples and unlabelled rows on; None for a method that does not learn from them."""
        assert self._asked is not None  # scores were asked for first
        found: Bench | None = model._bench(*self._asked, self.own, self.is_seen)
        return found
