"""tune: search, pick, fit on all training rows. calibrate: the constant and the temperatures of a fitted model."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from zskl.engines import Engine
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.parameters import flag, one_of
from zskl.selection import pipelines, tuned_table
from zskl.selection.against_default import AgainstDefault
from zskl.selection.calibration import calibrate, engine_for
from zskl.selection.class_folds import Fold
from zskl.selection.edges import Bounds, Edge
from zskl.selection.grid import Grid
from zskl.selection.grid_search import Report
from zskl.selection.material import check_seen, is_pipeline, last_step, material
from zskl.selection.method_search import search_checked
from zskl.selection.own_grid import own_grid
from zskl.selection.search_results import SCORINGS, Choice, Search
from zskl.shown.progress import ProgressBar
from zskl.training.solver import DivergenceError

log = logging.getLogger(__name__)
if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


@dataclass(frozen=True)
class Tuned:
    """What `tune` found, for S settings and F folds.

    Parameters
    ----------
    scoring : {"zsl", "gzsl"}
        What it chose by.
    settings : tuple of mapping
        The settings that were tried.
    fold_scores : ndarray of shape (S, F)
        The score of every setting on every fold, −∞ where it diverged or was dropped after the first.
    best : mapping of str to object
        The chosen setting.
    score : float
        Its mean score over the folds.
    spread : float
        The standard deviation of its scores.
    calibration : float
        Its calibration constant.
    diverged : mapping of int to int
        The place of a setting that diverged, and the first step at which it did.
    model : ZeroShotClassifier or Pipeline
        The chosen setting, fitted on all training rows and calibrated.
    search : Search
        The whole search.
    edges : tuple of Edge
        The numbers of the chosen setting beyond which nothing was tried.
    figures : mapping of str to tuple of float
        All figures of the chosen setting on each fold, as in `Choice`.
    against_default : AgainstDefault or None
        Whether the default setting was kept, and why; None where it could not be tried.

    Examples
    --------
    >>> from zskl import baselines, datasets, selection
    >>> data = datasets.make_synthetic(noise=0.6)
    >>> X, y = data.samples("trainval")
    >>> grid = {"gamma": [0.1, 10.0]}
    >>> tuned = selection.tune(baselines.ESZSL(), X, y, data.signatures, grid, engine=None)
    >>> tuned.model.gamma == tuned.best["gamma"]
    True
    >>> print(str(tuned).splitlines()[0])
    3 settings on 3 folds of held-out classes, best by zero-shot accuracy
    """

    scoring: str
    settings: tuple[Mapping[str, Any], ...]
    fold_scores: NDArray[np.float64]
    best: Mapping[str, Any]
    score: float
    spread: float
    calibration: float
    diverged: Mapping[int, int]
    model: Any = field(repr=False)  # a ZeroShotClassifier, or a pipeline that ends in one
    search: Search = field(repr=False)
    edges: tuple[Edge, ...] = ()
    figures: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    against_default: AgainstDefault | None = None

    @property
    def scores(self) -> NDArray[np.float64]:
        """Mean score (S,) of each setting over the folds."""
        means: NDArray[np.float64] = self.fold_scores.mean(axis=1)
        return means

    def __repr__(self) -> str:
        return tuned_table.of_tuned(self).text()

    def _repr_html_(self) -> str:
        return tuned_table.of_tuned(self).html()


def tune(
    estimator: ZeroShotClassifier | Pipeline,
    X: Any,
    y: Any,
    signatures: Any,
    grid: Grid | None = None,
    folds: Sequence[Fold] | int | None = None,
    scoring: str = "zsl",
    engine: Engine | str | None = "auto",
    report: Report | None = None,
    extend: Bounds | None = None,
    progress: bool = False,
    halving: bool | None = None,
) -> Tuned:
    """Choose settings on folds of the training rows, and fit the best on all of them.

    The folds hold whole classes out. You cannot pass test rows. The setting that the estimator has, its default, is
    tried too. It is chosen unless the best other has a mean that is higher by more than the standard deviation over
    folds of the differences between the two.

    Parameters
    ----------
    estimator : ZeroShotClassifier or Pipeline
        The estimator whose settings are tried, or a pipeline that ends in one. It is not changed.
    X : array-like of shape (n, d)
        Training rows.
    y : array-like of shape (n,)
        Their classes.
    signatures : DataFrame, mapping or array-like
        The signatures, as for `fit`.
    grid : mapping of str to sequence, or list of such mappings, default=None
        The values of each setting. All combinations are tried. Names for a pipeline are `step__parameter`. None takes
        the grid of the method, with its bounds for `extend`; for a pipeline that of its last step.
    folds : list of Fold, Dataset, int or None, default=None
        See `selection.folds`. A number or None (three) makes seeded folds.
    scoring : {"zsl", "gzsl"}, default="zsl"
        "zsl" is the accuracy of held-out classes among themselves. "gzsl" is the harmonic mean of seen and held-out
        classes at the best calibration constant.
    engine : Engine, str or None, default="auto"
        Where the runs happen. "auto" takes all cores on the CPU, and this process on a GPU. None is this process.
    report : callable, default=None
        Called after each run with the runs done and the runs in all.
    extend : mapping of str to (float, float), default=None
        How far each number may be extended where its choice is at the edge of the grid, see `selection.search`.
    progress : bool, default=False
        Show bars of the search and of the fit, in a terminal or a notebook.
    halving : bool or None, default=None
        Try only the best of the settings on all folds, see `selection.search`. None does so for a kernel classifier, if
        the first fold holds out ten classes or more; False tries every setting on every fold.

    Returns
    -------
    Tuned
        The scores, the chosen setting, and its model with `calibration_` and `temperatures_` set.

    Raises
    ------
    ValueError
        If all settings diverge, or if the grid, the folds or the signatures do not fit.

    Examples
    --------
    >>> from zskl import baselines, datasets, selection
    >>> data = datasets.make_synthetic(noise=0.6)
    >>> X, y = data.samples("trainval")
    >>> grid = {"gamma": [0.1, 1.0, 10.0]}
    >>> tuned = selection.tune(baselines.ESZSL(), X, y, data.signatures, grid, engine=None)
    >>> tuned.fold_scores.shape
    (3, 3)
    """
    one_of("scoring", scoring, SCORINGS)
    flag("progress", progress)
    if halving is not None:
        flag("halving", halving)
    runner = engine_for(engine, last_step(estimator), X)
    if grid is None:
        grid, bounds = own_grid(estimator)
        extend = bounds if extend is None else extend
    shared = material(estimator, X, y, signatures, folds)
    if scoring == "gzsl":
        check_seen(shared.folds)
    searching, fitting = (ProgressBar("search"), ProgressBar("fit")) if progress else (None, None)

    def told(done: int, runs: int) -> None:
        if report is not None:
            report(done, runs)
        if searching is not None:
            searching(done, runs)

    try:
        found = search_checked(shared, grid, runner, told, extend, with_default=True, halving=halving)
        model, choice = refit(estimator, found, scoring, X, y, signatures, fitting, runner)
    finally:
        for one in filter(None, (searching, fitting)):
            one.close()
    if len(found.settings) > 1 and set(range(len(found.settings))) - set(found.diverged) == {found.default}:
        log.warning("all settings but the default diverged: search lower learning rates")
    if choice.wide:
        log.warning("%s", _unsteady(choice))
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
        choice.edges,
        choice.figures,
        choice.against_default,
    )


def _unsteady(choice: Choice) -> str:
    words = {"seen": "seen accuracy", "gzsl": "H at the best constant"}
    parts = [(words[name], [100 * value for value in choice.figures[name]]) for name in choice.wide]
    ranges = " and ".join(f"{word} from {min(values):.1f} to {max(values):.1f} %" for word, values in parts)
    return f"the chosen setting has {ranges} on the validation folds: its figures on other classes are a matter of luck"


def refit(
    estimator: ZeroShotClassifier | Pipeline,
    found: Search,
    scoring: str,
    X: Any,
    y: Any,
    signatures: Any,
    callback: Any = None,
    engine: Engine | None = None,
) -> tuple[Any, Choice]:
    """Fit the best setting of a search on all training rows, and calibrate it.

    If it diverges on all rows together, the next best setting is fitted.

    Parameters
    ----------
    estimator : ZeroShotClassifier or Pipeline
        The estimator of the search. It is not changed.
    found : Search
        The search.
    scoring : {"zsl", "gzsl"}
        What to choose by.
    X : array-like of shape (n, d)
        Training rows.
    y : array-like of shape (n,)
        Their classes.
    signatures : DataFrame, mapping or array-like
        The signatures, as for `fit`.
    callback : callable, default=None
        Called with the progress of the fit.
    engine : Engine or None, default=None
        Where calibration runs its fits on the folds.

    Returns
    -------
    ZeroShotClassifier or Pipeline
        The fitted model, with `calibration_` and `temperatures_` set.
    Choice
        The setting that was fitted.

    Examples
    --------
    >>> from zskl import baselines, datasets, selection
    >>> data = datasets.make_synthetic(noise=0.6)
    >>> X, y = data.samples("trainval")
    >>> search = selection.search(baselines.ESZSL(), X, y, data.signatures, {"gamma": [0.1, 10.0]})
    >>> model, choice = selection.refit(baselines.ESZSL(), search, "gzsl", X, y, data.signatures)
    >>> model.calibration_ == choice.calibration
    True
    """
    for place in found.order(scoring).tolist():
        choice = found.pick(scoring, place)  # refuses when none is left
        try:
            if is_pipeline(estimator):
                model: Any = pipelines.with_settings(estimator, choice.setting)
                pipelines.fit(model, X, y, signatures, callback)
            else:
                model = clone(estimator).set_params(**choice.setting).fit(X, y, signatures, callback=callback)
            break
        except DivergenceError:
            continue
    else:
        raise ValueError(
            f"all {len(found.settings)} settings diverged on all training rows together: search lower learning rates"
        )
    setting = ", ".join(f"{name}={value}" for name, value in choice.setting.items())
    log.info("chosen by %s: %s, %.1f ± %.1f %% on folds", scoring, setting, 100 * choice.score, 100 * choice.spread)
    calibrate(model, X, y, signatures, found.folds, engine, choice.calibration)
    return model, choice
