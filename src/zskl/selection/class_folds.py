"""Class-disjoint validation folds inside the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

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
    count("n_folds", n_folds)
    if not 0 <= seen_share < 1:
        raise ValueError(f"seen_share is {seen_share!r}: expected a number from 0 to below 1")
    if isinstance(source, Dataset):
        trainval = source.parts["trainval"]
        y = source.y[trainval]
        own = _of_dataset(source, trainval)
    else:
        y, own = as_labels(source, "y"), []
        if not len(y):
            raise ValueError("folds of no rows: expected the labels of the training rows")
    codes = np.unique(y, return_inverse=True)[1]
    pairs = own or [_without(codes, held) for held in _held_out(int(codes.max()) + 1, n_folds, seed)]
    return [_fold(codes, train, val, seen_share, seed, k) for k, (train, val) in enumerate(pairs)]


def _of_dataset(data: Dataset, trainval: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(train, val) positions within trainval of each fold that the dataset has, by number."""
    position = np.full(len(data.y), -1, dtype=np.int64)
    position[trainval] = np.arange(len(trainval))
    names = fold_names(data.parts)
    return [(position[data.parts[f"{name}_train"]], position[data.parts[f"{name}_val"]]) for name in names]


def _held_out(classes: int, n_folds: int, seed: int) -> list[NDArray[np.int64]]:
    if classes < 2 * LEAST_HELD:
        raise TooFewRows(
            f"the training rows are of {classes} class(es): validation holds out {LEAST_HELD} of them and trains on "
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
