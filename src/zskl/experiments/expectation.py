"""What accuracy to expect on new classes, and which attributes carry it: from validation classes alone.

Every fold holds classes out. Settings and the calibration constant are chosen on the fold's training rows, as `tune`
does on all of them, so a fold judges a choice that it had no part in; the default setting is judged beside it. Then
groups of attributes are left out, one after the other. One decomposition per fold serves all groups, because sums and
directions of training rows do not depend on signatures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from zskl import engines, methods, selection
from zskl.datasets.dataset import Dataset
from zskl.datasets.health import weak_descriptions
from zskl.datasets.split import LEAST_HELD
from zskl.engines import Engine
from zskl.estimators.class_means import ClassMeansClassifier
from zskl.metrics import harmonic_mean, row_margins
from zskl.selection.class_folds import FoldData, TooFewRows, prepare_fold_data, take_fold_rows
from zskl.selection.class_folds import folds as make_folds
from zskl.selection.grid_search import Bounds, FoldScorer, Grid, Report, choose_engine
from zskl.signatures.table import SignatureTable, attribute_groups

METHOD = "class-means"
TINY = 1e-6  # of the largest number in a table
Groups = Mapping[str, tuple[int, ...]]  # from a name to columns of the signatures


@dataclass(frozen=True)
class Figure:
    """A figure of each fold, with mean and spread: the standard deviation over folds, 0 of a single one."""

    folds: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.folds))

    @property
    def spread(self) -> float:
        return float(np.std(self.folds, ddof=1)) if len(self.folds) > 1 else 0.0

    def __sub__(self, other: "Figure") -> "Figure":
        return Figure(tuple(a - b for a, b in zip(self.folds, other.folds, strict=True)))

    def to_json(self) -> dict[str, Any]:
        return {"mean": self.mean, "spread": self.spread, "folds": list(self.folds)}


@dataclass(frozen=True)
class Group:
    """Attributes that were left out together: the zero-shot accuracy without them, and what that costs."""

    name: str
    attributes: int
    without: Figure
    loss: Figure


@dataclass(frozen=True)
class Expectation:
    """What to expect on new classes; `harmonic` is None where no rows of trained classes could be held out."""

    zero_shot: Figure
    default: Figure  # zero-shot accuracy of the default setting
    harmonic: Figure | None
    held_out: tuple[int, ...]  # classes, of each fold
    settings: tuple[Mapping[str, Any], ...]  # of each fold, chosen on its training rows by zero-shot accuracy
    groups: tuple[Group, ...]  # the largest loss first
    note: str = ""  # that the descriptions explain nothing

    @property
    def chance(self) -> float:
        """Of guessing among the held-out classes, the mean over folds."""
        return float(np.mean([1 / classes for classes in self.held_out]))

    def to_json(self) -> dict[str, Any]:
        parts = [(one.name, one.attributes, one.without.to_json(), one.loss.to_json()) for one in self.groups]
        return {
            "zero_shot": self.zero_shot.to_json(),
            "default": self.default.to_json(),
            "harmonic": None if self.harmonic is None else self.harmonic.to_json(),
            "chance": self.chance,
            "held_out": list(self.held_out),
            "note": self.note,
            "settings": [dict(one) for one in self.settings],
            "groups": [dict(zip(("group", "attributes", "without", "loss"), part, strict=True)) for part in parts],
        }


def expect_accuracy(
    data: Dataset,
    grid: Grid | None = None,
    engine: Engine | str | None = "auto",
    report: Report | None = None,
    device: str | None = None,
) -> Expectation:
    """What class means would reach on new classes of a dataset, from its training rows alone. `grid` holds the settings
    to choose from, by default those of the method, extended within its bounds."""
    estimator = ClassMeansClassifier(device=device)
    methods.set_blocks(estimator, data.blocks, None)  # class tables are shown without some of their columns
    X, y = data.samples("trainval")
    shared = prepare_fold_data(estimator, X, y, data.signatures, make_folds(data))
    held = tuple(len(np.unique(shared.y[fold.val_unseen])) for fold in shared.folds)
    if min(held) < LEAST_HELD:
        raise ValueError(
            f"fold {1 + held.index(min(held))} of {data.name} holds out a single class, of which there is no zero-shot "
            f"figure, because every answer would be right: expected at least {LEAST_HELD} in each fold; leave out the "
            "folds of this dataset to have others made"
        )
    runner = choose_engine(engine, estimator, X)
    method = methods.find(METHOD)
    grid, bounds = (method.grid, method.bounds) if grid is None else (grid, None)
    names = shared.table.names
    count = shared.table.matrix.shape[1]
    groups = attribute_groups([f"attribute {k}" for k in range(count)] if names is None else list(map(str, names)))
    groups |= {f"all of {name}": tuple(one) for name, one in (data.signature_blocks or {}).items() if len(one) < count}
    judged: dict[int, _Judged] = {}
    tasks = [(fold, grid, bounds, groups) for fold in range(len(shared.folds))]
    for fold, part in engines.each(_judge_fold, tasks, shared, runner):
        judged[fold] = part
        if report is not None:
            report(len(judged), len(tasks))
    parts = [judged[fold] for fold in range(len(tasks))]
    losses = {name: Figure(tuple(part.without[name] for part in parts)) for name in groups}
    whole = Figure(tuple(part.zero_shot for part in parts))
    harmonic = [part.harmonic for part in parts if part.harmonic is not None]
    ranked = [Group(name, len(groups[name]), figure, whole - figure) for name, figure in losses.items()]
    return Expectation(
        whole,
        Figure(tuple(part.default for part in parts)),
        Figure(tuple(harmonic)) if len(harmonic) == len(parts) else None,
        held,
        tuple(part.setting for part in parts),
        tuple(sorted(ranked, key=lambda one: (-one.loss.mean, one.name))),
        note=" ".join(weak_descriptions(data)),
    )


@dataclass(frozen=True)
class _Judged:
    """What one fold says: of the setting that its training rows chose, of the default, and without each group."""

    setting: Mapping[str, Any]
    zero_shot: float
    default: float
    harmonic: float | None
    without: Mapping[str, float]


def _judge_fold(shared: FoldData, task: tuple[int, Grid, Bounds | None, Groups]) -> _Judged:
    fold, grid, bounds, groups = task
    rows = shared.folds[fold].train
    X, y = take_fold_rows(shared.X, rows), shared.y[rows]
    setting, by_harmonic, constant = _choose_settings(shared, X, y, grid, bounds)
    scorer, margins, found = FoldScorer(shared, fold), {}, {}
    wanted = [setting, {}, by_harmonic]

    def visit(place: int, model: Any) -> None:
        margins[place] = row_margins(scorer.scores(model), scorer.own, scorer.is_seen)
        for name, columns in groups.items() if place == 0 else ():
            table = _flatten_columns(shared.table, columns)
            scores = scorer.scores(model._redescribed(table), table)
            found[name] = row_margins(scores, scorer.own, scorer.is_seen).zsl

    for place, one in enumerate(wanted):
        # One after the other: settings may differ in their scaling.
        scorer._prepared = None
        clone(shared.estimator).set_params(**one)._fit_together(
            [{}], X, y, shared.table, lambda _, model, place=place: visit(place, model)
        )
    harmonic = harmonic_mean(*margins[2].at(constant)) if len(shared.folds[fold].val_seen) else None
    return _Judged(setting, margins[0].zsl, margins[1].zsl, harmonic, found)


def _choose_settings(
    shared: FoldData, X: Any, y: Any, grid: Grid, bounds: Bounds | None
) -> tuple[Mapping[str, Any], Mapping[str, Any], float]:
    """The settings that these rows choose by either figure, and the constant; the default where they are too few."""
    try:
        search = selection.search(shared.estimator, X, y, shared.table, grid, extend=bounds, with_default=True)
    except TooFewRows:
        return {}, {}, 0.0
    choice = search.pick("zsl")
    try:
        both = search.pick("gzsl")
    except TooFewRows:
        return choice.setting, choice.setting, 0.0
    return choice.setting, both.setting, both.calibration


def _flatten_columns(table: SignatureTable, columns: Sequence[int]) -> SignatureTable:
    """A table whose classes do not differ in these columns."""
    matrix = table.matrix.copy()
    matrix[:, columns] = 0.0
    # A class has no other attribute, and a description of zeros is refused.
    if not matrix.any(axis=1).all():
        matrix[:, columns] = TINY * np.abs(table.matrix).max()
    return SignatureTable(table.labels, matrix, table.names)
