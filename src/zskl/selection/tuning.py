"""search, tune and refit: settings are tried on folds of the training rows, and the best is fitted on all of them."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from zskl import methods
from zskl._display import ProgressBar, Shown, format_percent
from zskl._validation import check_flag, check_option
from zskl.decisions import take_parents
from zskl.engines import Engine
from zskl.estimators.base import DefaultGrid, ZeroShotClassifier
from zskl.estimators.class_means import ClassMeansClassifier
from zskl.estimators.committee import Committee
from zskl.methods import BATCH_SIZE, MEMBER_MEANS, MEMBER_MEANS_BOUNDS, drop_fixed_settings, nest_grids, prefix_settings
from zskl.selection.calibration import calibrate
from zskl.selection.class_folds import (
    Fold,
    FoldData,
    check_seen,
    clone_with_settings,
    find_shared_validation,
    fit_pipeline,
    is_pipeline,
    last_step,
    prepare_fold_data,
)
from zskl.selection.composite_search import search_members, search_pipeline
from zskl.selection.draw_search import search_draws
from zskl.selection.grid_search import (
    Bounds,
    Grid,
    Report,
    SearchOptions,
    choose_engine,
    is_grid_number,
    plan_search,
    search_grid,
)
from zskl.selection.search_results import SCORINGS, AgainstDefault, Choice, Edge, Search
from zskl.training.solver import DivergenceError

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

log = logging.getLogger(__name__)
FEW_CLASSES = 12  # with fewer training classes a fold holds out so few that its figures are mostly luck
BEST = 10  # settings that are shown


def search(
    estimator: "ZeroShotClassifier | Pipeline",
    X: Any,
    y: Any,
    signatures: Any,
    grid: Grid,
    folds: Sequence[Fold] | int | None = None,
    engine: Engine | None = None,
    report: Report | None = None,
    extend: Bounds | None = None,
    with_default: bool = False,
    halving: bool | None = False,
) -> Search:
    """Try every setting of a grid on every fold of the training rows.

    With `extend`, a number that is chosen at the edge of what was tried is tried one step further, by the grid's own
    step and for either scoring, until the choice is inside or a bound is reached.

    On a GPU, settings that can train as one stack do. On the CPU the runs go through `engine`. All values of a free
    setting, such as epochs, cost one run together. Of a committee, each member is searched by itself, then weights and
    temperatures of the best ones are tried. Transformers of a pipeline are fitted on the training rows of each fold.

    Parameters
    ----------
    estimator : ZeroShotClassifier or Pipeline
        The estimator whose settings are tried, or a pipeline that ends in one. It is not changed.
    X : array-like of shape (n, d)
        Training rows.
    y : array-like of shape (n,)
        Their classes.
    signatures : DataFrame, mapping or array-like
        The signatures, as for `fit`. Those of classes that are not in y are ignored.
    grid : mapping of str to sequence, or list of such mappings
        The values of each setting. All combinations are tried. Names for a pipeline are `step__parameter`.
    folds : list of Fold, Dataset, int or None, default=None
        See `selection.folds`. A number or None (three) makes seeded folds.
    engine : Engine or None, default=None
        Where the runs happen. None runs them one after the other in this process.
    report : callable, default=None
        Called after each run with the runs done and the runs in all; these grow where the grid is extended.
    extend : mapping of str to (float, float), default=None
        The lowest and the highest value to which each number may be extended, as in `Method.bounds`. None tries the
        grid alone; `Choice.edges` then says which numbers are at an edge.
    with_default : bool, default=False
        Try the setting that the estimator has too, and choose it unless another is better beyond the spread of the
        folds, as `tune` does.
    halving : bool or None, default=False
        Make every run on the first fold with the fewest epochs, the better third there with all of them, and only the
        four best by either figure (and the default) on the others; beyond the grid, only runs that beat the choice on
        the first fold. A third of the work for methods that train; the choice is mostly the same. `Search.dropped` has
        the rest. None does so where `tune` does.

    Returns
    -------
    Search
        The figures of every setting on every fold.

    Examples
    --------
    >>> from zskl import baselines, datasets, selection
    >>> data = datasets.make_synthetic(noise=0.6)
    >>> X, y = data.samples("trainval")
    >>> search = selection.search(baselines.ESZSL(), X, y, data.signatures, {"gamma": [0.1, 1.0, 10.0]})
    >>> search.zsl.shape  # settings by folds
    (3, 3)
    """
    if halving is not None:
        check_flag("halving", halving)
    shared = prepare_fold_data(estimator, X, y, signatures, folds)
    if with_default:
        _warn_of_few_classes(shared)
    return _run_search(shared, grid, SearchOptions(engine, report, extend, with_default, halving))


def _warn_of_few_classes(shared: FoldData) -> None:
    classes = len(shared.table.classes)
    if classes < FEW_CLASSES:
        held = [len(np.unique(shared.y[fold.val_unseen])) for fold in shared.folds]
        log.warning(
            "validation is weak: there are %d training classes, and a fold holds out %s of them; a setting that is "
            "chosen so may do worse on new classes than the default",
            classes,
            f"{min(held)}" if min(held) == max(held) else f"{min(held)} to {max(held)}",
        )


def _run_search(shared: FoldData, grid: Grid, options: SearchOptions) -> Search:
    """`search` on rows, signatures and folds that are checked already."""
    if is_pipeline(shared.estimator):
        return search_pipeline(shared, grid, options, _run_search)
    if isinstance(shared.estimator, Committee):
        return search_members(shared, grid, options)
    planned = plan_search(shared, grid, options.extend, options.with_default, options.halving)
    if isinstance(shared.estimator, ClassMeansClassifier) and find_shared_validation(shared.folds) is not None:
        return search_draws(planned, options.report)
    return search_grid(planned, options.engine, options.report)


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
        return self.fold_scores.mean(axis=1)

    def __repr__(self) -> str:
        return tuning_table(self).text()

    def _repr_html_(self) -> str:
        return tuning_table(self).html()


def tune(
    estimator: "ZeroShotClassifier | Pipeline",
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
    hierarchy: Any = None,
) -> Tuned:
    """Choose settings on folds of the training rows, and fit the best on all of them.

    The folds hold whole classes out. You cannot pass test rows. The setting that the estimator has, its default, is
    tried too. It is chosen unless the best other has a mean that is higher by more than the standard deviation over
    folds of the differences between the two.

    Parameters
    ----------
    estimator : ZeroShotClassifier or Pipeline
        The estimator whose settings are tried, or a pipeline that ends in one. It is not changed.
    X, y, signatures : as for `search`
        Training rows, their classes and signatures.
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
    hierarchy : DataFrame, mapping or list of str, default=None
        Parents of classes, for answers of a given risk: see `zskl.decisions.Hierarchy.read`.

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
    check_option("scoring", scoring, SCORINGS)
    check_flag("progress", progress)
    signatures, tree = take_parents(signatures, hierarchy)
    if halving is not None:
        check_flag("halving", halving)
    runner = choose_engine(engine, last_step(estimator), X)
    if grid is None:
        grid, bounds = default_grid_of(estimator)
        grid = methods.add_table_weights(grid, estimator)
        extend = bounds if extend is None else extend
    shared = prepare_fold_data(estimator, X, y, signatures, folds)
    if scoring == "gzsl":
        check_seen(shared.folds)
    _warn_of_few_classes(shared)

    def report_runs(done: int, runs: int) -> None:
        if report is not None:
            report(done, runs)
        if progress:
            searching(done, runs)

    with closing(ProgressBar("search")) as searching, closing(ProgressBar("fit")) as fitting:
        found = _run_search(shared, grid, SearchOptions(runner, report_runs, extend, True, halving))
        shown = fitting if progress else None
        model, choice = refit(estimator, found, scoring, X, y, signatures, shown, runner, hierarchy=tree)
    if len(found.settings) > 1 and set(range(len(found.settings))) - set(found.diverged) == {found.default}:
        log.warning("all settings but the default diverged: search lower learning rates")
    if choice.wide:
        words = {"seen": "seen accuracy", "gzsl": "H at the best constant"}
        parts = [(words[name], [100 * value for value in choice.figures[name]]) for name in choice.wide]
        log.warning(
            "the chosen setting has %s on the validation folds: its figures on other classes are a matter of luck",
            " and ".join(f"{word} from {min(values):.1f} to {max(values):.1f} %" for word, values in parts),
        )
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


