"""What every run of a search shares: checked training rows, the signatures of their classes, and folds that fit."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from zskl.arrays import is_torch
from zskl.datasets.dataset import Dataset
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.inputs import check_training
from zskl.parameters import listed
from zskl.selection.class_folds import Fold, TooFewRows
from zskl.selection.class_folds import folds as make_folds
from zskl.signatures import table as tables
from zskl.signatures.table import SignatureTable

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


@dataclass(frozen=True)
class Material:
    """The estimator, the training rows, the signatures of their classes, and the folds.

    Of a pipeline's last step `prepared` has the rows of each fold, to train on and to validate on, as the steps before
    it hand them over; X is then what it trains on in the first.
    """

    estimator: Any  # a ZeroShotClassifier, or a pipeline that ends in one
    X: Any  # (n, d)
    y: NDArray[Any]  # (n,)
    table: SignatureTable
    folds: Sequence[Fold]
    prepared: tuple[tuple[Any, Any], ...] = ()

    def training(self, fold: int) -> Any:
        """The rows that a fold trains on."""
        return self.prepared[fold][0] if self.prepared else take(self.X, self.folds[fold].train)

    def validation(self, fold: int) -> Any:
        """The rows that it validates on: those of trained classes, then those of held-out ones."""
        return self.prepared[fold][1] if self.prepared else take(self.X, self.folds[fold].validation)


def take(X: Any, rows: NDArray[np.int64]) -> Any:
    """Rows of an array, a tensor, a data frame or a list of rows."""
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows.copy() if is_torch(X) else rows]  # PyTorch wants indices that it could write to


def material(
    estimator: ZeroShotClassifier | Pipeline, X: Any, y: Any, table: Any, given: Sequence[Fold] | int | None = None
) -> Material:
    """Check training rows, signatures and folds; keep only the signatures of the classes in y."""
    last = last_step(estimator)
    if table is None:
        raise ValueError("signatures is None: expected a table, because selection holds classes out and describes them")
    X = X.tocsr() if issparse(X) else X  # whose rows can be taken
    rows = X if last is estimator else np.zeros((_length(X), 1))  # the first step of a pipeline checks its own
    labels = check_training(clone(last), rows, y)[1]
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


def is_pipeline(estimator: Any) -> TypeGuard[Pipeline]:
    """Whether this is a pipeline of scikit-learn. Most are not, and to import its module takes long."""
    module = sys.modules.get("sklearn.pipeline")  # whoever has made a pipeline has imported it
    return module is not None and isinstance(estimator, module.Pipeline)


def last_step(estimator: Any) -> ZeroShotClassifier:
    """The estimator of a pipeline that ranks classes, or the estimator itself."""
    last = estimator.steps[-1][1] if is_pipeline(estimator) else estimator
    if not isinstance(last, ZeroShotClassifier):
        where = "the last step of the pipeline" if last is not estimator else "estimator"
        raise ValueError(f"{where} is a {type(last).__name__}: expected an estimator of zskl")
    return last


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


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
