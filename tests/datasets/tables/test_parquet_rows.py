"""Rows of a Parquet file do not depend on how it was written or is read, and few columns are read side by side."""

import numpy as np
import pandas as pd
import pytest

from zskl.datasets import tables
from zskl.datasets.tables import feature_file, parquet_rows

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
    monkeypatch.setattr(parquet_rows, "SLAB_VALUES", slab * WIDTH)
    monkeypatch.setattr(parquet_rows, "SIDE_BY_SIDE", 3)
    monkeypatch.setattr(feature_file, "BLOCK_VALUES", block * (WIDTH + 2 * named))
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
    monkeypatch.setattr(parquet_rows, "SLAB_VALUES", 12 * WIDTH)  # two row groups
    monkeypatch.setattr(parquet_rows, "SIDE_BY_SIDE", 2)
    monkeypatch.setattr(feature_file, "BLOCK_VALUES", 4 * (WIDTH + 2))
    list(tables.open_features(tmp_path / "x.parquet", labels="label").blocks())
    assert max(len(columns) for columns, _ in asked) == 2
    assert [groups for columns, groups in asked if "x0" in columns] == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize("kind", ["float32", "int64", "bool"])
def test_a_hole_is_named_by_its_place_in_the_file(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(parquet_rows, "SLAB_VALUES", 8)
    monkeypatch.setattr(feature_file, "BLOCK_VALUES", 4)
    values = pa.array([1, 0, 1, 1, None, 1], pa.int64()).cast(kind)
    parquet.write_table(pa.table({"x": [1.0] * 6, "y": values}), tmp_path / "x.parquet", row_group_size=4)
    with pytest.raises(ValueError, match=r"x.parquet, row 4 \(counted from 0\), column 'y': found nothing"):
        list(tables.open_features(tmp_path / "x.parquet").blocks())


def test_categories_and_numbers_are_texts(tmp_path):
    for values, texts in ((pd.Categorical(["b", "a", "b"]), ["b", "a", "b"]), ([3, 1, 3], ["3", "1", "3"])):
        pd.DataFrame({"x": [1.0, 2, 3], "label": values}).to_parquet(tmp_path / "x.parquet")
        (block,) = tables.open_features(tmp_path / "x.parquet", labels="label").blocks()
        assert block.labels == texts
