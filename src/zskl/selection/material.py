"""What every run of a search shares: checked training rows, the signatures of their classes, and folds that fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from zskl.datasets.dataset import Dataset
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.inputs import check_training
from zskl.parameters import listed
from zskl.selection.class_folds import Fold, TooFewRows
from zskl.selection.class_folds import folds as make_folds
from zskl.signatures import table as tables
from zskl.signatures.table import SignatureTable


@dataclass(frozen=True)
class Material:
    """The estimator, the training rows, the signatures of their classes, and the folds."""

    estimator: ZeroShotClassifier
    X: Any  # (n, d)
    y: NDArray[Any]  # (n,)
    table: SignatureTable
    folds: Sequence[Fold]


def material(
    estimator: ZeroShotClassifier, X: Any, y: Any, table: Any, given: Sequence[Fold] | int | None = None
) -> Material:
    """Check training rows, signatures and folds; keep only the signatures of the classes in y."""
    if not isinstance(estimator, ZeroShotClassifier):
        raise ValueError(
            f"estimator is a {type(estimator).__name__}: expected an estimator of zskl, without a pipeline around it"
        )
    if table is None:
        raise ValueError("signatures is None: expected a table, because selection holds classes out and describes them")
    labels = check_training(clone(estimator), X, y)[1]
    X = X.tocsr() if issparse(X) else X  # whose rows can be taken
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


def check_seen(folds: Sequence[Fold]) -> None:
    """Refuse folds that cannot compare seen with unseen classes."""
    if not all(len(fold.val_seen) for fold in folds):
        raise TooFewRows(
            "a fold has no val_seen rows, so it cannot compare seen with unseen classes: every class has a single "
            "training row, or the folds were made with seen_share=0; choose by scoring='zsl' and without calibration"
        )


def _folds(given: Any) -> list[Fold]:
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if not found or not all(isinstance(fold, Fold) for fold in found):
        raise ValueError(
            f"folds is {str(given)[:60]!r}: expected a number, a dataset, or a list of at least one "
            "selection.Fold(train, val_seen, val_unseen), as selection.folds makes it"
        )
    return found


def _check(fold: Fold, labels: NDArray[Any]) -> None:
    rows = np.concatenate([fold.train, fold.val_seen, fold.val_unseen])
    if rows.min() < 0 or rows.max() >= len(labels):
        raise ValueError(
            f"a fold names row {rows.max()}, X has rows 0 to {len(labels) - 1}: folds are positions within the "
            "training rows, as selection.folds makes them"
        )
    if len(np.unique(rows)) < len(rows):
        raise ValueError("a fold names a row twice: expected no row in two of train, val_seen and val_unseen")
    shared = np.intersect1d(labels[fold.train], labels[fold.val_unseen])
    if len(shared):
        raise ValueError(f"a fold trains on rows of {listed(shared)} and holds that class out: keep classes apart")
    strangers = np.setdiff1d(labels[fold.val_seen], labels[fold.train])
    if len(strangers):
        raise ValueError(f"val_seen of a fold has rows of {listed(strangers)}, which it does not train on: remove them")
