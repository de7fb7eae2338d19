"""MATLAB v5 and v7.3 files are read alike, and what is not one is refused by name."""

import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from package_files import WRITERS, write_v5, write_v73
from zskl.datasets import matfile

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
    found = matfile.read(file, VARIABLES)
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
    assert set(matfile.read(file, ["row"], optional=["words", "absent"])) == {"row", "words"}
    assert sorted(matfile.variables(file)) == sorted(VARIABLES)


def test_a_missing_variable_is_named_with_the_existing_ones(file):
    with pytest.raises(ValueError, match=rf"{file.name} has no variable 'features': it has .*'matrix'"):
        matfile.read(file, ["features", "row"])


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file at .*none\.mat"):
        matfile.read(tmp_path / "none.mat", ["x"])


@pytest.mark.parametrize("kind", ["v5", "v5 uncompressed", "v7.3"])
def test_a_file_truncated_anywhere_is_refused(kind, tmp_path):
    path = tmp_path / "cut.mat"
    write_v73(path, VARIABLES) if kind == "v7.3" else write_v5(path, VARIABLES, compress=kind == "v5")
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 40, dtype=int):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"cut\.mat (is not a readable MATLAB file .*truncated|has no variable)"):
            matfile.read(path, VARIABLES)


@pytest.mark.parametrize(
    "content", [b"", b"class,legs\nant,6\n" * 50, b"\x89PNG\r\n" + bytes(600), bytes(range(256)) * 9]
)
def test_files_of_other_kinds_are_refused(content, tmp_path):
    path = tmp_path / "foreign.mat"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"foreign\.mat (is not a readable MATLAB file|has no variable)"):
        matfile.read(path, ["x"])


def test_damaged_bytes_are_refused(tmp_path):
    path = tmp_path / "damaged.mat"
    write_v5(path, {"x": np.random.default_rng(0).random((40, 40))})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged\.mat is not a readable MATLAB file"):
        matfile.read(path, ["x"])


def test_v73_without_h5py(tmp_path, monkeypatch):
    write_v73(tmp_path / "new.mat", {"x": np.eye(2)})
    write_v5(tmp_path / "old.mat", {"x": np.eye(2)})
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ValueError, match=r"new\.mat is a MATLAB v7\.3 file.*pip install 'zskl\[matlab\]'"):
        matfile.read(tmp_path / "new.mat", ["x"])
    np.testing.assert_array_equal(matfile.read(tmp_path / "old.mat", ["x"])["x"], np.eye(2))


def test_sparse_becomes_dense(tmp_path):
    scipy.io.savemat(tmp_path / "s.mat", {"x": scipy.sparse.csc_array(np.eye(3))})
    np.testing.assert_array_equal(matfile.read(tmp_path / "s.mat", ["x"])["x"], np.eye(3))


def test_nested_cells_and_cells_of_numbers(tmp_path):
    path = tmp_path / "c.mat"
    nested = np.empty((2, 1), dtype=object)
    nested[0, 0], nested[1, 0] = np.array([["ant"]], dtype=object), "bee"
    scipy.io.savemat(path, {"nested": nested, "numbers": np.array([[np.ones(3)], [np.ones(2)]], dtype=object)})
    assert matfile.read(path, ["nested"])["nested"] == ["ant", "bee"]
    with pytest.raises(ValueError, match=r"c\.mat: numbers is a cell array with float64 values"):
        matfile.read(path, ["numbers"])


def test_v73_cells_of_numbers_and_structures(tmp_path):
    import h5py

    path = tmp_path / "c.mat"
    with h5py.File(path, "w") as file:
        file["#refs#/a"] = np.ones((2, 2))
        file["numbers"] = np.array([[file["#refs#/a"].ref]], dtype=h5py.ref_dtype)
        file["structure/x"] = np.ones(2)
        file["texts"] = ["ant", "bee"]  # as h5py users write them
    with pytest.raises(ValueError, match=r"^\S*c\.mat: numbers is a cell array with float64 values"):
        matfile.read(path, ["numbers"])
    with pytest.raises(ValueError, match=r"^\S*c\.mat: structure is a structure"):
        matfile.read(path, ["structure"])
    assert matfile.read(path, ["texts"])["texts"] == ["ant", "bee"]
