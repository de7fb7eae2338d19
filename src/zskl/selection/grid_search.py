"""The search of a grid: its settings are trained on each fold and judged on its validation rows, also beyond an edge.

A run is a fit with all settings that it serves, such as the numbers of epochs. With halving every run is made on the
first fold with the fewest epochs, the better ones there with all of them, and the best, by either figure, on the other
folds. Beyond the edge of a grid only runs that beat the present choices on the first fold go on.
"""

import copy
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from zskl import engines, metrics
from zskl._arrays import Array, is_torch, runs_on_gpu, to_numpy
from zskl._validation import suggest
from zskl.engines import Engine
from zskl.estimators._candidates import Question, choose_candidates
from zskl.estimators._class_means_adapt import FewShotTrial
from zskl.estimators._class_means_scores import CrowdingScores
from zskl.estimators._inputs import check_features
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.kernel_classifier import StackMoment, ZeroShotKernelClassifier
from zskl.metrics import Margins, best_constant
from zskl.selection.class_folds import FoldData
from zskl.selection.search_results import SCORINGS, Edge, Search, judge_settings
from zskl.signatures.table import SignatureTable
from zskl.training.solver import DivergenceError

log = logging.getLogger(__name__)
KEPT_RUNS = 4  # that go on to the other folds for each figure; a replay of whole searches is in docs/performance.md
LONG_SHARE = 3  # one run of so many is trained for all its epochs, and at least LONG_RUNS are
LONG_RUNS = 12
LONGER = 3  # times as many epochs as the shortest: below, short runs would hardly be cheaper
ENOUGH_CLASSES = 10  # held out by the first fold: fewer say little about other folds

Grid = Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]]
Setting = Mapping[str, Any]
Bounds = Mapping[str, tuple[float, float]]  # setting → lowest and highest value that a grid may be extended to
SIDES = ("lowest", "highest")
DIGITS = 4  # of a value that is not in the grid
ROUNDING = 1e-9  # values that differ by less, of their size, are the same: 0.3 and 3 * 0.1
Outcome = Margins | int  # what came of a setting on a fold: its margins, or the step of divergence
Outcomes = dict[tuple[int, int], Outcome]  # by place and fold
Stack = StackMoment | CrowdingScores  # models that a device scores in one pass
Report = Callable[[int, int], object]  # runs done, runs in all


@dataclass(frozen=True)
class SearchOptions:
    """How a search is made; see `selection.search`."""

    engine: Engine | None = None
    report: Report | None = None
    extend: Bounds | None = None
    with_default: bool = False
    halving: bool | None = False


@dataclass(frozen=True)
class SearchPlan:
    """The settings of a search, the runs that try them, and how far their numbers may be extended."""

    shared: FoldData
    settings: tuple[dict[str, Any], ...]
    tasks: "tuple[FoldTask, ...]"
    reach: "GridRange"
    default: int | None = None  # the place of the estimator's own setting
    keeps_default: bool = False
    halving: bool = False

    def extend(self, settings: Sequence[dict[str, Any]]) -> "SearchPlan":
        """The runs of settings beyond the grid."""
        return replace(self, settings=tuple(settings), tasks=_make_tasks(self.shared, settings), default=None)


def plan_search(
    shared: FoldData, grid: Grid, extend: Bounds | None = None, with_default: bool = False, halving: bool | None = False
) -> SearchPlan:
    """Refuse what is wrong with a grid and with bounds before any work; the options are those of `selection.search`."""
    estimator = shared.estimator
    bounds = check_bounds(extend, estimator)
    settings = applicable_settings(expand_grid(grid, estimator), estimator, shared)
    reach = GridRange(estimator, settings, bounds)
    own = spell_params(estimator._effective_settings())
    effects = (spell_params(copy_with_setting(estimator, setting)._effective_settings()) for setting in settings)
    default = next((place for place, effect in enumerate(effects) if effect == own), None)
    if default is None and with_default and can_be_fitted(shared):
        known, names = estimator.get_params(), dict.fromkeys(name for setting in settings for name in setting)
        settings = [*settings, {name: known[name] for name in names}]
        default = len(settings) - 1
    if halving is None:
        # A kernel trains for long, and the first fold must hold out enough classes to speak for the others.
        held = np.unique(shared.y[shared.folds[0].val_unseen])
        halving = isinstance(estimator, ZeroShotKernelClassifier) and len(held) >= ENOUGH_CLASSES
    return SearchPlan(shared, tuple(settings), _make_tasks(shared, settings), reach, default, with_default, halving)


