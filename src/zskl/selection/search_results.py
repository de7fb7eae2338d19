"""What a search found: the figures of every setting on every fold, and the rules by which one setting is chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl._validation import check_option
from zskl.metrics import Margins, best_constant, harmonic_means
from zskl.selection.class_folds import Fold, check_seen

SCORINGS = ("zsl", "gzsl")
RAW = "harmonic"  # H without a constant, by which a search can be read too
CRITERIA = (*SCORINGS, RAW)
FIGURES = ("zsl", "gzsl", "seen", "unseen", "constants")  # what a search has of each setting
POINTS, SHARE = 0.05, 0.2  # a standard deviation above both, the second of the mean, is wide
EQUAL = 0.005  # an unsteady setting gives way to the best steady one whose mean is at most this far below
ROUNDING = 9  # digits after the point: those behind are of the order of addition, not of answers


@dataclass(frozen=True)
class Edge:
    """A number of a chosen setting beyond which nothing was tried.

    Parameters
    ----------
    name : str
        The name of the setting.
    value : float
        Its value.
    side : {"lowest", "highest"}
        At which end of the tried values it is.
    bound : float or None
        The bound that kept the search from going on; None where the grid was not extended.

    Examples
    --------
    >>> from zskl import selection
    >>> print(selection.Edge("gamma", 1.0, "lowest"))
    gamma=1 is the lowest value tried (the grid was not extended)
    """

    name: str
    value: float
    side: str
    bound: float | None = None

    @property
    def why(self) -> str:
        """Why it stays there: "bound" or "not extended"."""
        return "not extended" if self.bound is None else "bound"

    def __str__(self) -> str:
        reason = "the grid was not extended" if self.bound is None else "its bound"
        return f"{self.name}={self.value:g} is the {self.side} value tried ({reason})"


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
        The standard deviation of these differences; 0 of a single fold. Over classes: how much may be luck.
    over : {"folds", "classes"}, default="folds"
        What the two were compared over.

    Examples
    --------
    >>> from zskl.selection import AgainstDefault
    >>> print(AgainstDefault(kept=True, gain=-0.01, spread=0.02))
    the default setting is kept: no other has a higher mean
    """

    kept: bool
    gain: float | None = None
    spread: float = 0.0
    over: str = "folds"

    def __str__(self) -> str:
        if self.gain is None:
            return "the default setting is kept: no other could be compared" if self.kept else "the default diverged"
        points, spread = 100 * self.gain, 100 * self.spread
        luck = "the differences spread over folds" if self.over == "folds" else "what may be luck with these classes"
        if not self.kept:
            beyond = f", more than {luck} ({spread:.1f})"
            return f"the default setting is replaced: the chosen one is {points:.1f} points better{beyond}"
        if points <= 0:
            return "the default setting is kept: no other has a higher mean"
        within = f"no more than {luck} ({spread:.1f})"
        return f"the default setting is kept: the best other is {points:.1f} points better, {within}"


