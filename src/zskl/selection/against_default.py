"""Whether another setting takes the place of the default one. This is the one place of the rule.

The setting with the highest mean over folds replaces the default only if it is better by more than the spread of the
differences: the standard deviation over folds of its score less the default's score on the same fold. Folds are hard or
easy for all settings alike, so differences say more than scores. Of many settings the best on few classes is mostly
lucky: a gain that changes from fold to fold by more than its own size is not one to count on. Only the best is asked.
Of hundreds of others some would nearly always pass on three folds, by luck again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROUNDING = 9  # digits after the point: those behind are of the order of addition, not of answers


@dataclass(frozen=True)
class AgainstDefault:
    """How a chosen setting compares with the default one on the folds.

    Parameters
    ----------
    kept : bool
        Whether the default setting itself was chosen.
    gain : float or None
        The mean difference of scores over folds: of the chosen setting less the default, or of the best other setting
        less the default where that was kept. None where one of both diverged, or nothing else was tried.
    spread : float
        The standard deviation of these differences; 0 of a single fold.

    Examples
    --------
    >>> from zskl.selection import AgainstDefault
    >>> print(AgainstDefault(kept=True, gain=-0.01, spread=0.02))
    the default setting is kept: no other has a higher mean
    """

    kept: bool
    gain: float | None = None
    spread: float = 0.0

    def __str__(self) -> str:
        if self.gain is None:
            return "the default setting is kept: no other could be compared" if self.kept else "the default diverged"
        points, spread = 100 * self.gain, 100 * self.spread
        if not self.kept:
            beyond = f", more than the differences spread over folds ({spread:.1f})"
            return f"the default setting is replaced: the chosen one is {points:.1f} points better{beyond}"
        if points <= 0:
            return "the default setting is kept: no other has a higher mean"
        within = f"no more than the differences spread over folds ({spread:.1f})"
        return f"the default setting is kept: the best other is {points:.1f} points better, {within}"


def difference(scores: NDArray[np.float64], default: NDArray[np.float64]) -> tuple[float, float] | None:
    """Mean and spread over folds of scores (F,) less those of the default (F,); None where one of both diverged."""
    if not (np.isfinite(scores).all() and np.isfinite(default).all()):
        return None
    apart = scores - default
    spread = float(apart.std(ddof=1)) if len(apart) > 1 else 0.0
    return round(float(apart.mean()), ROUNDING), round(spread, ROUNDING)


def preferred(ranking: NDArray[np.int64], scores: NDArray[np.float64], default: int) -> NDArray[np.int64]:
    """The ranking of settings with scores (S, F); led by the default unless the first is better by the rule."""
    found = difference(scores[ranking[0]], scores[default])
    if found is None or found[0] > found[1]:  # None: the default diverged
        return ranking
    return np.concatenate([[default], ranking[ranking != default]])


def verdict(ranking: NDArray[np.int64], scores: NDArray[np.float64], default: int, place: int) -> AgainstDefault:
    """What is said of the setting at a place that was chosen."""
    kept = place == default
    others = [one for one in ranking.tolist() if one != default] if kept else [place]
    found = difference(scores[others[0]], scores[default]) if others else None
    return AgainstDefault(kept) if found is None else AgainstDefault(kept, *found)
