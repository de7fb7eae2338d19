"""Seeded parts: the stored folds of everything that draws them, and what holds for any class sizes."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import user_files
from benchmark_files import tiny, write_package
from user_files import make
from zskl import selection
from zskl.datasets import split as split_by_class
from zskl.datasets import xlsa17

# Folds as version 0.1 drew them. They are part of every published figure: do not change them, mend the code instead.
SEARCH = [
    ([1, 6, 10, 13], [0, 7, 11, 12], [2, 3, 4, 5, 8, 9]),
    ([0, 3, 5, 8, 10], [1, 2, 4, 9, 11], [6, 7, 12, 13]),
    ([2, 5, 7, 9, 13], [3, 4, 6, 8, 12], [0, 1, 10, 11]),
    ([3, 7, 11, 12], [2, 6, 10, 13], [0, 1, 4, 5, 8, 9]),
]
PAIRS = [([0, 1, 6, 8], [2, 7], [3, 4, 5, 9, 10, 11]), ([6, 8, 10, 11], [7, 9], [0, 1, 2, 3, 4, 5])]
OWN_DATA = {
    "trainval": [0, 1, 3, 5, 8, 12, 14, 15, 17, 19, 20, 21, 22, 23],
    "test_seen": [4, 6, 7, 9, 11, 13, 16],
    "test_unseen": [2, 10, 18],
    "fold1_train": [1, 12, 14, 15, 17, 20, 22, 23],
    "fold1_val": [0, 3, 5, 8, 19, 21],
    "fold2_train": [0, 1, 3, 5, 8, 15, 17, 19, 21, 23],
    "fold2_val": [12, 14, 20, 22],
    "fold3_train": [0, 3, 5, 8, 12, 14, 19, 20, 21, 22],
    "fold3_val": [1, 15, 17, 23],
}
BENCHMARK = [["dog", "eel"], ["gnu", "hen"], ["ant", "bee"]]
MANY = "2f5c46e4af243cfaa91335d04992ad814d8c4f1a86ae81c4a6618c22ce47e82c"


def test_the_stored_folds_of_a_search():
    for labels, n_folds, seed, stored in (
        (np.repeat(np.arange(7), 2), 4, 5, SEARCH),
        (np.repeat(["a", "b", "c", "d"], 3), 2, 1, PAIRS),
    ):
        found = selection.folds(labels, n_folds=n_folds, seed=seed)
        assert [(one.train.tolist(), one.val_seen.tolist(), one.val_unseen.tolist()) for one in found] == stored


def test_the_stored_parts_of_own_data():
    parts = split_by_class.divide_rows(np.tile(np.arange(8), 3), np.arange(8) == 2, 4)
    assert {part: rows.tolist() for part, rows in parts.items()} == OWN_DATA


@pytest.mark.usefixtures("own_cache")
def test_the_stored_folds_of_a_benchmark(tmp_path):
    write_package(tmp_path / "CUB", *tiny())
    data = xlsa17.load("CUB", tmp_path)
    assert [sorted(set(data.y[data.parts[f"fold{k}_val"]].tolist())) for k in (1, 2, 3)] == BENCHMARK


def test_the_stored_folds_of_many_sizes_and_seeds():
    digest = hashlib.sha256()
    for classes in (5, 6, 9, 50):
        for seed in range(5):
            labels = np.arange(200) % classes
            for fold in selection.folds(labels, n_folds=7, seed=seed):
                digest.update(json.dumps([fold.train.tolist(), fold.val_unseen.tolist()]).encode())
            parts = split_by_class.divide_rows(labels, np.arange(classes) < classes // 4, seed)
            digest.update(json.dumps({part: rows.tolist() for part, rows in parts.items()}).encode())
    assert digest.hexdigest() == MANY


@pytest.mark.parametrize("classes", [2, 3, 7, 12])
def test_each_class_is_held_out_once(classes):
    folds = split_by_class.hold_out_thirds(np.arange(classes), np.random.default_rng(0))
    assert sorted(np.concatenate([val for _, val in folds])) == list(range(classes))
    for train, val in folds:
        assert sorted([*train, *val]) == list(range(classes))


@settings(max_examples=60)
@given(st.lists(st.integers(0, 9), min_size=3, max_size=12), st.floats(0.01, 0.99), st.integers(0, 5))
def test_division_of_any_class_sizes(sizes, fraction, seed):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    classes = [str(k) for k in range(len(sizes))]
    full = np.count_nonzero(sizes)
    if full - max(round(fraction * full), full == len(sizes)) < 2:
        with pytest.raises(ValueError, match="at least 2 must be seen"):
            split_by_class.choose_unseen(classes, np.array(sizes), None, fraction, seed)
        return
    hidden = split_by_class.choose_unseen(classes, np.array(sizes), None, fraction, seed)
    parts = split_by_class.divide_rows(codes, hidden, seed)
    rows = np.concatenate([parts[part] for part in ("trainval", "test_seen", "test_unseen")])
    assert sorted(rows) == list(range(len(codes)))
    for code, size in enumerate(sizes):
        kept, tested = ((codes[parts[part]] == code).sum() for part in ("trainval", "test_seen"))
        if hidden[code]:
            assert kept == tested == 0
        else:
            assert kept >= 1
            assert tested == (max(1, round(size / 5)) if size > 1 else 0)
    assert ("fold1_val" in parts) == ((~hidden).sum() >= split_by_class.LEAST_SEEN)


def test_splits_of_every_class(here):
    data = make(unseen_fraction=0.3, seed=1)
    seen, unseen = data.seen_classes, data.unseen_classes
    assert (len(seen), len(unseen)) == (7, 3)
    for label in seen:
        mine = {part: int((data.y[rows] == label).sum()) for part, rows in data.parts.items()}
        assert (mine["trainval"], mine["test_seen"], mine["test_unseen"]) == (10, 2, 0)
    for k in (1, 2, 3):
        train, val = (set(data.y[data.parts[f"fold{k}_{side}"]]) for side in ("train", "val"))
        assert train | val == set(seen)
        assert not train & val
        assert len(val) in (2, 3)
        both = np.concatenate([data.parts[f"fold{k}_train"], data.parts[f"fold{k}_val"]])
        assert sorted(both) == data.parts["trainval"].tolist()
    held_out = [name for k in (1, 2, 3) for name in set(data.y[data.parts[f"fold{k}_val"]])]
    assert sorted(held_out) == sorted(seen)  # each class once


def test_the_seed_decides_and_one_draw_does_not_change_another(here):
    first, again, other = make("a"), make("b"), make("c", seed=1)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    fewer, more = make("d", unseen=["ant"]), make("e", unseen=["ant", "bee"])
    of_cat = [rows[fewer.y[rows] == "cat"].tolist() for rows in (fewer.parts["test_seen"], more.parts["test_seen"])]
    assert of_cat[0] == of_cat[1]


def test_few_classes_have_no_folds(here):
    user_files.write_birds(here, user_files.SPECIES[:5])
    assert set(make().parts) == {"trainval", "test_seen", "test_unseen"}


def test_a_class_without_rows_is_unseen(here):
    with (here / "traits.csv").open("a") as file:
        file.write("yak,1,2,3,4,5\n")
    data = make(unseen=[])
    assert data.unseen_classes.tolist() == ["yak"]
    assert not len(data.parts["test_unseen"])
    assert make("more").unseen_classes.tolist()[-1] == "yak"
