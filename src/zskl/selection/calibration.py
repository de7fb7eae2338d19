"""The calibration constant that is best over all folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zskl.metrics.seen_unseen import Margins, curves, harmonic_means, highest


def best_constant(folds: Sequence[Margins]) -> tuple[float, NDArray[np.float64]]:
    """The constant γ with the highest mean over folds of the harmonic mean, and the harmonic mean (F,) of each there.

    All constants between two neighbouring gaps are equal. We choose the middle of the best interval; of several equal
    ones, the one nearest 0. If no constant gets both sides right, γ is 0.
    """
    constants, seen, unseen = curves(folds)
    harmonic = harmonic_means(seen, unseen)  # (F, k)
    place = highest(constants, harmonic.mean(axis=0))
    return (0.0, np.zeros(len(folds))) if place is None else (float(constants[place]), harmonic[:, place])
