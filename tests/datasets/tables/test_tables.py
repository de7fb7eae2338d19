"""A user's files: what is read from each kind, and every bad one refused by file, line and column."""

import sys
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from zskl.datasets import tables
from zskl.datasets.tables import source, text_files, typed

FEATURES = "id,length,label,mass\nr1,1.5,ant,2\nr2,-0.25,bee,1e3\nr3,0,ant,7\n"
MATRIX = np.array([[1.5, 2], [-0.25, 1000], [0, 7]], dtype=np.float32)


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write a file into the working folder and return its name."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


def all_rows(path, **how):
    """(matrix, names, ids, labels) of every block."""
    opened = tables.open_features(path, **how)
    blocks = list(opened.blocks())
    join = [[text for block in blocks for text in (getattr(block, kind) or [])] for kind in ("ids", "labels")]
    return np.concatenate([block.X for block in blocks]), opened.names, *join


# what is read


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", FEATURES),
        ("x.csv", FEATURES.replace("\n", "\r\n")),
        ("x.csv", b"\xef\xbb\xbf" + FEATURES.encode()),
        ("x.csv", FEATURES.replace(",", ", ")),
        ("x.csv", FEATURES.replace(",", ";")),
        ("x.csv", FEATURES.replace(",", "\t")),
        ("x.tsv", FEATURES.replace(",", "\t")),
        ("x.csv", FEATURES.replace("ant", '"ant"').replace("\nr2", "\n\nr2") + "\n\n"),
        ("x.csv", FEATURES.replace("id,", ",", 1)),  # as pandas and R write an index
        ("x.csv", FEATURES.replace("id,", "index,", 1)),
        ("x.csv", FEATURES.replace("id,", "Unnamed: 0,", 1)),
        ("x.csv", ",id,length,label,mass\n0,r1,1.5,ant,2\n1,r2,-0.25,bee,1e3\n2,r3,0,ant,7\n"),
        ("x.csv", "index,length,label,mass,ID\n0,1.5,ant,2,r1\n1,-0.25,bee,1e3,r2\n2,0,ant,7,r3\n"),
        ("x.csv", ",Unnamed: 0,length,id,label,mass\n0,0,1.5,r1,ant,2\n1,1,-0.25,r2,bee,1e3\n2,2,0,r3,ant,7\n"),
        ("x.csv", FEATURES.rstrip("\n")),
        ("x.csv", "\n \n" + FEATURES.replace(",", ";")),
    ],
    ids=[
        "plain",
        "crlf",
        "bom",
        "spaces",
        "semicolons",
        "tabs",
        "tsv",
        "quotes and blank lines",
        "index",
        "index by name",
        "index read and written",
        "index and id",
        "index and late id",
        "index twice and id",
        "no newline",
        "late",
    ],
)
def test_csv(put, name, content):
    X, names, ids, labels = all_rows(put(name, content), labels="label")
    np.testing.assert_array_equal(X, MATRIX)
    assert X.dtype == np.float32
    assert names == ("length", "mass")
    assert ids == ["r1", "r2", "r3"]
    assert labels == ["ant", "bee", "ant"]
    assert set(tables.fields(name)) > {"length", "label", "mass"}


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
def test_matlab_files_of_both_kinds_lie_either_way(put, turned):
    matrix = MATRIX.T if turned else MATRIX
    scipy.io.savemat("x.mat", {"features": matrix, "labels": np.array([[3.0], [1.0], [3.0]])})
    with h5py.File("y.mat", "w") as file:  # HDF5 holds the transpose
        file["features"], file["labels"] = matrix.T, np.array([[3.0, 1.0, 3.0]])
    for path in ("x.mat", "y.mat"):
        for how in ({"labels": "labels"}, {"rows": 3}, {"width": 2}):
            X, _, _, labels = all_rows(path, **how)
            np.testing.assert_array_equal(X, MATRIX)
            assert labels == (["3", "1", "3"] if "labels" in how else [])


