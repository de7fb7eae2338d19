"""The searches of pipelines and committees, by searches of the estimators in them.

For each setting of a pipeline's transformers every fold is transformed once; the search of the last step then shares
fits as it does without a pipeline. Each member of a committee is searched by itself on the same folds. The scores of
its best settings, by either figure, are computed once, and every mixture of weights and temperatures is judged from
these, the committee as it is among them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from zskl import engines
from zskl._validation import suggest
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.committee import DROP, Committee
from zskl.methods import prefix_settings
from zskl.metrics import row_margins
from zskl.selection.calibration import Scored, fit_temperature
from zskl.selection.class_folds import FoldData, clone_with_settings, last_step, transform_folds
from zskl.selection.grid_search import (
    FoldScorer,
    Grid,
    Outcomes,
    SearchOptions,
    SearchPlan,
    can_be_fitted,
    check_bounds,
    combine_values,
    expand_grid,
    plan_search,
    search_grid,
    setting_values,
    spell_params,
)
from zskl.selection.search_results import FIGURES, SCORINGS, Edge, Search, judge_settings
from zskl.training.solver import DivergenceError

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

Case = tuple[Mapping[str, Any], tuple[Mapping[str, Any], ...]]  # a setting of transformers, grids of the last step
SearchLast = Callable[[FoldData, Grid, SearchOptions], Search]  # the search of a last step
SHARES = {2: 10, 3: 6}  # members → into how many parts the weight is divided; of more members into MANY
MANY = 4
OWN = ("weights", "member_temperatures")  # settings of the committee itself that a grid may name


def search_pipeline(shared: FoldData, grid: Grid, options: SearchOptions, search_last: SearchLast) -> Search:
    """The searches of the last step for all settings of the transformers, as one."""
    pipeline, last = shared.estimator, shared.estimator.steps[-1][0]
    cases = _transformer_settings(grid, pipeline)
    for name in options.extend or ():
        if not str(name).startswith(f"{last}__"):
            raise ValueError(
                f"extend names {name!r}: expected a setting of the last step, such as {_example_step(pipeline)!r}"
            )
    bounds = {name.removeprefix(f"{last}__"): ends for name, ends in (options.extend or {}).items()}
    report = options.report
    default = None
    if options.with_default:
        own = _spell_pipeline(pipeline)
        spelled = (_spell_pipeline(clone_with_settings(pipeline, setting)) for setting, _ in cases)
        default = next((place for place, one in enumerate(spelled) if one == own), len(cases))
        cases += [_default_transformers(cases, pipeline)] if default == len(cases) else []
    ranker = last_step(pipeline)
    # A bad value is refused before any work; the search of a committee does so itself.
    for _, grids in cases if not isinstance(ranker, Committee) else ():
        expand_grid(grids, ranker)
    found: list[Search] = []
    before = made = 0

    def report_part(done: int, runs: int) -> None:
        nonlocal made
        made = before + runs
        assert report is not None
        # The searches to come are taken to be as long as this one.
        report(before + done, before + runs * (len(cases) - len(found)))

    for place, (setting, grids) in enumerate(cases):
        before = made
        part = transform_folds(replace(shared, estimator=clone_with_settings(pipeline, setting)))
        told = None if report is None else report_part
        mine = replace(options, report=told, extend=bounds, with_default=place == default)
        found.append(search_last(part, grids, mine))
    return replace(_merge_searches(cases, found, last, default), keeps_default=options.with_default)


def _transformer_settings(grid: Grid, pipeline: "Pipeline") -> list[Case]:
    """The settings of the transformers in a grid, each once."""
    if not isinstance(grid, Iterable):
        raise ValueError(f"grid is {grid!r}: expected a mapping from step__parameter to values, or a list of mappings")
    known, last = pipeline.get_params(), pipeline.steps[-1][0]
    steps = {name for name, _ in pipeline.steps[:-1]}
    found: dict[str, Case] = {}
    for part in [grid] if isinstance(grid, Mapping) else list(grid):
        if not isinstance(part, Mapping):
            raise ValueError(f"the grid holds {part!r}: expected mappings from step__parameter to values")
        ours: dict[str, list[Any]] = {}
        theirs: dict[str, Any] = {}
        for name, values in part.items():
            step = str(name).partition("__")[0]
            if name not in known or not (step in steps or (step == last and name != last)):
                near = "" if name in known else suggest(str(name), known)
                raise ValueError(
                    f"the grid names {name!r}{near}: expected a step of the pipeline and its parameter, such as "
                    f"{_example_step(pipeline)!r}"
                )
            if step == last:
                theirs[str(name).removeprefix(f"{last}__")] = values
            else:
                ours[name] = setting_values(name, values)
        for setting in combine_values(ours):
            _, grids = found.get(repr(setting), (setting, ()))
            found[repr(setting)] = setting, (*grids, theirs)
    return list(found.values())


def _example_step(pipeline: "Pipeline") -> str:
    last = pipeline.steps[-1][0]
    return next(str(one) for one in pipeline.get_params() if one.startswith(f"{last}__"))


def _spell_pipeline(pipeline: "Pipeline") -> str:
    """The settings of all steps as text; of the steps themselves, which repeat them as written, the kind."""
    settings = pipeline.get_params()
    steps = {name for name in settings if any(other.startswith(f"{name}__") for other in settings)}
    kinds = {name: type(settings[name]) for name in steps}
    return spell_params({name: value for name, value in (settings | kinds).items() if name != "steps"})


def _default_transformers(cases: Sequence[Case], pipeline: "Pipeline") -> Case:
    """The pipeline as it is, under the names of the grid."""
    known, last = pipeline.get_params(), last_step(pipeline).get_params()
    names = [name for _, grids in cases for part in grids for name in part]
    grid = {name: [last[name]] for name in names if last[name] is not None}
    return {name: known[name] for setting, _ in cases for name in setting}, (grid,)


def _merge_searches(cases: Sequence[Case], found: Sequence[Search], last: str, default: int | None) -> Search:
    """All settings of all searches, those beyond the grid last."""
    pairs = [(k, place) for k, one in enumerate(found) for place in range(len(one.settings))]
    order = sorted(pairs, key=lambda pair: pair[1] >= len(found[pair[0]].settings) - found[pair[0]].extended)
    at = {pair: number for number, pair in enumerate(order)}
    own = None if default is None else found[default].default
    figures: dict[str, Any] = {
        name: np.array([getattr(found[k], name)[place] for k, place in order]) for name in FIGURES
    }
    return Search(
        settings=tuple({**cases[k][0], **prefix_settings(last, found[k].settings[place])} for k, place in order),
        folds=found[0].folds,
        **figures,
        diverged={at[k, place]: step for k, one in enumerate(found) for place, step in one.diverged.items()},
        extended=sum(one.extended for one in found),
        edges={
            at[k, place]: tuple(replace(edge, name=f"{last}__{edge.name}") for edge in edges)
            for k, one in enumerate(found)
            for place, edges in one.edges.items()
        },
        default=None if default is None or own is None else at[default, own],
        dropped=frozenset(at[k, place] for k, one in enumerate(found) for place in one.dropped),
    )


@dataclass(frozen=True)
class MemberSetting:
    """A setting of one member, with its scores of the validation rows of each fold and the temperature they ask for."""

    setting: Mapping[str, Any]
    scored: tuple[Scored, ...]
    temperature: float
    edges: tuple[Edge, ...]


def search_members(shared: FoldData, grid: Grid, options: SearchOptions) -> Search:
    """All mixtures as settings, with nested names for those of the members, by both figures; the default comes last."""
    committee: Committee = shared.estimator
    committee._check_parameters()
    own, grids = divide_grid(grid, committee)
    for key, values in own.items():
        for value in values:
            clone(committee).set_params(**{key: value})._check_parameters()
    bounds = check_bounds(options.extend, committee)
    for key in bounds:
        if "__" not in key:
            example = next(name for name in committee.get_params() if "__" in name)
            raise ValueError(f"extend names {key!r}: expected a setting of a member, such as {example!r}")
    plans = {}
    for name, member in committee._clone_members():
        mine = {key.removeprefix(f"{name}__"): ends for key, ends in bounds.items() if key.startswith(f"{name}__")}
        plans[name] = plan_search(replace(shared, estimator=member), grids[name], mine, halving=options.halving)
    runs = {name: 0 if len(planned.settings) == 1 else len(planned.tasks) for name, planned in plans.items()}
    candidates = {name: _member_candidates(plans[name], name, runs, options) for name in plans}
    settings: list[dict[str, Any]] = []
    found: Outcomes = {}
    edges: dict[int, tuple[Edge, ...]] = {}

    def add(members: Mapping[str, MemberSetting], weights: list[float], heat: list[float]) -> None:
        kept = [k for k, (_, member) in enumerate(committee._member_pairs()) if member != DROP]
        factors = [weights[k] / heat[k] for k in kept]
        for fold in range(len(shared.folds)):
            scored = [one.scored[fold] for one in members.values()]
            total = sum(f * scores for f, (scores, _, _) in zip(factors, scored, strict=True))
            found[len(settings), fold] = row_margins(np.asarray(total), *scored[0][1:])
        nested = {f"{name}__{key}": value for name, one in members.items() for key, value in one.setting.items()}
        edges[len(settings)] = tuple(
            replace(edge, name=f"{name}__{edge.name}") for name, one in members.items() for edge in one.edges
        )
        settings.append({**nested, "weights": list(weights), "member_temperatures": list(heat)})

    for chosen in product(*(best for best, _ in candidates.values())):
        members = dict(zip(candidates, chosen, strict=True))
        for weights, heat in product(*_list_mixtures(committee, own, members)):
            add(members, weights, heat)
    defaults = {name: default for name, (_, default) in candidates.items() if default is not None}
    compared = len(defaults) == len(candidates)
    if compared:
        numbers = zip(committee._member_weights().tolist(), committee._member_temperatures().tolist(), strict=True)
        pairs = [(0.0, 1.0) if member == DROP else next(numbers) for _, member in committee._member_pairs()]
        add(defaults, [weight for weight, _ in pairs], [heat for _, heat in pairs])
    judged = replace(judge_settings(settings, shared.folds, found), edges=edges, keeps_default=options.with_default)
    return replace(judged, default=len(settings) - 1) if compared else judged


def divide_grid(grid: Grid, committee: Committee) -> tuple[dict[str, list[Any]], dict[str, list[dict[str, Any]]]]:
    """What a grid says about the committee itself, and about each member."""
    names = [name for name, member in committee._member_pairs() if member != DROP]
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
                    f"the grid names {key!r}, which this committee does not have{suggest(str(key), known)}: "
                    f"expected weights, member_temperatures, or a setting of {' or '.join(names)}, such as "
                    f"{next(one for one in known if one.startswith(names[0] + '__'))!r}"
                )
        for name, settings in mine.items():
            if settings not in grids[name]:
                grids[name].append(settings)
    return own, grids


def _member_candidates(
    planned: SearchPlan, name: str, runs: dict[str, int], options: SearchOptions
) -> tuple[list[MemberSetting], MemberSetting | None]:
    """The settings of a member that go on: the best by either figure; and its own one, if asked for and possible."""
    before = sum(list(runs.values())[: list(runs).index(name)])

    def report_member(done: int, own: int) -> None:
        runs[name] = own  # it grows with the grid
        if options.report is not None:
            options.report(before + done, sum(runs.values()))

    settings: list[dict[str, Any]] = list(planned.settings)
    edges: list[tuple[Edge, ...]] = [()] * len(planned.settings)
    # Of a single setting there is nothing to find out.
    if runs[name]:
        search = search_grid(planned, options.engine, report_member)
        places = dict.fromkeys(int(search.ranking(scoring)[0]) for scoring in SCORINGS)
        picked = [search.pick("zsl", place) for place in places]
        settings, edges = [dict(one.setting) for one in picked], [one.edges for one in picked]
    shared, best = planned.shared, len(settings)
    known = shared.estimator.get_params()
    default = {key: known[key] for key in dict.fromkeys(key for one in planned.settings for key in one)}
    with_default = options.with_default and can_be_fitted(shared)
    if with_default and default not in settings:
        settings, edges = [*settings, default], [*edges, ()]
    models = [clone(shared.estimator).set_params(**setting) for setting in settings]
    tasks = [(model, fold) for model in models for fold in range(len(shared.folds))]
    with closing(engines.each(_score_member_fold, tasks, shared, options.engine)) as results:
        scored = [scores for _, scores in sorted(results, key=lambda one: one[0])]
    folds = len(shared.folds)
    found = [
        _make_candidate(setting, scored[k * folds : (k + 1) * folds], edges[k]) for k, setting in enumerate(settings)
    ]
    whole = [one for one in found[:best] if one is not None]
    if not whole:
        raise ValueError(f"member {name!r} diverged on a fold: expected a lower learning rate; set one")
    return whole, found[settings.index(default)] if with_default else None


def _score_member_fold(shared: FoldData, task: tuple[ZeroShotClassifier, int]) -> Scored | None:
    """Scores of a fold's validation rows by a model fitted on its training rows; None if it diverges."""
    model, fold = task
    try:
        fitted = clone(model).fit(shared.training(fold), shared.y[shared.folds[fold].train], shared.table)
    except DivergenceError:
        return None
    scorer = FoldScorer(shared, fold)
    return scorer.scores(fitted), scorer.own, scorer.is_seen