def refit(
    estimator: "ZeroShotClassifier | Pipeline",
    found: Search,
    scoring: str,
    X: Any,
    y: Any,
    signatures: Any,
    callback: Any = None,
    engine: Engine | None = None,
    few_shot: bool = True,
    hierarchy: Any = None,
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
    X, y, signatures : as for `search`
        All training rows, their classes and signatures.
    callback : callable, default=None
        Called with the progress of the fit.
    engine : Engine or None, default=None
        Where calibration runs its fits on the folds.
    few_shot : bool, default=True
        Whether calibration tries examples and unlabelled rows too, see `calibrate`.
    hierarchy : DataFrame, mapping or list of str, default=None
        Parents of classes, see `calibrate`.

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
                model: Any = clone_with_settings(estimator, choice.setting)
                fit_pipeline(model, X, y, signatures, callback)
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
    # Draws of one fit are for the search alone: what is learned later is tried on whole classes, in fits without them.
    folds = None if find_shared_validation(found.folds) is not None else found.folds
    calibrate(model, X, y, signatures, folds, engine, choice.calibration, few_shot=few_shot, hierarchy=hierarchy)
    return model, choice


def default_grid_of(estimator: Any) -> tuple[DefaultGrid, Bounds]:
    """Grid and bounds of the method whose settings the estimator has; nested names in a pipeline and a committee."""
    if is_pipeline(estimator):
        name, last = estimator.steps[-1]
        grid, bounds = default_grid_of(last)
        return nest_grids({name: grid}), prefix_settings(name, bounds)
    if isinstance(estimator, Committee):
        members = {name: default_grid_of(member) for name, member in estimator._clone_members()}
        # A committee fits its members again on each fold: class means have a smaller grid there.
        for name, member in estimator._clone_members():
            if isinstance(member, ClassMeansClassifier):
                members[name] = MEMBER_MEANS, MEMBER_MEANS_BOUNDS
        ends = {
            key: pair for name, (_, bounds) in members.items() for key, pair in prefix_settings(name, bounds).items()
        }
        return nest_grids({name: grid for name, (grid, _) in members.items()}), ends
    method = methods.method_of(estimator)
    if method is not None:
        # A kernel is searched in batches of the grid's size, unless you gave it another size than it has by itself.
        own = getattr(estimator, BATCH_SIZE, None) == getattr(method.estimator(), BATCH_SIZE, None)
        return method.grid if own else tuple(drop_fixed_settings(method.grid, {BATCH_SIZE})), method.bounds
    kind = type(estimator)
    if hasattr(kind, "GRID"):
        return kind.GRID, getattr(kind, "BOUNDS", {})
    names = [name for name, one in methods.METHODS.items() if one.estimator is kind]
    example = f"methods.find({names[0]!r}).grid" if names else "{'name': [values]}"
    known = f"no method by name has the settings of {str(estimator)[:80]}"
    raise ValueError(f"grid is None, and {known}: expected a grid, such as {example}")


def tuning_table(tuned: Tuned) -> Shown:
    """The ten best settings, and the default one if it is not among them."""
    default = tuned.search.default
    chosen = next((place for place, one in enumerate(tuned.settings) if one == tuned.best), None)
    order = tuned.search.ranking(tuned.scoring).tolist()
    order = [place for place in order if place not in tuned.diverged and place not in tuned.search.dropped]
    places = order[:BEST]
    places += [place for place in dict.fromkeys((chosen, default)) if place is not None and place not in places]
    names = list(dict.fromkeys(name for setting in tuned.settings for name in setting))
    rows = [
        (
            str(1 + order.index(place)) if place in order else "",
            format_tuned_score(tuned, place),
            ", ".join(word for word, one in (("chosen", chosen), ("default", default)) if one == place),
            *(_format_value(tuned.settings[place].get(name)) for name in names),
        )
        for place in places
    ]
    folds = tuned.fold_scores.shape[1]
    figure = {"zsl": "zero-shot accuracy", "gzsl": "H at the best constant"}[tuned.scoring]
    title = (
        f"{len(tuned.settings)} setting{'s' if len(tuned.settings) > 1 else ''} on {folds} "
        f"fold{'s' if folds > 1 else ''} of held-out classes, best by {figure}"
    )
    strong = [row for row, place in enumerate(places) if place == chosen]
    return Shown(title, ("rank", "score", "", *names), rows, _table_notes(tuned, chosen), strong)


def format_tuned_score(tuned: Tuned, place: int) -> str:
    """Mean over folds ± standard deviation, in per cent."""
    folds = tuned.fold_scores[place]
    if not np.isfinite(folds).all():
        return "diverged"
    spread = f" ± {100 * np.std(folds, ddof=1):.1f}" if len(folds) > 1 else ""
    return f"{100 * folds.mean():.1f}{spread} %"


def format_cosine_score(tuned: Tuned) -> str | None:
    """Of plain cosine, where the search has compared it: in a space that rows and signatures share."""
    places = [k for k, one in enumerate(tuned.settings) if one.get("prior") == "cosine" and not one.get("crowding")]
    return format_tuned_score(tuned, places[0]) if places and tuned.scoring == "zsl" else None


def _table_notes(tuned: Tuned, chosen: int | None) -> list[str]:
    default = tuned.search.default
    mine = format_percent(tuned.score) if chosen is None else format_tuned_score(tuned, chosen)
    theirs = "not tried" if default is None else format_tuned_score(tuned, default)
    same = default is not None and default == chosen
    notes = [f"chosen: {mine}, which is the default setting" if same else f"chosen: {mine}; default: {theirs}"]
    if tuned.against_default is not None:
        notes.append(str(tuned.against_default))
    cosine = format_cosine_score(tuned)
    if cosine is not None:
        notes.append(f"plain cosine: {cosine}")
    if tuned.diverged:
        notes.append(f"{len(tuned.diverged)} of the settings diverged")
    if tuned.search.dropped:
        notes.append(f"{len(tuned.search.dropped)} of the settings were dropped after the first fold")
    return [*notes, *(str(edge) for edge in tuned.edges)]


def _format_value(value: Any) -> str:
    return "" if value is None else f"{value:g}" if is_grid_number(value) else str(value)
