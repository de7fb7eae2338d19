"""A pipeline on the folds: transformers are fitted on the training rows of each, then the last step is searched.

A grid has names as scikit-learn writes them, `step__parameter`. For each setting of the transformers every fold is
transformed once; the search of the last step then shares fits as it does without a pipeline.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from zskl import engines
from zskl._validation import check_flag, suggest
from zskl.engines import Engine
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.committee import DROP, Committee
from zskl.methods import prefix_settings
from zskl.metrics.seen_unseen import Margins, row_margins
from zskl.selection import search_results
from zskl.selection.class_folds import Fold, Material, is_pipeline, last_step, prepare_material, take_rows
from zskl.selection.grid import Bounds, Edge, Grid, check_bounds, combine_values, expand_grid, setting_values
from zskl.selection.grid_search import Examiner, Plan, Report, can_be_fitted, plan_search, search_grid, spell_params
from zskl.selection.search_results import SCORINGS, Scored, Search, judge_settings
from zskl.training.solver import DivergenceError

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


# Pipelines ------------------------------------------------------------------------------------------------------------

Inner = Callable[[Material, Grid, Report | None, Bounds, bool], Search]  # the search of a last step


@dataclass(frozen=True)
class Head:
    """One setting of the transformers, and the grids of the last step that go with it."""

    setting: Mapping[str, Any]
    grids: Sequence[Mapping[str, Any]]


def clone_with_settings(pipeline: Pipeline, setting: Mapping[str, Any]) -> Pipeline:
    """A clone of the pipeline with these settings; estimators among them are cloned too."""
    changed: Pipeline = clone(pipeline).set_params(**{name: clone(one, safe=False) for name, one in setting.items()})
    return changed


def transform_folds(shared: Material) -> Material:
    """The material of the last step: every fold as the transformers, fitted on its training rows, hand it over."""
    parts = []
    for fold in shared.folds:
        transformers = _transformers(clone(shared.estimator))
        train, validation = take_rows(shared.X, fold.train), take_rows(shared.X, fold.validation)
        if transformers is not None:
            train = transformers.fit_transform(train, shared.y[fold.train])
            validation = transformers.transform(validation)
        parts.append((train, validation))
    return replace(shared, estimator=clone(last_step(shared.estimator)), X=parts[0][0], prepared=tuple(parts))


def fit_pipeline(pipeline: Pipeline, X: Any, y: Any, signatures: Any, callback: Any = None) -> Pipeline:
    """Fit all steps of a pipeline, in place; only the last one is shown signatures."""
    transformers, name, last = _transformers(pipeline), pipeline.steps[-1][0], last_step(pipeline)
    if transformers is not None:
        X = transformers.fit_transform(X, y)
    last.fit(X, y, signatures, callback=callback)
    pipeline.steps = [*([] if transformers is None else transformers.steps), (name, last)]
    return pipeline


def search_pipeline(
    shared: Material, grid: Grid, report: Report | None, extend: Bounds | None, with_default: bool, inner: Inner
) -> Search:
    """The searches of the last step for all settings of the transformers, as one."""
    pipeline, last = shared.estimator, shared.estimator.steps[-1][0]
    heads = _transformer_settings(grid, pipeline)
    bounds = _pipeline_bounds(extend, pipeline)
    default = _default_head_place(heads, pipeline) if with_default else None
    if with_default and default is None:
        heads, default = [*heads, _default_head(heads, pipeline)], len(heads)
    ranker = last_step(pipeline)
    for head in heads if not isinstance(ranker, Committee) else ():  # whose own search refuses a bad grid
        expand_grid(head.grids, ranker)  # a bad value is refused before any work
    found, runs = [], _Runs(report, len(heads))
    for place, head in enumerate(heads):
        mine = transform_folds(replace(shared, estimator=clone_with_settings(pipeline, head.setting)))
        found.append(inner(mine, head.grids, runs.following(), bounds, place == default))
    return replace(_merge_searches(heads, found, last, default), keeps_default=with_default)


def _transformers(pipeline: Pipeline) -> Pipeline | None:
    return pipeline[:-1] if len(pipeline.steps) > 1 else None


def _transformer_settings(grid: Grid, pipeline: Pipeline) -> list[Head]:
    """The settings of the transformers in a grid, each once."""
    if not isinstance(grid, Iterable):
        raise ValueError(f"grid is {grid!r}: expected a mapping from step__parameter to values, or a list of mappings")
    known, last = pipeline.get_params(), pipeline.steps[-1][0]
    steps = {name for name, _ in pipeline.steps[:-1]}
    found: dict[str, Head] = {}
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
            head = found.get(repr(setting), Head(setting, ()))
            found[repr(setting)] = replace(head, grids=(*head.grids, theirs))
    return list(found.values())


def _pipeline_bounds(extend: Bounds | None, pipeline: Pipeline) -> Bounds:
    last = pipeline.steps[-1][0]
    for name in extend or ():
        if not str(name).startswith(f"{last}__"):
            raise ValueError(
                f"extend names {name!r}: expected a setting of the last step, such as {_example_step(pipeline)!r}"
            )
    return {name.removeprefix(f"{last}__"): ends for name, ends in (extend or {}).items()}


def _example_step(pipeline: Pipeline) -> str:
    last = pipeline.steps[-1][0]
    return next(str(one) for one in pipeline.get_params() if one.startswith(f"{last}__"))


def _default_head_place(heads: Sequence[Head], pipeline: Pipeline) -> int | None:
    """The place of the setting that changes nothing of the transformers."""
    own = _spell_pipeline(pipeline)
    same = (k for k, head in enumerate(heads) if _spell_pipeline(clone_with_settings(pipeline, head.setting)) == own)
    return next(same, None)


def _spell_pipeline(pipeline: Pipeline) -> str:
    """The settings of all steps as text; of the steps themselves, which repeat them as written, the kind."""
    settings = pipeline.get_params()
    steps = {name for name in settings if any(other.startswith(f"{name}__") for other in settings)}
    kinds = {name: type(settings[name]) for name in steps}
    return spell_params({name: value for name, value in (settings | kinds).items() if name != "steps"})


def _default_head(heads: Sequence[Head], pipeline: Pipeline) -> Head:
    """The pipeline as it is, under the names of the grid."""
    known, last = pipeline.get_params(), last_step(pipeline).get_params()
    setting = {name: known[name] for head in heads for name in head.setting}
    names = [name for head in heads for part in head.grids for name in part]
    return Head(setting, ({name: [last[name]] for name in names if last[name] is not None},))


class _Runs:
    """Tells the runs of several searches as those of one; the searches to come are taken to be as long."""

    def __init__(self, report: Report | None, searches: int) -> None:
        self.report, self.left, self.made = report, searches, 0

    def following(self) -> Report | None:
        """For the next search."""
        report, before, left = self.report, self.made, self.left
        self.left -= 1

        def told(done: int, runs: int) -> None:
            self.made = before + runs
            assert report is not None
            report(before + done, before + runs * left)

        return None if report is None else told


def _merge_searches(heads: Sequence[Head], found: Sequence[Search], last: str, default: int | None) -> Search:
    """All settings of all searches, those beyond the grid last."""
    inside = [(k, place) for k, one in enumerate(found) for place in range(len(one.settings) - one.extended)]
    beyond = [
        (k, place)
        for k, one in enumerate(found)
        for place in range(len(one.settings) - one.extended, len(one.settings))
    ]
    order = [*inside, *beyond]
    at = {pair: number for number, pair in enumerate(order)}

    own = None if default is None else found[default].default
    own = None if default is None or own is None else at[default, own]

    def rows(name: str) -> Any:
        return np.array([getattr(found[k], name)[place] for k, place in order])

    return Search(
        tuple({**heads[k].setting, **prefix_settings(last, found[k].settings[place])} for k, place in order),
        found[0].folds,
        rows("zsl"),
        rows("gzsl"),
        rows("seen"),
        rows("unseen"),
        rows("constants"),
        {at[k, place]: step for k, one in enumerate(found) for place, step in one.diverged.items()},
        len(beyond),
        {
            at[k, place]: tuple(replace(edge, name=f"{last}__{edge.name}") for edge in edges)
            for k, one in enumerate(found)
            for place, edges in one.edges.items()
        },
        own,
        dropped=frozenset(at[k, place] for k, one in enumerate(found) for place in one.dropped),
    )


# Committee search -----------------------------------------------------------------------------------------------------
# The search for a committee: each member by itself on the same folds, then weights and temperatures of the best.
#
# A member is searched as it would be alone. Its settings with the best zero-shot accuracy and the best harmonic mean
# go on. Their scores of validation rows are computed once; every mixture of them is judged from these. The committee
# as it is, its default setting, is compared with them.

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
    own, grids = divide_grid(grid, committee)
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
        plans[name] = plan_search(replace(shared, estimator=member), grids[name], mine, halving=halving)
    runs = {name: 0 if len(planned.settings) == 1 else len(planned.tasks) for name, planned in plans.items()}
    candidates = {name: _member_candidates(plans[name], name, runs, engine, report, with_default) for name in plans}
    settings: list[dict[str, Any]] = []
    found: dict[tuple[int, int], Margins | int] = {}
    edges: dict[int, tuple[Edge, ...]] = {}

    def add(members: Mapping[str, Candidate], weights: list[float], heat: list[float]) -> None:
        kept = [k for k, (_, member) in enumerate(committee._listed()) if member != DROP]
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
        add(defaults, *_default_mixture(committee))
    judged = replace(judge_settings(settings, shared.folds, found), edges=edges, keeps_default=with_default)
    return replace(judged, default=len(settings) - 1) if compared else judged


def divide_grid(grid: Grid, committee: Committee) -> tuple[dict[str, list[Any]], dict[str, list[dict[str, Any]]]]:
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
                    f"the grid names {key!r}, which this committee does not have{suggest(str(key), known)}: "
                    f"expected weights, member_temperatures, or a setting of {' or '.join(names)}, such as "
                    f"{next(one for one in known if one.startswith(names[0] + '__'))!r}"
                )
        for name, settings in mine.items():
            if settings not in grids[name]:
                grids[name].append(settings)
    return own, grids


def _member_candidates(
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
    with_default = with_default and can_be_fitted(shared)
    if with_default and default not in settings:
        settings, edges = [*settings, default], [*edges, ()]
    models = [clone(shared.estimator).set_params(**setting) for setting in settings]
    tasks = [(model, fold) for model in models for fold in range(len(shared.folds))]
    with closing(engines.each(_score_fold, tasks, shared, engine)) as results:
        scored = [scores for _, scores in sorted(results, key=lambda one: one[0])]
    folds = len(shared.folds)
    found = [
        _make_candidate(setting, scored[k * folds : (k + 1) * folds], edges[k]) for k, setting in enumerate(settings)
    ]
    whole = [one for one in found[:best] if one is not None]
    if not whole:
        raise ValueError(f"member {name!r} diverged on a fold: expected a lower learning rate; set one")
    return whole, found[settings.index(default)] if with_default else None


def _score_fold(shared: Material, task: tuple[ZeroShotClassifier, int]) -> Scored | None:
    """Scores of a fold's validation rows by a model fitted on its training rows; None if it diverges."""
    model, fold = task
    rows = shared.folds[fold].train
    try:
        fitted = clone(model).fit(shared.training(fold), shared.y[rows], shared.table)
    except DivergenceError:
        return None
    examiner = Examiner(shared, fold)
    return examiner.scores(fitted), examiner.own, examiner.is_seen


