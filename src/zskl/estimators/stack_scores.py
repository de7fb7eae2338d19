"""The members of a stack at one moment of their training, scored in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import Array, namespace, to_numpy
from zskl.estimators.candidates import Question, best_of_rows
from zskl.estimators.stack import stacked_objective
from zskl.metrics.seen_unseen import gaps

if TYPE_CHECKING:
    from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier

AT_ONCE = 1 << 25  # scores that are on a device at a time, several such arrays of them

Gaps = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Moment:
    """K members and their projections W (K, d, p), which go on changing as they train."""

    members: Sequence[ZeroShotKernelClassifier]
    W: Array

    def gaps(self, scaled: Array, question: Question, own: NDArray[np.intp], is_seen: NDArray[np.bool_]) -> Gaps:
        """What `zskl.metrics.seen_unseen.gaps` finds (K, n), and whether all scores of a member (K,) are finite."""
        size = max(1, AT_ONCE // (len(scaled) * len(question.Y)))
        parts = []
        for first in range(0, len(self.members), size):
            scores = self._scores(slice(first, first + size), scaled, question)
            xp = namespace(scores)
            finite = to_numpy(xp.all(xp.isfinite(scores), axis=(1, 2)))
            parts.append((*gaps(scores, own, is_seen), finite))
        gap, largest, right, whole = (np.concatenate(each) for each in zip(*parts, strict=True))
        return gap, largest, right, whole

    def _scores(self, members: slice, scaled: Array, question: Question) -> Array:
        """(members, n, c)."""
        objective = stacked_objective(self.members[members], question.Y)
        return best_of_rows(objective.scorer(self.W[members], question.Y)(scaled), question.rows)
