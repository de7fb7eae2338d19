"""NumPy and MATLAB files: what is read, and what is refused."""

import sys

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse

from benchmark_files import WRITERS, write_v5, write_v73
from user_files import MATRIX, all_rows
from zskl._arrays import is_mapped
from zskl.datasets import tables
from zskl.datasets.tables import arrays

# Array files


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
    monkeypatch.setattr("zskl.datasets.tables.arrays.release_pages", given.append)
    monkeypatch.setattr("zskl.datasets.tables.features.BLOCK_VALUES", 2)
    np.save("x.npy", MATRIX)
    np.testing.assert_array_equal(all_rows("x.npy")[0], MATRIX)
    assert [is_mapped(X) for X in given] == [True] * len(MATRIX)


# MATLAB v5 and v7.3 files are read alike, and what is not one is refused by name.

VARIABLES = {
    "matrix": np.arange(15.0).reshape(3, 5),
    "column": np.arange(4.0)[:, None],
    "nothing": np.empty((0, 0)),
    "row": np.arange(4, dtype=np.uint16)[None],
    "words": ["grizzly+bear", "café", "", "a b"],
    "lines": np.array(["abc", "de "]),
}


@pytest.fixture(params=WRITERS)
def file(request, tmp_path):
    path = tmp_path / f"{request.param}.mat"
    WRITERS[request.param](path, VARIABLES)
    return path


def test_both_kinds_of_files_give_the_same_values(file):
    found = arrays.read_mat(file, VARIABLES)
    assert list(found) == list(VARIABLES)
    for name in ("matrix", "column", "row", "nothing"):
        np.testing.assert_array_equal(found[name], VARIABLES[name])
        assert found[name].shape == VARIABLES[name].shape
    assert found["matrix"].flags.f_contiguous
    assert found["row"].dtype == np.uint16
    assert found["words"] == VARIABLES["words"]
    assert found["lines"] == ["abc", "de"]
    assert all(type(text) is str for text in found["words"] + found["lines"])


def test_only_the_wanted_variables_are_returned(file):
    assert set(arrays.read_mat(file, ["row"], optional=["words", "absent"])) == {"row", "words"}
    assert sorted(arrays.list_variables(file)) == sorted(VARIABLES)


def test_a_missing_variable_is_named_with_the_existing_ones(file):
    with pytest.raises(ValueError, match=rf"{file.name} has no variable 'features': it has .*'matrix'"):
        arrays.read_mat(file, ["features", "row"])


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file at .*none\.mat"):
        arrays.read_mat(tmp_path / "none.mat", ["x"])


@pytest.mark.parametrize("kind", ["v5", "v5 uncompressed", "v7.3"])
def test_a_file_truncated_anywhere_is_refused(kind, tmp_path):
    path = tmp_path / "cut.mat"
    write_v73(path, VARIABLES) if kind == "v7.3" else write_v5(path, VARIABLES, compress=kind == "v5")
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 40, dtype=int):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"cut\.mat (is not a readable MATLAB file .*truncated|has no variable)"):
            arrays.read_mat(path, VARIABLES)


@pytest.mark.parametrize(
    "content", [b"", b"class,legs\nant,6\n" * 50, b"\x89PNG\r\n" + bytes(600), bytes(range(256)) * 9]
)
def test_files_of_other_kinds_are_refused(content, tmp_path):
    path = tmp_path / "foreign.mat"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"foreign\.mat (is not a readable MATLAB file|has no variable)"):
        arrays.read_mat(path, ["x"])


def test_damaged_bytes_are_refused(tmp_path):
    path = tmp_path / "damaged.mat"
    write_v5(path, {"x": np.random.default_rng(0).random((40, 40))})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged\.mat is not a readable MATLAB file"):
        arrays.read_mat(path, ["x"])


def test_v73_without_h5py(tmp_path, monkeypatch):
    write_v73(tmp_path / "new.mat", {"x": np.eye(2)})
    write_v5(tmp_path / "old.mat", {"x": np.eye(2)})
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ValueError, match=r"new\.mat is a MATLAB v7\.3 file.*pip install 'zskl\[matlab\]'"):
        arrays.read_mat(tmp_path / "new.mat", ["x"])
    np.testing.assert_array_equal(arrays.read_mat(tmp_path / "old.mat", ["x"])["x"], np.eye(2))


def test_sparse_becomes_dense(tmp_path):
    scipy.io.savemat(tmp_path / "s.mat", {"x": scipy.sparse.csc_array(np.eye(3))})
    np.testing.assert_array_equal(arrays.read_mat(tmp_path / "s.mat", ["x"])["x"], np.eye(3))


def test_nested_cells_and_cells_of_numbers(tmp_path):
    path = tmp_path / "c.mat"
    nested = np.empty((2, 1), dtype=object)
    nested[0, 0], nested[1, 0] = np.array([["ant"]], dtype=object), "bee"
    scipy.io.savemat(path, {"nested": nested, "numbers": np.array([[np.ones(3)], [np.ones(2)]], dtype=object)})
    assert arrays.read_mat(path, ["nested"])["nested"] == ["ant", "bee"]
    with pytest.raises(ValueError, match=r"c\.mat: numbers is a cell array with float64 values"):
        arrays.read_mat(path, ["numbers"])


def test_v73_cells_of_numbers_and_structures(tmp_path):
    import h5py

    path = tmp_path / "c.mat"
    with h5py.File(path, "w") as file:
        file["#refs#/a"] = np.ones((2, 2))
        file["numbers"] = np.array([[file["#refs#/a"].ref]], dtype=h5py.ref_dtype)
        file["structure/x"] = np.ones(2)
        file["texts"] = ["ant", "bee"]  # as h5py users write them
    with pytest.raises(ValueError, match=r"^\S*c\.mat: numbers is a cell array with float64 values"):
        arrays.read_mat(path, ["numbers"])
    with pytest.raises(ValueError, match=r"^\S*c\.mat: structure is a structure"):
        arrays.read_mat(path, ["structure"])
    assert arrays.read_mat(path, ["texts"])["texts"] == ["ant", "bee"]
