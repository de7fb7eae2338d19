"""What a search found: the figures of every setting on every fold, and the setting that one of them chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.metrics.seen_unseen import Margins, harmonic_means
from zskl.parameters import one_of
from zskl.selection.against_default import ROUNDING, AgainstDefault, preferred, verdict
from zskl.selection.class_folds import Fold
from zskl.selection.constant import best_constant
from zskl.selection.edges import Edge
from zskl.selection.material import check_seen
from zskl.selection.steadiness import steady_first, wide

SCORINGS = ("zsl", "gzsl")


@dataclass(frozen=True)
class Choice:
    """A setting that a search chose, with its score.

    Parameters
    ----------
    scoring : {"zsl", "gzsl"}
        What it was chosen by.
    place : int
        Its place among the settings of the search.
    setting : mapping of str to object
        Its values by name.
    score : float
        Its mean score over the folds.
    fold_scores : tuple of float
        Its score on each fold.
    spread : float
        The standard deviation of these scores.
    calibration : float
        The constant with the highest mean H over the folds for this setting.
    figures : mapping of str to tuple of float
        Its other figures on each fold: "zsl", "seen", "unseen" and "harmonic" without a constant, "gzsl" with it.
    edges : tuple of Edge
        Its numbers beyond which nothing was tried.
    against_default : AgainstDefault or None
        How it compares with the default setting, where the search compares with it.

    Examples
    --------
    >>> from zskl import baselines, datasets, selection
    >>> data = datasets.make_synthetic(noise=0.6)
    >>> X, y = data.samples("trainval")
    >>> search = selection.search(baselines.ESZSL(), X, y, data.signatures, {"gamma": [0.1, 10.0]})
    >>> sorted(search.pick("zsl").setting)
    ['gamma']
    """

    scoring: str
    place: int
    setting: Mapping[str, Any]
    score: float
    fold_scores: tuple[float, ...]
    spread: float
    calibration: float
    figures: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()
    against_default: AgainstDefault | None = None

    @property
    def steadiness(self) -> dict[str, float]:
        """The standard deviation over folds of each of `figures`."""
        return {name: _spread(values) for name, values in self.figures.items()}

    @property
    def wide(self) -> tuple[str, ...]:
        """Which of "seen" and "gzsl" differ so widely between folds that the choice is a matter of luck."""
        return tuple(name for name in ("seen", "gzsl") if wide(self.figures.get(name, ())))


@dataclass(frozen=True)
class Search:
    """The figures of S settings on F folds, −∞ for a setting that diverged on any fold.

    Parameters
    ----------
    settings : tuple of mapping
        The settings.
    folds : tuple of Fold
        The folds.
    zsl : ndarray of shape (S, F)
        Accuracies of the held-out classes among themselves.
    gzsl : ndarray of shape (S, F)
        Harmonic means among all classes of the fold, at the setting's calibration constant.
    seen : ndarray of shape (S, F)
        Accuracies of the other classes among all classes of the fold, without a constant.
    unseen : ndarray of shape (S, F)
        Accuracies of the held-out classes among all classes of the fold, without a constant.
    constants : ndarray of shape (S,)
        The calibration constant of each setting.
    diverged : mapping of int to int
        The place of a setting that diverged, and the first step at which it did.
    extended : int
        How many of the settings, the last ones, are beyond the grid.
    edges : mapping of int to tuple of Edge
        The place of a setting, and its numbers beyond which nothing was tried.
    default : int or None
        The place of the setting that the estimator had before, if it was tried.
    keeps_default : bool
        Whether that setting is chosen unless another is better beyond the spread of the folds.
    dropped : frozenset of int
        Places of settings that were tried on the first fold alone; their figures are −∞ too.

    Examples
    --------
    >>> from zskl import baselines, datasets, selection
    >>> data = datasets.make_synthetic(noise=0.6)
    >>> X, y = data.samples("trainval")
    >>> grid = {"gamma": [0.1, 10.0], "lam": [1.0, 10.0]}
    >>> search = selection.search(baselines.ESZSL(), X, y, data.signatures, grid)
    >>> search.zsl.shape
    (4, 3)
    """

    settings: tuple[Mapping[str, Any], ...]
    folds: tuple[Fold, ...]
    zsl: NDArray[np.float64]
    gzsl: NDArray[np.float64]
    seen: NDArray[np.float64]
    unseen: NDArray[np.float64]
    constants: NDArray[np.float64]
    diverged: Mapping[int, int]
    extended: int = 0
    edges: Mapping[int, tuple[Edge, ...]] = field(default_factory=dict)
    default: int | None = None
    keeps_default: bool = False
    dropped: frozenset[int] = frozenset()

    @property
    def raw(self) -> NDArray[np.float64]:
        """Harmonic means (S, F) without a constant, −∞ where training diverged."""
        return np.where(np.isfinite(self.seen), harmonic_means(self.seen, self.unseen), -np.inf)

    def scores(self, scoring: str) -> NDArray[np.float64]:
        """Get the scores of all settings.

        Parameters
        ----------
        scoring : {"zsl", "gzsl"}
            Which of the two figures.

        Returns
        -------
        ndarray of shape (S, F)
            The score of every setting on every fold.
        """
        one_of("scoring", scoring, SCORINGS)
        return self.zsl if scoring == "zsl" else self.gzsl

    def ranking(self, scoring: str) -> NDArray[np.int64]:
        """Rank the settings by their mean over the folds.

        If seen accuracy or H of the best one differ widely between folds, the best setting that is steady comes first,
        as long as its mean is at most half a point lower.

        Parameters
        ----------
        scoring : {"zsl", "gzsl"}
            Which of the two figures.

        Returns
        -------
        ndarray of shape (S,)
            Places of the settings, best first; of equals, the earlier one first.
        """
        means = self.scores(scoring).mean(axis=1).round(ROUNDING)
        unsteady = wide(self.seen) | wide(self.gzsl)
        return steady_first(np.argsort(-means, kind="stable"), means, unsteady)

    def order(self, scoring: str) -> NDArray[np.int64]:
        """Order the settings as they are chosen: the ranking, with the default first where the search keeps it.

        Parameters
        ----------
        scoring : {"zsl", "gzsl"}
            Which of the two figures.

        Returns
        -------
        ndarray of shape (S,)
            Places of the settings.
        """
        ranking = self.ranking(scoring)
        if self.default is None or not self.keeps_default:
            return ranking
        return preferred(ranking, self.scores(scoring), self.default)

    def pick(self, scoring: str, place: int | None = None) -> Choice:
        """Choose the best setting.

        Parameters
        ----------
        scoring : {"zsl", "gzsl"}
            Which of the two figures.
        place : int, default=None
            The place of another setting to take instead.

        Returns
        -------
        Choice
            The setting and its scores.
        """
        scores = self.scores(scoring)
        if scoring == "gzsl":
            check_seen(self.folds)
        best = int(self.order(scoring)[0]) if place is None else place
        if not np.isfinite(scores[best]).all():
            raise ValueError(
                f"all {len(self.settings)} settings diverged, the last of them at step {max(self.diverged.values())}: "
                "search lower learning rates"
            )
        mine, against = scores[best], self._verdict(scoring, best)
        passed_over = against is not None and against.kept and (against.gain or 0.0) > 0  # the search went on elsewhere
        parts = {"zsl": self.zsl, "seen": self.seen, "unseen": self.unseen, "harmonic": self.raw, "gzsl": self.gzsl}
        return Choice(
            scoring,
            best,
            dict(self.settings[best]),
            float(mine.mean()),
            tuple(mine.tolist()),
            _spread(mine),
            float(self.constants[best]),
            {name: tuple(figures[best].tolist()) for name, figures in parts.items()},
            () if passed_over else self.edges.get(best, ()),
            against,
        )

    def _verdict(self, scoring: str, place: int) -> AgainstDefault | None:
        if self.default is None or not self.keeps_default:
            return None
        return verdict(self.ranking(scoring), self.scores(scoring), self.default, place)

    def joined(self, more: Search) -> Search:
        """Both searches of the same folds as one; what comes after is beyond the grid.

        Parameters
        ----------
        more : Search
            The search of settings beyond the grid.

        Returns
        -------
        Search
            The settings of this search, then those of the other.
        """
        count = len(self.settings)
        return Search(
            (*self.settings, *more.settings),
            self.folds,
            np.concatenate([self.zsl, more.zsl]),
            np.concatenate([self.gzsl, more.gzsl]),
            np.concatenate([self.seen, more.seen]),
            np.concatenate([self.unseen, more.unseen]),
            np.concatenate([self.constants, more.constants]),
            {**self.diverged, **{count + place: step for place, step in more.diverged.items()}},
            self.extended + len(more.settings),
            dropped=self.dropped | {count + place for place in more.dropped},
        )


def judge(
    settings: Sequence[Mapping[str, Any]],
    folds: Sequence[Fold],
    found: Mapping[tuple[int, int], Margins | int],
) -> Search:
    """All figures, from the margins (or the step of divergence) of each place on each fold it was tried on."""
    shape = (len(settings), len(folds))
    zsl, gzsl, seen, unseen = (np.full(shape, -np.inf) for _ in range(4))
    constants = np.zeros(len(settings))
    diverged: dict[int, int] = {}
    dropped = frozenset(place for place in range(len(settings)) if (place, len(folds) - 1) not in found)
    for place in range(len(settings)):
        answers = [found.get((place, fold)) for fold in range(len(folds))]
        steps = [answer for answer in answers if isinstance(answer, int)]
        if steps:
            diverged[place] = min(steps)
        if steps or place in dropped:
            continue
        whole = [answer for answer in answers if isinstance(answer, Margins)]
        zsl[place] = [one.zsl for one in whole]
        seen[place], unseen[place] = np.transpose([one.at(0.0) for one in whole])
        constants[place], gzsl[place] = best_constant(whole)
    figures = zsl, gzsl, seen, unseen, constants
    return Search(tuple(settings), tuple(folds), *figures, diverged, dropped=dropped - set(diverged))


def _spread(values: Sequence[float] | NDArray[np.float64]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
