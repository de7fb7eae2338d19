"""The calibration constant that is best over all folds, and the temperatures that go with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.estimators.candidates import calibrated
from zskl.metrics.seen_unseen import Margins, curves, harmonic_means, highest, margins
from zskl.selection import temperatures

Scored = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_]]  # scores (n, c), own columns (n,), seen ones (c,)


def best_constant(folds: Sequence[Margins]) -> tuple[float, NDArray[np.float64]]:
    """The constant γ with the highest mean over folds of the harmonic mean, and the harmonic mean (F,) of each there.

    All constants between two neighbouring gaps are equal. We choose the middle of the best interval; of several equal
    ones, the one nearest 0. If no constant gets both sides right, γ is 0.
    """
    constants, seen, unseen = curves(folds)
    harmonic = harmonic_means(seen, unseen)  # (F, k)
    place = highest(constants, harmonic.mean(axis=0))
    return (0.0, np.zeros(len(folds))) if place is None else (float(constants[place]), harmonic[:, place])


def fitted(
    scored: Sequence[Scored], constant: float | None = None, within: float = 1e-4, tell: bool = True
) -> dict[str, Any]:
    """`calibration` (the best constant, unless you give one), mean harmonic mean `gzsl` there, and `temperatures`.

    The logarithms of the temperatures are found to `within`. The log says where none fits, if you want it to `tell`.
    """
    harmonic = np.zeros(0)
    if constant is None:
        constant, harmonic = best_constant([margins(scores, own, seen) for scores, own, seen in scored])
    mixed = [(calibrated(scores.astype(np.float64), seen, constant), own) for scores, own, seen in scored]
    return {
        "calibration": float(constant),
        "gzsl": float(harmonic.mean()) if len(harmonic) else None,
        "temperatures": {
            "seen": temperatures.fit([_side(*one, wanted=True) for one in scored], "seen", within, tell),
            "unseen": temperatures.fit([_side(*one, wanted=False) for one in scored], "unseen", within, tell),
            "mixed": temperatures.fit(mixed, "mixed", within, tell),
        },
    }


def _side(scores: NDArray[Any], own: NDArray[np.int64], seen: NDArray[np.bool_], *, wanted: bool) -> tuple[Any, Any]:
    """Rows and columns of the seen classes alone, or of the others."""
    columns = np.flatnonzero(seen == wanted)
    rows = np.flatnonzero(seen[own] == wanted)
    return scores[np.ix_(rows, columns)], np.searchsorted(columns, own[rows])