def _make_candidate(
    setting: Mapping[str, Any], scored: Sequence[Scored | None], edges: tuple[Edge, ...]
) -> Candidate | None:
    """Its temperature fits all rows before all classes: held-out classes alone may be too few to tell."""
    whole = tuple(one for one in scored if one is not None)
    if len(whole) < len(scored):
        return None
    heat = search_results.fit_temperature([(scores, own) for scores, own, _ in whole], "the fold's")
    return Candidate(setting, whole, float(f"{heat:.4g}"), edges)


def _list_mixtures(
    committee: Committee, own: Mapping[str, list[Any]], members: Mapping[str, Candidate]
) -> tuple[list[list[float]], list[list[float]]]:
    """Weights and temperatures to try, each with a number for every member, dropped ones too."""
    names = [name for name, _ in committee._listed()]
    weights, heat = (
        own.get(key) or ([] if getattr(committee, key) is None else [getattr(committee, key)]) for key in OWN
    )
    fitted = [[members[name].temperature if name in members else 1.0 for name in names]]
    drawn = [[shares.get(name, 0.0) for name in names] for shares in _list_shares(list(members))]
    return [list(map(float, one)) for one in weights or drawn], [list(map(float, one)) for one in heat or fitted]


def _default_mixture(committee: Committee) -> tuple[list[float], list[float]]:
    """Weights and temperatures of the committee as it is, with a number for every member, dropped ones too."""
    numbers = zip(committee._weights().tolist(), committee._member_temperatures().tolist(), strict=True)
    pairs = [(0.0, 1.0) if member == DROP else next(numbers) for _, member in committee._listed()]
    return [weight for weight, _ in pairs], [heat for _, heat in pairs]


