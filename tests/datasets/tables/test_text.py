"""CSV and TSV: what is read, and every bad file refused by line and column."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from user_files import FEATURES, MATRIX, all_rows
from zskl.datasets import tables
from zskl.datasets.tables import features
from zskl.datasets.tables import text as text_files
from zskl.datasets.tables.features import Wanted
from zskl.datasets.tables.source import Source, TextFile


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
    assert set(tables.read_header(name).fields) > {"length", "label", "mass"}


def test_a_first_line_of_numbers_is_data_unless_it_counts_the_columns(put):
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


def test_true_is_1_and_false_0(put):
    X = all_rows(put("x.csv", "a,b,c\n1,True,TRUE\n2,False,2\n3, true ,false\n"))[0]
    assert X.tolist() == [[1, 1, 1], [2, 0, 2], [3, 1, 0]]


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3), min_size=1)
)
def test_float32_numbers_survive_csv_exactly(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("exact") / "x.csv"
    path.write_text("a,b,c\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows))
    np.testing.assert_array_equal(all_rows(path)[0], np.array(rows, dtype=np.float32))


BAD_FEATURES = {
    "empty": ("x.csv", "", ["x.csv is empty"]),
    "header only": ("x.csv", "a,b\n", ["x.csv", "no rows"]),
    "a word": ("x.csv", "a,b\n1,2\n3,red\n4,blue\n", ["x.csv, line 3", "'b'", "'red'", "OneHotEncoder"]),
    "a word far down": ("x.csv", "a,b\n" + "1,2\n" * 5000 + "1,x\n", ["line 5002", "'b'", "'x'"]),
    "a word after blank lines": ("x.csv", "a,b\n\n\n1,2\n3,red\n", ["line 5", "'red'"]),
    "a word after a quoted line break": ("x.csv", 'id,b\n"a\nb",2\nc,red\n', ["line 4", "'red'"]),
    "a missing value": ("x.csv", "a,b\n1,2\n,4\n", ["line 3", "'a'", "nothing", "--missing mean", "SimpleImputer"]),
    "nan": ("x.csv", "a,b\n1,2\n3,nan\n", ["line 3", "'b'", "'nan'"]),
    "infinity": ("x.csv", "a,b\n1,inf\n", ["line 2", "'b'", "'inf'", "finite number; repair it"]),
    "beyond float32": ("x.csv", "a,b\n1,1e39\n", ["line 2", "'b'", "'1e39'", "too large", "float32", "3.4e+38"]),
    "beyond float64": ("x.csv", "a,b\n1,1e400\n", ["line 2", "'b'", "'1e400'", "too large"]),
    "python's digits": ("x.csv", "a,b\n1,1_000\n", ["line 2", "'1_000'"]),
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
    "unknown suffix": ("x.ods", "hello", ["x.ods", "'.ods'", ".csv", ".xlsx"]),
    "a date": ("x.csv", "a,b\n1,2026-01-05\n", ["line 2", "'2026-01-05'", "a date is not a number"]),
    "a time": ("x.csv", "a,b\n1,5.1.2026 17:40\n", ["line 2", "a date is not a number"]),
}


@pytest.mark.parametrize("case", BAD_FEATURES)
def test_bad_features_are_refused_by_line_and_column(put, case):
    name, content, parts = BAD_FEATURES[case]
    with pytest.raises(ValueError) as refused:
        all_rows(put(name, content), columns=["a"] if "unused end" in case else None)
    for part in parts:
        assert part in str(refused.value), str(refused.value)


def test_an_empty_last_cell_that_is_not_read_is_not_a_fault(put):
    X, _, _, _ = all_rows(put("x.csv", "a,comment\n1,\n2,fine\n"), columns=["a"])
    assert X.tolist() == [[1], [2]]


def test_explain_finds_nothing_wrong_in_a_good_file(put):
    source = Source(Path(put("x.csv", FEATURES)), "x.csv", ".csv")
    columns = features.choose_feature_columns(source, ["id", "length", "label", "mass"], features.Wanted("label"))
    text_files.explain_text_error(source, columns, 4, True)


def test_a_model_may_take_a_column_that_looks_like_an_index(put):
    path = put("x.csv", "index,length\n0.5,1\n2,3\n")
    assert all_rows(path)[1:3] == (("length",), ["0.5", "2"])
    X, names, ids, _ = all_rows(path, columns=["length", "index"])
    assert (X.tolist(), names, ids) == ([[1, 0.5], [3, 2]], ("length", "index"), [])


# Decimal commas and encodings -----------------------------------------------------------------------------------------


def european(path, encoding="utf-8"):
    return TextFile(str(path), encoding, ",")


@pytest.mark.parametrize("first", ["id;length;label;mass\n", ""])
def test_decimal_commas_are_read_between_semicolons(put, first):
    rows = "r1;1,5;ant;2\nr2;-,25;bee;1e3\nr3;0;ant;7,0e0\n" if first else "1,5;2\n-0,25;1e3\n0;7,0\n"
    X, *_, labels = all_rows(european(put("x.csv", first + rows)), labels="label" if first else None)
    np.testing.assert_array_equal(X, MATRIX)
    assert labels == (["ant", "bee", "ant"] if first else [])


def test_decimal_commas_between_tabs_and_in_quotes(put):
    for text in ("length\tmass\n1,5\t2\n-0,25\t1000\n0\t7\n", 'length,mass\n"1,5",2\n"-0,25",1000\n0,7\n'):
        np.testing.assert_array_equal(all_rows(european(put("x.csv", text)))[0], MATRIX)


@pytest.mark.parametrize("missing", [None, "mean"])
def test_a_point_beside_decimal_commas_is_refused(put, missing):
    """1.500 may be one and a half, or fifteen hundred."""
    head = tables.read_header(european(put("x.csv", "a;b\n1,5;2\n1.500;3\n")))
    opened = head.open(Wanted(loose=missing is not None))
    with pytest.raises(ValueError, match=r"x.csv, line 3, column 'a': found '1.500', which has a point.*--decimal"):
        list(opened.cells() if missing else opened.blocks())
    with pytest.raises(ValueError, match=r"x.csv, line 2, column 'a': found '1.500', which has a point"):
        tables.read_signatures(european(put("x.csv", "class;a\nowl;1.500\n")))


def test_words_with_commas_and_class_names_stay(put):
    path = european(put("x.csv", "class;size\n1,5;2,5\nowl, barn;3\n"))
    table = tables.read_signatures(path)
    assert (table.index.tolist(), table["size"].tolist()) == (["1,5", "owl, barn"], [2.5, 3])


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-8"])
def test_encodings(tmp_path, encoding):
    path = tmp_path / "x.csv"
    path.write_bytes("größe,label\n1,Möwe\n".encode(encoding))
    X, names, _, labels = all_rows(TextFile(str(path), encoding), labels="label")
    assert (X.tolist(), names, labels) == ([[1.0]], ("größe",), ["Möwe"])
    (tmp_path / "y.txt").write_bytes("Möwe\n".encode(encoding))
    assert tables.read_labels(TextFile(str(tmp_path / "y.txt"), encoding))[0].names == ["Möwe"]
    if encoding == "utf-8":
        return
    wanted = "utf-16" if encoding == "utf-16" else "cp1252"
    with pytest.raises(ValueError, match=rf"is not UTF-8 text .*encoding='{wanted}' \(--encoding {wanted}\)"):
        all_rows(path, labels="label")


def test_a_table_with_decimal_commas_says_how_to_read_it(put):
    for text in ("length, cm;mass\n1,5;2,5\n", "0,5;1,5;2\n1,5;2,5;3\n"):
        with pytest.raises(ValueError, match=r"decimal=',' \(--decimal ,\)"):
            all_rows(put("x.csv", text))
    with pytest.raises(ValueError, match=r"^(?!.*decimal=)"):
        all_rows(put("x.csv", "a,b\n1,2,3\n"))
    with pytest.raises(ValueError, match=r"decimal is ';': expected one of \., ,"):
        TextFile("x.csv", decimal=";")
