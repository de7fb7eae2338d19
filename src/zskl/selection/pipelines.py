"""A pipeline on the folds: transformers are fitted on the training rows of each, then the last step is searched.

A grid has names as scikit-learn writes them, `step__parameter`. For each setting of the transformers every fold is
transformed once; the search of the last step then shares fits as it does without a pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from zskl.estimators.committee.classifier import Committee
from zskl.estimators.default_grid import under
from zskl.parameters import did_you_mean
from zskl.selection.edges import Bounds
from zskl.selection.grid import Grid, combined, expand, values_of
from zskl.selection.grid_search import Report, spelled
from zskl.selection.material import Material, last_step, take
from zskl.selection.search_results import Search

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

Inner = Callable[[Material, Grid, Report | None, Bounds, bool], Search]  # the search of a last step


@dataclass(frozen=True)
class Head:
    """One setting of the transformers, and the grids of the last step that go with it."""

    setting: Mapping[str, Any]
    grids: Sequence[Mapping[str, Any]]


def with_settings(pipeline: Pipeline, setting: Mapping[str, Any]) -> Pipeline:
    """A clone of the pipeline with these settings; estimators among them are cloned too."""
    changed: Pipeline = clone(pipeline).set_params(**{name: clone(one, safe=False) for name, one in setting.items()})
    return changed


def prepared(shared: Material) -> Material:
    """The material of the last step: every fold as the transformers, fitted on its training rows, hand it over."""
    parts = []
    for fold in shared.folds:
        transformers = _transformers(clone(shared.estimator))
        train, validation = take(shared.X, fold.train), take(shared.X, fold.validation)
        if transformers is not None:
            train = transformers.fit_transform(train, shared.y[fold.train])
            validation = transformers.transform(validation)
        parts.append((train, validation))
    return replace(shared, estimator=clone(last_step(shared.estimator)), X=parts[0][0], prepared=tuple(parts))


def fit(pipeline: Pipeline, X: Any, y: Any, signatures: Any, callback: Any = None) -> Pipeline:
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
    heads = _heads(grid, pipeline)
    bounds = _own_bounds(extend, pipeline)
    default = _default(heads, pipeline) if with_default else None
    if with_default and default is None:
        heads, default = [*heads, _default_head(heads, pipeline)], len(heads)
    ranker = last_step(pipeline)
    for head in heads if not isinstance(ranker, Committee) else ():  # whose own search refuses a bad grid
        expand(head.grids, ranker)  # a bad value is refused before any work
    found, runs = [], _Runs(report, len(heads))
    for place, head in enumerate(heads):
        mine = prepared(replace(shared, estimator=with_settings(pipeline, head.setting)))
        found.append(inner(mine, head.grids, runs.following(), bounds, place == default))
    return replace(_merged(heads, found, last, default), keeps_default=with_default)


def _transformers(pipeline: Pipeline) -> Pipeline | None:
    return pipeline[:-1] if len(pipeline.steps) > 1 else None


def _heads(grid: Grid, pipeline: Pipeline) -> list[Head]:
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
                near = "" if name in known else did_you_mean(str(name), known)
                raise ValueError(
                    f"the grid names {name!r}{near}: expected a step of the pipeline and its parameter, such as "
                    f"{_example(pipeline)!r}"
                )
            if step == last:
                theirs[str(name).removeprefix(f"{last}__")] = values
            else:
                ours[name] = values_of(name, values)
        for setting in combined(ours):
            head = found.get(repr(setting), Head(setting, ()))
            found[repr(setting)] = replace(head, grids=(*head.grids, theirs))
    return list(found.values())


def _own_bounds(extend: Bounds | None, pipeline: Pipeline) -> Bounds:
    last = pipeline.steps[-1][0]
    for name in extend or ():
        if not str(name).startswith(f"{last}__"):
            raise ValueError(
                f"extend names {name!r}: expected a setting of the last step, such as {_example(pipeline)!r}"
            )
    return {name.removeprefix(f"{last}__"): ends for name, ends in (extend or {}).items()}


def _example(pipeline: Pipeline) -> str:
    last = pipeline.steps[-1][0]
    return next(str(one) for one in pipeline.get_params() if one.startswith(f"{last}__"))


def _default(heads: Sequence[Head], pipeline: Pipeline) -> int | None:
    """The place of the setting that changes nothing of the transformers."""
    own = _spelled(pipeline)
    same = (k for k, head in enumerate(heads) if _spelled(with_settings(pipeline, head.setting)) == own)
    return next(same, None)


def _spelled(pipeline: Pipeline) -> str:
    """The settings of all steps as text; of the steps themselves, which repeat them as written, the kind."""
    settings = pipeline.get_params()
    steps = {name for name in settings if any(other.startswith(f"{name}__") for other in settings)}
    kinds = {name: type(settings[name]) for name in steps}
    return spelled({name: value for name, value in (settings | kinds).items() if name != "steps"})


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


def _merged(heads: Sequence[Head], found: Sequence[Search], last: str, default: int | None) -> Search:
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
        tuple({**heads[k].setting, **under(last, found[k].settings[place])} for k, place in order),
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
