"""The search for a committee: each member by itself on the same folds, then weights and temperatures of the best.

A member is searched as it would be alone. Its settings with the best zero-shot accuracy and the best harmonic mean go
on. Their scores of validation rows are computed once; every mixture of them is judged from these. The committee as it
is, its default setting, is compared with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from zskl import engines
from zskl.engines import Engine
from zskl.estimators.committee.classifier import Committee
from zskl.estimators.committee.composition import DROP
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.metrics.seen_unseen import Margins, margins
from zskl.parameters import did_you_mean
from zskl.selection import temperatures
from zskl.selection.constant import Scored
from zskl.selection.edges import Bounds, Edge, check_bounds
from zskl.selection.fold_worker import Examiner
from zskl.selection.grid import Grid
from zskl.selection.grid_search import Plan, Report, plan, search_grid, usable
from zskl.selection.material import Material
from zskl.selection.search_results import SCORINGS, Search, judge
from zskl.training.solver import DivergenceError

TENTHS = {2: 10, 3: 6}  # members → into how many shares the weight is divided; more members share it in MANY
MANY = 4
OWN = ("weights", "member_temperatures")  # settings of the committee itself that a grid may name


@dataclass(frozen=True)
class Candidate:
    """A setting of one member, with its scores of the validation rows of each fold and the temperature they ask for."""

    setting: Mapping[str, Any]
    scored: tuple[Scored, ...]
    temperature: float
    edges: tuple[Edge, ...]


def search_members(
    shared: Material,
    committee: Committee,
    grid: Grid,
    engine: Engine | None,
    report: Report | None,
    extend: Bounds | None = None,
    with_default: bool = False,
    halving: bool | None = False,
) -> Search:
    """All mixtures as settings, with nested names for those of the members, by both figures; the default comes last."""
    committee._check_parameters()
    own, grids = divided(grid, committee)
    for key, values in own.items():
        for value in values:
            clone(committee).set_params(**{key: value})._check_parameters()
    bounds = check_bounds(extend, committee)
    for key in bounds:
        if "__" not in key:
            example = next(name for name in committee.get_params() if "__" in name)
            raise ValueError(f"extend names {key!r}: expected a setting of a member, such as {example!r}")
    plans = {}
    for name, member in committee._hired():
        mine = {key.removeprefix(f"{name}__"): ends for key, ends in bounds.items() if key.startswith(f"{name}__")}
        plans[name] = plan(replace(shared, estimator=member), grids[name], mine, halving=halving)
    runs = {name: 0 if len(planned.settings) == 1 else len(planned.tasks) for name, planned in plans.items()}
    candidates = {name: _candidates(plans[name], name, runs, engine, report, with_default) for name in plans}
    settings: list[dict[str, Any]] = []
    found: dict[tuple[int, int], Margins | int] = {}
    edges: dict[int, tuple[Edge, ...]] = {}

    def add(members: Mapping[str, Candidate], weights: list[float], heat: list[float]) -> None:
        kept = [k for k, (_, member) in enumerate(committee._listed()) if member != DROP]
        factors = [weights[k] / heat[k] for k in kept]
        for fold in range(len(shared.folds)):
            scored = [one.scored[fold] for one in members.values()]
            total = sum(f * scores for f, (scores, _, _) in zip(factors, scored, strict=True))
            found[len(settings), fold] = margins(np.asarray(total), *scored[0][1:])
        nested = {f"{name}__{key}": value for name, one in members.items() for key, value in one.setting.items()}
        edges[len(settings)] = tuple(
            replace(edge, name=f"{name}__{edge.name}") for name, one in members.items() for edge in one.edges
        )
        settings.append({**nested, "weights": list(weights), "member_temperatures": list(heat)})

    for chosen in product(*(best for best, _ in candidates.values())):
        members = dict(zip(candidates, chosen, strict=True))
        for weights, heat in product(*_mixtures(committee, own, members)):
            add(members, weights, heat)
    defaults = {name: default for name, (_, default) in candidates.items() if default is not None}
    compared = len(defaults) == len(candidates)
    if compared:
        add(defaults, *_default_mixture(committee))
    judged = replace(judge(settings, shared.folds, found), edges=edges, keeps_default=with_default)
    return replace(judged, default=len(settings) - 1) if compared else judged


def divided(grid: Grid, committee: Committee) -> tuple[dict[str, list[Any]], dict[str, list[dict[str, Any]]]]:
    """What a grid says about the committee itself, and about each member."""
    names = [name for name, member in committee._listed() if member != DROP]
    known = committee.get_params()
    own: dict[str, list[Any]] = {}
    grids: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for part in [grid] if isinstance(grid, Mapping) else list(grid):
        mine: dict[str, dict[str, Any]] = {name: {} for name in names}
        for key, values in part.items():
            name, nested, setting = str(key).partition("__")
            if key in OWN:
                several = len(values) > 0 and np.ndim(values[0]) > 0
                own[key] = [*own.get(key, []), *(values if several else [values])]
            elif nested and name in mine and key in known:
                mine[name][setting] = values
            else:
                raise ValueError(
                    f"the grid names {key!r}, which this committee does not have{did_you_mean(str(key), known)}: "
                    f"expected weights, member_temperatures, or a setting of {' or '.join(names)}, such as "
                    f"{next(one for one in known if one.startswith(names[0] + '__'))!r}"
                )
        for name, settings in mine.items():
            if settings not in grids[name]:
                grids[name].append(settings)
    return own, grids


def _candidates(
    planned: Plan, name: str, runs: dict[str, int], engine: Engine | None, report: Report | None, with_default: bool
) -> tuple[list[Candidate], Candidate | None]:
    """The settings of a member that go on: the best by either figure; and its own one, if asked for and if it can be.

    `runs` counts those of every member.
    """
    before = sum(list(runs.values())[: list(runs).index(name)])

    def reported(done: int, own: int) -> None:
        runs[name] = own  # it grows with the grid
        if report is not None:
            report(before + done, sum(runs.values()))

    settings: list[dict[str, Any]] = list(planned.settings)
    edges: list[tuple[Edge, ...]] = [()] * len(planned.settings)
    if runs[name]:  # of a single setting there is nothing to find out
        search = search_grid(planned, engine, reported)
        places = dict.fromkeys(int(search.ranking(scoring)[0]) for scoring in SCORINGS)
        picked = [search.pick("zsl", place) for place in places]
        settings, edges = [dict(one.setting) for one in picked], [one.edges for one in picked]
    shared, best = planned.shared, len(settings)
    known = shared.estimator.get_params()
    default = {key: known[key] for key in dict.fromkeys(key for one in planned.settings for key in one)}
    with_default = with_default and usable(shared)
    if with_default and default not in settings:
        settings, edges = [*settings, default], [*edges, ()]
    models = [clone(shared.estimator).set_params(**setting) for setting in settings]
    tasks = [(model, fold) for model in models for fold in range(len(shared.folds))]
    with closing(engines.each(_score, tasks, shared, engine)) as results:
        scored = [scores for _, scores in sorted(results, key=lambda one: one[0])]
    folds = len(shared.folds)
    found = [_candidate(setting, scored[k * folds : (k + 1) * folds], edges[k]) for k, setting in enumerate(settings)]
    whole = [one for one in found[:best] if one is not None]
    if not whole:
        raise ValueError(f"member {name!r} diverged on a fold: expected a lower learning rate; set one")
    return whole, found[settings.index(default)] if with_default else None


def _score(shared: Material, task: tuple[ZeroShotClassifier, int]) -> Scored | None:
    """Scores of a fold's validation rows by a model fitted on its training rows; None if it diverges."""
    model, fold = task
    rows = shared.folds[fold].train
    try:
        fitted = clone(model).fit(shared.training(fold), shared.y[rows], shared.table)
    except DivergenceError:
        return None
    examiner = Examiner(shared, fold)
    return examiner.scores(fitted), examiner.own, examiner.is_seen


