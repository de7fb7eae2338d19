"""The members of a stack at one moment of their training, scored in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zskl.arrays import Array, namespace
from zskl.estimators.candidates import Question, best_of_rows
from zskl.estimators.stack import stacked_objective
from zskl.metrics.row_gaps import Sides, best_scores

if TYPE_CHECKING:
    from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier

AT_ONCE = 1 << 25  # scores that are on a device at a time, several such arrays of them


def at_once(members: int, n: int, rows: int) -> Iterator[slice]:
    """Some members after others, so that their scores (members, n, rows) are not too many for a device."""
    size = max(1, AT_ONCE // max(1, n * rows))
    return (slice(first, first + size) for first in range(0, members, size))


@dataclass(frozen=True, eq=False)
class Moment:
    """K members and their projections W (K, d, p), which go on changing as they train."""

    members: Sequence[ZeroShotKernelClassifier]
    W: Array

    def best_scores(self, scaled: Array, question: Question, sides: Sides) -> Array:
        """`zskl.metrics.row_gaps.best_scores` (4, K, n) of scaled rows, where they are."""
        parts = [
            best_scores(self._scores(members, scaled, question), sides)
            for members in at_once(len(self.members), len(scaled), len(question.Y))
        ]
        return namespace(scaled).concat(parts, axis=1)

    def _scores(self, members: slice, scaled: Array, question: Question) -> Array:
        """(members, n, c)."""
        objective = stacked_objective(self.members[members], question.Y)
        return best_of_rows(objective.scorer(self.W[members], question.Y)(scaled), question.rows)