def test_all_at_once(put, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_VALUES", 4)  # a block per row of four columns
    X, names, ids = tables.read_features(put("x.csv", FEATURES), labels="label")
    np.testing.assert_array_equal(X, MATRIX)
    assert (names, ids) == (("length", "mass"), ["r1", "r2", "r3"])


def test_columns_are_taken_by_name(put):
    X, names, _, labels = all_rows(put("x.csv", FEATURES), columns=["mass", "length"])
    np.testing.assert_array_equal(X, MATRIX[:, ::-1])
    assert (names, labels) == (("mass", "length"), [])


def test_a_first_line_of_numbers_is_data_unless_it_counts(put):
    for name, lines, expected in (
        ("savetxt.csv", "1.5,2\n3,4\n", ([[1.5, 2], [3, 4]], None)),
        ("pixels.csv", "7,7\n3,4\n", ([[7, 7], [3, 4]], None)),
        ("pandas.csv", "0,1\n3,4\n", ([[3, 4]], ("0", "1"))),
        ("r.csv", "1,2\n3,4\n", ([[3, 4]], ("1", "2"))),
    ):
        X, names, _, _ = all_rows(put(name, lines))
        assert (X.tolist(), names) == expected, name


def test_numbers_as_people_write_them(put):
    text = "a,b\n 1.5 ,+2\n1E-3,-.5\n99999999999999999999999,1\n"
    np.testing.assert_allclose(
        all_rows(put("x.csv", text))[0], np.array([[1.5, 2], [1e-3, -0.5], [1e23, 1]], np.float32), rtol=1e-7
    )


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3), min_size=1)
)
def test_float32_comes_back_from_csv_exactly(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("exact") / "x.csv"
    path.write_text("a,b,c\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows))
    np.testing.assert_array_equal(all_rows(path)[0], np.array(rows, dtype=np.float32))


# labels


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("y.txt", "ant\n bee\nant\n\n"),
        ("y.csv", "label\nant\nbee\nant\n"),
        ("y.csv", "species\nant\nbee\nant\n"),
        ("y.csv", "source,class\na,ant\nb,bee\nc,ant\n"),
    ],
)
def test_label_files(put, name, content):
    labels, ids = tables.read_labels(put(name, content))
    assert (labels.names, labels.codes.tolist(), ids) == (["ant", "bee"], [0, 1, 0], None)


def test_labels_from_arrays(put):
    np.save("y.npy", np.array([2, 1, 2]))
    np.savez("y.npz", labels=np.array(["x", "y"]), features=np.ones((2, 2)))
    scipy.io.savemat("y.mat", {"labels": np.array([[1.0], [5.0]])})
    scipy.io.savemat("cells.mat", {"labels": np.array([["ant"], ["a bee"]], dtype=object)})
    pd.DataFrame({"id": ["r1", "r2"], "label": [7, 8]}).to_parquet("y.parquet")
    found = {path: tables.read_labels(path) for path in ("y.npy", "y.npz", "y.mat", "cells.mat", "y.parquet")}
    texts = {path: [labels.names[code] for code in labels.codes] for path, (labels, _) in found.items()}
    assert texts == {
        "y.npy": ["2", "1", "2"],
        "y.npz": ["x", "y"],
        "y.mat": ["1", "5"],
        "cells.mat": ["ant", "a bee"],
        "y.parquet": ["7", "8"],
    }
    assert found["y.parquet"][1] == ["r1", "r2"]


def test_the_type_of_labels_is_decided_over_all():
    assert typed(["3", "-10", "0"]).tolist() == [3, -10, 0]
    assert typed(["007", "8"]).tolist() == ["007", "8"]
    assert typed(["7", "8"], ["9", "nine"]).tolist() == ["7", "8"]
    assert typed(["3.0", "-10"], ["0.0"]).tolist() == [3, -10]
    assert typed(["3.0", "10"], ["1.5"]).tolist() == ["3.0", "10"]
    for text in ("1.00", "-0.0", "01.0", "+1", "-0", "1e3", " 1", "१", "99999999999999999999"):
        assert typed([text]).tolist() == [text]


# signatures


@pytest.mark.parametrize(
    "content",
    [
        "class,fur,legs\nant,0,6\nbee,True,6.5\nant,0,5\n",
        "fur,Class,legs\n0,ant,6\ntrue,bee,6.5\n0,ant,5\n",
        ",fur,legs\nant,0,6\nbee,1,6.5\nant,0,5\n",
        "name,fur,legs\nant,0,6\nbee,1,6.5\nant,0,5\n",
        "fur;legs;name\n0;6;ant\n1;6.5;bee\n0;5;ant\n",
        ",class,fur,legs\n0,ant,0,6\n1,bee,1,6.5\n2,ant,0,5\n",
        "index,fur,class,legs\n0,0,ant,6\n1,1,bee,6.5\n2,0,ant,5\n",
        "Unnamed: 0,name,fur,legs\n0,ant,false,6\n1,bee,true,6.5\n2,ant,false,5\n",
        "Unnamed: 0,fur,legs\nant,0,6\nbee,1,6.5\nant,0,5\n",
    ],
)
def test_signatures_of_a_text_table(put, content):
    table = tables.read_signatures(put("s.csv", content))
    expected = pd.DataFrame([[0.0, 6], [1, 6.5], [0, 5]], index=["ant", "bee", "ant"], columns=["fur", "legs"])
    pd.testing.assert_frame_equal(table, expected, check_names=False)


