"""What a Dataset derives from its fields, and its fingerprint."""

import copy
import pickle
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import user_files
from toy import changed, fields, table, with_part
from zskl.baselines import ESZSL
from zskl.datasets import Dataset, make_synthetic


def test_derived_values():
    data = changed(**with_part(fold1_train=[0], fold1_val=[2]))
    assert data.class_names.tolist() == ["cat", "ant", "bee"]  # the table's order
    assert data.attribute_names == ["legs", "fur"]
    assert data.codes.tolist() == [1, 1, 2, 2, 0, 0, 0]
    assert data.class_names[data.codes].tolist() == data.y.tolist()
    assert data.seen_classes.tolist() == ["ant", "bee"]
    assert data.unseen_classes.tolist() == ["cat"]
    assert data.X.dtype == np.float32
    assert all(rows.dtype == np.int64 for rows in data.parts.values())
    assert repr(data) == "Dataset('toy', 7 rows × 2 features, 2 seen and 1 unseen classes, 2 attributes)"


def test_an_unknown_part_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"no part 'test_unsen' \(did you mean 'test_unseen'\?\): .*'trainval'"):
        Dataset(**fields()).samples("test_unsen")


def test_unseen_classes_need_no_rows_and_seen_classes_no_test_rows():
    data = changed(**with_part(test_seen=[], test_unseen=[]))
    assert data.unseen_classes.tolist() == ["cat"]
    assert data.parts["test_seen"].dtype == np.int64


def test_several_descriptions_of_one_class():
    data = changed(**table(data=np.ones((5, 2)), index=["bee", "cat", "bee", "ant", "cat"]))
    assert data.class_names.tolist() == ["bee", "cat", "ant"]
    assert data.codes.tolist() == [2, 2, 0, 0, 1, 1, 1]
    assert len(data.signatures.loc["bee"]) == 2


@pytest.mark.parametrize(
    "y",
    [
        ["ant", "ant", "bee", "bee", "cat", "cat", "cat"],
        pd.Series(["ant", "ant", "bee", "bee", "cat", "cat", "cat"]),
        pd.Categorical(["ant", "ant", "bee", "bee", "cat", "cat", "cat"]),
        np.array(["ant", "ant", "bee", "bee", "cat", "cat", "cat"], dtype=object),
    ],
    ids=["list", "series", "categorical", "objects"],
)
def test_labels_become_one_kind_of_array(y):
    data = changed(y=y)
    assert data.y.dtype == np.dtype("<U3")
    assert data.fingerprint == changed().fingerprint


def test_integer_labels_and_other_numbers_are_accepted():
    frame = fields()["signatures"].astype({"legs": int, "fur": bool}).set_axis([2, 0, 1])
    data = changed(X=fields()["X"].astype(np.float64).tolist(), y=[0, 0, 1, 1, 2, 2, 2], signatures=frame)
    assert data.X.dtype == np.float32
    assert data.codes.tolist() == [1, 1, 2, 2, 0, 0, 0]
    assert data.signatures.dtypes.tolist() == [np.float64, np.float64]


def test_arrays_are_read_only_and_the_callers_are_not():
    mine = fields()
    mine["parts"] = {part: np.array(rows) for part, rows in mine["parts"].items()}
    data = Dataset(**mine)
    assert np.shares_memory(data.X, mine["X"])
    assert np.shares_memory(data.parts["trainval"], mine["parts"]["trainval"])
    for array in (data.X, data.y, data.codes, data.class_names, data.seen_classes, data.parts["trainval"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(ValueError, match="read-only"):
        data.signatures.iloc[0, 0] = 9
    with pytest.raises(TypeError):
        data.parts["more"] = np.array([0])
    with pytest.raises(AttributeError):
        data.y = mine["y"]
    assert mine["X"].flags.writeable
    assert mine["y"].flags.writeable
    assert mine["parts"]["trainval"].flags.writeable
    mine["signatures"].iloc[0, 0] = 9
    assert data.signatures.iloc[0, 0] == 1


def test_a_memory_map_stays_one(tmp_path):
    X = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=(7, 2))
    X[:] = fields()["X"]
    data = changed(X=X)
    assert isinstance(data.X, np.memmap)
    assert np.shares_memory(data.X, X)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))])
