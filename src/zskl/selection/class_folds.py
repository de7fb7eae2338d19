"""Class-disjoint validation folds inside the training rows, and all that a search on them shares."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from zskl._arrays import is_torch, make_generator
from zskl._display import count_noun
from zskl._validation import check_count, list_values
from zskl.datasets.dataset import Dataset, fold_names
from zskl.datasets.split import FOLDS, LEAST_HELD, LEAST_SEEN, hold_out_thirds
from zskl.estimators._class_draws import draw_classes
from zskl.estimators._inputs import check_training
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.class_means import ClassMeansClassifier
from zskl.signatures import table as tables
from zskl.signatures.table import SignatureTable, to_labels

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

Rows = NDArray[np.int64]
SEEN_SHARE = 0.2  # of the rows of each other class, for validation of seen classes
VALIDATION_SHARE = 0.25  # of the rows of every class, for draws
MOST_VALIDATION_ROWS = 3000  # for draws: more say little more
DRAWS = ((40, 24), (100, 12), (300, 8), (np.inf, 4))  # with up to so many classes so many draws
_CLASSES, _ROWS, _VALIDATION = range(3)  # streams of the seed


class TooFewRows(ValueError):
    """Raised where training rows are of too few classes, or are too few per class, to hold some of them out."""


@dataclass(frozen=True)
class Fold:
    """One split of the training rows into rows to train on and rows to validate on.

    Parameters
    ----------
    train : array
        Positions, within the training rows, of the rows to train on.
    val_seen : array
        Positions of held-out rows of the same classes.
    val_unseen : array
        Positions of the rows of held-out classes.

    Examples
    --------
    >>> from zskl import selection
    >>> fold = selection.Fold(train=[0, 1], val_seen=[2], val_unseen=[3, 4])
    >>> len(fold.train)
    2
    """

    train: NDArray[np.int64]
    val_seen: NDArray[np.int64]
    val_unseen: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name in ("train", "val_seen", "val_unseen"):
            rows = np.array(getattr(self, name), dtype=np.int64)
            rows.flags.writeable = False
            object.__setattr__(self, name, rows)
        if not len(self.train) or not len(self.val_unseen):
            raise ValueError(
                f"a fold has {len(self.train)} rows to train on and {len(self.val_unseen)} of held-out classes: "
                "expected at least one of each"
            )

    @property
    def validation(self) -> NDArray[np.int64]:
        """The rows of `val_seen`, then those of `val_unseen`."""
        return np.concatenate([self.val_seen, self.val_unseen])


def folds(
    source: Dataset | Sequence[str | int] | NDArray[np.generic],
    n_folds: int = 3,
    seed: int = 0,
    seen_share: float = SEEN_SHARE,
) -> list[Fold]:
    """Make validation folds that keep classes apart.

    A `Dataset` that has parts fold1_train, fold1_val and so on gives these. Otherwise each fold holds out a third of
    the classes, every class once in three folds; of four or five classes a different pair. Test rows never enter.

    Parameters
    ----------
    source : Dataset or array of shape (n,)
        A dataset, or the labels of training rows.
    n_folds : int, default=3
        How many folds to draw, if the dataset has none.
    seed : int, default=0
        Seed of the draws.
    seen_share : float, default=0.2
        The share of the rows of each other class that is held out as `val_seen`.

    Returns
    -------
    list of Fold
        The folds, as positions within the training rows: those of the part trainval, or of `source` itself.

    Examples
    --------
    >>> from zskl import selection
    >>> folds = selection.folds(["owl", "owl", "cat", "cat", "ant", "ant", "bee", "bee"], n_folds=2)
    >>> [fold.val_unseen.tolist() for fold in folds]
    [[2, 3, 6, 7], [0, 1, 4, 5]]
    """
    check_count("n_folds", n_folds)
    if not 0 <= seen_share < 1:
        raise ValueError(f"seen_share is {seen_share!r}: expected a number from 0 to below 1")
    if isinstance(source, Dataset):
        trainval = source.parts["trainval"]
        y, names = source.y[trainval], fold_names(source.parts)
        position = np.full(len(source.y), -1, dtype=np.int64)
        position[trainval] = np.arange(len(trainval))
        pairs = [(position[source.parts[f"{name}_train"]], position[source.parts[f"{name}_val"]]) for name in names]
    else:
        y, pairs = to_labels(source, "y"), []
        if not len(y):
            raise ValueError("folds of no rows: expected the labels of the training rows")
    codes = np.unique(y, return_inverse=True)[1]
    if not pairs:
        masks = [np.isin(codes, held) for held in _hold_out_classes(int(codes.max()) + 1, n_folds, seed)]
        pairs = [(np.flatnonzero(~held), np.flatnonzero(held)) for held in masks]
    return [_make_fold(codes, train, val, seen_share, seed, k) for k, (train, val) in enumerate(pairs)]


def _hold_out_classes(classes: int, n_folds: int, seed: int) -> list[Rows]:
    if classes < 2 * LEAST_HELD:
        raise TooFewRows(
            f"the training rows are of {count_noun(classes, 'class')}: validation holds out {LEAST_HELD} of them and "
            f"trains on {LEAST_HELD} others, so at least {2 * LEAST_HELD} are needed; set parameters by hand instead"
        )
    # A third of so few would be a single class: hold out pairs instead, a different one in each fold.
    if classes < LEAST_SEEN:
        pairs = make_generator(seed, _CLASSES).permutation(list(combinations(range(classes), LEAST_HELD)))
        return [pairs[k % len(pairs)] for k in range(n_folds)]
    generators = [make_generator(seed, _CLASSES, number) for number in range(-(-n_folds // FOLDS))]
    held = [val for generator in generators for _, val in hold_out_thirds(np.arange(classes), generator)]
    return held[:n_folds]


def draws(labels: Any, n_draws: int | None = None, seed: int = 0, share: float = VALIDATION_SHARE) -> list[Fold]:
    """Make many draws of held-out classes that all validate on the same rows.

    A share of the rows of every class is kept out of training. Each draw then holds out a quarter of the classes, every
    class once before one comes again. So class means need one fit for all of them, see `zskl.selection.tune`.

    Parameters
    ----------
    labels : array of shape (n,)
        The labels of the training rows.
    n_draws : int, default=None
        How many draws; None takes 24, or fewer where there are many classes.
    seed : int, default=0
        Seed of the draws.
    share : float, default=0.25
        The share of the rows of each class to validate on: at least one row, and none of a class of a single row.

    Returns
    -------
    list of Fold
        The draws, as positions within `labels`.

    Examples
    --------
    >>> from zskl import selection
    >>> some = selection.draws(["owl", "owl", "cat", "cat", "ant", "ant", "bee", "bee"], n_draws=2)
    >>> [fold.val_unseen.tolist() for fold in some]
    [[2, 4], [1, 7]]
    """
    if not 0 < share < 1:
        raise ValueError(f"share is {share!r}: expected a number above 0 and below 1")
    y = to_labels(labels, "labels")
    codes = np.unique(y, return_inverse=True)[1]
    classes = int(codes.max()) + 1 if len(codes) else 0
    if classes < 2 * LEAST_HELD:
        _hold_out_classes(classes, 1, seed)  # which refuses
    if n_draws is None:
        n_draws = next(count for limit, count in DRAWS if classes <= limit)
    check_count("n_draws", n_draws)
    most = max(1, MOST_VALIDATION_ROWS // classes)
    own = np.zeros(len(codes), dtype=bool)
    for code in range(classes):
        rows = make_generator(seed, _VALIDATION, code).permutation(np.flatnonzero(codes == code))
        own[rows[: min(max(1, round(share * len(rows))), most, len(rows) - 1)]] = True
    found = []
    for held in draw_classes(classes, n_draws, seed):
        out = np.isin(codes, held)
        if (own & out).any():
            found.append(Fold(np.flatnonzero(~own & ~out), np.flatnonzero(own & ~out), np.flatnonzero(own & out)))
    return found


def find_shared_validation(folds: Sequence[Fold]) -> tuple[Rows, Rows] | None:
    """Rows that some fold trains on, and the validation rows of all; None if these differ or one trains on them."""
    validation = np.sort(folds[0].validation)
    if len(folds) < 2 or not all(np.array_equal(np.sort(fold.validation), validation) for fold in folds[1:]):
        return None
    train = np.unique(np.concatenate([fold.train for fold in folds]))
    return None if np.isin(train, validation).any() else (train, validation)


def _make_fold(codes: Rows, train: Rows, val: Rows, share: float, seed: int, k: int) -> Fold:
    kept, seen = [], []
    for code in np.unique(codes[train]):
        rows = make_generator(seed, _ROWS, k, int(code)).permutation(np.sort(train[codes[train] == code]))
        held = min(max(1, round(share * len(rows))), len(rows) - 1) if share else 0
        seen.append(rows[:held])
        kept.append(rows[held:])
    return Fold(np.sort(np.concatenate(kept)), np.sort(np.concatenate(seen)), np.sort(val))


@dataclass(frozen=True)
class FoldData:
    """The estimator, the training rows, the signatures of their classes, and the folds. For the last step of a
    pipeline, `transformed` has the rows of each fold to train on and to validate on, as the steps before it hand them
    over; X is then what it trains on in the first fold."""

    estimator: Any  # a ZeroShotClassifier, or a pipeline that ends in one
    X: Any  # (n, d)
    y: NDArray[Any]  # (n,)
    table: SignatureTable
    folds: Sequence[Fold]
    transformed: tuple[tuple[Any, Any], ...] = ()

    def training(self, fold: int) -> Any:
        return self.transformed[fold][0] if self.transformed else take_fold_rows(self.X, self.folds[fold].train)

    def validation(self, fold: int) -> Any:
        """The rows of trained classes, then those of held-out ones."""
        return self.transformed[fold][1] if self.transformed else take_fold_rows(self.X, self.folds[fold].validation)


def take_fold_rows(X: Any, rows: Rows) -> Any:
    """Rows of an array, a tensor, a data frame or a list of rows."""
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    # The rows of a fold are read-only, and PyTorch wants indices that it could write to.
    return X[rows.copy() if is_torch(X) else rows]


def prepare_fold_data(
    estimator: ZeroShotClassifier | Pipeline, X: Any, y: Any, table: Any, given: Sequence[Fold] | int | None = None
) -> FoldData:
    """Check training rows, signatures and folds; keep only the signatures of the classes in y."""
    last = last_step(estimator)
    if table is None:
        raise ValueError("signatures is None: expected a table, because selection holds classes out and describes them")
    X = X.tocsr() if issparse(X) else X  # other sparse formats cannot be indexed by rows
    # The first step of a pipeline checks its own rows; here only their number matters.
    rows = X if last is estimator else np.zeros((X.shape[0] if hasattr(X, "shape") else len(X), 1))
    labels = check_training(clone(last), rows, y)[1]
    classes = np.unique(labels)
    described = tables.read_table(table, classes)
    missing = [label for label in classes.tolist() if label not in set(described.labels.tolist())]
    if missing:
        raise ValueError(f"no signature for class {list_values(missing)}: every label in y needs a row in signatures")
    if given is None and isinstance(estimator, ClassMeansClassifier) and (drawn := draws(labels)):
        chosen = drawn
    elif given is None or isinstance(given, Integral):
        chosen = folds(labels, 3 if given is None else int(given))
    else:
        chosen = folds(given) if isinstance(given, Dataset) else _check_folds(given)
    for fold in chosen:
        _check_fold(fold, labels)
    return FoldData(estimator, X, labels, described.select(classes), chosen)


def check_seen(folds: Sequence[Fold]) -> None:
    if not all(len(fold.val_seen) for fold in folds):
        raise TooFewRows(
            "a fold has no val_seen rows, so it cannot compare seen with unseen classes: every class has a single "
            "training row, or the folds keep none; choose by scoring='zsl' and without calibration"
        )


def _check_folds(given: Any) -> list[Fold]:
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if not found or not all(isinstance(fold, Fold) for fold in found):
        raise ValueError(
            f"folds is {str(given)[:60]!r}: expected a number, a dataset, or a list of at least one "
            "selection.Fold(train, val_seen, val_unseen), as selection.folds makes it"
        )
    return found


def _check_fold(fold: Fold, labels: NDArray[Any]) -> None:
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
        raise ValueError(f"a fold trains on rows of {list_values(shared)} and holds that class out: keep classes apart")
    strangers = np.setdiff1d(labels[fold.val_seen], labels[fold.train])
    if len(strangers):
        raise ValueError(
            f"val_seen of a fold has rows of {list_values(strangers)}, which it does not train on: remove them"
        )


def is_pipeline(estimator: Any) -> TypeGuard[Pipeline]:
    """Whether this is a pipeline of scikit-learn, without importing its module, which is slow."""
    # Whoever has made a pipeline has imported it.
    module = sys.modules.get("sklearn.pipeline")
    return module is not None and isinstance(estimator, module.Pipeline)


def last_step(estimator: Any) -> ZeroShotClassifier:
    """The estimator of a pipeline that ranks classes, or the estimator itself."""
    last = estimator.steps[-1][1] if is_pipeline(estimator) else estimator
    if not isinstance(last, ZeroShotClassifier):
        where = "the last step of the pipeline" if last is not estimator else "estimator"
        raise ValueError(f"{where} is a {type(last).__name__}: expected an estimator of zskl")
    return last


def transform_folds(shared: FoldData) -> FoldData:
    """The data of a pipeline's last step: every fold as the transformers, fitted on its training rows, hand it over."""
    if not is_pipeline(shared.estimator):
        return shared
    parts = []
    for fold in shared.folds:
        transformers = _list_pipeline_transformers(clone(shared.estimator))
        train, validation = take_fold_rows(shared.X, fold.train), take_fold_rows(shared.X, fold.validation)
        if transformers is not None:
            train = transformers.fit_transform(train, shared.y[fold.train])
            validation = transformers.transform(validation)
        parts.append((train, validation))
    return replace(shared, estimator=clone(last_step(shared.estimator)), X=parts[0][0], transformed=tuple(parts))


def clone_with_settings(pipeline: Pipeline, setting: Mapping[str, Any]) -> Pipeline:
    """A clone of the pipeline with these settings; estimators among them are cloned too."""
    return clone(pipeline).set_params(**{name: clone(one, safe=False) for name, one in setting.items()})


def fit_pipeline(pipeline: Pipeline, X: Any, y: Any, signatures: Any, callback: Any = None) -> Pipeline:
    """Fit all steps of a pipeline, in place; only the last one is shown signatures."""
    transformers, name, last = _list_pipeline_transformers(pipeline), pipeline.steps[-1][0], last_step(pipeline)
    if transformers is not None:
        X = transformers.fit_transform(X, y)
    last.fit(X, y, signatures, callback=callback)
    pipeline.steps = [*([] if transformers is None else transformers.steps), (name, last)]
    return pipeline


def _list_pipeline_transformers(pipeline: Pipeline) -> Pipeline | None:
    return pipeline[:-1] if len(pipeline.steps) > 1 else None