def _candidate(
    setting: Mapping[str, Any], scored: Sequence[Scored | None], edges: tuple[Edge, ...]
) -> Candidate | None:
    """Its temperature fits all rows before all classes: held-out classes alone may be too few to tell."""
    whole = tuple(one for one in scored if one is not None)
    if len(whole) < len(scored):
        return None
    heat = temperatures.fit([(scores, own) for scores, own, _ in whole], "the fold's")
    return Candidate(setting, whole, float(f"{heat:.4g}"), edges)


def _mixtures(
    committee: Committee, own: Mapping[str, list[Any]], members: Mapping[str, Candidate]
) -> tuple[list[list[float]], list[list[float]]]:
    """Weights and temperatures to try, each with a number for every member, dropped ones too."""
    names = [name for name, _ in committee._listed()]
    weights, heat = (
        own.get(key) or ([] if getattr(committee, key) is None else [getattr(committee, key)]) for key in OWN
    )
    fitted = [[members[name].temperature if name in members else 1.0 for name in names]]
    drawn = [[shares.get(name, 0.0) for name in names] for shares in _shares(list(members))]
    return [list(map(float, one)) for one in weights or drawn], [list(map(float, one)) for one in heat or fitted]


def _default_mixture(committee: Committee) -> tuple[list[float], list[float]]:
    """Weights and temperatures of the committee as it is, with a number for every member, dropped ones too."""
    numbers = zip(committee._weights().tolist(), committee._member_temperatures().tolist(), strict=True)
    pairs = [(0.0, 1.0) if member == DROP else next(numbers) for _, member in committee._listed()]
    return [weight for weight, _ in pairs], [heat for _, heat in pairs]


def _shares(names: Sequence[str]) -> list[dict[str, float]]:
    """All ways to divide a weight of 1 so that every member has a share."""
    parts = TENTHS.get(len(names), max(MANY, len(names)))
    if len(names) == 1:
        return [{names[0]: 1.0}]
    found = []
    for some in product(range(1, parts), repeat=len(names) - 1):
        left = parts - sum(some)
        if left >= 1:
            shares: NDArray[np.float64] = np.array([*some, left]) / parts
            found.append(dict(zip(names, np.round(shares, 4).tolist(), strict=True)))
    return found
