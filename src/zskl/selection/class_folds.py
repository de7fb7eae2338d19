"""Class-disjoint validation folds inside the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import generator
from zskl.datasets.dataset import Dataset
from zskl.datasets.dataset_checks import fold_names
from zskl.datasets.split_by_class import FOLDS, LEAST_HELD, LEAST_SEEN, folds_of_thirds
from zskl.parameters import count
from zskl.signatures.table import as_labels

SEEN_SHARE = 0.2  # of the rows of each other class, for validation of seen classes
_CLASSES, _ROWS = range(2)  # streams of the seed


@dataclass(frozen=True)
class Fold:
    """One split of the training rows that holds whole classes out.

    All three are positions within the training rows.

    Parameters
    ----------
    train : array-like of int
        Rows to train on.
    val_seen : array-like of int
        Other rows of the same classes, to judge seen classes on. May be empty.
    val_unseen : array-like of int
        Rows of other classes, which take the part of unseen ones.

    Examples
    --------
    >>> from zskl import selection
    >>> fold = selection.Fold(train=[0, 1, 3, 4], val_seen=[2, 5], val_unseen=[6, 7, 8])
    >>> len(fold.val_unseen)
    3
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
                f"a fold with {len(self.train)} rows to train on and {len(self.val_unseen)} of held-out classes: both "
                "need at least one"
            )


def folds(source: Any, n_folds: int = 3, seed: int = 0, seen_share: float = SEEN_SHARE) -> list[Fold]:
    """Make folds of training rows that hold whole classes out.

    A `Dataset` with parts fold1_train, fold1_val, ... brings its own folds. Otherwise each fold holds out a third of
    the classes, every class once in three folds; with four or five classes, each fold holds out a different pair. Test
    rows never enter.

    Parameters
    ----------
    source : Dataset or array-like of shape (n,)
        A dataset, whose trainval rows are split, or the labels of training rows.
    n_folds : int, default=3
        How many folds to make. Not used if the dataset brings its own.
    seed : int, default=0
        Seed of the classes and rows that are held out.
    seen_share : float, default=0.2
        Share of the rows of each other class that is held out too, for `val_seen`.

    Returns
    -------
    list of Fold
        The folds, as positions within the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from zskl import selection
    >>> folds = selection.folds(np.repeat(["ant", "bee", "cat", "dog", "emu", "fox"], 5))
    >>> [len(fold.val_unseen) for fold in folds]  # the rows of two classes
    [10, 10, 10]
    """
    count("n_folds", n_folds)
    if not 0 <= seen_share < 1:
        raise ValueError(f"seen_share={seen_share!r}: expected a number in [0, 1)")
    if isinstance(source, Dataset):
        trainval = source.parts["trainval"]
        y = source.y[trainval]
        own = _own(source, trainval)
    else:
        y, own = as_labels(source, "y"), []
        if not len(y):
            raise ValueError("folds of no rows: expected the labels of the training rows")
    codes = np.unique(y, return_inverse=True)[1]
    pairs = own or [_without(codes, held) for held in _held_out(int(codes.max()) + 1, n_folds, seed)]
    return [_fold(codes, train, val, seen_share, seed, k) for k, (train, val) in enumerate(pairs)]


def _own(data: Dataset, trainval: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(train, val) positions within trainval of each fold that the dataset brings, by number."""
    place = np.full(len(data.y), -1, dtype=np.int64)
    place[trainval] = np.arange(len(trainval))
    names = fold_names(data.parts)
    return [(place[data.parts[f"{name}_train"]], place[data.parts[f"{name}_val"]]) for name in names]


def _held_out(classes: int, n_folds: int, seed: int) -> list[NDArray[np.int64]]:
    if classes < 2 * LEAST_HELD:
        raise ValueError(
            f"the training rows are of {classes} class(es): validation holds {LEAST_HELD} of them out and trains on "
            f"{LEAST_HELD} others, so at least {2 * LEAST_HELD} are needed; set parameters by hand instead"
        )
    if classes < LEAST_SEEN:  # a third would be a single class: hold out pairs, a different one in each fold
        pairs = generator(seed, _CLASSES).permutation(list(combinations(range(classes), LEAST_HELD)))
        return [pairs[k % len(pairs)] for k in range(n_folds)]
    turns = [generator(seed, _CLASSES, turn) for turn in range(-(-n_folds // FOLDS))]
    held = [val for draw in turns for _, val in folds_of_thirds(np.arange(classes), draw)]
    return held[:n_folds]


def _without(codes: NDArray[np.int64], held: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    away = np.isin(codes, held)
    return np.flatnonzero(~away), np.flatnonzero(away)


def _fold(
    codes: NDArray[np.int64], train: NDArray[np.int64], val: NDArray[np.int64], share: float, seed: int, k: int
) -> Fold:
    kept, seen = [], []
    for code in np.unique(codes[train]):
        rows = generator(seed, _ROWS, k, int(code)).permutation(np.sort(train[codes[train] == code]))
        held = min(max(1, round(share * len(rows))), len(rows) - 1) if share else 0
        seen.append(rows[:held])
        kept.append(rows[held:])
    return Fold(np.sort(np.concatenate(kept)), np.sort(np.concatenate(seen)), np.sort(val))
