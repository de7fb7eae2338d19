"""The constant and the temperatures of a fitted model, and what it learns from examples and unlabelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from zskl import engines
from zskl.arrays import on_gpu
from zskl.engines import Engine
from zskl.estimators.class_means.bench import Bench
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.parameters import flag
from zskl.selection.class_folds import Fold
from zskl.selection.constant import Scored, fitted
from zskl.selection.fold_worker import Examiner
from zskl.selection.material import Material, check_seen, is_pipeline, last_step, material
from zskl.selection.pipelines import prepared
from zskl.selection.practice import practise
from zskl.shown.progress import ProgressBar

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

Model = TypeVar("Model", ZeroShotClassifier, "Pipeline")


def calibrate(
    model: Model,
    X: Any,
    y: Any,
    signatures: Any,
    folds: Sequence[Fold] | int | None = None,
    engine: Engine | str | None = None,
    constant: float | None = None,
    progress: bool = False,
) -> Model:
    """Set `calibration_` and `temperatures_` of a fitted model, from clones of it fitted on folds.

    A model that learns from examples and unlabelled rows also gets its `practice_`: what the folds say about both.

    Temperatures are fitted to the validation rows of the folds: held-out classes among themselves ("unseen"), trained
    classes among themselves ("seen"), and all classes, with the constant subtracted ("mixed").

    Parameters
    ----------
    model : ZeroShotClassifier or Pipeline
        The fitted model, or a pipeline that ends in one. It gets the constant and the temperatures.
    X : array-like of shape (n, d)
        The training rows of the model.
    y : array-like of shape (n,)
        Their classes.
    signatures : DataFrame, mapping or array-like
        The signatures, as for `fit`.
    folds : list of Fold, Dataset, int or None, default=None
        See `selection.folds`. A number or None (three) makes seeded folds.
    engine : Engine, str or None, default=None
        Where the fits happen. "auto" takes all cores on the CPU, and this process on a GPU. None is this process.
    constant : float, default=None
        The calibration constant. None chooses the one with the highest mean harmonic mean over the folds.
    progress : bool, default=False
        Show a bar of the fits on folds, in a terminal or a notebook.

    Returns
    -------
    ZeroShotClassifier or Pipeline
        The same model.

    Examples
    --------
    >>> from zskl import baselines, datasets, selection
    >>> data = datasets.make_synthetic(noise=0.6)
    >>> X, y = data.samples("trainval")
    >>> model = baselines.ESZSL().fit(X, y, data.signatures)
    >>> sorted(selection.calibrate(model, X, y, data.signatures).temperatures_)
    ['mixed', 'seen', 'unseen']
    """
    flag("progress", progress)
    ranker = last_step(model)
    check_is_fitted(ranker)
    shared = material(clone(model), X, y, signatures, folds)
    if constant is None:
        check_seen(shared.folds)
    if is_pipeline(model):
        shared = prepared(shared)
    runner = engine_for(engine, ranker, X)
    tasks = range(len(shared.folds))
    bar, judged = ProgressBar("calibration") if progress else None, {}
    try:
        for place, part in engines.each(_judge, tasks, shared, runner):
            judged[place] = part
            if bar is not None:
                bar(len(judged), len(tasks))
    finally:
        if bar is not None:
            bar.close()
    parts = [judged[place] for place in tasks]
    found = fitted([part.scored for part in parts], constant)
    ranker.calibration_, ranker.temperatures_ = found["calibration"], found["temperatures"]
    benches = [part.bench for part in parts if part.bench is not None]
    if benches:
        ranker._take_practice(practise(benches))
    ranker._settle_again()
    return model


@dataclass(frozen=True)
class Judged:
    """What the clone that was fitted on a fold says about its validation rows."""

    scored: Scored
    bench: Bench | None  # where the method learns from examples and unlabelled rows too


def _judge(shared: Material, fold: int) -> Judged:
    """Scores (n, c) of a fold's validation rows by the estimator fitted on its training rows."""
    rows = shared.folds[fold].train
    model = clone(shared.estimator).fit(shared.training(fold), shared.y[rows], shared.table)
    examiner = Examiner(shared, fold)
    scores = examiner.scores(model)
    return Judged((scores, examiner.own, examiner.is_seen), examiner.bench(model))


def engine_for(engine: Engine | str | None, estimator: ZeroShotClassifier, X: Any) -> Engine | None:
    """Where runs happen: "auto" is all cores for the CPU and this process for a GPU."""
    if isinstance(engine, str):
        if engine != "auto":
            return Engine(engine)
        return None if on_gpu(X, getattr(estimator, "device", None)) else Engine()
    return engine
