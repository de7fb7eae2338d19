"""What validation rows say about one fitted model, reduced so that any calibration constant can be judged exactly.

A row goes to the unseen classes as soon as the constant γ exceeds its gap, its best seen score minus its best unseen
score. What it then adds to an accuracy is its share, 1 / (rows of its class · classes of its side), if the best class
on that side is its own; all else never changes an answer from wrong to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Margins:
    """Of the rows that can be right: their gaps (m,), rising, and what each adds to either accuracy (m,)."""

    gap: Floats
    seen: Floats
    unseen: Floats

    @property
    def zsl(self) -> float:
        """Mean per-class accuracy of the unseen rows among the unseen classes alone."""
        return min(float(self.unseen.sum()), 1.0)

    def at(self, constant: float) -> tuple[float, float]:
        """(seen, unseen) accuracy among all classes, with the constant subtracted from the scores of seen ones."""
        gone = int(np.searchsorted(self.gap, constant, side="left"))
        return float(self.seen[gone:].sum()), float(self.unseen[:gone].sum())


def margins(scores: NDArray[Any], own: NDArray[np.int64], is_seen: NDArray[np.bool_]) -> Margins:
    """From scores (n, c), the column (n,) of each row's class and whether each column (c,) is of a seen class."""
    sides = []
    for columns in (np.flatnonzero(is_seen), np.flatnonzero(~is_seen)):
        part = scores[:, columns]
        winner = np.argmax(part, axis=1)
        best = np.take_along_axis(part, winner[:, None], axis=1)[:, 0].astype(np.float64)
        sides.append((best, columns[winner] == own))
    (best_seen, seen_right), (best_unseen, unseen_right) = sides
    rows_of = np.bincount(own, minlength=len(is_seen))
    classes = np.where(is_seen, np.sum(is_seen & (rows_of > 0)), np.sum(~is_seen & (rows_of > 0)))
    share = 1.0 / (rows_of[own] * classes[own])
    gap = best_seen - best_unseen
    moving = np.flatnonzero(seen_right | unseen_right)
    moving = moving[np.argsort(gap[moving], kind="stable")]
    return Margins(gap[moving], (share * seen_right)[moving], (share * unseen_right)[moving])


def best_constant(folds: Sequence[Margins]) -> tuple[float, Floats]:
    """The constant γ with the highest mean over folds of the harmonic mean, and the harmonic mean (F,) of each there.

    All constants between two neighbouring gaps are equal; the middle of the best interval is taken, of equals the one
    nearest 0.
    """
    gap = np.concatenate([fold.gap for fold in folds])
    if not len(gap):
        return 0.0, np.zeros(len(folds))
    order = np.argsort(gap, kind="stable")
    fold_of = np.repeat(np.arange(len(folds)), [len(fold.gap) for fold in folds])[order]
    g = gap[order]
    seen = np.concatenate([fold.seen for fold in folds])[order]
    unseen = np.concatenate([fold.unseen for fold in folds])[order]
    inner = np.flatnonzero(np.diff(g) > 4 * np.finfo(np.float64).eps * np.abs(g[1:])) + 1
    passed = np.concatenate([[0], inner, [len(g)]])  # rows behind each interval
    harmonic = np.empty((len(folds), len(passed)))
    for k in range(len(folds)):
        mine = fold_of == k
        lost = np.concatenate([[0.0], np.cumsum(np.where(mine, seen, 0.0))])[passed]
        gained = np.concatenate([[0.0], np.cumsum(np.where(mine, unseen, 0.0))])[passed]
        kept = np.maximum(lost[-1] - lost, 0.0)
        total = kept + gained
        harmonic[k] = 2 * kept * gained / np.where(total > 0, total, 1.0)
    margin = max(float(np.abs(g).max()), np.finfo(np.float32).tiny)
    constants = np.concatenate([[g[0] - margin], (g[inner - 1] + g[inner]) / 2, [g[-1] + margin]])
    mean = harmonic.mean(axis=0)
    if mean.max() == 0:  # no constant gets both sides right anywhere
        return 0.0, np.zeros(len(folds))
    highest = np.flatnonzero(mean == mean.max())
    chosen = highest[np.argmin(np.abs(constants[highest]))]
    return float(constants[chosen]), harmonic[:, chosen]