def spell_params(params: Mapping[str, Any]) -> str:
    """Parameters as text, the same for 1, 1.0 and NumPy's 1.0."""
    numbers = {
        name: float(value)
        for name, value in params.items()
        if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    }
    return repr({**params, **numbers})


def can_be_fitted(shared: FoldData) -> bool:
    try:
        check_grid(shared.estimator, {})
    except ValueError:
        return False
    return bool(shared.estimator._applies(np.shape(shared.X)[1], shared.table.matrix.shape[1]))


def applicable_settings(
    settings: list[dict[str, Any]], estimator: ZeroShotClassifier, shared: FoldData
) -> list[dict[str, Any]]:
    """The settings that make sense for these features and signatures, each once."""
    d, p = np.shape(shared.X)[1], shared.table.matrix.shape[1]
    left: dict[str, dict[str, Any]] = {}
    for setting in settings:
        model = copy_with_setting(estimator, setting)
        if model._applies(d, p):
            left.setdefault(repr(model._effective_settings()), setting)
    if not left:
        raise ValueError(
            f"no setting of the grid applies to {d} features and {p} attributes: {type(estimator).__name__} with these "
            "settings compares features and signatures with the same columns, from one encoder; take another method, "
            "or another prior"
        )
    return list(left.values())


def _make_tasks(
    shared: FoldData,
    settings: Sequence[dict[str, Any]],
    folds: Sequence[int] | None = None,
    some: Sequence[int] | None = None,
) -> "tuple[FoldTask, ...]":
    """A run for each fold and each group of settings that one fit serves; for some folds and places alone, or all."""
    kept = range(len(settings)) if some is None else some
    groups = group_settings([settings[place] for place in kept], shared.estimator._free_settings(shared.X))
    tasks = [
        FoldTask(fold, tuple(kept[k] for k in members), tuple(settings[kept[k]] for k in members))
        for fold in (range(len(shared.folds)) if folds is None else folds)
        for members in groups
    ]
    own = {name: getattr(shared.estimator, name, 0) for name in ("epochs", "batch_size")}

    def steps(task: FoldTask) -> float:
        known = ({**own, **setting} for setting in task.settings)
        return max(float(one["epochs"]) / max(1.0, float(one["batch_size"])) for one in known)

    # The longest first, so that no worker is left alone with a long run at the end.
    return tuple(sorted(tasks, key=steps, reverse=True))


def search_grid(planned: SearchPlan, engine: Engine | None = None, report: Report | None = None) -> Search:
    """Make all runs and judge every setting; then go on wherever a choice is at an edge."""
    shared, made = planned.shared, 0
    runner = None if runs_on_gpu(shared.X, getattr(shared.estimator, "device", None)) else engine
    before: Search | None = None  # what was tried before, where a search is halved,
    first: list[Outcome] = []  # and what came of each setting of it on the first fold

    def run(part: SearchPlan) -> Outcomes:
        nonlocal made
        past, made = made, made + len(part.tasks)
        return examine_settings(part, ready, lambda done, _: report(past + done, made) if report is not None else None)

    def search_part(part: SearchPlan) -> Search:
        nonlocal before
        if not part.halving or len(shared.folds) == 1:
            return judge_settings(part.settings, shared.folds, run(part))
        found = search_by_halving(
            *(part.settings, shared.estimator._free_settings(shared.X), len(shared.folds)),
            *(lambda *some: run(replace(part, tasks=_make_tasks(shared, part.settings, *some))), part.default),
            None if before is None else [first[place] for place in chosen_places(before)],
        )
        judged = judge_settings(part.settings, shared.folds, found)
        log.info("%d of %d settings were dropped on the first fold", len(judged.dropped), len(part.settings))
        first.extend(found.get((place, 0), 0) for place in range(len(part.settings)))
        before = judged if before is None else before.joined(judged)
        return judged

    log.info("searching: %d settings, %d folds, %d runs", len(planned.settings), len(shared.folds), len(planned.tasks))
    began = time.perf_counter()
    with engines.opened(runner) if runner is not None else nullcontext() as ready:
        found = extend_search(
            search_part(planned), planned.reach, lambda settings: search_part(planned.extend(settings))
        )
    log.info("searched %d settings in %.1f s", len(found.settings), time.perf_counter() - began)
    return replace(found, default=planned.default, keeps_default=planned.keeps_default)


