"""The members of a stack at one moment of their training, scored in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zskl.arrays import Array, namespace
from zskl.estimators.candidates import Question, best_of_rows
from zskl.estimators.stack import stacked_objective
from zskl.metrics.row_gaps import Sides, best_scores

if TYPE_CHECKING:
    from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier

AT_ONCE = 1 << 25  # scores that are on a device at a time, several such arrays of them


@dataclass(frozen=True, eq=False)
class Moment:
    """K members and their projections W (K, d, p), which go on changing as they train."""

    members: Sequence[ZeroShotKernelClassifier]
    W: Array

    def best_scores(self, scaled: Array, question: Question, sides: Sides) -> Array:
        """`zskl.metrics.row_gaps.best_scores` (4, K, n) of scaled rows, where they are."""
        size = max(1, AT_ONCE // (len(scaled) * len(question.Y)))
        parts = [
            best_scores(self._scores(slice(first, first + size), scaled, question), sides)
            for first in range(0, len(self.members), size)
        ]
        return namespace(scaled).concat(parts, axis=1)

    def _scores(self, members: slice, scaled: Array, question: Question) -> Array:
        """(members, n, c)."""
        objective = stacked_objective(self.members[members], question.Y)
        return best_of_rows(objective.scorer(self.W[members], question.Y)(scaled), question.rows)
