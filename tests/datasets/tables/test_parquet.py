"""Rows of a Parquet file do not depend on how it was written or is read, and few columns are read side by side."""

import sys

import numpy as np
import pandas as pd
import pytest

from user_files import MATRIX, all_rows
from zskl import ClassMeansClassifier, datasets, fit_shards
from zskl.datasets import tables
from zskl.datasets.tables import features
from zskl.datasets.tables import parquet as parquets

# Parquet rows

parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
pa = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")

ROWS, WIDTH = 23, 7
KINDS = ("float32", "float64", "int64", "bool", "float16", "uint8", "float32")


@pytest.fixture
def frame():
    numbers = 10 * np.random.default_rng(0).random((ROWS, WIDTH))
    columns = {f"x{k}": (numbers[:, k] > 5 if kind == "bool" else numbers[:, k]) for k, kind in enumerate(KINDS)}
    made = pd.DataFrame(columns).astype({f"x{k}": kind for k, kind in enumerate(KINDS)})
    return made.assign(id=[f"r{k}" for k in range(ROWS)], label=[f"c{k % 3}" for k in range(ROWS)])


@pytest.fixture
def asked(monkeypatch):
    """(columns, row groups) of each time that a file was read."""
    found = []
    plain = parquet.ParquetFile.iter_batches

    def noted(self, batch_size, row_groups, columns, use_threads):
        found.append((columns, row_groups))
        return plain(self, batch_size, row_groups, columns, use_threads=use_threads)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", noted)
    return found


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("group", [1, 5, 8, 100])
@pytest.mark.parametrize(("slab", "block"), [(1, 1), (4, 3), (10, 2), (10, 9), (1000, 4)])  # in rows
def test_the_same_rows_however_they_are_cut(frame, tmp_path, monkeypatch, named, group, slab, block):
    frame = frame if named else frame.drop(columns=["id", "label"])
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=group)
    monkeypatch.setattr(parquets, "SLAB_VALUES", slab * WIDTH)
    monkeypatch.setattr(parquets, "SIDE_BY_SIDE", 3)
    monkeypatch.setattr(features, "BLOCK_VALUES", block * (WIDTH + 2 * named))
    blocks = list(tables.open_features(tmp_path / "x.parquet", labels="label" if named else None).blocks())
    X = np.concatenate([one.X for one in blocks])
    assert max(len(one.X) for one in blocks) <= block
    assert all(one.X.flags.c_contiguous for one in blocks)
    np.testing.assert_array_equal(X, frame[[f"x{k}" for k in range(WIDTH)]].to_numpy(np.float32))
    if named:
        assert [text for one in blocks for text in one.ids] == frame["id"].tolist()
        assert [text for one in blocks for text in one.labels] == frame["label"].tolist()


def test_few_columns_side_by_side_and_no_row_group_twice(frame, tmp_path, monkeypatch, asked):
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=5)
    monkeypatch.setattr(parquets, "SLAB_VALUES", 12 * WIDTH)  # two row groups
    monkeypatch.setattr(parquets, "SIDE_BY_SIDE", 2)
    monkeypatch.setattr(features, "BLOCK_VALUES", 4 * (WIDTH + 2))
    list(tables.open_features(tmp_path / "x.parquet", labels="label").blocks())
    assert max(len(columns) for columns, _ in asked) == 2
    assert [groups for columns, groups in asked if "x0" in columns] == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize("kind", ["float32", "int64", "bool"])