@dataclass(frozen=True)
class Choice:
    """A setting that a search chose, with its score.

    Parameters
    ----------
    scoring : {"zsl", "gzsl", "harmonic"}
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
    >>> from zskl import selection
    >>> selection.Choice("zsl", 0, {"gamma": 1.0}, 0.6, (0.5, 0.7), 0.14, 0.0, {"seen": (0.1, 0.9)}).wide
    ('seen',)
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
        return {name: _measure_result_spread(values) for name, values in self.figures.items()}

    @property
    def wide(self) -> tuple[str, ...]:
        """Which of "seen" and "gzsl" differ so widely between folds that the choice is a matter of luck."""
        return tuple(name for name in ("seen", "gzsl") if is_wide_result(self.figures.get(name, ())))


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
    gains : ndarray of shape (S,) or None
        Where one fit serves many draws of classes (`selection.draws`): the mean gain in accuracy over the default
        setting, class by class, of each setting together with its neighbours in the grid.
    doubts : ndarray of shape (S,) or None
        How much of these gains may be luck.

    Examples
    --------
    >>> from zskl import baselines, datasets, selection
    >>> data = datasets.make_synthetic(noise=0.6)
    >>> X, y = data.samples("trainval")
    >>> grid = {"gamma": [0.1, 10.0], "lam": [1.0, 10.0]}
    >>> search = selection.search(baselines.ESZSL(), X, y, data.signatures, grid)
    >>> search.zsl.shape, search.pick("zsl").edges != ()
    ((4, 3), True)
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
    gains: NDArray[np.float64] | None = None
    doubts: NDArray[np.float64] | None = None

    @property
    def raw(self) -> NDArray[np.float64]:
        """Harmonic means (S, F) without a constant, −∞ where training diverged."""
        return np.where(np.isfinite(self.seen), harmonic_means(self.seen, self.unseen), -np.inf)

    def scores(self, scoring: str) -> NDArray[np.float64]:
        """Get the scores of all settings.

        Parameters
        ----------
        scoring : {"zsl", "gzsl", "harmonic"}
            Which of the figures: zero-shot accuracy, H at the best constant, or H without a constant.

        Returns
        -------
        ndarray of shape (S, F)
            The score of every setting on every fold.
        """
        check_option("scoring", scoring, CRITERIA)
        return {"zsl": self.zsl, "gzsl": self.gzsl, RAW: self.raw}[scoring]

    def ranking(self, scoring: str) -> NDArray[np.int64]:
        """Rank the settings by their mean over the folds.

        If seen accuracy or H of the best one differ widely between folds, the best setting that is steady comes first,
        as long as its mean is at most half a point lower.

        Parameters
        ----------
        scoring : as for `scores`
            Which of the figures.

        Returns
        -------
        ndarray of shape (S,)
            Places of the settings, best first; of equals, the earlier one first.
        """
        means = self.scores(scoring).mean(axis=1).round(ROUNDING)
        unsteady = is_wide_result(self.seen) | is_wide_result(self.gzsl)
        return prefer_steady(np.argsort(-means, kind="stable"), means, unsteady)

    def order(self, scoring: str) -> NDArray[np.int64]:
        """Order the settings as they are chosen: the ranking, with the default first where the search keeps it.

        Parameters
        ----------
        scoring : {"zsl", "gzsl", "harmonic"}
            Which of the figures: zero-shot accuracy, H at the best constant, or H without a constant.

        Returns
        -------
        ndarray of shape (S,)
            Places of the settings.
        """
        ranking = self.ranking(scoring)
        if self.default is None or not self.keeps_default:
            return ranking
        if scoring == "zsl" and self.gains is not None and self.doubts is not None:
            return self._order_by_gains(self.gains - self.doubts)
        return prefer_default(ranking, self.scores(scoring), self.default)

    def _order_by_gains(self, sure: NDArray[np.float64]) -> NDArray[np.int64]:
        """Settings by what they surely gain over the default, of equals by the harmonic mean; none: the default."""
        order = np.lexsort((-self.gzsl.mean(axis=1), -sure.round(ROUNDING)))
        if sure[order[0]] <= 0:
            return np.concatenate([[self.default], order[order != self.default]])
        return order

    def pick(self, scoring: str, place: int | None = None) -> Choice:
        """Choose the best setting.

        Parameters
        ----------
        scoring : {"zsl", "gzsl", "harmonic"}
            Which of the figures: zero-shot accuracy, H at the best constant, or H without a constant.
        place : int, default=None
            The place of another setting to take instead.

        Returns
        -------
        Choice
            The setting and its scores.
        """
        scores = self.scores(scoring)
        if scoring != "zsl":
            check_seen(self.folds)
        best = int(self.order(scoring)[0]) if place is None else place
        if not np.isfinite(scores[best]).all():
            raise ValueError(
                f"all {len(self.settings)} settings diverged, the last of them at step {max(self.diverged.values())}: "
                "search lower learning rates"
            )
        mine, against = scores[best], self._compare_with_default(scoring, best)
        # Where the default is kept although another is better, the search went on at the edges of that other.
        passed_over = against is not None and against.kept and (against.gain or 0.0) > 0
        parts = {"zsl": self.zsl, "seen": self.seen, "unseen": self.unseen, "harmonic": self.raw, "gzsl": self.gzsl}
        return Choice(
            scoring,
            best,
            dict(self.settings[best]),
            float(mine.mean()),
            tuple(mine.tolist()),
            _measure_result_spread(mine),
            float(self.constants[best]),
            {name: tuple(figures[best].tolist()) for name, figures in parts.items()},
            () if passed_over else self.edges.get(best, ()),
            against,
        )

    def _compare_with_default(self, scoring: str, place: int) -> AgainstDefault | None:
        if self.default is None or not self.keeps_default:
            return None
        kept, scores = place == self.default, self.scores(scoring)
        if scoring == "zsl" and self.gains is not None and self.doubts is not None:
            sure = self.gains - self.doubts
            sure[self.default] = -np.inf
            best = int(sure.argmax()) if kept and len(sure) > 1 else place
            return AgainstDefault(kept, float(self.gains[best]), float(self.doubts[best]), "classes")
        others = [one for one in self.ranking(scoring).tolist() if one != self.default] if kept else [place]
        found = difference_from_default(scores[others[0]], scores[self.default]) if others else None
        return AgainstDefault(kept) if found is None else AgainstDefault(kept, *found)

    def joined(self, more: "Search") -> "Search":
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
        figures: dict[str, Any] = {name: np.concatenate([getattr(self, name), getattr(more, name)]) for name in FIGURES}
        return Search(
            settings=(*self.settings, *more.settings),
            folds=self.folds,
            **figures,
            diverged={**self.diverged, **{count + place: step for place, step in more.diverged.items()}},
            extended=self.extended + len(more.settings),
            dropped=self.dropped | {count + place for place in more.dropped},
        )


def judge_settings(
    settings: Sequence[Mapping[str, Any]], folds: Sequence[Fold], found: Mapping[tuple[int, int], Margins | int]
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


def is_wide_result(figures: ArrayLike) -> NDArray[np.bool_]:
    """For accuracies (..., k) whether the k of each row are wide apart; a single one never is."""
    values = np.asarray(figures, np.float64)
    if values.shape[-1] < 2:
        return np.zeros(values.shape[:-1], np.bool_)
    finite = np.where(np.isfinite(values), values, 0.0)  # of a setting that diverged
    return finite.std(axis=-1, ddof=1) > np.maximum(POINTS, SHARE * finite.mean(axis=-1))


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


def difference_from_default(scores: NDArray[np.float64], default: NDArray[np.float64]) -> tuple[float, float] | None:
    """Mean and spread over folds of scores (F,) less those of the default (F,); None where one of both diverged."""
    if not (np.isfinite(scores).all() and np.isfinite(default).all()):
        return None
    return round(float((scores - default).mean()), ROUNDING), round(_measure_result_spread(scores - default), ROUNDING)


def prefer_default(ranking: NDArray[np.int64], scores: NDArray[np.float64], default: int) -> NDArray[np.int64]:
    """The ranking of settings with scores (S, F); led by the default unless the first is clearly better.

    Clearly better is a mean that is higher by more than the spread of the differences: the standard deviation over
    folds of its score less the default's score on the same fold. Folds are hard or easy for all settings alike, so
    differences say more than scores. Of many settings the best on few classes is mostly lucky: a gain that changes from
    fold to fold by more than its own size is not one to count on. Only the best is asked, because of hundreds of others
    some would nearly always pass on three folds, by luck again.
    """
    found = difference_from_default(scores[ranking[0]], scores[default])
    if found is None or found[0] > found[1]:  # None: the default diverged
        return ranking
    return np.concatenate([[default], ranking[ranking != default]])


def _measure_result_spread(values: Sequence[float] | NDArray[np.float64]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
