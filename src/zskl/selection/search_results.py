"""The temperature T at which softmax(scores / T) fits validation rows best."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from zskl._validation import check_option
from zskl.estimators._candidates import calibrate_scores
from zskl.metrics.seen_unseen import Margins, harmonic_means, highest_place, row_margins, trace_curves
from zskl.selection.class_folds import Fold, check_seen
from zskl.selection.grid import Edge

# Temperatures ---------------------------------------------------------------------------------------------------------

log = logging.getLogger(__name__)
Answered = tuple[NDArray[Any], NDArray[np.int64]]  # scores (n, c) of rows, and the column of each row's class
FLAT = 0.5  # in log T; a minimum this near to the end of the range lies beyond it
FEW = 5  # candidates: with fewer, a fold says little
RANGE = (1e-4, 1e4)  # of T, in units of the spread of the scores


def fit_temperature(answered: Sequence[Answered], candidates: str = "these", rough: bool = False) -> float:
    """argmin over T of the mean over folds of −log softmax(scores / T)[own class].

    The loss is convex in 1/T. If all scores are equal, T is 1. If no finite T is best, because the scores mislead more
    than they help, T is the highest in the range, and the log says so. A `rough` T is within 2 % and says nothing.
    """
    parts = [(scores.astype(np.float64), own) for scores, own in answered if len(own)]
    spread = float(np.mean([np.std(scores, axis=1).mean() for scores, _ in parts])) if parts else 0.0
    if spread <= 0:
        return 1.0

    def loss(log_t: float) -> float:
        return float(
            np.mean([_negative_log_likelihood(scores / (spread * np.exp(log_t)), own) for scores, own in parts])
        )

    within = {"xatol": 0.02 if rough else 1e-4}
    found = minimize_scalar(loss, bounds=tuple(np.log(RANGE)), method="bounded", options=within)
    if not rough and found.x > np.log(RANGE[1]) - FLAT:
        log.warning("%s", _flatness_reason(candidates, max(scores.shape[1] for scores, _ in parts)))
    return float(spread * np.exp(found.x))


def _flatness_reason(candidates: str, classes: int) -> str:
    """Why probabilities will be nearly equal."""
    few = f"a validation fold has only {classes} of them, too few to tell how sure to be"
    reason = few if classes < FEW else "on validation rows the scores mislead as often as they help"
    candidates = "seen and unseen" if candidates == "mixed" else candidates
    return f"probabilities among {candidates} classes will be nearly equal, though their order is right: {reason}"


def _negative_log_likelihood(logits: NDArray[np.float64], own: NDArray[np.int64]) -> float:
    shifted = logits - logits.max(axis=1, keepdims=True)
    mine = np.take_along_axis(shifted, own[:, None], axis=1)[:, 0]
    return float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - mine))


# Constant -------------------------------------------------------------------------------------------------------------
# The calibration constant that is best over all folds, and the temperatures that go with it.

Scored = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_]]  # scores (n, c), own columns (n,), seen ones (c,)


def best_constant(folds: Sequence[Margins]) -> tuple[float, NDArray[np.float64]]:
    """The constant γ with the highest mean over folds of the harmonic mean, and the harmonic mean (F,) of each there.

    All constants between two neighbouring gaps are equal. We choose the middle of the best interval; of several equal
    ones, the one nearest 0. If no constant gets both sides right, γ is 0.
    """
    constants, seen, unseen = trace_curves(folds)
    harmonic = harmonic_means(seen, unseen)  # (F, k)
    place = highest_place(constants, harmonic.mean(axis=0))
    return (0.0, np.zeros(len(folds))) if place is None else (float(constants[place]), harmonic[:, place])


def fit_calibration(scored: Sequence[Scored], constant: float | None = None, rough: bool = False) -> dict[str, Any]:
    """`calibration` (the best constant, unless you give one), mean harmonic mean `gzsl` there, and `temperatures`.

    Temperatures may be `rough`.
    """
    harmonic = np.zeros(0)
    if constant is None:
        constant, harmonic = best_constant([row_margins(scores, own, seen) for scores, own, seen in scored])
    mixed = [(calibrate_scores(scores.astype(np.float64), seen, constant), own) for scores, own, seen in scored]
    return {
        "calibration": float(constant),
        "gzsl": float(harmonic.mean()) if len(harmonic) else None,
        "temperatures": {
            "seen": fit_temperature([_select_side(*one, wanted=True) for one in scored], "seen", rough),
            "unseen": fit_temperature([_select_side(*one, wanted=False) for one in scored], "unseen", rough),
            "mixed": fit_temperature(mixed, "mixed", rough),
        },
    }


def _select_side(
    scores: NDArray[Any], own: NDArray[np.int64], seen: NDArray[np.bool_], *, wanted: bool
) -> tuple[Any, Any]:
    """Rows and columns of the seen classes alone, or of the others."""
    columns = np.flatnonzero(seen == wanted)
    rows = np.flatnonzero(seen[own] == wanted)
    return scores[np.ix_(rows, columns)], np.searchsorted(columns, own[rows])


# Steadiness -----------------------------------------------------------------------------------------------------------
# When figures on folds, or from seeds, are so far apart that their mean says little.

POINTS, SHARE = 0.05, 0.2  # a standard deviation above both, the second of the mean, is wide
EQUAL = 0.005  # a wide setting gives way to the best steady one whose mean is at most this far below


def is_wide(figures: ArrayLike) -> NDArray[np.bool_]:
    """For accuracies (..., k) whether the k of each row are wide apart; a single one never is."""
    values = np.asarray(figures, np.float64)
    if values.shape[-1] < 2:
        return np.zeros(values.shape[:-1], np.bool_)
    finite = np.where(np.isfinite(values), values, 0.0)  # of a setting that diverged
    found: NDArray[np.bool_] = finite.std(axis=-1, ddof=1) > np.maximum(POINTS, SHARE * finite.mean(axis=-1))
    return found


def prefer_steady(
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


# Against default ------------------------------------------------------------------------------------------------------
# Whether another setting takes the place of the default one. This is the one place of the rule.
#
# The setting with the highest mean over folds replaces the default only if it is better by more than the spread of the
# differences: the standard deviation over folds of its score less the default's score on the same fold. Folds are hard
# or easy for all settings alike, so differences say more than scores. Of many settings the best on few classes is
# mostly lucky: a gain that changes from fold to fold by more than its own size is not one to count on. Only the best
# is asked. Of hundreds of others some would nearly always pass on three folds, by luck again.

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


def difference_from_default(scores: NDArray[np.float64], default: NDArray[np.float64]) -> tuple[float, float] | None:
    """Mean and spread over folds of scores (F,) less those of the default (F,); None where one of both diverged."""
    if not (np.isfinite(scores).all() and np.isfinite(default).all()):
        return None
    apart = scores - default
    spread = float(apart.std(ddof=1)) if len(apart) > 1 else 0.0
    return round(float(apart.mean()), ROUNDING), round(spread, ROUNDING)


def prefer_default(ranking: NDArray[np.int64], scores: NDArray[np.float64], default: int) -> NDArray[np.int64]:
    """The ranking of settings with scores (S, F); led by the default unless the first is better by the rule."""
    found = difference_from_default(scores[ranking[0]], scores[default])
    if found is None or found[0] > found[1]:  # None: the default diverged
        return ranking
    return np.concatenate([[default], ranking[ranking != default]])


def judge_choice(ranking: NDArray[np.int64], scores: NDArray[np.float64], default: int, place: int) -> AgainstDefault:
    """What is said of the setting at a place that was chosen."""
    kept = place == default
    others = [one for one in ranking.tolist() if one != default] if kept else [place]
    found = difference_from_default(scores[others[0]], scores[default]) if others else None
    return AgainstDefault(kept) if found is None else AgainstDefault(kept, *found)


# Search results -------------------------------------------------------------------------------------------------------
# What a search found: the figures of every setting on every fold, and the setting that one of them chooses.

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
        return {name: _format_spread(values) for name, values in self.figures.items()}

    @property
    def wide(self) -> tuple[str, ...]:
        """Which of "seen" and "gzsl" differ so widely between folds that the choice is a matter of luck."""
        return tuple(name for name in ("seen", "gzsl") if is_wide(self.figures.get(name, ())))


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
        check_option("scoring", scoring, SCORINGS)
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
        unsteady = is_wide(self.seen) | is_wide(self.gzsl)
        return prefer_steady(np.argsort(-means, kind="stable"), means, unsteady)

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
        return prefer_default(ranking, self.scores(scoring), self.default)

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
            _format_spread(mine),
            float(self.constants[best]),
            {name: tuple(figures[best].tolist()) for name, figures in parts.items()},
            () if passed_over else self.edges.get(best, ()),
            against,
        )

    def _verdict(self, scoring: str, place: int) -> AgainstDefault | None:
        if self.default is None or not self.keeps_default:
            return None
        return judge_choice(self.ranking(scoring), self.scores(scoring), self.default, place)

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


def judge_settings(
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


def _format_spread(values: Sequence[float] | NDArray[np.float64]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
