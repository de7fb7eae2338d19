"""The search: every setting on every fold, by both figures at once; then on, where a choice is at an edge."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from zskl import engines
from zskl.arrays import on_gpu
from zskl.engines import Engine
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.metrics.seen_unseen import Margins
from zskl.selection import halving as halves
from zskl.selection.edges import Bounds, Reach, check_bounds
from zskl.selection.fold_worker import Task, examine
from zskl.selection.grid import Grid, check, expand, group, with_setting
from zskl.selection.material import Material
from zskl.selection.search_results import SCORINGS, Search, judge

log = logging.getLogger(__name__)
Report = Callable[[int, int], object]  # runs done, runs in all
Found = dict[tuple[int, int], Margins | int]  # place and fold → margins, or the step of divergence


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
        """The runs of settings beyond the grid, all on every fold."""
        return replace(self, settings=tuple(settings), tasks=_tasks(self.shared, settings), halving=False)

    def only(self, folds: Sequence[int], places: Sequence[int]) -> Plan:
        """The runs of some settings on some folds."""
        return replace(self, tasks=_tasks(self.shared, self.settings, folds, places))


def plan(
    shared: Material,
    grid: Grid,
    extend: Bounds | None = None,
    with_default: bool = False,
    halving: bool = False,
) -> Plan:
    """Refuse what is wrong with a grid and with bounds before any work is done.

    `with_default` tries the estimator's own setting too, last, unless it is in the grid, and keeps it unless another is
    better by the rule of `against_default`. With `halving` only the runs that the first fold finds promising go on to
    the others.
    """
    estimator = shared.estimator
    bounds = check_bounds(extend, estimator)
    settings = applicable(expand(grid, estimator), estimator, shared)
    reach = Reach(estimator, settings, bounds)
    default = _default(settings, estimator)
    if default is None and with_default and usable(shared):
        known, names = estimator.get_params(), dict.fromkeys(name for setting in settings for name in setting)
        settings = [*settings, {name: known[name] for name in names}]
        default = len(settings) - 1
    return Plan(shared, tuple(settings), _tasks(shared, settings), reach, default, with_default, halving)


def _default(settings: Sequence[dict[str, Any]], estimator: ZeroShotClassifier) -> int | None:
    """The place of the setting that changes nothing of the estimator."""
    own = spelled(estimator._effective())
    same = (place for place, one in enumerate(settings) if spelled(with_setting(estimator, one)._effective()) == own)
    return next(same, None)


def spelled(params: Mapping[str, Any]) -> str:
    """Parameters as text, the same for 1, 1.0 and NumPy's 1.0."""
    numbers = {
        name: float(value)
        for name, value in params.items()
        if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    }
    return repr({**params, **numbers})


def usable(shared: Material) -> bool:
    """Whether the estimator could be fitted as it is."""
    try:
        check(shared.estimator, {})
    except ValueError:
        return False
    return bool(shared.estimator._applies(np.shape(shared.X)[1], shared.table.matrix.shape[1]))


def _tasks(
    shared: Material,
    settings: Sequence[dict[str, Any]],
    folds: Sequence[int] | None = None,
    some: Sequence[int] | None = None,
) -> tuple[Task, ...]:
    """A run for each fold and each group of settings that one fit serves; for some folds and places alone, or all."""
    kept = range(len(settings)) if some is None else some
    groups = group([settings[place] for place in kept], shared.estimator._free(shared.X))
    return tuple(
        Task(fold, tuple(kept[k] for k in members), tuple(settings[kept[k]] for k in members))
        for fold in (range(len(shared.folds)) if folds is None else folds)
        for members in groups
    )


def search_grid(planned: Plan, engine: Engine | None = None, report: Report | None = None) -> Search:
    """Make all runs and judge every setting; then go on wherever a choice is at an edge."""
    shared, runner, made = planned.shared, _runner(planned.shared, engine), 0

    def run(part: Plan) -> Found:
        nonlocal made
        before, made = made, made + len(part.tasks)
        return examined(part, ready, lambda done, _: report(before + done, made) if report is not None else None)

    def tried(part: Plan) -> Search:
        if not part.halving or len(shared.folds) == 1:
            return judge(part.settings, shared.folds, run(part))
        found = run(part.only([0], range(len(part.settings))))
        left = halves.promising(part.settings, shared.estimator._free(shared.X), found, part.default)
        log.info("%d of %d settings go on from the first fold", len(left), len(part.settings))
        found |= run(part.only(range(1, len(shared.folds)), left))
        return judge(part.settings, shared.folds, found)

    log.info("searching: %d settings, %d folds, %d runs", len(planned.settings), len(shared.folds), len(planned.tasks))
    began = time.perf_counter()
    with engines.opened(runner) if runner is not None else nullcontext() as ready:
        found = walked(tried(planned), planned.reach, lambda settings: tried(planned.beyond(settings)))
    log.info("searched %d settings in %.1f s", len(found.settings), time.perf_counter() - began)
    return replace(found, default=planned.default, keeps_default=planned.keeps_default)


def walked(found: Search, reach: Reach, attempt: Callable[[Sequence[dict[str, Any]]], Search]) -> Search:
    """The search, extended by what `attempt` says about settings beyond the grid, until no choice asks for more."""
    while beyond := reach.steps(found.settings, chosen(found)):
        found = found.joined(attempt(beyond))
    return replace(found, edges=reach.edges(found.settings))


def chosen(found: Search) -> list[int]:
    """The places that the scorings choose, as far as the folds allow these and not everything diverged."""
    scorings = SCORINGS if all(len(fold.val_seen) for fold in found.folds) else SCORINGS[:1]
    places = [int(found.ranking(scoring)[0]) for scoring in scorings]
    return [place for place in places if place not in found.diverged and place not in found.dropped]


def examined(planned: Plan, engine: Engine | None = None, report: Report | None = None) -> Found:
    """What came of each place on each fold: its margins, or the step of divergence."""
    shared, tasks = planned.shared, planned.tasks
    found: Found = {}
    device = on_gpu(shared.X, getattr(shared.estimator, "device", None))
    limits = threadpool_limits(1) if device else nullcontext()  # what is left to the processor is small
    with limits, closing(engines.each(examine, tasks, shared, _runner(shared, engine))) as results:
        for done, (number, answers) in enumerate(results, start=1):
            found.update({(place, tasks[number].fold): answer for place, answer in answers})
            if report is not None:
                report(done, len(tasks))
    return found


def _runner(shared: Material, engine: Engine | None) -> Engine | None:
    """On a GPU everything runs in this process."""
    return None if on_gpu(shared.X, getattr(shared.estimator, "device", None)) else engine


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
