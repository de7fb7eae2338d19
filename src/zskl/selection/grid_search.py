"""The search: every setting on every fold, both figures at once; then one of them picks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from zskl import engines
from zskl.arrays import on_gpu
from zskl.datasets.dataset import Dataset
from zskl.engines import Engine
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.inputs import check_training
from zskl.metrics import harmonic_mean
from zskl.metrics.seen_unseen import Margins
from zskl.parameters import listed, one_of
from zskl.selection.calibration import best_constant
from zskl.selection.class_folds import Fold
from zskl.selection.class_folds import folds as make_folds
from zskl.selection.fold_worker import Material, Task, examine
from zskl.selection.grid import Grid, expand, group
from zskl.signatures import table as tables

SCORINGS = ("zsl", "gzsl")
Report = Callable[[int, int], object]  # runs done, runs in all


@dataclass(frozen=True)
class Choice:
    """A setting with its score: mean over folds, the score of each, and their standard deviation.

    `calibration` is the constant with the highest mean H over the folds for this setting.
    """

    scoring: str
    place: int
    setting: Mapping[str, Any]
    score: float
    fold_scores: tuple[float, ...]
    spread: float
    calibration: float


@dataclass(frozen=True)
class Search:
    """Every setting's figures on every fold; −∞ for a setting that diverged on any.

    `zsl` (S, F) are accuracies of held-out classes among themselves; `gzsl` (S, F) harmonic means among all classes of
    the fold at the setting's one `constants` (S,); `raw` (S, F) the same with no constant. `diverged` maps the place
    of a setting to the first step at which it diverged.
    """

    settings: tuple[Mapping[str, Any], ...]
    folds: tuple[Fold, ...]
    zsl: NDArray[np.float64]
    gzsl: NDArray[np.float64]
    raw: NDArray[np.float64]
    constants: NDArray[np.float64]
    diverged: Mapping[int, int]

    def scores(self, scoring: str) -> NDArray[np.float64]:
        """(S, F) by "zsl" or "gzsl"."""
        one_of("scoring", scoring, SCORINGS)
        return self.zsl if scoring == "zsl" else self.gzsl

    def ranking(self, scoring: str) -> NDArray[np.int64]:
        """Places of the settings, best mean first, earlier ones first among equals."""
        return np.argsort(-self.scores(scoring).mean(axis=1), kind="stable")

    def pick(self, scoring: str, place: int | None = None) -> Choice:
        """The best setting by "zsl" or "gzsl", or the one at a given place."""
        scores = self.scores(scoring)
        if scoring == "gzsl":
            check_seen(self.folds)
        best = int(self.ranking(scoring)[0]) if place is None else place
        if not np.isfinite(scores[best]).all():
            raise ValueError(
                f"all {len(self.settings)} settings diverged, the last of them at step {max(self.diverged.values())}: "
                "search lower learning rates"
            )
        mine = scores[best]
        return Choice(
            scoring,
            best,
            dict(self.settings[best]),
            float(mine.mean()),
            tuple(mine.tolist()),
            float(mine.std(ddof=1)) if len(mine) > 1 else 0.0,
            float(self.constants[best]),
        )


def check_seen(folds: Sequence[Fold]) -> None:
    """Refuse folds on which seen classes cannot be set against unseen ones."""
    if not all(len(fold.val_seen) for fold in folds):
        raise ValueError(
            "a fold has no val_seen rows, so seen classes cannot be set against unseen ones: every class has a single "
            "training row, or the folds were made with seen_share=0; choose by scoring='zsl' and without calibration"
        )


def material(
    estimator: ZeroShotClassifier, X: Any, y: Any, table: Any, given: Sequence[Fold] | int | None = None
) -> Material:
    """Checked training rows, the signatures of their classes alone, and folds."""
    if not isinstance(estimator, ZeroShotClassifier):
        raise ValueError(
            f"selection works on zskl's estimators, found {type(estimator).__name__}: hand the estimator itself"
        )
    if table is None:
        raise ValueError("selection holds classes out, so it needs signatures that describe classes: found None")
    labels = check_training(clone(estimator), X, y)[1]
    classes = np.unique(labels)
    described = tables.read(table, classes)
    missing = [label for label in classes.tolist() if label not in set(described.labels.tolist())]
    if missing:
        raise ValueError(f"no signature for class {listed(missing)}: every label in y needs a row in signatures")
    if given is None or isinstance(given, Integral):
        chosen = make_folds(labels, 3 if given is None else int(given))
    else:
        chosen = make_folds(given) if isinstance(given, Dataset) else _folds(given)
    for fold in chosen:
        _check(fold, labels)
    return Material(estimator, X, labels, described.select(classes), chosen)


def search(
    estimator: ZeroShotClassifier,
    X: Any,
    y: Any,
    signatures: Any,
    grid: Grid,
    folds: Sequence[Fold] | int | None = None,
    engine: Engine | None = None,
    report: Report | None = None,
) -> Search:
    """Try every setting of `grid` on every fold of the training rows X (n, d), y (n,).

    On a GPU the settings that can train as one stack do; on the CPU the runs go through `engine` (None: one after the
    other here). Values of free settings, such as epochs, cost one run together. Signatures of classes that are not in
    y are not looked at.
    """
    shared = material(estimator, X, y, signatures, folds)
    settings = expand(grid, estimator)
    groups = group(settings, estimator._free(X))
    tasks = [
        Task(fold, tuple(places), tuple(settings[place] for place in places))
        for fold in range(len(shared.folds))
        for places in groups
    ]
    if on_gpu(X, getattr(estimator, "device", None)):
        engine = None
    found: dict[tuple[int, int], Margins | int] = {}
    with closing(engines.each(examine, tasks, shared, engine)) as results:
        for done, (number, answers) in enumerate(results, start=1):
            found.update({(place, tasks[number].fold): answer for place, answer in answers})
            if report is not None:
                report(done, len(tasks))
    return judge(settings, shared.folds, found)


def judge(
    settings: Sequence[Mapping[str, Any]],
    folds: Sequence[Fold],
    found: Mapping[tuple[int, int], Margins | int],
) -> Search:
    """All figures, from the margins (or the step of divergence) of each place on each fold."""
    shape = (len(settings), len(folds))
    zsl, gzsl, raw = (np.full(shape, -np.inf) for _ in range(3))
    constants = np.zeros(len(settings))
    diverged: dict[int, int] = {}
    for place in range(len(settings)):
        answers = [found[place, fold] for fold in range(len(folds))]
        steps = [answer for answer in answers if isinstance(answer, int)]
        if steps:
            diverged[place] = min(steps)
            continue
        whole = [answer for answer in answers if isinstance(answer, Margins)]
        zsl[place] = [one.zsl for one in whole]
        raw[place] = [harmonic_mean(*one.at(0.0)) for one in whole]
        constants[place], gzsl[place] = best_constant(whole)
    return Search(tuple(settings), tuple(folds), zsl, gzsl, raw, constants, diverged)


def _folds(given: Any) -> list[Fold]:
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if not found or not all(isinstance(fold, Fold) for fold in found):
        raise ValueError(
            f"folds is {str(given)[:60]!r}: expected a number, a dataset, or what selection.folds gives, at least one "
            "selection.Fold(train, val_seen, val_unseen)"
        )
    return found


def _check(fold: Fold, labels: NDArray[Any]) -> None:
    rows = np.concatenate([fold.train, fold.val_seen, fold.val_unseen])
    if rows.min() < 0 or rows.max() >= len(labels):
        raise ValueError(
            f"a fold names row {rows.max()}, X has rows 0 to {len(labels) - 1}: folds are positions within the "
            "training rows handed over, as of selection.folds"
        )
    if len(np.unique(rows)) < len(rows):
        raise ValueError("a fold names a row twice: train, val_seen and val_unseen must share none")
    shared = np.intersect1d(labels[fold.train], labels[fold.val_unseen])
    if len(shared):
        raise ValueError(f"a fold trains on rows of {listed(shared)} and holds that class out: keep classes apart")
    strangers = np.setdiff1d(labels[fold.val_seen], labels[fold.train])
    if len(strangers):
        raise ValueError(f"val_seen of a fold has rows of {listed(strangers)}, which it does not train on")