def extend_search(found: Search, reach: "GridRange", attempt: Callable[[Sequence[dict[str, Any]]], Search]) -> Search:
    """The search, extended by what `attempt` says about settings beyond the grid, until no choice asks for more."""
    while beyond := reach.next_settings(found.settings, chosen_places(found)):
        found = found.joined(attempt(beyond))
    return replace(found, edges=reach.edges(found.settings))


def chosen_places(found: Search) -> list[int]:
    """The places that the scorings choose, as far as the folds allow these and not everything diverged."""
    scorings = SCORINGS if all(len(fold.val_seen) for fold in found.folds) else SCORINGS[:1]
    places = [int(found.ranking(scoring)[0]) for scoring in scorings]
    return [place for place in places if place not in found.diverged and place not in found.dropped]


def examine_settings(planned: SearchPlan, engine: Engine | None = None, report: Report | None = None) -> Outcomes:
    shared, tasks = planned.shared, planned.tasks
    found: Outcomes = {}
    on_gpu = runs_on_gpu(shared.X, getattr(shared.estimator, "device", None))
    # What a GPU leaves to the processor is so small that threads only cost time.
    limits = threadpool_limits(1) if on_gpu else nullcontext()
    with limits, closing(engines.each(run_task, tasks, shared, None if on_gpu else engine)) as results:
        for done, (number, answers) in enumerate(results, start=1):
            found.update({(place, tasks[number].fold): answer for place, answer in answers})
            if report is not None:
                report(done, len(tasks))
    return found


def choose_engine(engine: Engine | str | None, estimator: ZeroShotClassifier, X: Any) -> Engine | None:
    """Where runs happen: "auto" is all cores for the CPU and this process for a GPU."""
    if engine == "auto":
        return None if runs_on_gpu(X, getattr(estimator, "device", None)) else Engine()
    return Engine(engine) if isinstance(engine, str) else engine


@dataclass(frozen=True)
class FoldTask:
    """Settings that one fit serves, on one fold. `places` are their places in the search."""

    fold: int
    places: tuple[int, ...]
    settings: tuple[dict[str, Any], ...]


def run_task(shared: FoldData, task: FoldTask) -> list[tuple[int, Outcome]]:
    """For each place its margins, or the step at which it diverged."""
    scorer = FoldScorer(shared, task.fold)
    found: dict[int, Outcome | Future[Outcome]] = {}

    def visit(index: int, model: ZeroShotClassifier | DivergenceError) -> None:
        place = task.places[index]
        found[place] = model.step if isinstance(model, DivergenceError) else scorer.margins(model, executor)

    y = shared.y[shared.folds[task.fold].train]
    with ThreadPoolExecutor(1) as executor:  # which starts no thread before its first job
        clone(shared.estimator)._fit_together(task.settings, shared.training(task.fold), y, shared.table, visit)
    ended = {place: one.result() if isinstance(one, Future) else one for place, one in found.items()}
    return sorted(ended.items(), key=lambda item: item[0])


