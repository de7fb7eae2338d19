"""What accuracy to expect on new classes, and which attributes carry it: from validation classes alone.

Every fold holds classes out. Settings and the calibration constant for it are chosen on the other folds, so a fold
judges a choice that it had no part in. Then groups of attributes are left out, one after the other. One decomposition
per fold serves all groups, because sums and directions of training rows do not depend on signatures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from zskl import engines, methods
from zskl.datasets.dataset import Dataset
from zskl.datasets.health import weak_descriptions
from zskl.datasets.split import LEAST_HELD
from zskl.engines import Engine
from zskl.estimators.class_means import ClassMeansClassifier
from zskl.metrics import Margins, harmonic_mean, row_margins
from zskl.selection.class_folds import FoldData, prepare_fold_data
from zskl.selection.class_folds import folds as make_folds
from zskl.selection.grid_search import (
    FoldScorer,
    Grid,
    Report,
    SearchPlan,
    choose_engine,
    examine_settings,
    extend_search,
    plan_search,
)
from zskl.selection.search_results import Choice, Search, judge_settings
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

    def __sub__(self, other: Figure) -> Figure:
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
    harmonic: Figure | None
    held_out: tuple[int, ...]  # classes, of each fold
    settings: tuple[Mapping[str, Any], ...]  # of each fold, chosen on the others by zero-shot accuracy
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
    """What class means would reach on new classes of a dataset. Reads its training rows alone.

    `grid` holds the settings to choose from, by default those of the method, extended within its bounds.
    """
    estimator = ClassMeansClassifier(device=device)
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
    planned = plan_search(shared, method.grid, method.bounds) if grid is None else plan_search(shared, grid)
    tried = _TriedSettings(planned, runner)
    tried.add(planned, report)
    searches = [tried.search_without(fold) for fold in range(len(shared.folds))]
    choices = [search.pick("zsl") for search in searches]
    names = shared.table.names
    count = shared.table.matrix.shape[1]
    groups = attribute_groups([f"attribute {k}" for k in range(count)] if names is None else list(map(str, names)))
    tasks = [(fold, choice.setting, groups) for fold, choice in enumerate(choices)]
    parts = dict(engines.each(_expect_without_groups, tasks, shared, runner))
    losses = {name: Figure(tuple(parts[fold][name] for fold in range(len(tasks)))) for name in groups}
    whole = Figure(tuple(tried.margins(choice, fold).zsl for fold, choice in enumerate(choices)))
    harmonic = None
    if all(len(fold.val_seen) for fold in shared.folds):
        # The setting and the constant are those that the other folds chose.
        picked = enumerate(search.pick("gzsl") for search in searches)
        both = [tried.margins(choice, fold).at(choice.calibration) for fold, choice in picked]
        harmonic = Figure(tuple(harmonic_mean(*one) for one in both))
    ranked = [Group(name, len(groups[name]), figure, whole - figure) for name, figure in losses.items()]
    return Expectation(
        whole,
        harmonic,
        held,
        tuple(choice.setting for choice in choices),
        tuple(sorted(ranked, key=lambda one: (-one.loss.mean, one.name))),
        note=" ".join(weak_descriptions(data)),
    )


class _TriedSettings:
    """What came of each setting on each fold, for folds that judge without one another."""

    def __init__(self, planned: SearchPlan, engine: Engine | None) -> None:
        self.planned, self.engine = planned, engine
        self.found: dict[tuple[str, int], Margins | int] = {}

    def add(self, part: SearchPlan, report: Report | None = None) -> None:
        for (place, fold), answer in examine_settings(part, self.engine, report).items():
            self.found[repr(part.settings[place]), fold] = answer

    def search_without(self, fold: int) -> Search:
        """The search as the other folds see it, extended where they choose an edge; a single fold judges itself."""
        folds = self.planned.shared.folds
        others = [k for k in range(len(folds)) if k != fold] or [fold]

        def judge(settings: Sequence[dict[str, Any]]) -> Search:
            new = [setting for setting in settings if (repr(setting), fold) not in self.found]
            if new:
                self.add(self.planned.extend(new))
            keys = [repr(setting) for setting in settings]
            part = {(k, n): self.found[key, other] for k, key in enumerate(keys) for n, other in enumerate(others)}
            return judge_settings(settings, [folds[k] for k in others], part)

        return extend_search(judge(self.planned.settings), self.planned.reach, judge)

    def margins(self, choice: Choice, fold: int) -> Margins:
        answer = self.found[repr(choice.setting), fold]
        assert isinstance(answer, Margins)  # this method does not diverge
        return answer


def _expect_without_groups(shared: FoldData, task: tuple[int, Mapping[str, Any], Groups]) -> dict[str, float]:
    """Fit once; then score the fold's held-out classes without each group of attributes."""
    fold, setting, groups = task
    scorer, found = FoldScorer(shared, fold), {}

    def visit(place: int, model: Any) -> None:
        # What all groups share is worked out once, here.
        scorer.scores(model)
        for name, columns in groups.items():
            table = _flatten_columns(shared.table, columns)
            scores = scorer.scores(model._redescribed(table), table)
            found[name] = row_margins(scores, scorer.own, scorer.is_seen).zsl

    y = shared.y[shared.folds[fold].train]
    clone(shared.estimator)._fit_together([setting], shared.training(fold), y, shared.table, visit)
    return found


def _flatten_columns(table: SignatureTable, columns: Sequence[int]) -> SignatureTable:
    """A table whose classes do not differ in these columns."""
    matrix = table.matrix.copy()
    matrix[:, columns] = 0.0
    # A class has no other attribute, and a description of zeros is refused.
    if not matrix.any(axis=1).all():
        matrix[:, columns] = TINY * np.abs(table.matrix).max()
    return SignatureTable(table.labels, matrix, table.names)
