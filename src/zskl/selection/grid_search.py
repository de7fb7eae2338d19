"""What a worker does: train settings on one fold, and judge them on its validation rows."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from zskl import engines
from zskl._arrays import Array, is_torch, runs_on_gpu, to_numpy
from zskl.engines import Engine
from zskl.estimators._candidates import Question, choose_candidates
from zskl.estimators._class_means_adapt import ValidationBench
from zskl.estimators._class_means_scores import CrowdingScores
from zskl.estimators._inputs import check_features
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.kernel_classifier import StackMoment, ZeroShotKernelClassifier
from zskl.metrics.seen_unseen import Margins, Sides, best_scores, gaps_from_best, row_shares, sort_margins
from zskl.selection.class_folds import Material
from zskl.selection.grid import (
    Bounds,
    Grid,
    Reach,
    check_bounds,
    check_grid,
    copy_with_setting,
    expand_grid,
    group_settings,
)
from zskl.selection.search_results import SCORINGS, Search, best_constant, judge_settings
from zskl.signatures.table import SignatureTable
from zskl.training.solver import DivergenceError

# Fold worker ----------------------------------------------------------------------------------------------------------

Together = StackMoment | CrowdingScores  # models that a device scores in one pass


@dataclass(frozen=True)
class Task:
    """Settings that one fit serves, on one fold. `places` are their places in the search."""

    fold: int
    places: tuple[int, ...]
    settings: tuple[dict[str, Any], ...]


def run_task(material: Material, task: Task) -> list[tuple[int, Margins | int]]:
    """For each place its margins, or the step at which it diverged."""
    examiner = Examiner(material, task.fold)
    found: dict[int, Margins | int | Future[Margins | int]] = {}

    def visit(index: int, model: ZeroShotClassifier | DivergenceError) -> None:
        place = task.places[index]
        found[place] = model.step if isinstance(model, DivergenceError) else examiner.judge(model, aside)

    y = material.y[material.folds[task.fold].train]
    estimator = clone(material.estimator)
    with ThreadPoolExecutor(1) as aside:  # which starts no thread before its first job
        estimator._fit_together(task.settings, material.training(task.fold), y, material.table, visit)
    ended = {place: one.result() if isinstance(one, Future) else one for place, one in found.items()}
    return sorted(ended.items(), key=lambda item: item[0])


class Examiner:
    """Scores the validation rows of a fold for all its classes; models of one scaling share the scaled rows."""

    def __init__(self, material: Material, fold: int) -> None:
        part = material.folds[fold]
        self.X, y = material.validation(fold), material.y[part.validation]
        classes = np.unique(material.y[np.concatenate([part.train, part.validation])])
        self.table = material.table.select(classes)
        self.own: NDArray[np.int64] = np.searchsorted(classes, y)  # (n,) column of each row's class
        self.is_seen = np.isin(classes, material.y[part.train])  # (c,)
        self.shares = row_shares(self.own, self.is_seen)
        self._asked: tuple[Array, Question] | None = None
        self._sides: Sides | None = None
        self._moment: tuple[Together, Future[NDArray[Any]]] | None = None

    def judge(self, model: ZeroShotClassifier, aside: Executor) -> Margins | int | Future[Margins | int]:
        """The margins of a model, or the step at which it diverged. A device scores the models of a stack in one pass,
        and goes on while a thread fetches and sorts what it has found."""
        scaled, question = self._question(model)
        if self._sides is None:
            self._sides = Sides(self.own, self.is_seen, scaled)
        stacked: tuple[Together, int] | None = getattr(model, "_member", None)
        if stacked is not None and is_torch(scaled):
            moment, k = stacked
            if self._moment is None or self._moment[0] is not moment:
                best = moment.best_scores(scaled, question, self._sides)
                self._moment = moment, aside.submit(to_numpy, best)
            fetched = self._moment[1]
            return aside.submit(lambda: self._margins(fetched.result()[:, k], 0))
        found = best_scores(model._candidate_scorer(question)(scaled), self._sides)
        diverged = getattr(model, "diverged_", None) or 0
        if is_torch(found):
            return aside.submit(lambda: self._margins(to_numpy(found), diverged))
        return self._margins(to_numpy(found), diverged)

    def _margins(self, found: NDArray[Any], diverged: int) -> Margins | int:
        """From the best scores (4, n) of the rows."""
        gap, largest, right, finite = gaps_from_best(found)
        return sort_margins(gap, largest, right, self.shares) if finite.all() else diverged

    def _question(self, model: ZeroShotClassifier) -> tuple[Array, Question]:
        if self._asked is None:
            scaled = model._scale_rows(check_features(model, self.X, dense_for=None))
            self._asked = scaled, model._question(scaled, choose_candidates(model, self.table, None))
        return self._asked

    def scores(self, model: ZeroShotClassifier, table: SignatureTable | None = None) -> NDArray[Any]:
        """Scores (n, c) as a NumPy array; with a `table`, of classes as it describes them."""
        scaled, question = self._question(model)
        if table is not None:
            question = model._question(scaled, choose_candidates(model, table.select(self.table.classes), None))
        return to_numpy(model._candidate_scorer(question)(scaled))

    def bench(self, model: ZeroShotClassifier) -> ValidationBench | None:
        """These rows, to try examples and unlabelled rows on; None for a method that does not learn from them."""
        assert self._asked is not None  # scores were asked for first
        found: ValidationBench | None = model._few_shot_trial(*self._asked, self.own, self.is_seen)
        return found


# Halving --------------------------------------------------------------------------------------------------------------
# Which runs of a search go on to longer training and to further folds, when not all do.
#
# A run is a fit with all settings that it serves, such as the numbers of epochs. Every run is made on the first fold,
# with the fewest epochs. The better ones are made there with all epochs. The best of these, by either figure, go on to
# the other folds. A setting that is left behind cannot be chosen any more. Beyond the edge of a grid only runs that
# the present choices do not beat on the first fold go on.

KEPT = 4  # runs that go on to the other folds for each figure; a replay of whole searches is in docs/performance.md
TRAINED = 3  # one run of so many is trained for all its epochs, and at least LONG are
LONG = 12
LONGER = 3  # times as many epochs as the shortest: below, short runs would hardly be cheaper
CLASSES = 10  # held out by the first fold: fewer say little about other folds

Answer = Margins | int  # what came of a setting on a fold: its margins, or the step of divergence
Found = dict[tuple[int, int], Answer]  # by place and fold
Run = Callable[[Sequence[int], Sequence[int]], Found]  # tries places on folds


def should_halve(shared: Material) -> bool:
    """Whether a search halves where nobody says: a kernel that trains, and a first fold that says something."""
    held = np.unique(shared.y[shared.folds[0].val_unseen])
    return isinstance(shared.estimator, ZeroShotKernelClassifier) and len(held) >= CLASSES


def search_by_halving(
    settings: Sequence[Mapping[str, Any]],
    free: Sequence[str],
    folds: int,
    run: Run,
    always: int | None = None,
    rivals: Sequence[Answer] | None = None,
) -> Found:
    """What came of the settings on the folds that they were tried on.

    Settings of one run differ in `free` names. Where numbers of epochs are free, runs are those of the CPU on every
    device, so that the same ones go on. The run of the place `always` does. With `rivals`, what came of the present
    choices on the first fold, every run that none of them beats there does.
    """
    runs = group_settings(settings, ("epochs",) if "epochs" in free else free)
    found: Found = {}
    if rivals is None and (short := _shortest_runs(settings, runs)):
        found |= run([0], short)
        for one in runs:  # what diverges early diverges in longer training too: a prefix of a run is a shorter run
            steps = [step for place in one if isinstance(step := found.get((place, 0)), int)]
            found |= {(place, 0): steps[0] for place in one if steps}
        kept = _best_runs(runs, found, max(LONG, -(-len(runs) // TRAINED)))
    else:
        kept = runs
    left = sorted(place for one in runs if one in kept or always in one for place in one if (place, 0) not in found)
    if left:
        found |= run([0], left)
    kept = _best_runs(kept, found, KEPT) if rivals is None else _unbeaten_runs(runs, found, rivals)
    going = sorted(place for one in runs if one in kept or always in one for place in one)
    return found | run(range(1, folds), going) if going and folds > 1 else found


def _shortest_runs(settings: Sequence[Mapping[str, Any]], runs: Sequence[Sequence[int]]) -> list[int]:
    """The place of each run with the fewest epochs, where there are many runs and these are much shorter."""
    shortest = [min(one, key=lambda place: settings[place].get("epochs", 0)) for one in runs]
    few, many = (
        sum(max(settings[place].get("epochs", 0) for place in one) for one in places)
        for places in ([[place] for place in shortest], runs)
    )
    return sorted(shortest) if len(runs) > LONG and many >= LONGER * few > 0 else []


def _best_runs(runs: Iterable[list[int]], found: Mapping[tuple[int, int], Answer], count: int) -> list[list[int]]:
    """As many of the runs as `count`, by each figure on the first fold; none of those that diverged."""
    sound = [(one, figures) for one in runs if (figures := _best_figures(found.get((place, 0)) for place in one))]
    chosen = set()
    for k in range(2):
        order = sorted(range(len(sound)), key=lambda number: -sound[number][1][k])
        chosen |= set(order[:count])
    return [sound[number][0] for number in sorted(chosen)]


def _unbeaten_runs(
    runs: Iterable[list[int]], found: Mapping[tuple[int, int], Answer], rivals: Sequence[Answer]
) -> list[list[int]]:
    """The runs with a setting that is better on the first fold than all rivals, by either figure."""
    theirs = _best_figures(rivals) or (-np.inf, -np.inf)
    mine = [(one, _best_figures(found.get((place, 0)) for place in one)) for one in runs]
    return [one for one, figures in mine if figures and any(a > b for a, b in zip(figures, theirs, strict=True))]


def _best_figures(answers: Iterable[Answer | None]) -> tuple[float, float] | None:
    """The highest zero-shot accuracy and the highest harmonic mean of some settings on a fold; None if all diverged."""
    parts = [part for part in answers if isinstance(part, Margins)]
    if not parts:
        return None
    return max(part.zsl for part in parts), max(float(best_constant([part])[1][0]) for part in parts)


# Grid search ----------------------------------------------------------------------------------------------------------
# The search: every setting on every fold, by both figures at once; then on, where a choice is at an edge.

log = logging.getLogger(__name__)
Report = Callable[[int, int], object]  # runs done, runs in all


@dataclass(frozen=True)
class Plan:
    """The settings of a search, the runs that try them, and how far their numbers may be extended."""

    shared: Material
    settings: tuple[dict[str, Any], ...]
    tasks: tuple[Task, ...]
    reach: Reach
    default: int | None = None  # the place of the estimator's own setting
    keeps_default: bool = False
    halving: bool = False

    def beyond(self, settings: Sequence[dict[str, Any]]) -> Plan:
        """The runs of settings beyond the grid."""
        return replace(self, settings=tuple(settings), tasks=_make_tasks(self.shared, settings), default=None)

    def only(self, folds: Sequence[int], places: Sequence[int]) -> Plan:
        """The runs of some settings on some folds."""
        return replace(self, tasks=_make_tasks(self.shared, self.settings, folds, places))


def plan_search(
    shared: Material,
    grid: Grid,
    extend: Bounds | None = None,
    with_default: bool = False,
    halving: bool | None = False,
) -> Plan:
    """Refuse what is wrong with a grid and with bounds before any work is done.

    `with_default` tries the estimator's own setting too, last, unless it is in the grid, and keeps it unless another is
    better by the rule of `against_default`. With `halving` only the runs that the first fold finds promising go on to
    the others; None does so where it is sensible.
    """
    estimator = shared.estimator
    bounds = check_bounds(extend, estimator)
    settings = applicable_settings(expand_grid(grid, estimator), estimator, shared)
    reach = Reach(estimator, settings, bounds)
    default = _default_place(settings, estimator)
    if default is None and with_default and can_be_fitted(shared):
        known, names = estimator.get_params(), dict.fromkeys(name for setting in settings for name in setting)
        settings = [*settings, {name: known[name] for name in names}]
        default = len(settings) - 1
    halving = should_halve(shared) if halving is None else halving
    return Plan(shared, tuple(settings), _make_tasks(shared, settings), reach, default, with_default, halving)


def _default_place(settings: Sequence[dict[str, Any]], estimator: ZeroShotClassifier) -> int | None:
    """The place of the setting that changes nothing of the estimator."""
    own = spell_params(estimator._effective_settings())
    same = (
        place
        for place, one in enumerate(settings)
        if spell_params(copy_with_setting(estimator, one)._effective_settings()) == own
    )
    return next(same, None)


def spell_params(params: Mapping[str, Any]) -> str:
    """Parameters as text, the same for 1, 1.0 and NumPy's 1.0."""
    numbers = {
        name: float(value)
        for name, value in params.items()
        if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    }
    return repr({**params, **numbers})