def test_signatures_with_whole_numbers_for_classes(put):
    table = tables.read_signatures(put("s.csv", "digit,top\n007,1\n8,0.5\n"), label_column="digit")
    assert table.index.tolist() == ["007", "8"]
    assert table.columns.tolist() == ["top"]


def test_signatures_of_other_files(put):
    values = np.array([[0.1, 6], [1, 6.5], [2, 7]])
    classes = ["ant", "bee", "cat"]
    frame = pd.DataFrame(values, columns=["fur", "legs"])
    frame.assign(**{"class": classes}).to_parquet("a.parquet")
    frame.set_axis(classes).to_parquet("b.parquet")
    frame.assign(**{"class": classes}).set_axis([4, 5, 6]).to_parquet("c.parquet")
    assert tables.read_signatures("c.parquet").columns.tolist() == ["fur", "legs"]
    frame.assign(**{"class": [1.0, 2.0, 3.0]}).to_parquet("d.parquet")
    assert tables.read_signatures("d.parquet").index.tolist() == ["1.0", "2.0", "3.0"]
    np.savez("a.npz", signatures=values, classes=np.array(classes), attribute_names=np.array(["fur", "legs"]))
    np.savez("b.npz", signatures=values, classes=np.array(classes))
    names = np.array([[name] for name in classes], dtype=object)
    scipy.io.savemat("a.mat", {"att": values.T, "original_att": values.T + 1, "allclasses_names": names})
    for path in ("a.parquet", "b.parquet", "a.npz", "b.npz", "a.mat"):
        table = tables.read_signatures(path)
        np.testing.assert_array_equal(table.to_numpy(), values, err_msg=path)
        assert table.index.tolist() == classes, path
        assert table.columns.tolist() == (
            ["attribute 0", "attribute 1"] if path in ("b.npz", "a.mat") else ["fur", "legs"]
        )


# what is refused

BAD_FEATURES = {
    "empty": ("x.csv", "", ["x.csv is empty"]),
    "header only": ("x.csv", "a,b\n", ["x.csv", "no rows"]),
    "a word": ("x.csv", "a,b\n1,2\n3,red\n4,blue\n", ["x.csv, line 3", "'b'", "'red'"]),
    "a word far down": ("x.csv", "a,b\n" + "1,2\n" * 5000 + "1,x\n", ["line 5002", "'b'", "'x'"]),
    "a word after blank lines": ("x.csv", "a,b\n\n\n1,2\n3,red\n", ["line 5", "'red'"]),
    "a word after a quoted line break": ("x.csv", 'id,b\n"a\nb",2\nc,red\n', ["line 4", "'red'"]),
    "a missing value": ("x.csv", "a,b\n1,2\n,4\n", ["line 3", "'a'", "nothing"]),
    "nan": ("x.csv", "a,b\n1,2\n3,nan\n", ["line 3", "'b'", "'nan'"]),
    "infinity": ("x.csv", "a,b\n1,inf\n", ["line 2", "'b'", "'inf'"]),
    "beyond float32": ("x.csv", "a,b\n1,1e39\n", ["line 2", "'b'", "'1e39'"]),
    "beyond float64": ("x.csv", "a,b\n1,1e400\n", ["line 2", "'b'", "'1e400'"]),
    "python's digits": ("x.csv", "a,b\n1,1_000\n", ["line 2", "'1_000'"]),
    "truth": ("x.csv", "a,b\n1,True\n2,False\n", ["line 2", "'True'"]),
    "decimal commas": ("x.csv", "a;b\n1,5;2,5\n", ["line 2", "'1,5'"]),
    "a short line": ("x.csv", "a,b,c\n1,2,3\n4,5\n", ["line 3", "2 cells", "3"]),
    "a short line by an unused end": ("x.csv", "a,label\n1,x\n2\n", ["line 3", "1 cells", "2"]),
    "a long first line": ("x.csv", "a,b\n1,2,3\n", ["line 2", "3 cells", "2"]),
    "a long line": ("x.csv", "a,b\n1,2\n1,2,3\n", ["line 3", "3 cells", "2"]),
    "a stray quote": ("x.csv", 'a,b\n1,2\n"3,4\n5,6\n', ["x.csv", "quote"]),
    "duplicate columns": ("x.csv", "a,b,a\n1,2,3\n", ["x.csv", "several columns named 'a'"]),
    "no header": ("x.csv", "0.5,ant\n1,2\n", ["x.csv, line 1", "'0.5'", "column names"]),
    "latin-1": ("x.csv", "größe\n1\n".encode("latin-1"), ["x.csv", "UTF-8"]),
    "only ids": ("x.csv", "id\n1\n", ["x.csv", "no feature column"]),
    "not npy": ("x.npy", "hello world, this is text", ["x.npy"]),
    "cut npy": ("x.npy", b"\x93NUMPY\x01\x00", ["x.npy"]),
    "not npz": ("x.npz", "hello", ["x.npz"]),
    "not mat": ("x.mat", "hello", ["x.mat"]),
    "not parquet": ("x.parquet", "hello", ["x.parquet", "Parquet"]),
    "unknown suffix": ("x.xlsx", "hello", ["x.xlsx", "'.xlsx'", ".csv"]),
}


