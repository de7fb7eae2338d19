"""The search: every setting on every fold, by both figures at once; then one of them picks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl import engines
from zskl.arrays import on_gpu
from zskl.engines import Engine
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.metrics import harmonic_mean
from zskl.metrics.seen_unseen import Margins
from zskl.parameters import one_of
from zskl.selection.class_folds import Fold
from zskl.selection.constant import best_constant
from zskl.selection.fold_worker import Task, examine
from zskl.selection.grid import Grid, expand, group, with_setting
from zskl.selection.material import Material, check_seen

SCORINGS = ("zsl", "gzsl")
Report = Callable[[int, int], object]  # runs done, runs in all


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
    raw : ndarray of shape (S, F)
        Harmonic means without a constant.
    constants : ndarray of shape (S,)
        The calibration constant of each setting.
    diverged : mapping of int to int
        The place of a setting that diverged, and the first step at which it did.

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
    raw: NDArray[np.float64]
    constants: NDArray[np.float64]
    diverged: Mapping[int, int]

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

        Parameters
        ----------
        scoring : {"zsl", "gzsl"}
            Which of the two figures.

        Returns
        -------
        ndarray of shape (S,)
            Places of the settings, best mean first; of equals, the earlier one first.
        """
        return np.argsort(-self.scores(scoring).mean(axis=1), kind="stable")

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
        best = int(self.ranking(scoring)[0]) if place is None else place
        if not np.isfinite(scores[best]).all():
            raise ValueError(
                f"all {len(self.settings)} settings diverged, the last of them at step {max(self.diverged.values())}: "
                "search lower learning rates"
            )
        mine = scores[best]
        return Choice(
            scoring,
            best,
            dict(self.settings[best]),
            float(mine.mean()),
            tuple(mine.tolist()),
            float(mine.std(ddof=1)) if len(mine) > 1 else 0.0,
            float(self.constants[best]),
        )


@dataclass(frozen=True)
class Plan:
    """The settings of a search and the runs that try them."""

    shared: Material
    settings: tuple[dict[str, Any], ...]
    tasks: tuple[Task, ...]


def plan(shared: Material, grid: Grid) -> Plan:
    """Refuse what is wrong with a grid before any work is done."""
    estimator = shared.estimator
    settings = applicable(expand(grid, estimator), estimator, shared)
    groups = group(settings, estimator._free(shared.X))
    tasks = [
        Task(fold, tuple(places), tuple(settings[place] for place in places))
        for fold in range(len(shared.folds))
        for places in groups
    ]
    return Plan(shared, tuple(settings), tuple(tasks))


def search_grid(planned: Plan, engine: Engine | None = None, report: Report | None = None) -> Search:
    """Make all runs, and judge every setting."""
    return judge(planned.settings, planned.shared.folds, examined(planned, engine, report))


def examined(
    planned: Plan, engine: Engine | None = None, report: Report | None = None
) -> dict[tuple[int, int], Margins | int]:
    """What came of each place on each fold: its margins, or the step of divergence."""
    shared, tasks = planned.shared, planned.tasks
    if on_gpu(shared.X, getattr(shared.estimator, "device", None)):
        engine = None
    found: dict[tuple[int, int], Margins | int] = {}
    with closing(engines.each(examine, tasks, shared, engine)) as results:
        for done, (number, answers) in enumerate(results, start=1):
            found.update({(place, tasks[number].fold): answer for place, answer in answers})
            if report is not None:
                report(done, len(tasks))
    return found


def applicable(settings: list[dict[str, Any]], estimator: ZeroShotClassifier, shared: Material) -> list[dict[str, Any]]:
    """The settings that make sense for these features and signatures, each once."""
    d, p = np.shape(shared.X)[1], shared.table.matrix.shape[1]
    left: dict[str, dict[str, Any]] = {}
    for setting in settings:
        model = with_setting(estimator, setting)
        if model._applies(d, p):
            left.setdefault(repr(model._effective()), setting)
    if not left:
        raise ValueError(
            f"no setting of the grid applies to {d} features and {p} attributes: {type(estimator).__name__} with these "
            "settings compares features and signatures with the same columns, from one encoder; take another method, "
            "or another prior"
        )
    return list(left.values())


def judge(
    settings: Sequence[Mapping[str, Any]],
    folds: Sequence[Fold],
    found: Mapping[tuple[int, int], Margins | int],
) -> Search:
    """All figures, from the margins (or the step of divergence) of each place on each fold."""
    shape = (len(settings), len(folds))
    zsl, gzsl, raw = (np.full(shape, -np.inf) for _ in range(3))
    constants = np.zeros(len(settings))
    diverged: dict[int, int] = {}
    for place in range(len(settings)):
        answers = [found[place, fold] for fold in range(len(folds))]
        steps = [answer for answer in answers if isinstance(answer, int)]
        if steps:
            diverged[place] = min(steps)
            continue
        whole = [answer for answer in answers if isinstance(answer, Margins)]
        zsl[place] = [one.zsl for one in whole]
        raw[place] = [harmonic_mean(*one.at(0.0)) for one in whole]
        constants[place], gzsl[place] = best_constant(whole)
    return Search(tuple(settings), tuple(folds), zsl, gzsl, raw, constants, diverged)
