"""The calibration constant that is best over all folds, and the constant and temperatures of a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from zskl import engines
from zskl.arrays import on_gpu
from zskl.engines import Engine
from zskl.estimators.candidates import calibrated
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.metrics.seen_unseen import Margins, curves, harmonic_means, highest, margins
from zskl.selection import temperatures
from zskl.selection.class_folds import Fold
from zskl.selection.fold_worker import Examiner, take
from zskl.selection.material import Material, check_seen, material

Scores = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_]]


def best_constant(folds: Sequence[Margins]) -> tuple[float, NDArray[np.float64]]:
    """The constant γ with the highest mean over folds of the harmonic mean, and the harmonic mean (F,) of each there.

    All constants between two neighbouring gaps are equal. We choose the middle of the best interval; of several equal
    ones, the one nearest 0. If no constant gets both sides right, γ is 0.
    """
    constants, seen, unseen = curves(folds)
    harmonic = harmonic_means(seen, unseen)  # (F, k)
    place = highest(constants, harmonic.mean(axis=0))
    return (0.0, np.zeros(len(folds))) if place is None else (float(constants[place]), harmonic[:, place])


def calibrate(
    model: ZeroShotClassifier,
    X: Any,
    y: Any,
    signatures: Any,
    folds: Sequence[Fold] | int | None = None,
    engine: Engine | str | None = None,
    constant: float | None = None,
) -> ZeroShotClassifier:
    """Set `calibration_` and `temperatures_` of a fitted model, from clones of it fitted on folds.

    Temperatures are fitted to the validation rows of the folds: held-out classes among themselves ("unseen"), trained
    classes among themselves ("seen"), and all classes, with the constant subtracted ("mixed").

    Parameters
    ----------
    model : ZeroShotClassifier
        The fitted model. It gets the constant and the temperatures.
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

    Returns
    -------
    ZeroShotClassifier
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
    check_is_fitted(model)
    shared = material(clone(model), X, y, signatures, folds)
    if constant is None:
        check_seen(shared.folds)
    runner = engine_for(engine, model, X)
    tasks = range(len(shared.folds))
    scored = [scores for _, scores in sorted(engines.each(_score, tasks, shared, runner), key=lambda one: one[0])]
    if constant is None:
        constant = best_constant([margins(scores, own, seen) for scores, own, seen in scored])[0]
    model.calibration_ = float(constant)
    mixed = [(calibrated(scores.astype(np.float64), seen, constant), own) for scores, own, seen in scored]
    model.temperatures_ = {
        "seen": temperatures.fit([_side(*one, wanted=True) for one in scored], "seen"),
        "unseen": temperatures.fit([_side(*one, wanted=False) for one in scored], "unseen"),
        "mixed": temperatures.fit(mixed, "mixed"),
    }
    return model


def _score(shared: Material, fold: int) -> Scores:
    """Scores (n, c) of a fold's validation rows by the estimator fitted on its training rows."""
    rows = shared.folds[fold].train
    model = clone(shared.estimator).fit(take(shared.X, rows), shared.y[rows], shared.table)
    examiner = Examiner(shared, fold)
    return examiner.scores(model), examiner.own, examiner.is_seen


def _side(scores: NDArray[Any], own: NDArray[np.int64], seen: NDArray[np.bool_], *, wanted: bool) -> tuple[Any, Any]:
    """Rows and columns of the seen classes alone, or of the others."""
    columns = np.flatnonzero(seen == wanted)
    rows = np.flatnonzero(seen[own] == wanted)
    return scores[np.ix_(rows, columns)], np.searchsorted(columns, own[rows])


def engine_for(engine: Engine | str | None, estimator: ZeroShotClassifier, X: Any) -> Engine | None:
    """Where runs happen: "auto" is all cores for the CPU and this process for a GPU."""
    if isinstance(engine, str):
        if engine != "auto":
            return Engine(engine)
        return None if on_gpu(X, getattr(estimator, "device", None)) else Engine()
    return engine
