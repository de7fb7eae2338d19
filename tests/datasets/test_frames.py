"""Datasets of data frames in memory: the same as from files, and errors that name the column."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import own_files
from zskl import Dataset
from zskl.baselines import ESZSL


@pytest.fixture
def tables(here):
    return pd.read_csv("features.csv"), pd.read_csv("traits.csv")


FORMS = {
    "pandas, a column": lambda rows, traits: (rows, "label", traits),
    "pandas, an index": lambda rows, traits: (rows, "label", traits.set_index("class")),
    "the labels apart": lambda rows, traits: (rows.drop(columns="label"), rows["label"], traits),
    "labels in another order": lambda rows, traits: (rows.drop(columns="label"), rows["label"][::-1], traits),
    "an array of labels": lambda rows, traits: (rows.drop(columns="label"), rows["label"].to_numpy(), traits),
    "the table's own name": lambda rows, traits: (rows, "label", traits.rename(columns={"class": "label"})),
    "polars": lambda rows, traits: (pl.from_pandas(rows), "label", pl.from_pandas(traits)),
    "polars, labels apart": lambda rows, traits: (
        pl.from_pandas(rows).drop("label"),
        pl.from_pandas(rows)["label"],
        {name: traits.set_index("class").loc[name] for name in traits["class"]},
    ),
}


@pytest.mark.parametrize("unseen", [["fox", "gnu"], 0.3])
def test_frames_make_the_dataset_that_files_make(tables, unseen):
    how = {"unseen": unseen} if isinstance(unseen, list) else {"unseen_fraction": unseen}
    expected = own_files.make(seed=3, **how)
    for form, given in FORMS.items():
        data = Dataset.from_frames(*given(*tables), unseen=unseen, seed=3)
        assert data.fingerprint == expected.fingerprint, form
        assert data.feature_names == expected.feature_names, form
        np.testing.assert_array_equal(data.X, expected.X)
    assert "fold3_val" in data.parts


def test_a_number_of_unseen_classes_is_drawn(tables):
    data = Dataset.from_frames(*FORMS["polars"](*tables), unseen=3, name="birds")
    assert len(data.unseen_classes) == 3
    assert repr(data).startswith("Dataset('birds', 120 rows × 6 features, 7 seen and 3 unseen")


def test_whole_numbers_are_classes_also_as_floats(tables):
    rows, traits = tables
    number = {name: float(k) for k, name in enumerate(traits["class"])}
    rows, traits = rows.assign(label=rows["label"].map(number)), traits.assign(**{"class": traits["class"].map(number)})
    data = Dataset.from_frames(rows, "label", traits, unseen=[3])
    assert data.unseen_classes.tolist() == [3]
    assert data.y.dtype.kind == "i"


def test_arrays_have_no_names(tables):
    rows, traits = tables
    X = rows[[f"f{k}" for k in range(6)]].to_numpy()
    data = Dataset.from_frames(X, rows["label"], traits.set_index("class"))
    assert data.feature_names is None
    assert data.X.shape == (120, 6)


def missing(rows):
    return rows.assign(f2=rows["f2"].where(rows.index != 7))


WRONG = {
    "no such column": (lambda r, t: ((r, "lable", t), {}), "'lable', which is not a column of features .did you mean"),
    "no column of an array": (lambda r, t: ((r.to_numpy(), "label", t), {}), "without named columns"),
    "a word": (lambda r, t: ((r.assign(f1="red"), "label", t), {}), "features holds 'red' in column 'f1'"),
    "a missing value": (
        lambda r, t: ((missing(r), "label", t), {}),
        r"no value in column 'f2' in rows 7,.*SimpleImputer",
    ),
    "too large": (lambda r, t: ((r.assign(f1=1e39), "label", t), {}), r"column 'f1': found 1e\+39, which is too large"),
    "a missing label": (
        lambda r, t: ((r.assign(label=r["label"].where(r.index != 7)), "label", t), {}),
        "labels has no label in row 7",
    ),
    "another index": (
        lambda r, t: ((r.drop(columns="label"), r["label"].set_axis(range(1, 121)), t), {}),
        r"name their rows differently \(index\)",
    ),
    "too few labels": (lambda r, t: ((r.drop(columns="label"), r["label"].tolist()[1:], t), {}), "119 labels"),
    "lazy": (lambda r, t: ((pl.from_pandas(r).lazy(), "label", t), {}), r"features is a LazyFrame.*collect\(\)"),
    "not described": (lambda r, t: ((r, "label", t[1:]), {}), "y names classes without a row in signatures: 'ant'"),
    "no list": (lambda r, t: ((r, "label", t), {"unseen": "fox"}), "unseen is 'fox': expected a list of class names"),
    "no number": (lambda r, t: ((r, "label", t), {"unseen": 0}), "unseen is 0: expected"),
    "all of them": (lambda r, t: ((r, "label", t), {"unseen": 10}), "drawing 10 unseen .* leaves 0 of 10"),
    "no fraction": (lambda r, t: ((r, "label", t), {"unseen": 1.5}), "unseen is 1.5: expected"),
    "no class": (lambda r, t: ((r, "label", t), {"unseen": ["wolf"]}), "unseen names 'wolf'"),
    "no seed": (lambda r, t: ((r, "label", t), {"seed": -1}), "seed is -1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(tables, case):
    call, sentence = WRONG[case]
    given, how = call(*tables)
    with pytest.raises(ValueError, match=sentence):
        Dataset.from_frames(*given, **how)


def test_names_of_columns_need_not_be_text(tables):
    rows, traits = tables
    numbers = rows.drop(columns=["id", "label"], errors="ignore")
    numbered = numbers.set_axis(range(numbers.shape[1]), axis=1)
    data = Dataset.from_frames(numbered, rows["label"], traits, unseen=["fox"])
    assert data.feature_names == tuple(map(str, range(numbers.shape[1])))
    np.testing.assert_array_equal(data.X, numbers.to_numpy(dtype=np.float32))
    numbered[9] = rows["label"]
    same = Dataset.from_frames(numbered, 9, traits, unseen=["fox"])
    assert same.fingerprint == data.fingerprint
    nested = numbers.assign(label=rows["label"])
    nested.columns = pd.MultiIndex.from_product([["sensor"], nested.columns])
    assert len(Dataset.from_frames(nested, ("sensor", "label"), traits).feature_names) == numbers.shape[1]


def test_frames_that_are_refused_by_a_sentence(tables):
    rows, traits = tables
    first, second = rows.columns[1:3]
    with pytest.raises(ValueError, match=f"features has several columns named '{first}'"):
        Dataset.from_frames(rows.rename(columns={second: first}), "label", traits)
    with pytest.raises(ValueError, match="column 'day': expected numbers; put what matters of a date"):
        Dataset.from_frames(rows.assign(day=[date(2020, 1, 1)] * len(rows)), "label", traits)
    with pytest.raises(ValueError, match="features is a sparse csr_array, and a dataset holds dense rows"):
        Dataset.from_frames(sp.csr_array(np.eye(len(rows))), rows["label"], traits)
    with pytest.raises(ValueError, match="X holds 'word' in column 0: expected numbers"):
        ESZSL().fit(pd.DataFrame({0: ["word", "other"], 1: [1, 2]}), ["a", "b"])
