"""Each fault planted in a healthy dataset is found, alone, and named."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from zskl import datasets
from zskl.datasets import Dataset, make_synthetic
from zskl.datasets.health import _find_equal_rows

# six seen classes a–f and two unseen ones, y and z; each attribute is had by some seen class
TABLE = pd.DataFrame(
    [
        [1, 0, 0, 1],
        [0, 1, 0, 2],
        [0, 0, 1, 3],
        [1, 1, 0, 4],
        [1, 0, 1, 5],
        [0, 1, 1, 6],
        [1, 1, 1, 8],
        [2, 0, 1, 7],
    ],
    index=list("abcdefyz"),
    columns=["fur", "wings", "fins", "size"],
    dtype=float,
)


def dataset(table=TABLE, sizes=10, X=None, parts=None):
    """`sizes` rows of each class; of seen classes a fifth is tested."""
    names = table.index.unique().tolist()
    sizes = [sizes] * len(names) if isinstance(sizes, int) else sizes
    y = np.repeat(names, sizes)
    found = {"trainval": [], "test_seen": [], "test_unseen": [], "fold1_train": [], "fold1_val": []}
    for name in names:
        rows = np.flatnonzero(y == name).tolist()
        held = len(rows) // 5
        found["test_unseen"] += rows if name in "yz" else []
        found["test_seen"] += [] if name in "yz" else rows[:held]
        found["trainval"] += [] if name in "yz" else rows[held:]
        found["fold1_val" if name in "ab" else "fold1_train"] += [] if name in "yz" else rows[held:]
    X = np.random.default_rng(0).random((len(y), 3)) if X is None else X(len(y))
    return Dataset("toy", X, y, table, found if parts is None else parts(found))


def with_column(name, values):
    return TABLE.assign(**{name: values})


def with_row(label, values):
    table = TABLE.copy()
    table.loc[label] = values
    return table


def test_descriptions_in_another_order_explain_nothing():
    data = make_synthetic(n_seen=25, noise=0.2)
    before = datasets.check(data).notes
    table = data.signatures.copy()
    seen = data.seen_classes.tolist()
    table.loc[seen] = table.loc[np.random.default_rng(0).permutation(seen)].to_numpy()
    (note,) = set(datasets.check(Dataset("toy", data.X, data.y, table, dict(data.parts))).notes) - set(before)
    assert note.startswith("the descriptions explain nothing of the 25 training classes")


def test_a_healthy_dataset():
    found = datasets.check(dataset())
    assert found.healthy
    assert (found.faults, found.notes) == ((), ())
    assert (found.rows, found.features, found.attributes) == (80, 3, 4)
    assert found.parts == {"trainval": 48, "test_seen": 12, "test_unseen": 20, "fold1_train": 32, "fold1_val": 16}
    assert [(one.label, one.seen, one.rows, one.trainval) for one in found.classes][::7] == [
        ("a", True, 10, 8),
        ("z", False, 10, 0),
    ]
    with pytest.raises(AttributeError):
        found.rows = 3


FAULTS = {
    "constant column": (with_column("legs", 4.0), "attribute 'legs' has the same value for every class"),
    "duplicate columns": (with_column("coat", TABLE["fur"]), "attributes 'fur', 'coat' have the same values"),
    "identical signatures": (with_row("y", TABLE.loc["e"]), "classes 'e', 'y' have the same signature"),
    "identical seen signatures": (with_row("b", TABLE.loc["c"]), "classes 'b', 'c' have the same signature"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults(case):
    table, sentence = FAULTS[case]
    found = datasets.check(dataset(table))
    assert len(found.faults) == 1
    assert found.faults[0].startswith(sentence)
    assert not found.healthy


def test_constant_numbers_of_a_vector_are_no_fault():
    """Nobody wrote them down, so nobody need look at them."""
    found = datasets.check(dataset(TABLE.assign(**{"sent 7": 0.0, "sent 8": 0.0})))
    assert found.faults == ()
    (note,) = found.notes
    assert note == "2 of 6 numbers of the class vectors ('sent 7', 'sent 8') are the same for every class: no harm"


def test_an_unseen_class_without_attributes_of_seen_classes_is_a_fault():
    table = TABLE.assign(gills=[0, 0, 0, 0, 0, 0, 0, 3.0], horns=[0, 0, 0, 0, 0, 0, 1.0, 5.0])
    shared = datasets.check(dataset(table))
    assert shared.healthy  # z also has fur, fins and size
    assert [note for note in shared.notes if note.startswith("attribute 'gills', 'horns'")]
    table.loc["z", ["fur", "wings", "fins", "size"]] = 0.0
    found = datasets.check(dataset(table))
    assert len(found.faults) == 1
    assert found.faults[0].startswith("unseen class 'z' is described only by attributes that no seen class has")


def test_one_description_with_a_shared_attribute_is_enough():
    table = TABLE.assign(gills=0.0)
    table.loc["z"] = [0, 0, 0, 0, 2.0]
    assert not datasets.check(dataset(table)).healthy
    second = pd.DataFrame([[1.0, 2, 3, 4, 5]], index=["z"], columns=table.columns)
    assert datasets.check(dataset(pd.concat([table, second]))).healthy


def test_minus_zero_is_zero():
    table = with_column("coat", TABLE["fur"].replace(0.0, -0.0))
    assert datasets.check(dataset(table)).faults == ("attributes 'fur', 'coat' have the same values: keep one of them",)


NOTES = {
    "no rows": ({"sizes": [10] * 7 + [0]}, "no rows of class 'z'"),
    "small": ({"sizes": [10] * 7 + [4]}, "fewer than 5 rows of class 'z'"),
    "no test_seen": ({"parts": lambda found: found | {"test_seen": []}}, "no rows in test_seen"),
    "no folds": (
        {"parts": lambda found: {part: rows for part, rows in found.items() if "fold" not in part}},
        "no validation folds of its own: 6 seen classes",
    ),
    "unused": ({"parts": lambda found: found | {"test_seen": found["test_seen"][1:]}}, "1 rows belong to no part"),
    "counting from 0": ({"X": lambda n: np.c_[np.zeros(n) + 0.5, np.arange(n)]}, "feature 1 counts the rows"),
    "counting from 1": ({"X": lambda n: np.c_[np.arange(n) + 1, np.arange(n) % 7]}, "feature 0 counts the rows"),
    "uneven features": (
        {"X": lambda n: np.random.default_rng(0).random((n, 3)) * [1, 200, 3]},
        "the standard deviations of features differ by more than 100×, from 0.",
    ),
    "uneven attributes": (
        {"table": TABLE.assign(size=TABLE["size"] * 30)},
        "the standard deviations of attributes differ by more than 30×, from 0.4",
    ),
    "an identifier": ({"table": TABLE.assign(nr=[3.0, 1, 2, 4, 5, 6, 8, 7])}, "attribute 'nr' numbers or names"),
    "zeros": ({"table": with_row("y", 0.0)}, "class 'y' is described by zeros alone"),
    "unknown": ({"table": TABLE.rename(index={"c": "unknown"})}, "a class is called 'unknown'"),
    "constant feature": ({"X": lambda n: np.c_[np.ones(n), np.arange(n)]}, "feature 0 has the same value"),
}


@pytest.mark.parametrize("case", NOTES)
def test_notes(case):
    how, sentence = NOTES[case]
    found = datasets.check(dataset(**how))
    assert any(note.startswith(sentence) for note in found.notes), found.notes
    assert found.healthy


def test_spreads_are_those_of_the_training_rows_in_any_block(monkeypatch):
    def X(n):
        values = np.random.default_rng(0).normal(size=(n, 3)) * [1, 5000, 3] + [1e4, 0, 0]
        values[-1] = 1e9  # a test row
        return values

    whole = datasets.check(dataset(X=X)).notes
    spread = dataset(X=X).samples("trainval")[0].std(axis=0, dtype=float)
    assert f"from {spread[0]:.3g} (0) to {spread[1]:.3g} (1)" in whole[0]
    assert whole[0].endswith("consider feature_scaling='standardize-l2'")
    monkeypatch.setattr("zskl.datasets.health.BLOCK_VALUES", 9)
    assert datasets.check(dataset(X=X)).notes == whole
    monkeypatch.setattr("zskl.datasets.health.BLOCKS", 4)  # of 16 blocks
    assert datasets.check(dataset(X=X)).notes[0].startswith("the standard deviations of features")
    late = datasets.check(dataset(X=lambda n: np.c_[np.arange(n) == 14, np.arange(n) % 5, np.ones(n)]))  # not in the 4
    assert late.notes[0] == "feature 2 has the same value in every training row: it can be left out"
    assert [note[:28] for note in late.notes[1:]] == ["74 of 80 rows repeat another"]
    even = datasets.check(dataset(X=lambda n: np.random.default_rng(0).random((n, 3)) * [1, 50, 3]))
    assert even.notes == ()
    dead = datasets.check(dataset(X=lambda n: np.random.default_rng(0).random((n, 3)) * [1, 1e-33, 3]))
    assert dead.notes == ()  # a column of MiniLM: rounding is not a unit


def test_bundled_datasets():
    assert datasets.check(make_synthetic()).healthy
    assert datasets.check(datasets.load("digits")).healthy


# What looks like a slip


def contradicted(n):
    X = np.random.default_rng(0).random((n, 3))
    X[12] = X[40]  # a row of b is one of e
    return X


def leaked(n):
    X = np.random.default_rng(0).random((n, 3))
    X[:8], X[9] = X[60:68], X[1]  # rows of a are among those of y, and one of its training rows is tested
    return X


DOUBTS = {
    "a row with two labels": (
        {"X": contradicted},
        "rows with more than one label: 2, such as rows 12, 40 (counted from 0) of classes 'b', 'e'; one of the",
    ),
    "a test row in training": ({"X": leaked}, "test rows that are training rows, too: 8, such as rows "),
    "a feature that is the label": (
        {"X": lambda n: np.c_[np.random.default_rng(0).random((n, 2)), np.repeat([5, 3, 8, 1, 2, 9, 4, 7], 10)]},
        "feature 2 gives the label away",
    ),
    "a feature that names parts of a class": (
        {"X": lambda n: np.c_[np.random.default_rng(0).random((n, 2)), np.arange(n) // 5]},
        "feature 2 gives the label away",
    ),
    "names in two spellings": (
        {"table": TABLE.rename(index={"a": "Owl", "b": "owl "}), "parts": lambda found: found},
        "classes 'Owl' and 'owl ' differ in case or spaces alone",
    ),
}


@pytest.mark.parametrize("case", DOUBTS)
def test_slips_are_faults(case):
    how, sentence = DOUBTS[case]
    found = datasets.check(dataset(**how))
    assert any(fault.startswith(sentence) for fault in found.faults), (found.faults, found.notes)


def test_a_few_equal_rows_of_many_are_notes():
    def rows(n):
        X = np.random.default_rng(0).random((n, 3))
        X[2] = -0.0
        X[300], X[1500] = X[2] + 0.0, X[1501]  # minus zero is zero, and two test rows may be equal
        return X

    found = datasets.check(dataset(sizes=200, X=rows))
    assert found.healthy
    assert [note for note in found.notes if "counted from 0" in note] == [
        "rows with more than one label: 2, such as rows 2, 300 (counted from 0) of classes 'a', 'b'; one of the labels "
        "is wrong: correct or leave out such rows",
        "test rows that are training rows, too: 1, such as rows 2, 300 (counted from 0); results on them are too good: "
        "leave one of each out",
    ]


def test_equal_rows_are_those_of_a_slow_search():
    X = np.random.default_rng(0).integers(0, 4, (80, 3)).astype(np.float32)
    found = _find_equal_rows(dataset(X=lambda n: X))
    groups = {}
    for number, row in enumerate(X.tolist()):
        groups.setdefault(tuple(row), []).append(number)
    assert sorted(rows.tolist() for rows in found) == sorted(rows for rows in groups.values() if len(rows) > 1)


def test_a_column_of_words_can_be_the_label():
    y = np.repeat(np.arange(8), 10)
    X = np.c_[np.random.default_rng(0).random((80, 3)), y[:, None] == np.arange(8), y[:, None] % 2 == np.arange(2)]
    names = ["f0", "f1", "f2", *(f"kind={k}" for k in range(8)), "even=0", "even=1"]
    data = replace(dataset(X=lambda n: X), feature_names=tuple(names), checked=True)
    found = datasets.check(data)
    assert any(fault.startswith("feature 'kind' gives the label away") for fault in found.faults)
    assert any(note.startswith("feature 'even' has the same value in all rows of a class") for note in found.notes)


def test_further_doubts_are_notes():
    table = TABLE.rename(index={"a": "heron", "b": "herom"}).assign(**{"coat=grey": [1.0, 0] * 4, "coat=gray": 0.0})
    table.loc["d", "coat=gray"] = 1.0
    twice = pd.concat([table, table.loc[["c"]], table.loc[["d"]].assign(size=9.0, fur=0.5)])
    notes = datasets.check(dataset(twice, parts=lambda found: found)).notes
    for sentence in (
        "classes 'heron' and 'herom' differ in one letter alone",
        "words 'grey' and 'gray' of attribute 'coat' differ in one letter",
        "class 'c' has 2 descriptions, which differ in nothing",
        "class 'd' has 2 descriptions, which differ in 'fur', 'size', and most classes have one",
    ):
        assert any(note.startswith(sentence) for note in notes), notes
    kinds = pd.concat([table, table.assign(size=9.0)])
    assert not any("descriptions, which differ" in note for note in datasets.check(dataset(kinds)).notes)