def can_be_fitted(shared: Material) -> bool:
    """Whether the estimator could be fitted as it is."""
    try:
        check_grid(shared.estimator, {})
    except ValueError:
        return False
    return bool(shared.estimator._applies(np.shape(shared.X)[1], shared.table.matrix.shape[1]))


def _make_tasks(
    shared: Material,
    settings: Sequence[dict[str, Any]],
    folds: Sequence[int] | None = None,
    some: Sequence[int] | None = None,
) -> tuple[Task, ...]:
    """A run for each fold and each group of settings that one fit serves; for some folds and places alone, or all."""
    kept = range(len(settings)) if some is None else some
    groups = group_settings([settings[place] for place in kept], shared.estimator._free_settings(shared.X))
    tasks = [
        Task(fold, tuple(kept[k] for k in members), tuple(settings[kept[k]] for k in members))
        for fold in (range(len(shared.folds)) if folds is None else folds)
        for members in groups
    ]
    return tuple(sorted(tasks, key=lambda task: -_training_steps(task, shared.estimator)))


def _training_steps(task: Task, estimator: ZeroShotClassifier) -> float:
    """How long a run trains, for an order in which no worker is left alone with a long one at the end."""
    own = {name: getattr(estimator, name, 0) for name in ("epochs", "batch_size")}
    known = ({**own, **setting} for setting in task.settings)
    return max(float(one["epochs"]) / max(1.0, float(one["batch_size"])) for one in known)


