"""What a search asks of class means: one decomposition serves every setting of a grid, and other descriptions too."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Self

from zskl.arrays import Array, to_numpy
from zskl.estimators.class_means.crowdings import Crowdings
from zskl.estimators.class_means.foundation import Foundation
from zskl.estimators.class_means.pieces import Pieces
from zskl.estimators.class_means.quick_scores import QuickScores
from zskl.estimators.class_means.sums import Sums
from zskl.estimators.row_weights import NONE, Given
from zskl.training.solver import DivergenceError
from zskl.training.streaming import StreamedRows


class Searching(Pieces):
    """Methods of `ClassMeansClassifier` that `zskl.selection` calls."""

    def _built(self) -> Foundation:
        raise NotImplementedError

    def _applies(self, d: int, p: int) -> bool:
        return self.prior == "zero" or p == d

    def _effective(self) -> dict[str, Any]:
        settings = super()._effective()
        if self.prior == "cosine":
            settings |= {"kernel": None, "noise": None, "shrinkage": None}
        if self.kernel != "gaussian" or self.prior == "cosine":
            settings["bandwidth"] = None
        return settings

    def _summed(self, X: Array, y: Any, table: Any, keep: bool, weights: Given = NONE) -> Sums:
        """Check the input, set what every fitted estimator has, and add the rows up."""
        training = self._prepare(X, y, table, StreamedRows, values=False, weights=weights)
        rows: StreamedRows = training.X
        return self._added_up(rows.source, to_numpy(training.codes), self.classes_, keep, training.weights)

    def _fit_together(
        self,
        settings: Sequence[Mapping[str, Any]],
        X: Array,
        y: Any,
        signatures: Any,
        visit: Callable[[int, Self | DivergenceError], object],
    ) -> None:
        models = [copy.copy(self) for _ in settings]  # quicker than clones, and nobody else has `self`
        for model, setting in zip(models, settings, strict=True):
            model.__dict__.update(setting)
            model._check_parameters()
        first = models[0]
        first._sums = first._summed(X, y, signatures, keep=any(model.crowding > 0 for model in models))
        first._start_teaching()
        first._foundation, first._quick = first._built(), QuickScores()
        shared = {name: value for name, value in vars(first).items() if name not in first.get_params(deep=False)}
        order = sorted(range(len(models)), key=lambda k: models[k]._order())
        for _, places in groupby(order, key=lambda k: models[k]._order()[:-1]):  # alike but for crowding
            alike = list(places)
            one = copy.copy(models[alike[0]])  # not one that points back: a circle would outlive the fold
            one.__dict__.update(shared)
            together = Crowdings(one, [float(models[place].crowding) for place in alike])
            for k, place in enumerate(alike):
                models[place].__dict__.update(shared)
                models[place]._member = together, k
                visit(place, models[place])

    def _redescribed(self, table: Any) -> Self:
        """This model of a search with other signatures. Sums and decomposition stay; only the kernel changes."""
        new = copy.copy(self)
        new._describe(table)
        new._foundation = new._built().sharing(self._foundation)
        new._quick = self._quick.redescribed()
        return new

    def _order(self) -> tuple[Any, ...]:
        """Settings that share the most work come after each other."""
        dear = self.prior, float(self.shrinkage), self.kernel, float(self.bandwidth), float(self.noise)
        return *dear, float(self.description_weight), float(self.crowding_share), float(self.crowding)