def test_a_hole_is_named_by_its_place_in_the_file(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(parquets, "SLAB_VALUES", 8)
    monkeypatch.setattr(features, "BLOCK_VALUES", 4)
    values = pa.array([1, 0, 1, 1, None, 1], pa.int64()).cast(kind)
    parquet.write_table(pa.table({"x": [1.0] * 6, "y": values}), tmp_path / "x.parquet", row_group_size=4)
    with pytest.raises(ValueError, match=r"x.parquet, row 4 \(counted from 0\), column 'y': found nothing"):
        list(tables.open_features(tmp_path / "x.parquet").blocks())


def test_categories_and_numbers_are_texts(tmp_path):
    for values, texts in ((pd.Categorical(["b", "a", "b"]), ["b", "a", "b"]), ([3, 1, 3], ["3", "1", "3"])):
        pd.DataFrame({"x": [1.0, 2, 3], "label": values}).to_parquet(tmp_path / "x.parquet")
        (block,) = tables.open_features(tmp_path / "x.parquet", labels="label").blocks()
        assert block.labels == texts


# Features in one column of vectors are read as a matrix, and vectors that do not fit are named.

X = np.random.default_rng(0).normal(size=(11, 4)).astype(np.float32)
LABELS = [f"c{k % 3}" for k in range(11)]
LISTS = {
    "fixed": pa.list_(pa.float32(), 4),
    "single": pa.list_(pa.float32()),
    "large": pa.large_list(pa.float64()),
    "half": pa.list_(pa.float16()),
}


def write(path, vectors, **others):
    parquet.write_table(pa.table({"vector": vectors, **others}), path, row_group_size=4)


def read(path, **how):
    return list(tables.open_features(path, **how).blocks())


@pytest.mark.parametrize("kind", LISTS)
def test_a_column_of_vectors_is_a_matrix(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(features, "BLOCK_VALUES", 3 * 4)
    given = X.astype(np.float16) if kind == "half" else X
    write(tmp_path / "x.parquet", pa.array(list(given), LISTS[kind]), label=LABELS)
    opened = tables.open_features(tmp_path / "x.parquet", labels="label")
    assert (opened.width, opened.names) == (4, None)
    blocks = list(opened.blocks())
    assert max(len(one.X) for one in blocks) == 3
    np.testing.assert_array_equal(np.concatenate([one.X for one in blocks]), given.astype(np.float32))
    assert [text for one in blocks for text in one.labels] == LABELS
    cells = list(opened.cells())
    np.testing.assert_array_equal(np.concatenate([np.array(one.columns).T for one in cells]), given.astype(np.float32))


def test_class_means_of_shards_of_vectors(tmp_path):
    data = datasets.make_synthetic()
    rows, y = data.samples("trainval")
    for k in range(2):
        write(tmp_path / f"{k}.parquet", pa.array(list(rows[k::2])), label=y[k::2])
    model = fit_shards(tmp_path, "label", data.signatures)
    whole = ClassMeansClassifier().fit(rows, y, data.signatures)
    np.testing.assert_allclose(model._sums.products, whole._sums.products, rtol=1e-10, atol=1e-10)
    assert np.array_equal(model.predict(rows), whole.predict(rows))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({3: [1.0, 2.0]}, "holds vectors of different lengths"),
        ({3: [1.0] * 3, 5: [1.0] * 5}, r"row 3 \(counted from 0\), column 'vector': found 3 numbers, expected 4"),
        ({3: None, 5: [1.0] * 7}, r"row 3 \(counted from 0\), column 'vector': found nothing, expected 4"),
        ({5: [1.0, None, 1.0, 1.0]}, r"row 5 \(counted from 0\), column 1: found nothing"),
        ({5: [1.0, 1.0, float("inf"), 1.0]}, r"row 5 \(counted from 0\), column 2: found inf"),
    ],
)
def test_a_vector_that_does_not_fit_is_named(tmp_path, change, sentence):
    vectors = [change.get(k, row) for k, row in enumerate(X.tolist())]
    write(tmp_path / "x.parquet", pa.array(vectors, pa.list_(pa.float32())))
    with pytest.raises(ValueError, match=f"x.parquet.*{sentence}"):
        read(tmp_path / "x.parquet")


def test_columns_beside_vectors_are_left_out_and_told(tmp_path):
    write(tmp_path / "x.parquet", pa.array(list(X)), mass=np.ones(11), text=["a photo"] * 11, label=LABELS)
    opened = tables.open_features(tmp_path / "x.parquet", labels="label")
    assert (opened.width, opened.left_out) == (4, ("mass", "text"))
    assert sum(len(block.X) for block in opened.blocks()) == 11
    assert tables.open_features(tmp_path / "x.parquet").left_out == ("mass", "text", "label")
    classes = pd.DataFrame(np.eye(3), index=pd.Index(["c0", "c1", "c2"], name="class")).add_prefix("a")
    classes.to_csv(tmp_path / "classes.csv")
    with pytest.warns(UserWarning, match="column 'mass', 'text' was left out, since another has vectors of features"):
        made = datasets.make(
            tmp_path / "data", tmp_path / "x.parquet", "label", tmp_path / "classes.csv", unseen=["c2"]
        )
    np.testing.assert_array_equal(made.X, X)


def test_several_columns_of_vectors_are_refused(tmp_path):
    write(tmp_path / "x.parquet", pa.array(list(X)), second=pa.array(list(X)))
    with pytest.raises(ValueError, match=r"x.parquet has several columns of vectors, 'vector', 'second': expected one"):
        read(tmp_path / "x.parquet")


# Parquet: what is read, and what is refused


def test_parquet(put, tmp_path):
    frame = pd.DataFrame({"id": ["r1", "r2", "r3"], "length": MATRIX[:, 0], "label": ["ant", "bee", "ant"]})
    frame.assign(mass=[2, 1000, 7]).to_parquet("x.parquet")
    X, names, ids, labels = all_rows("x.parquet", labels="label")
    np.testing.assert_array_equal(X, MATRIX)
    assert (names, ids, labels) == (("length", "mass"), ["r1", "r2", "r3"], ["ant", "bee", "ant"])
    frame.set_axis([4, 5, 6]).to_parquet("z.parquet")  # an index beside the names
    assert all_rows("z.parquet", labels="label")[1:3] == (("length",), ["r1", "r2", "r3"])
    frame.set_index("id").to_parquet("y.parquet")
    assert all_rows("y.parquet", labels="label")[1:3] == (("length",), ["r1", "r2", "r3"])


def test_parquet_without_pyarrow_says_what_to_install(put, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"zskl\[parquet\]"):
        tables.open_features(put("x.parquet", "any"))
