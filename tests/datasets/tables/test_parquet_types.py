"""Parquet: what is read, and what is refused."""

import sys

import numpy as np
import pandas as pd
import pytest

from user_files import MATRIX, all_rows
from zskl.datasets import tables


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
