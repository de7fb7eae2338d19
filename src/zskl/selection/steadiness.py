"""When figures on folds, or from seeds, are so far apart that their mean says little."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

POINTS, SHARE = 0.05, 0.2  # a standard deviation above both, the second of the mean, is wide
EQUAL = 0.005  # a wide setting gives way to the best steady one whose mean is at most this far below


def wide(figures: ArrayLike) -> NDArray[np.bool_]:
    """For accuracies (..., k) whether the k of each row are wide apart; a single one never is."""
    values = np.asarray(figures, np.float64)
    if values.shape[-1] < 2:
        return np.zeros(values.shape[:-1], np.bool_)
    finite = np.where(np.isfinite(values), values, 0.0)  # of a setting that diverged
    found: NDArray[np.bool_] = finite.std(axis=-1, ddof=1) > np.maximum(POINTS, SHARE * finite.mean(axis=-1))
    return found


def steady_first(
    ranking: NDArray[np.int64], means: NDArray[np.float64], unsteady: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """A ranking whose first, if it is not steady, gives way to the best steady one that is nearly as good."""
    first = ranking[0]
    if not unsteady[first]:
        return ranking
    for place, candidate in enumerate(ranking.tolist()):
        if not means[candidate] >= means[first] - EQUAL:
            break
        if not unsteady[candidate]:
            return np.concatenate([[candidate], np.delete(ranking, place)])
    return ranking
