"""What all kinds of features files share: blocks, columns by name, files that are missing."""

import numpy as np
import pytest

from user_files import FEATURES, MATRIX, all_rows
from zskl.datasets import tables
from zskl.datasets.tables import features


def test_all_rows_can_be_read_at_once(put, monkeypatch):
    monkeypatch.setattr(features, "BLOCK_VALUES", 4)  # a block per row of four columns
    X, names, ids, _ = all_rows(put("x.csv", FEATURES), labels="label")
    np.testing.assert_array_equal(X, MATRIX)
    assert (names, ids) == (("length", "mass"), ["r1", "r2", "r3"])


def test_columns_are_chosen_by_name(put):
    X, names, _, labels = all_rows(put("x.csv", FEATURES), columns=["mass", "length"])
    np.testing.assert_array_equal(X, MATRIX[:, ::-1])
    assert (names, labels) == (("mass", "length"), [])


@pytest.mark.parametrize("read", [tables.open_features, tables.read_labels, tables.read_signatures, tables.read_header])
def test_missing_files_and_folders_are_refused(tmp_path, read):
    with pytest.raises(ValueError, match=r"no .* file at .*nowhere.csv"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="is a folder"):
        read(tmp_path)


def test_unknown_columns_are_named(put):
    put("x.csv", FEATURES)
    with pytest.raises(ValueError, match=r"no column 'lable'.*did you mean 'label'"):
        tables.open_features("x.csv", labels="lable")
    with pytest.raises(ValueError, match=r"lacks feature columns.*'width'"):
        tables.open_features("x.csv", columns=["mass", "width"])


@pytest.mark.parametrize("read", [lambda path: all_rows(path), tables.read_signatures])
def test_empty_column_names_and_decimal_commas_are_refused(put, read):
    with pytest.raises(ValueError, match=r"x.csv has no name for column 3 of 4: expected a name .*; name or drop it"):
        read(put("x.csv", "class,a,,b\n1,2,3,4\n"))
    with pytest.raises(
        ValueError,
        match=r"found '1,0363', expected .*, with a decimal point, not a comma; if .*decimal=','",
    ):
        read(put("x.csv", "id;class;a\n1;1;1,0363\n"))
    with pytest.raises(ValueError, match=r"found 'n/a', expected a finite number; (a class table holds|fill it in)"):
        read(put("x.csv", "id;class;a\n1;1;n/a\n"))
