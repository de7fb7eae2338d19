"""The calibration constant and the temperatures of a fitted model, and what it learns from examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from zskl import engines
from zskl._display import ProgressBar
from zskl._validation import check_flag
from zskl.engines import Engine
from zskl.estimators._class_means_adapt import ValidationBench
from zskl.estimators.base import ZeroShotClassifier
from zskl.selection.class_folds import Fold, FoldData, check_seen, last_step, prepare_fold_data, transform_folds
from zskl.selection.few_shot import choose_few_shot_settings
from zskl.selection.grid_search import FoldScorer, choose_engine
from zskl.selection.temperatures import Scored, fit_calibration

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
    check_flag("progress", progress)
    ranker = last_step(model)
    check_is_fitted(ranker)
    shared = prepare_fold_data(clone(model), X, y, signatures, folds)
    if constant is None:
        check_seen(shared.folds)
    shared, runner = transform_folds(shared), choose_engine(engine, ranker, X)
    tasks = range(len(shared.folds))
    bar, found = ProgressBar("calibration") if progress else None, {}
    try:
        for place, part in engines.each(score_fold, tasks, shared, runner):
            found[place] = part
            if bar is not None:
                bar(len(found), len(tasks))
    finally:
        if bar is not None:
            bar.close()
    parts = [found[place] for place in tasks]
    fitted = fit_calibration([scored for scored, _ in parts], constant)
    ranker.calibration_, ranker.temperatures_ = fitted["calibration"], fitted["temperatures"]
    benches = [bench for _, bench in parts if bench is not None]
    if benches:
        ranker._take_practice(choose_few_shot_settings(benches))
    ranker._settle_again()
    return model


def score_fold(shared: FoldData, fold: int) -> tuple[Scored, ValidationBench | None]:
    """Scores (n, c) of a fold's validation rows by the estimator fitted on its training rows; and these rows, to try
    examples and unlabelled rows on, where the method learns from them."""
    rows = shared.folds[fold].train
    model = clone(shared.estimator).fit(shared.training(fold), shared.y[rows], shared.table)
    scorer = FoldScorer(shared, fold)
    return (scorer.scores(model), scorer.own, scorer.is_seen), scorer.few_shot_rows(model)
