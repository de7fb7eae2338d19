"""NumPy and MATLAB files: what is read, and what is refused."""

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io

from tables_read import MATRIX, all_rows
from zskl.datasets import tables
from zskl.mapped_rows import is_mapped


def test_arrays(put):
    np.save("x.npy", MATRIX.astype(np.float64))
    np.savez("x.npz", features=MATRIX, labels=np.array(["ant", "bee", "ant"]), ids=np.array(["r1", "r2", "r3"]))
    X, names, ids, labels = all_rows("x.npy")
    np.testing.assert_array_equal(X, MATRIX)
    assert (names, ids, labels) == (None, [], [])
    X, names, ids, labels = all_rows("x.npz", labels="labels")
    np.testing.assert_array_equal(X, MATRIX)
    assert (names, ids, labels) == (None, ["r1", "r2", "r3"], ["ant", "bee", "ant"])
    words = np.array(["ant", "bee", "ant"])
    np.savez("embedded.npz", features=MATRIX, files=np.array(["a.jpg", "b.jpg", "c.jpg"]), labels=words, backbone="net")
    assert all_rows("embedded.npz", labels="labels")[2:] == (["a.jpg", "b.jpg", "c.jpg"], ["ant", "bee", "ant"])
    assert tables.read_labels("embedded.npz")[0].names == ["ant", "bee"]
    np.savez("one.npz", whatever=MATRIX)
    np.testing.assert_array_equal(all_rows("one.npz")[0], MATRIX)


@pytest.mark.parametrize("turned", [False, True])
def test_matlab_files_of_both_kinds_may_be_transposed(put, turned):
    matrix = MATRIX.T if turned else MATRIX
    scipy.io.savemat("x.mat", {"features": matrix, "labels": np.array([[3.0], [1.0], [3.0]])})
    with h5py.File("y.mat", "w") as file:  # HDF5 holds the transpose
        file["features"], file["labels"] = matrix.T, np.array([[3.0, 1.0, 3.0]])
    for path in ("x.mat", "y.mat"):
        for how in ({"labels": "labels"}, {"rows": 3}, {"width": 2}):
            X, _, _, labels = all_rows(path, **how)
            np.testing.assert_array_equal(X, MATRIX)
            assert labels == (["3", "1", "3"] if "labels" in how else [])


BAD_ARRAYS = {
    "objects.npy": (np.array([["a", 1]], dtype=object), ["objects.npy", "run code"]),
    "vector.npy": (np.ones(3), ["vector.npy", "2-D"]),
    "words.npy": (np.array([["a", "b"]]), ["words.npy", "numbers"]),
    "nan.npy": (np.array([[1, 2], [np.nan, 4]]), ["nan.npy, row 1", "column 0", "nan"]),
    "large.npy": (np.array([[1e39]]), ["large.npy, row 0", "1e+39", "too large", "float32"]),
    "none.npy": (np.empty((0, 3)), ["none.npy", "(0, 3)"]),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_bad_arrays_are_refused(put, name):
    array, parts = BAD_ARRAYS[name]
    np.save(name, array)
    with pytest.raises(ValueError) as refused:
        all_rows(name)
    assert all(part in str(refused.value) for part in parts), str(refused.value)


def test_bad_archives_and_parquet_files_are_refused(put):
    np.savez("two.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    np.savez("short.npz", features=np.ones((3, 2)), labels=np.array(["a", "b"]))
    np.savez("objects.npz", features=np.ones((3, 2)), labels=np.array(["a", 1, 2], dtype=object))
    pd.DataFrame({"a": [1.0, 2], "b": ["x", "y"]}).to_parquet("words.parquet")
    pd.DataFrame({"a": [1.0, np.nan]}).to_parquet("hole.parquet")
    pd.DataFrame({"a": [1.0, 2], "label": ["x", None]}).to_parquet("unlabelled.parquet")
    for path, labels, sentence in (
        ("two.npz", None, "two.npz holds 'a' .*'b' .*named 'features'"),
        ("short.npz", "labels", "3 rows of features and 2 'labels'"),
        ("objects.npz", "labels", "objects.npz .*run code"),
        ("words.parquet", None, "words.parquet: column 'b' holds .*string"),
        ("hole.parquet", None, "hole.parquet, row 1 .*column 'a': found nothing"),
        ("unlabelled.parquet", "label", "column 'label' is empty in rows 1"),
    ):
        with pytest.raises(ValueError, match=sentence):
            all_rows(path, labels=labels)


def test_pages_of_a_mapped_array_are_given_back_after_each_block(put, monkeypatch):
    given = []
    monkeypatch.setattr("zskl.datasets.tables.array_files.give_back", given.append)
    monkeypatch.setattr("zskl.datasets.tables.feature_file.BLOCK_VALUES", 2)
    np.save("x.npy", MATRIX)
    np.testing.assert_array_equal(all_rows("x.npy")[0], MATRIX)
    assert [is_mapped(X) for X in given] == [True] * len(MATRIX)