@pytest.mark.parametrize("case", BAD_FEATURES)
def test_bad_features(put, case):
    name, content, parts = BAD_FEATURES[case]
    with pytest.raises(ValueError) as refused:
        all_rows(put(name, content), columns=["a"] if "unused end" in case else None)
    for part in parts:
        assert part in str(refused.value), str(refused.value)


BAD_ARRAYS = {
    "objects.npy": (np.array([["a", 1]], dtype=object), ["objects.npy", "run code"]),
    "vector.npy": (np.ones(3), ["vector.npy", "2-D"]),
    "words.npy": (np.array([["a", "b"]]), ["words.npy", "numbers"]),
    "nan.npy": (np.array([[1, 2], [np.nan, 4]]), ["nan.npy, row 1", "column 0", "nan"]),
    "large.npy": (np.array([[1e39]]), ["large.npy, row 0", "float32"]),
    "none.npy": (np.empty((0, 3)), ["none.npy", "(0, 3)"]),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_bad_arrays(put, name):
    array, parts = BAD_ARRAYS[name]
    np.save(name, array)
    with pytest.raises(ValueError) as refused:
        all_rows(name)
    assert all(part in str(refused.value) for part in parts), str(refused.value)


def test_bad_archives_and_parquet(put):
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
        ("hole.parquet", None, "hole.parquet, row 1 .*column 'a': found nan"),
        ("unlabelled.parquet", "label", "column 'label' is empty in rows 1"),
    ):
        with pytest.raises(ValueError, match=sentence):
            all_rows(path, labels=labels)


