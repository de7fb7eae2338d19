"""What a Dataset derives from its fields, and its fingerprint."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from tiny_dataset import changed, fields, table, with_part
from zskl.datasets import Dataset


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