class FoldScorer:
    """Scores the validation rows of a fold for all its classes; models of one scaling share the scaled rows."""

    def __init__(self, shared: FoldData, fold: int) -> None:
        part = shared.folds[fold]
        self.X, y = shared.validation(fold), shared.y[part.validation]
        classes = np.unique(shared.y[np.concatenate([part.train, part.validation])])
        self.table = shared.table.select(classes)
        self.own: NDArray[np.int64] = np.searchsorted(classes, y)  # (n,) column of each row's class
        self.is_seen = np.isin(classes, shared.y[part.train])  # (c,)
        self.shares = metrics.row_shares(self.own, self.is_seen)
        self._prepared: tuple[Array, Question] | None = None
        self._sides: metrics.Sides | None = None
        self._stack: tuple[Stack, Future[NDArray[Any]]] | None = None

    def margins(self, model: ZeroShotClassifier, executor: Executor) -> Outcome | Future[Outcome]:
        """A device scores the models of a stack in one pass, and goes on while a thread fetches and sorts results."""
        scaled, question = self._question(model)
        if self._sides is None:
            self._sides = metrics.Sides(self.own, self.is_seen, scaled)
        stacked: tuple[Stack, int] | None = getattr(model, "_member", None)
        if stacked is not None and is_torch(scaled):
            stack, k = stacked
            if self._stack is None or self._stack[0] is not stack:
                best = stack.best_scores(scaled, question, self._sides)
                self._stack = stack, executor.submit(to_numpy, best)
            fetched = self._stack[1]
            return executor.submit(lambda: self._margins(fetched.result()[:, k], 0))
        found = metrics.best_scores(model._candidate_scorer(question)(scaled), self._sides)
        diverged = getattr(model, "diverged_", None) or 0
        if is_torch(found):
            return executor.submit(lambda: self._margins(to_numpy(found), diverged))
        return self._margins(to_numpy(found), diverged)

    def _margins(self, found: NDArray[Any], diverged: int) -> Outcome:
        """From `best_scores` (4, n)."""
        gap, largest, right, finite = metrics.gaps_from_best(found)
        return metrics.sort_margins(gap, largest, right, self.shares) if finite.all() else diverged

    def _question(self, model: ZeroShotClassifier) -> tuple[Array, Question]:
        if self._prepared is None:
            scaled = model._scale_rows(check_features(model, self.X, dense_for=None))
            self._prepared = scaled, model._question(scaled, choose_candidates(model, self.table, None))
        return self._prepared

    def scores(self, model: ZeroShotClassifier, table: SignatureTable | None = None) -> NDArray[Any]:
        """Scores (n, c) as a NumPy array; with a `table`, of classes as it describes them."""
        scaled, question = self._question(model)
        if table is not None:
            question = model._question(scaled, choose_candidates(model, table.select(self.table.classes), None))
        return to_numpy(model._candidate_scorer(question)(scaled))

    def few_shot_trial(self, model: ZeroShotClassifier) -> FewShotTrial | None:
        """These rows, to try examples and unlabelled rows on; None for a method that does not learn from them."""
        assert self._prepared is not None  # scores were asked for first
        return model._few_shot_trial(*self._prepared, self.own, self.is_seen)