BAD_LABELS = {
    "empty line": ("y.txt", "ant\n\nbee\n", "y.txt, line 2 is empty"),
    "nothing": ("y.txt", "\n\n", "y.txt holds no labels"),
    "empty cell": ("y.csv", "id,label\n1,ant\n2,\n", "y.csv, line 3 has no label"),
    "two columns": ("y.csv", "a,b\n1,ant\n", "y.csv has the columns 'a', 'b'"),
    "ragged": ("y.csv", "id,label\n1\n", "y.csv, line 2 has 1 cells"),
    "header only": ("y.csv", "label\n", "y.csv holds no labels"),
    "latin-1": ("y.txt", "Möwe\n".encode("latin-1"), "y.txt is not UTF-8"),
    "unknown": ("y.json", "[]", "y.json ends in '.json'"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels(put, case):
    name, content, sentence = BAD_LABELS[case]
    with pytest.raises(ValueError, match=sentence):
        tables.read_labels(put(name, content))


def test_bad_label_arrays(put):
    np.save("half.npy", np.array([1.0, 1.5]))
    np.savez("odd.npz", backbone="net", whatever=np.ones((2, 2)))
    np.save("matrix.npy", np.ones((2, 2)))
    for path, sentence in (
        ("half.npy", "half.npy.*1.5.*whole numbers"),
        ("matrix.npy", "matrix.npy"),
        ("odd.npz", "odd.npz"),
    ):
        with pytest.raises(ValueError, match=sentence):
            tables.read_labels(path)


BAD_SIGNATURES = {
    "empty": ("s.csv", "", "s.csv is empty"),
    "header only": ("s.csv", "class,fur\n", "s.csv has no rows"),
    "a word": ("s.csv", "class,fur\nant,1\nbee,soft\n", "s.csv, line 3, column 'fur': found 'soft'"),
    "a word, class by place": ("s.csv", "name,fur\nant,1\nbee,soft\n", "line 3, column 'fur': found 'soft'"),
    "a hole": ("s.csv", "class,fur\nant,1\nbee,\n", "s.csv, line 3, column 'fur': found ''"),
    "nan": ("s.csv", "class,fur\nant,nan\n", "s.csv, line 2, column 'fur': found 'nan'"),
    "nameless class": ("s.csv", "class,fur\nant,1\n,2\n", "s.csv, line 3, column 'class'"),
    "ragged": ("s.csv", "class,fur\nant,1\nbee\n", "s.csv, line 3 has 1 cells"),
    "duplicate columns": ("s.csv", "class,fur,fur\nant,1,2\n", "several columns named 'fur'"),
    "which class": ("s.csv", "digit,top\n0,1\n1,0\n", "s.csv does not say which class.*'digit', 'top'"),
    "no attribute": ("s.csv", "class\nant\n", "s.csv has no attribute column"),
    "unknown": ("s.txt", "ant\n", "s.txt ends in '.txt'"),
}


@pytest.mark.parametrize("case", BAD_SIGNATURES)
def test_bad_signatures(put, case):
    name, content, sentence = BAD_SIGNATURES[case]
    with pytest.raises(ValueError, match=sentence):
        tables.read_signatures(put(name, content))


def test_bad_signature_arrays(put):
    np.save("s.npy", np.ones((2, 2)))
    np.savez("nameless.npz", signatures=np.ones((2, 2)))
    np.savez("short.npz", signatures=np.ones((2, 2)), classes=np.array(["a", "b", "c"]))
    np.savez("names.npz", signatures=np.ones((2, 2)), classes=np.array(["a", "b"]), attribute_names=np.array(["x"]))
    for path, sentence in (
        ("s.npy", "s.npy holds a matrix without class names"),
        ("nameless.npz", "nameless.npz holds 'signatures' and no 'classes'"),
        ("short.npz", r"short.npz has signatures of shape \(2, 2\).*3 classes"),
        ("names.npz", "names.npz names 1 attributes for 2 columns"),
    ):
        with pytest.raises(ValueError, match=sentence):
            tables.read_signatures(path)


@pytest.mark.parametrize("read", [tables.open_features, tables.read_labels, tables.read_signatures, tables.fields])
def test_missing_files_and_folders(tmp_path, read):
    with pytest.raises(ValueError, match=r"no .* file at .*nowhere.csv"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="is a folder"):
        read(tmp_path)


def test_unknown_columns_are_named(put):
    put("x.csv", FEATURES)
    with pytest.raises(ValueError, match=r"no column 'lable'.*did you mean 'label'"):
        tables.open_features("x.csv", labels="lable")
    with pytest.raises(ValueError, match=r"lacks the feature column.*'width'"):
        tables.open_features("x.csv", columns=["mass", "width"])


def test_parquet_without_pyarrow_is_a_sentence(put, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"zskl\[parquet\]"):
        tables.open_features(put("x.parquet", "any"))


def test_an_empty_last_cell_that_nobody_reads_is_no_fault(put):
    X, _, _, _ = all_rows(put("x.csv", "a,comment\n1,\n2,fine\n"), columns=["a"])
    assert X.tolist() == [[1], [2]]


def test_explain_finds_nothing_wrong_in_a_good_file(put):
    columns = source.choose(put("x.csv", FEATURES), ["id", "length", "label", "mass"], "label", None)
    text_files.explain(Path("x.csv"), columns, 4, True)


def test_names_of_rows_in_a_features_file_and_a_label_file(put):
    found, ids = tables.read_labels(put("y.csv", ",id,label\n0,r1,ant\n1,r2,bee\n"))
    assert (found.names, ids) == (["ant", "bee"], ["r1", "r2"])
    found, ids = tables.read_labels(put("z.csv", "index,kind\nr1,ant\nr2,bee\n"))
    assert (found.names, ids) == (["ant", "bee"], ["r1", "r2"])


def test_a_model_may_take_a_column_that_looks_like_an_index(put):
    path = put("x.csv", "index,length\n0.5,1\n2,3\n")
    assert all_rows(path)[1:3] == (("length",), ["0.5", "2"])
    X, names, ids, _ = all_rows(path, columns=["length", "index"])
    assert (X.tolist(), names, ids) == ([[1, 0.5], [3, 2]], ("length", "index"), [])


@pytest.mark.parametrize("read", [lambda path: all_rows(path), tables.read_signatures])
def test_empty_names_and_decimal_commas(put, read):
    with pytest.raises(ValueError, match=r"x.csv has no name for column 3 of 4: expected a name .*; name or drop it"):
        read(put("x.csv", "class,a,,b\n1,2,3,4\n"))
    with pytest.raises(ValueError, match=r"found '1,0363', expected a finite number \(numbers need a decimal point"):
        read(put("x.csv", "id;class;a\n1;1;1,0363\n"))
    with pytest.raises(ValueError, match=r"found 'n/a', expected a finite number; if"):
        read(put("x.csv", "id;class;a\n1;1;n/a\n"))
