"""tune: search, pick, fit on all training rows. calibrate: the constant and the temperatures of a fitted model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from zskl import engines
from zskl.arrays import on_gpu
from zskl.engines import Engine
from zskl.estimators.candidates import calibrated
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.metrics.seen_unseen import margins
from zskl.parameters import one_of
from zskl.selection import temperatures
from zskl.selection.calibration import best_constant
from zskl.selection.class_folds import Fold
from zskl.selection.fold_worker import Examiner, Material, take
from zskl.selection.grid import Grid
from zskl.selection.grid_search import SCORINGS, Choice, Report, Search, check_seen, material, search
from zskl.training.solver import DivergenceError

Scores = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_]]


@dataclass(frozen=True)
class Tuned:
    """What `tune` found. `fold_scores` (S, F) hold every setting's score on every fold, −∞ where it diverged."""

    scoring: str
    settings: tuple[Mapping[str, Any], ...]
    fold_scores: NDArray[np.float64]
    best: Mapping[str, Any]
    score: float
    spread: float
    calibration: float
    diverged: Mapping[int, int]
    model: Any = field(repr=False)
    search: Search = field(repr=False)

    @property
    def scores(self) -> NDArray[np.float64]:
        """(S,) means over folds."""
        means: NDArray[np.float64] = self.fold_scores.mean(axis=1)
        return means


def tune(
    estimator: ZeroShotClassifier,
    X: Any,
    y: Any,
    signatures: Any,
    grid: Grid,
    folds: Sequence[Fold] | int | None = None,
    scoring: str = "zsl",
    engine: Engine | str | None = "auto",
    report: Report | None = None,
) -> Tuned:
    """Choose settings on class-disjoint folds of the training rows X (n, d), y (n,), and fit the best on all of them.

    scoring   "zsl": accuracy of held-out classes among themselves; "gzsl": harmonic mean of seen and held-out classes
              at the best calibration constant
    folds     see `selection.folds`; None or a number makes seeded ones
    engine    "auto": all cores on the CPU, this process on a GPU; None: this process; or an `Engine`

    The model that comes back has `calibration_` and `temperatures_` set. No parameter takes test rows.
    """
    one_of("scoring", scoring, SCORINGS)
    runner = _engine(engine, estimator, X)
    if scoring == "gzsl":
        check_seen(material(estimator, X, y, signatures, folds).folds)
    found = search(estimator, X, y, signatures, grid, folds, runner, report)
    model, choice = refit(estimator, found, scoring, X, y, signatures, engine=runner)
    return Tuned(
        scoring,
        found.settings,
        found.scores(scoring),
        choice.setting,
        choice.score,
        choice.spread,
        choice.calibration,
        found.diverged,
        model,
        found,
    )


def refit(
    estimator: ZeroShotClassifier,
    found: Search,
    scoring: str,
    X: Any,
    y: Any,
    signatures: Any,
    callback: Any = None,
    engine: Engine | None = None,
) -> tuple[Any, Choice]:
    """The best setting fitted on all training rows and calibrated; the next best where that diverges on them."""
    for place in found.ranking(scoring).tolist():
        choice = found.pick(scoring, place)  # refuses when none is left
        model = clone(estimator).set_params(**choice.setting)
        try:
            model.fit(X, y, signatures, callback=callback)
            break
        except DivergenceError:
            continue
    else:
        raise ValueError(
            f"all {len(found.settings)} settings diverged on all training rows together: search lower learning rates"
        )
    calibrate(model, X, y, signatures, found.folds, engine, choice.calibration)
    return model, choice


def calibrate(
    model: ZeroShotClassifier,
    X: Any,
    y: Any,
    signatures: Any,
    folds: Sequence[Fold] | int | None = None,
    engine: Engine | str | None = None,
    constant: float | None = None,
) -> Any:
    """Set `calibration_` and `temperatures_` of a fitted model from clones of it fitted on the folds.

    The constant is the one with the highest mean harmonic mean over the folds, unless given. Temperatures are fitted
    to the folds' validation rows: the held-out classes among themselves ("unseen"), the trained ones among
    themselves ("seen"), and all among all, the constant subtracted ("mixed").
    """
    check_is_fitted(model)
    shared = material(clone(model), X, y, signatures, folds)
    if constant is None:
        check_seen(shared.folds)
    runner = _engine(engine, model, X)
    tasks = range(len(shared.folds))
    scored = [scores for _, scores in sorted(engines.each(_score, tasks, shared, runner), key=lambda one: one[0])]
    if constant is None:
        constant = best_constant([margins(scores, own, seen) for scores, own, seen in scored])[0]
    model.calibration_ = float(constant)
    mixed = [(calibrated(scores.astype(np.float64), seen, constant), own) for scores, own, seen in scored]
    model.temperatures_ = {
        "seen": temperatures.fit([_side(*one, wanted=True) for one in scored], "seen"),
        "unseen": temperatures.fit([_side(*one, wanted=False) for one in scored], "unseen"),
        "mixed": temperatures.fit(mixed, "mixed"),
    }
    return model


def _score(shared: Material, fold: int) -> Scores:
    """Scores (n, c) of a fold's validation rows by the estimator fitted on its training rows."""
    rows = shared.folds[fold].train
    model = clone(shared.estimator).fit(take(shared.X, rows), shared.y[rows], shared.table)
    examiner = Examiner(shared, fold)
    return examiner.scores(model), examiner.own, examiner.is_seen


def _side(scores: NDArray[Any], own: NDArray[np.int64], seen: NDArray[np.bool_], *, wanted: bool) -> tuple[Any, Any]:
    """Rows and columns of the seen classes alone, or of the others."""
    columns = np.flatnonzero(seen == wanted)
    rows = np.flatnonzero(seen[own] == wanted)
    return scores[np.ix_(rows, columns)], np.searchsorted(columns, own[rows])


def _engine(engine: Engine | str | None, estimator: ZeroShotClassifier, X: Any) -> Engine | None:
    if isinstance(engine, str):
        if engine != "auto":
            return Engine(engine)
        return None if on_gpu(X, getattr(estimator, "device", None)) else Engine()
    return engine