def test_copies_and_pickles(again):
    data = changed(source="toy.mat")
    other = again(data)
    assert other.fingerprint == data.fingerprint
    assert other.source == "toy.mat"
    np.testing.assert_array_equal(other.X, data.X)
    pd.testing.assert_frame_equal(other.signatures, data.signatures)
    assert not other.X.flags.writeable


def test_fingerprint_is_the_same_in_every_process_and_on_every_machine():
    assert changed().fingerprint == "b2d1ab44bbaebcc129a50b8b0b3203d861d299e4e0491e99c168aa73d16d40cf"


def test_the_digest_of_features_depends_only_on_features():
    one = changed()
    X = one.X.copy()
    X[-1, -1] += 1
    assert changed(X=X).features_digest != one.features_digest
    assert changed(name="other").features_digest == one.features_digest
    assert changed(X=one.X.astype(np.float64)).features_digest == one.features_digest


def test_the_fingerprint_ignores_features_and_names():
    parts = dict(reversed(fields()["parts"].items()))
    same = changed(X=np.ones((7, 2)), name="other", source="elsewhere", parts=parts)
    assert same.fingerprint == changed().fingerprint
    assert changed(**table(data=fields()["signatures"].values.astype(np.float32))).fingerprint == changed().fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"y": ["ant", "bee", "bee", "ant", "cat", "cat", "cat"]},
        with_part(test_unseen=[4, 6]),
        with_part(test_unseen=[5, 4]),
        with_part(fold1_val=[0]),
        table(data=[[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        table(columns=["legs", "wings"]),
        table(index=["cat", "bee", "ant"]),
    ],
    ids=["label", "row", "order", "part", "value", "attribute", "class"],
)
def test_the_fingerprint_depends_on(change):
    assert changed(**change).fingerprint != changed().fingerprint


# The invariants of a Dataset, each with a planted violation.

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
    monkeypatch.setattr("zskl.datasets.dataset.BLOCK_VALUES", 5)  # two rows a block
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


# Datasets of data frames in memory: the same as from files, and errors that name the column.


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
    expected = user_files.make(seed=3, **how)
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
    with pytest.raises(ValueError, match="column 'day': expected numbers; a date is not a number: put what"):
        Dataset.from_frames(rows.assign(day=[date(2020, 1, 1)] * len(rows)), "label", traits)
    with pytest.raises(ValueError, match="features is a sparse csr_array, and a dataset holds dense rows"):
        Dataset.from_frames(sp.csr_array(np.eye(len(rows))), rows["label"], traits)
    with pytest.raises(ValueError, match="X holds 'word' in column 0: expected numbers"):
        ESZSL().fit(pd.DataFrame({0: ["word", "other"], 1: [1, 2]}), ["a", "b"])


def test_blocks_follow_one_another_and_cover_all_columns():
    data = Dataset(**fields(), blocks={"eye": 1, "ear": 1}, signature_blocks={"all": range(2)})
    assert dict(data.blocks) == {"eye": range(1), "ear": range(1, 2)}
    assert dict(data.signature_blocks) == {"all": range(2)}
    assert dict(pickle.loads(pickle.dumps(data)).blocks) == dict(data.blocks)
    assert dict(Dataset(**fields()).blocks) == {"features": range(2)}
    fewer = replace(data, signatures=data.signatures.iloc[:, :1])  # a single block goes on to be all of the columns
    assert dict(fewer.signature_blocks) == {"all": range(1)}


@pytest.mark.parametrize(
    ("blocks", "sentence"),
    [
        ({"eye": 1}, "blocks have 1 columns together: expected all 2"),
        ({"eye": 1, "ear": 0}, r"blocks\['ear'\] is range\(1, 1\): expected a number of columns above 0"),
        ({"eye": range(1, 2), "ear": range(1)}, r"blocks\['eye'\] is range\(1, 2\): .* starts at column 0"),
        ({"eye": "both"}, r"blocks\['eye'\] is 'both'"),
        ([1, 1], r"blocks is \[1, 1\]: expected a mapping"),
    ],
)
def test_other_blocks_are_refused(blocks, sentence):
    with pytest.raises(ValueError, match=sentence):
        Dataset(**fields(), blocks=blocks)