def _list_shares(names: Sequence[str]) -> list[dict[str, float]]:
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


# Method search --------------------------------------------------------------------------------------------------------
# search: a grid, or the grids of a committee's members, on folds of the training rows.

log = logging.getLogger(__name__)
FEW_CLASSES = 12  # with fewer training classes a fold holds out so few that its figures are mostly luck


def search(
    estimator: ZeroShotClassifier | Pipeline,
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
    shared = prepare_material(estimator, X, y, signatures, folds)
    return search_checked(shared, grid, engine, report, extend, with_default, halving)


def search_checked(
    shared: Material,
    grid: Grid,
    engine: Engine | None = None,
    report: Report | None = None,
    extend: Bounds | None = None,
    with_default: bool = False,
    halving: bool | None = False,
) -> Search:
    """`search` on rows, signatures and folds that are checked already."""
    if with_default and len(shared.table.classes) < FEW_CLASSES:
        log.warning("%s", _describe_weakness(shared))
    return _run_search(shared, grid, engine, report, extend, with_default, halving)


def _describe_weakness(shared: Material) -> str:
    held = [len(np.unique(shared.y[fold.val_unseen])) for fold in shared.folds]
    some = f"{min(held)}" if min(held) == max(held) else f"{min(held)} to {max(held)}"
    return (
        f"validation is weak: there are {len(shared.table.classes)} training classes, and a fold holds out {some} of "
        "them; a setting that is chosen so may do worse on new classes than the default"
    )


def _run_search(
    shared: Material,
    grid: Grid,
    engine: Engine | None,
    report: Report | None,
    extend: Bounds | None,
    with_default: bool,
    halving: bool | None,
) -> Search:
    if is_pipeline(shared.estimator):

        def inner(mine: Material, part: Grid, told: Report | None, bounds: Bounds, default: bool) -> Search:
            return _run_search(mine, part, engine, told, bounds, default, halving)

        return search_pipeline(shared, grid, report, extend, with_default, inner)
    if isinstance(shared.estimator, Committee):
        return search_members(shared, shared.estimator, grid, engine, report, extend, with_default, halving)
    return search_grid(plan_search(shared, grid, extend, with_default, halving), engine, report)
