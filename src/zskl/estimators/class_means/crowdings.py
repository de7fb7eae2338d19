"""Models of one search that differ in crowding alone, scored in one pass: a device waits for calls, not for work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from zskl.arrays import Array, like, namespace
from zskl.estimators.candidates import Question, best_of_rows
from zskl.estimators.stack_scores import at_once
from zskl.metrics.row_gaps import Sides, best_scores

if TYPE_CHECKING:
    from zskl.estimators.class_means.scoring import Scoring


@dataclass(frozen=True, eq=False)
class Crowdings:
    """A model, and the K weights of `crowding` that models like it have."""

    model: Scoring
    weights: Sequence[float]

    def best_scores(self, scaled: Array, question: Question, sides: Sides) -> Array:
        """`zskl.metrics.row_gaps.best_scores` (4, K, n) of scaled rows, where they are."""
        plain, crowded = self.model._quick_parts(scaled, question, any(self.weights))  # (n, rows), (rows,)
        a = like(np.reshape(self.weights, (-1, 1, 1)), plain)  # (K, 1, 1)

        def scores(members: slice) -> Array:
            apart = plain[None] if crowded is None else plain - a[members] * crowded
            return best_of_rows(apart, question.rows)

        parts = [best_scores(scores(members), sides) for members in at_once(len(self.weights), *plain.shape)]
        return namespace(plain).concat(parts, axis=1)
