"""The invariants of a Dataset, each with a planted violation."""

import numpy as np
import pandas as pd
import pytest

from tiny_dataset import changed, fields, table, with_part
from zskl.datasets import Dataset, make_synthetic

VIOLATIONS = {
    "1-D X": ({"X": np.ones(7)}, r"X has shape \(7,\)"),
    "no rows": ({"X": np.ones((0, 2)), "y": []}, r"X has shape \(0, 2\)"),
    "no columns": ({"X": np.ones((7, 0))}, r"X has shape \(7, 0\)"),
    "words in X": ({"X": [["a", "b"]] * 7}, "X holds <U1 values"),
    "unequal lengths": ({"y": ["ant", "bee"]}, "X has 7 rows and y 2 labels"),
    "no labels": ({"y": []}, "X has 7 rows and y 0 labels"),
    "2-D y": ({"y": np.ones((7, 1), dtype=int)}, r"y has shape \(7, 1\)"),
    "mixed labels": ({"y": ["ant", "ant", "bee", "bee", "cat", 3, 3]}, "y holds labels of type int and str"),
    "missing label": ({"y": ["ant", "ant", "bee", "bee", "cat", None, "cat"]}, "y has no label in row 5"),
    "float labels": ({"y": np.ones(7)}, "y holds labels of type float"),
    "integers for names": (
        {"y": [0, 0, 1, 1, 2, 2, 2]},
        "y holds int labels such as 0, signatures.index str .*'cat'",
    ),
    "undescribed": (
        {"y": ["ant", "ant", "bee", "bee", "cat", "dog", "eel"]},
        "classes without a row in signatures: 'dog', 'eel'",
    ),
    "no table": ({"signatures": np.ones((3, 2))}, "signatures is ndarray"),
    "empty table": (
        {"signatures": pd.DataFrame(index=["ant", "bee", "cat"])},
        r"signatures is a table of shape \(3, 0\)",
    ),
    "unnamed class": (table(index=["cat", "ant", None]), "signatures.index has no label in row 2"),
    "mixed index": (table(index=["cat", "ant", 3]), "signatures.index holds labels of type int and str"),
    "a column named class": (table(columns=["legs", "class"]), "an attribute named 'class'"),
    "twin columns": (table(columns=["legs", "legs"]), "several columns named 'legs'"),
    "words": (table(data=[[1, "a"], [1, "b"], [1, "c"]]), "not numeric in columns 'fur'"),
    "missing value": (table(data=[[1, 1], [1, np.nan], [1, 1]]), "classes 'ant' in columns 'fur'"),
    "infinite value": (table(data=[[np.inf, 1], [1, 1], [1, 1]]), "classes 'cat' in columns 'legs'"),
    "no parts": ({"parts": None}, "parts lacks 'trainval', 'test_seen', 'test_unseen'"),
    "lacking part": ({"parts": {"trainval": [0, 2], "test_seen": [1]}}, "parts lacks 'test_unseen'"),
    "mask": (with_part(test_seen=np.zeros(7, dtype=bool)), r"parts\['test_seen'\] is bool .*flatnonzero"),
    "fractions": (with_part(test_seen=[1.0, 3.0]), r"parts\['test_seen'\] is float64"),
    "2-D part": (with_part(test_seen=[[1, 3]]), r"of shape \(1, 2\)"),
    "twice": (with_part(test_unseen=[4, 5, 4]), r"parts\['test_unseen'\] repeats rows 4;"),
    "beyond": (
        with_part(test_unseen=[4, 7, 8]),
        r"parts\['test_unseen'\] names rows 7, 8; X has rows 0 to 6",
    ),
    "negative": (with_part(test_unseen=[-1]), r"parts\['test_unseen'\] names rows -1"),
    "trainval in test_seen": (with_part(test_seen=[0, 1]), "'trainval' and 'test_seen' share rows 0;"),
    "trainval in test_unseen": (with_part(test_unseen=[2, 4]), "'trainval' and 'test_unseen' share rows 2;"),
    "test_seen in test_unseen": (
        with_part(test_unseen=[3, 4]),
        "'test_seen' and 'test_unseen' share rows 3;",
    ),
    "fold trained on": (
        with_part(fold1_train=[0, 2], fold1_val=[2]),
        "parts 'fold1_train' and 'fold1_val' share rows 2;",
    ),
    "fold outside": (with_part(fold1_val=[2, 4]), r"parts\['fold1_val'\] names rows 4 outside trainval"),
    "seen class in test_unseen": (
        with_part(test_seen=[1], test_unseen=[3, 4]),
        "classes 'bee' have rows in both",
    ),
    "untrained test_seen": (
        with_part(test_seen=[1, 6]),
        "classes 'cat' have rows in test_seen and none in trainval",
    ),
    "one seen class": (with_part(trainval=[0], test_seen=[1]), "trainval has 1 classes"),
    "no unseen class": (
        with_part(trainval=[0, 2, 4], test_unseen=[]),
        "all 3 classes of signatures have trainval",
    ),
}


@pytest.mark.parametrize(("change", "sentence"), VIOLATIONS.values(), ids=VIOLATIONS.keys())
def test_violations_are_refused_by_name(change, sentence):
    with pytest.raises(ValueError, match=rf"^dataset 'toy' \(toy\.mat\): .*{sentence}"):
        changed(source="toy.mat", **change)


def test_an_error_without_a_source_names_only_the_dataset():
    with pytest.raises(ValueError, match=r"^dataset 'toy': X has shape"):
        changed(X=np.ones(7))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_features_that_are_not_finite_are_found_in_any_block(value, monkeypatch):
    monkeypatch.setattr("zskl.datasets.dataset_checks.BLOCK_VALUES", 5)  # two rows a block
    X = fields()["X"].astype(np.float64)
    X[4, 1] = X[6] = value
    with pytest.raises(ValueError, match="in rows 4, 6, the first of them in columns 1;"):
        changed(X=X)
    assert X.flags.writeable


def test_long_lists_of_offenders_are_cut():
    X = np.full((1000, 2), np.nan)
    with pytest.raises(ValueError, match="rows 0, 1, 2, 3, 4 and 995 more") as caught:
        changed(X=X, y=["ant"] * 1000)
    assert len(str(caught.value)) < 200


def test_a_missing_nullable_number_is_refused():
    frame = fields()["signatures"].astype("Float64")
    frame.iloc[1, 1] = pd.NA
    with pytest.raises(ValueError, match="classes 'ant' in columns 'fur'"):
        changed(signatures=frame)


def test_a_dataset_does_not_read_what_was_checked():
    data = make_synthetic(n_features=7)
    X = np.full(data.X.shape, np.nan, dtype=np.float32)  # would be refused if it were looked at
    rest = {"name": "a", "y": data.y, "signatures": data.signatures, "parts": data.parts}
    assert np.isnan(Dataset(X=X, checked=True, **rest).X).all()
    with pytest.raises(ValueError, match="X is NaN"):
        Dataset(X=X, **rest)
    with pytest.raises(ValueError, match="X is NaN"):
        Dataset(X=X.astype(np.float64), checked=True, **rest)  # not what the cache keeps
