"""Maps of samples and of classes whose inner products are the scores of class means: [x̂, 1] · [u, −a·r]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from zskl.arrays import Array, NumPyArray, namespace, to_numpy
from zskl.estimators.candidates import choose
from zskl.estimators.ranking_map import Map

if TYPE_CHECKING:
    from zskl.estimators.class_means.scoring import Scoring


@dataclass(frozen=True, eq=False)
class DirectionMap(Map):
    """Inner products are the scores."""

    model: Scoring

    @property
    def n_components(self) -> int:
        return int(self.model.n_features_in_) + 1

    def _samples(self, X: Array) -> Array:
        xp = namespace(X)
        return xp.concat([self.model._hat(X), xp.ones_like(X[:, :1])], axis=1)

    def _classes(self, Y: NumPyArray) -> NumPyArray:
        raise NotImplementedError  # `classes` needs their names

    def classes(
        self, signatures: Any = None, candidates: Any = None, dtype: str = "float32", *, calibrated: bool = False
    ) -> NumPyArray:
        """(rows, m), a row for each signature of the candidate classes; see `labels` for their order.

        Seen classes are told by their names. If `calibrated`, `calibration_` is subtracted from them.
        """
        table = choose(self.model, signatures, candidates)
        question = self.model._question(np.empty((0, self.model.n_features_in_)), table)
        U = to_numpy(self.model._directions(question))
        crowded = self.model._crowded(U)
        constant = np.zeros(len(U)) if crowded is None else -to_numpy(crowded)
        if calibrated:
            constant = constant - self.model.calibration_ * self.model._evidence(question).seen
        return np.concatenate([U, constant[:, None]], axis=1).astype(dtype)