def _make_candidate(
    setting: Mapping[str, Any], scored: Sequence[Scored | None], edges: tuple[Edge, ...]
) -> MemberSetting | None:
    """Its temperature fits all rows before all classes: held-out classes alone may be too few to tell."""
    whole = tuple(one for one in scored if one is not None)
    if len(whole) < len(scored):
        return None
    heat = fit_temperature([(scores, own) for scores, own, _ in whole], "the fold's")
    return MemberSetting(setting, whole, float(f"{heat:.4g}"), edges)


def _list_mixtures(
    committee: Committee, own: Mapping[str, list[Any]], members: Mapping[str, MemberSetting]
) -> tuple[list[list[float]], list[list[float]]]:
    """Weights and temperatures to try, each with a number for every member, dropped ones too."""
    names = [name for name, _ in committee._member_pairs()]
    weights, heat = (
        own.get(key) or ([] if getattr(committee, key) is None else [getattr(committee, key)]) for key in OWN
    )
    fitted = [[members[name].temperature if name in members else 1.0 for name in names]]
    drawn = [[shares.get(name, 0.0) for name in names] for shares in _list_shares(list(members))]
    return [list(map(float, one)) for one in weights or drawn], [list(map(float, one)) for one in heat or fitted]


def _list_shares(names: Sequence[str]) -> list[dict[str, float]]:
    """All ways to divide a weight of 1 so that every member has a share."""
    parts = SHARES.get(len(names), max(MANY, len(names)))
    ways = [some for some in product(range(1, parts), repeat=len(names) - 1) if sum(some) < parts]
    shares: NDArray[np.float64] = np.round([np.array([*some, parts - sum(some)]) / parts for some in ways], 4)
    return [dict(zip(names, one, strict=True)) for one in shares.tolist()]
