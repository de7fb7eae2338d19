"""Folds hold whole classes out; folds that cannot be made or do not fit the rows are refused."""

import numpy as np
import pytest

from small_search import DATA, ROWS, TRAINING, estimator
from zskl import datasets, selection
from zskl.selection import Fold
from zskl.selection.class_folds import prepare_fold_data


@pytest.mark.parametrize(("classes", "n_folds"), [(9, 3), (10, 3), (4, 3), (5, 2), (30, 5)])
def test_seeded_folds_keep_classes_apart(classes, n_folds):
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(classes), 10))
    folds = selection.folds(y, n_folds, seed=1)
    assert len(folds) == n_folds
    for fold in folds:
        held, kept = set(y[fold.val_unseen]), set(y[fold.train])
        assert not held & kept
        assert held | kept == set(range(classes))
        assert max(2, classes // 3) <= len(held) <= max(2, -(-classes // 3))
        assert set(y[fold.val_seen]) == kept
        rows = np.concatenate([fold.train, fold.val_seen, fold.val_unseen])
        assert sorted(rows) == list(range(len(y)))
        assert len(fold.val_seen) == 2 * len(kept)  # a fifth of ten rows each
    if n_folds == 3 and classes >= 6:
        assert sorted(np.concatenate([np.unique(y[fold.val_unseen]) for fold in folds])) == list(range(classes))


def test_folds_come_from_their_seed_alone():
    y = np.repeat(np.arange(12), 6)
    for one, other in zip(selection.folds(y, seed=3), selection.folds(y, seed=3), strict=True):
        np.testing.assert_array_equal(one.train, other.train)
        np.testing.assert_array_equal(one.val_seen, other.val_seen)
    assert any(
        not np.array_equal(one.val_unseen, other.val_unseen)
        for one, other in zip(selection.folds(y, seed=3), selection.folds(y, seed=4), strict=True)
    )


def test_a_dataset_brings_its_own_folds():
    parts = dict(DATA.parts)
    names = DATA.y[ROWS]
    held = np.unique(names)[:2]
    parts["fold1_train"], parts["fold1_val"] = ROWS[~np.isin(names, held)], ROWS[np.isin(names, held)]
    data = datasets.Dataset("own", DATA.X, DATA.y, DATA.signatures, parts)
    (fold,) = selection.folds(data)
    trainval = data.parts["trainval"]
    assert sorted(trainval[fold.val_unseen]) == sorted(parts["fold1_val"])
    assert sorted(trainval[np.concatenate([fold.train, fold.val_seen])]) == sorted(parts["fold1_train"])
    assert 0 < len(fold.val_seen) < len(fold.train)


def test_folds_that_cannot_be_made():
    with pytest.raises(ValueError, match=r"of 3 classes.*at least 4 are needed"):
        selection.folds([0, 1, 2, 2])
    with pytest.raises(ValueError, match="seen_share is 1"):
        selection.folds(np.arange(9), seen_share=1)
    with pytest.raises(ValueError, match="n_folds is 0"):
        selection.folds(np.arange(9), 0)
    with pytest.raises(ValueError, match="0 rows to train on"):
        Fold([], [], [1])


@pytest.mark.parametrize(
    ("fold", "message"),
    [
        (lambda y: Fold([0, 1], [], [len(y)]), "positions within the training"),
        (lambda y: Fold([0, 1], [0], np.flatnonzero(y != y[0])), "names a row twice"),
        (lambda y: Fold(np.flatnonzero(y == y[0])[:2], [], np.flatnonzero(y == y[0])[2:]), "holds that class out"),
        (
            lambda y: Fold(np.flatnonzero(y == y[0]), np.flatnonzero(y == y[-1]), np.flatnonzero(y == 3)),
            "which it does not train on",
        ),
    ],
    ids=["beyond", "twice", "class in both", "stranger"],
)
def test_folds_that_do_not_fit_the_rows_are_refused(fold, message):
    y = np.repeat(np.arange(6), 5)
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match=message):
        selection.search(estimator(), X, y, np.eye(6), {}, [fold(y)])


@pytest.mark.parametrize("n_classes", [4, 5])
def test_few_classes_are_held_out_in_different_pairs(n_classes):
    y = np.repeat(np.arange(n_classes), 6)
    held = [tuple(np.unique(y[fold.val_unseen])) for fold in selection.folds(y)]
    assert len(set(held)) == 3


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([], "at least one"),
        (0, "n_folds is 0"),
        ("3", "expected a number, a dataset"),
        ([([0], [1])], "expected a number, a dataset"),
    ],
    ids=["none", "zero", "text", "pairs"],
)
def test_what_is_not_a_list_of_folds_is_refused(folds, message):
    with pytest.raises(ValueError, match=message):
        selection.search(estimator(), *TRAINING, {}, folds)


def test_folds_by_number_or_dataset(found):
    for given in (np.int64(3), DATA, None):
        for mine, other in zip(prepare_fold_data(estimator(), *TRAINING, given).folds, found.folds, strict=True):
            for part in ("train", "val_seen", "val_unseen"):
                np.testing.assert_array_equal(getattr(mine, part), getattr(other, part))