def search_grid(planned: Plan, engine: Engine | None = None, report: Report | None = None) -> Search:
    """Make all runs and judge every setting; then go on wherever a choice is at an edge."""
    shared, runner, made = planned.shared, _choose_runner(planned.shared, engine), 0
    before: Search | None = None  # what was tried before, where a search is halved,
    first: list[Answer] = []  # and what came of each setting of it on the first fold

    def run(part: Plan) -> Found:
        nonlocal made
        past, made = made, made + len(part.tasks)
        return examine_settings(part, ready, lambda done, _: report(past + done, made) if report is not None else None)

    def tried(part: Plan) -> Search:
        nonlocal before
        if not part.halving or len(shared.folds) == 1:
            return judge_settings(part.settings, shared.folds, run(part))
        found = search_by_halving(
            *(part.settings, shared.estimator._free_settings(shared.X), len(shared.folds)),
            *(lambda *some: run(part.only(*some)), part.default),
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
        found = extend_search(tried(planned), planned.reach, lambda settings: tried(planned.beyond(settings)))
    log.info("searched %d settings in %.1f s", len(found.settings), time.perf_counter() - began)
    return replace(found, default=planned.default, keeps_default=planned.keeps_default)


def extend_search(found: Search, reach: Reach, attempt: Callable[[Sequence[dict[str, Any]]], Search]) -> Search:
    """The search, extended by what `attempt` says about settings beyond the grid, until no choice asks for more."""
    while beyond := reach.steps(found.settings, chosen_places(found)):
        found = found.joined(attempt(beyond))
    return replace(found, edges=reach.edges(found.settings))


def chosen_places(found: Search) -> list[int]:
    """The places that the scorings choose, as far as the folds allow these and not everything diverged."""
    scorings = SCORINGS if all(len(fold.val_seen) for fold in found.folds) else SCORINGS[:1]
    places = [int(found.ranking(scoring)[0]) for scoring in scorings]
    return [place for place in places if place not in found.diverged and place not in found.dropped]


def examine_settings(planned: Plan, engine: Engine | None = None, report: Report | None = None) -> Found:
    """What came of each place on each fold: its margins, or the step of divergence."""
    shared, tasks = planned.shared, planned.tasks
    found: Found = {}
    device = runs_on_gpu(shared.X, getattr(shared.estimator, "device", None))
    limits = threadpool_limits(1) if device else nullcontext()  # what is left to the processor is small
    with limits, closing(engines.each(run_task, tasks, shared, _choose_runner(shared, engine))) as results:
        for done, (number, answers) in enumerate(results, start=1):
            found.update({(place, tasks[number].fold): answer for place, answer in answers})
            if report is not None:
                report(done, len(tasks))
    return found


def _choose_runner(shared: Material, engine: Engine | None) -> Engine | None:
    """On a GPU everything runs in this process."""
    return None if runs_on_gpu(shared.X, getattr(shared.estimator, "device", None)) else engine


def applicable_settings(
    settings: list[dict[str, Any]], estimator: ZeroShotClassifier, shared: Material
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