def search_by_halving(
    settings: Sequence[Mapping[str, Any]],
    free: Sequence[str],
    folds: int,
    run: Callable[[Sequence[int], Sequence[int]], Outcomes],
    always: int | None = None,
    rivals: Sequence[Outcome] | None = None,
) -> Outcomes:
    """What came of the settings on the folds that they were tried on; those of one run differ in `free` names. The run
    of the place `always` goes on, and with `rivals`, what came of the present choices on the first fold, every run that
    none of them beats there."""
    # Where numbers of epochs are free, runs are those of the CPU on every device, so that the same ones go on.
    runs = group_settings(settings, ("epochs",) if "epochs" in free else free)
    found: Outcomes = {}
    if rivals is None and (short := _shortest_runs(settings, runs)):
        found |= run([0], short)
        # A prefix of a run is a shorter run, so what diverges early diverges in longer training too.
        for one in runs:
            steps = [step for place in one if isinstance(step := found.get((place, 0)), int)]
            found |= {(place, 0): steps[0] for place in one if steps}
        kept = _best_runs(runs, found, max(LONG_RUNS, -(-len(runs) // LONG_SHARE)))
    else:
        kept = runs
    left = sorted(place for one in runs if one in kept or always in one for place in one if (place, 0) not in found)
    found |= run([0], left) if left else {}
    kept = _best_runs(kept, found, KEPT_RUNS) if rivals is None else _unbeaten_runs(runs, found, rivals)
    going = sorted(place for one in runs if one in kept or always in one for place in one)
    return found | run(range(1, folds), going) if going and folds > 1 else found


def _shortest_runs(settings: Sequence[Mapping[str, Any]], runs: Sequence[Sequence[int]]) -> list[int]:
    """The place of each run with the fewest epochs, where there are many runs and these are much shorter."""
    shortest = [min(one, key=lambda place: settings[place].get("epochs", 0)) for one in runs]
    few, many = (
        sum(max(settings[place].get("epochs", 0) for place in one) for one in places)
        for places in ([[place] for place in shortest], runs)
    )
    return sorted(shortest) if len(runs) > LONG_RUNS and many >= LONGER * few > 0 else []


def _best_runs(runs: Iterable[list[int]], found: Outcomes, count: int) -> list[list[int]]:
    """As many of the runs as `count`, by each figure on the first fold; none of those that diverged."""
    sound = [(one, figures) for one in runs if (figures := _best_figures(found.get((place, 0)) for place in one))]
    orders = [sorted(range(len(sound)), key=lambda number: -sound[number][1][k])[:count] for k in range(2)]
    return [sound[number][0] for number in sorted({*orders[0], *orders[1]})]


def _unbeaten_runs(runs: Iterable[list[int]], found: Outcomes, rivals: Sequence[Outcome]) -> list[list[int]]:
    """The runs with a setting that is better on the first fold than all rivals, by either figure."""
    theirs = _best_figures(rivals) or (-np.inf, -np.inf)
    mine = [(one, _best_figures(found.get((place, 0)) for place in one)) for one in runs]
    return [one for one, figures in mine if figures and any(a > b for a, b in zip(figures, theirs, strict=True))]


def _best_figures(answers: Iterable[Outcome | None]) -> tuple[float, float] | None:
    """The highest zero-shot accuracy and the highest harmonic mean of some settings on a fold; None if all diverged."""
    both = [(part.zsl, float(best_constant([part])[1][0])) for part in answers if isinstance(part, Margins)]
    return (max(zsl for zsl, _ in both), max(harmonic for _, harmonic in both)) if both else None


# Grids of settings: their combinations, groups that one fit serves, and steps beyond an edge of what was tried


def expand_grid(grid: Grid, estimator: ZeroShotClassifier) -> list[dict[str, Any]]:
    """Every setting of a grid, each once. A single value needs no list: {"sigma": 0.8} means {"sigma": [0.8]}."""
    if not isinstance(grid, Iterable):
        raise ValueError(
            f"grid is {grid!r}: expected a mapping from a setting's name to its values, or a list of mappings"
        )
    parts = [grid] if isinstance(grid, Mapping) else list(grid)
    known = estimator.get_params(deep=False)
    lists = []
    for part in parts:
        if not isinstance(part, Mapping):
            raise ValueError(f"the grid holds {part!r}: expected mappings from a setting's name to its values")
        for name in part:
            if name not in known:
                raise ValueError(
                    f"the grid names {name!r}, which {type(estimator).__name__} does not have"
                    f"{suggest(name, known)}: expected some of {', '.join(known)}"
                )
        lists.append({name: setting_values(name, values) for name, values in part.items()})
    settings = [setting for part in lists or [{}] for setting in combine_values(part)]
    unique = {repr(sorted(setting.items(), key=lambda item: item[0])): setting for setting in settings}
    for setting in unique.values():
        check_grid(estimator, setting)
    return list(unique.values())


def setting_values(name: str, values: Any) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return [values]
    found = list(values)
    if not found:
        raise ValueError(f"the grid has no value for {name!r}: give at least one, or leave the name out")
    return found


def combine_values(part: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every choice of one value for each name, in the order of scikit-learn's `ParameterGrid`: names by the alphabet.

    >>> list(combine_values({"b": [1, 2], "a": [3]}))
    [{'a': 3, 'b': 1}, {'a': 3, 'b': 2}]
    """
    names = sorted(part)
    return (dict(zip(names, values, strict=True)) for values in product(*(part[name] for name in names)))


def check_grid(estimator: ZeroShotClassifier, setting: Mapping[str, Any]) -> None:
    """Refuse a bad value before any work."""
    own = getattr(copy_with_setting(estimator, setting), "_check_parameters", None)
    if own is not None:
        own()


def copy_with_setting(estimator: ZeroShotClassifier, setting: Mapping[str, Any]) -> ZeroShotClassifier:
    """The estimator with these settings, to ask it about them: a light copy that shares everything else."""
    if any("__" in name for name in setting):
        return clone(estimator).set_params(**setting)
    model = copy.copy(estimator)
    model.__dict__.update(setting)
    return model


def group_settings(settings: Sequence[Mapping[str, Any]], free: Sequence[str]) -> list[list[int]]:
    """Groups of places: the settings of a group differ only in the `free` names."""
    groups: dict[str, list[int]] = {}
    for place, setting in enumerate(settings):
        fixed = sorted((name, value) for name, value in setting.items() if name not in free)
        names = sorted(name for name in setting if name in free)
        groups.setdefault(repr((fixed, names)), []).append(place)
    return list(groups.values())


def check_bounds(extend: Any, estimator: ZeroShotClassifier) -> Bounds:
    if extend is None:
        return {}
    if not isinstance(extend, Mapping):
        raise ValueError(
            f"extend is {extend!r}: expected a mapping from a setting's name to (lowest, highest), or None"
        )
    known = estimator.get_params()
    found: dict[str, tuple[float, float]] = {}
    for name, pair in extend.items():
        if name not in known:
            raise ValueError(
                f"extend names {name!r}, which {type(estimator).__name__} does not have{suggest(name, known)}: "
                f"expected some of {', '.join(known)}"
            )
        ends = list(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else []
        if len(ends) != 2 or not all(map(is_grid_number, ends)) or ends[0] > ends[1]:
            raise ValueError(f"extend[{name!r}] is {pair!r}: expected (lowest, highest), two numbers in this order")
        found[name] = (ends[0], ends[1])
    return found


def is_grid_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)


def find_next_grid_value(values: Sequence[float], value: float, side: str, bounds: tuple[float, float]) -> float | None:
    """The value one step beyond `value`, which is at or beyond that end of the grid's `values`, at most the bound; None
    there. A grid of at least three equally distant values, or with one that is not positive, goes on by its last
    difference; another by the ratio of its last two values. Whole numbers stay whole."""
    up = side == "highest"
    last, before = (values[-1], values[-2]) if up else (values[0], values[1])
    limit = bounds[up]
    if _is_at_most_bound(limit, value) if up else _is_at_most_bound(value, limit):
        return None
    gaps = np.diff(values)
    even = len(gaps) > 1 and np.allclose(gaps, gaps[0], rtol=1e-6, atol=0)
    new = value + (last - before) if even or values[0] <= 0 else value * (last / before)
    if _are_whole_grid_values(values):
        new = max(round(new), value + 1) if up else min(round(new), value - 1)
        return min(new, limit) if up else max(new, limit)
    rounded = float(f"{new:.{DIGITS}g}")
    return float(min(rounded, limit) if up else max(rounded, limit))


def _is_at_most_bound(value: float, end: float) -> bool:
    """value ≤ end, but for rounding."""
    return value <= end or math.isclose(value, end, rel_tol=ROUNDING)


def _distinct_values(values: Sequence[float]) -> list[float]:
    """The values, rising, and of those that are the same but for rounding the lowest."""
    rising = sorted(set(values))
    return [value for k, value in enumerate(rising) if k == 0 or not _is_at_most_bound(value, rising[k - 1])]


def _are_whole_grid_values(values: Sequence[float]) -> bool:
    return all(isinstance(one, int | np.integer) for one in values)


class GridRange:
    """How far the numbers of a grid go, and how far they may: a choice at the edge says only that the best may lie
    beyond."""

    def __init__(self, estimator: ZeroShotClassifier, settings: Sequence[Setting], bounds: Bounds) -> None:
        self.estimator = estimator
        names = dict.fromkeys(name for setting in settings for name in setting)
        found = {name: [setting[name] for setting in settings if name in setting] for name in names}
        numbers = {name: _distinct_values(values) for name, values in found.items() if all(map(is_grid_number, values))}
        self.values = {name: values for name, values in numbers.items() if len(values) > 1}  # rising
        self.bounds: dict[str, tuple[float, float]] = {}
        for name, own in self.values.items():
            if name in bounds:
                low, high = bounds[name]
                self.bounds[name] = (
                    (math.ceil(low), math.floor(high)) if _are_whole_grid_values(own) else (float(low), float(high))
                )
                for end in self.bounds[name]:
                    check_grid(estimator, {**settings[0], name: end})
        # A stack on a GPU serves more settings than a fit on a CPU, but must not try more.
        on_any_device = copy_with_setting(estimator, {"device": None}) if hasattr(estimator, "device") else estimator
        self.free = on_any_device._free_settings(np.empty((0, 0)))

    def edges(self, settings: Sequence[Setting]) -> dict[int, tuple[Edge, ...]]:
        """For each place with a number at an edge these numbers, and what kept the search from going on."""
        tried = self._tried_ends(settings)
        found = {place: tuple(self._open_edges(setting, tried)) for place, setting in enumerate(settings)}
        return {place: edges for place, edges in found.items() if edges}

    def next_settings(self, settings: Sequence[Setting], places: Sequence[int]) -> list[dict[str, Any]]:
        """One step further in each number at an edge, with all values of other free settings: one fit serves them."""
        tried, effects = self._tried_ends(settings), set(map(self._effect, settings))
        new: dict[str, dict[str, Any]] = {}
        for place in dict.fromkeys(places):
            best = settings[place]
            for edge in self._open_edges(best, tried):
                name, bounds = edge.name, self.bounds.get(edge.name)
                to = None if bounds is None else find_next_grid_value(self.values[name], edge.value, edge.side, bounds)
                for setting in settings if to is not None else ():
                    if setting.get(name) == edge.value and self._same_fit(setting, best):
                        further = {**setting, name: to}
                        new.setdefault(self._effect(further), further)
        return [setting for effect, setting in new.items() if effect not in effects]

    def _tried_ends(self, settings: Sequence[Setting]) -> dict[tuple[str, str], tuple[float, float]]:
        """The lowest and highest value tried of each name, beside equal values of all others."""
        found: dict[tuple[str, str], tuple[float, float]] = {}
        for setting in settings:
            for name in self.values:
                # A default may be None, such as that of a seed.
                if is_grid_number(setting.get(name)):
                    key, value = (name, _other_values(setting, name)), setting[name]
                    low, high = found.get(key, (value, value))
                    found[key] = min(low, value), max(high, value)
        return found

    def _open_edges(self, setting: Setting, tried: Mapping[tuple[str, str], tuple[float, float]]) -> Iterator[Edge]:
        """Each number beyond which nothing was tried with these other values, with the bound where it is at one."""
        for name, values in self.values.items():
            if not is_grid_number(setting.get(name)):
                continue
            value = setting[name]
            lowest, highest = tried[name, _other_values(setting, name)]
            low, high = self.bounds.get(name, (-math.inf, math.inf))
            if _is_at_most_bound(value, min(values[0], lowest)) and self._matters(setting, name, values[-1]):
                yield Edge(name, value, SIDES[0], low if _is_at_most_bound(value, low) else None)
            if _is_at_most_bound(max(values[-1], highest), value) and self._matters(setting, name, values[0]):
                yield Edge(name, value, SIDES[1], high if _is_at_most_bound(high, value) else None)

    def _matters(self, setting: Setting, name: str, other: float) -> bool:
        return self._effect(setting) != self._effect({**setting, name: other})

    def _effect(self, setting: Setting) -> str:
        return repr(copy_with_setting(self.estimator, setting)._effective_settings())

    def _same_fit(self, setting: Setting, best: Setting) -> bool:
        """Whether two settings are the same, or differ in one free name."""
        if setting.keys() != best.keys():
            return False
        different = [name for name, value in best.items() if setting[name] != value]
        return not different or (len(different) == 1 and different[0] in self.free)


def _other_values(setting: Setting, without: str) -> str:
    return repr(sorted((name, value) for name, value in setting.items() if name != without))
