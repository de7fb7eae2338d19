"""Tables from compressed files, standard input and Excel workbooks."""

import gzip
import io
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pyarrow
import pytest

from user_files import FEATURES, MATRIX, all_rows
from zskl.datasets import tables
from zskl.datasets.tables import features

TRAITS = "class,legs\nant,6\nbee,5\n"


def zstd(text):
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as file:
        file.write(text.encode())
    return sink.getvalue().to_pybytes()


def assert_read(path, **how):
    X, names, ids, labels = all_rows(path, labels="label", **how)
    np.testing.assert_array_equal(X, MATRIX)
    assert (names, ids, labels) == (("length", "mass"), ["r1", "r2", "r3"], ["ant", "bee", "ant"])


@pytest.mark.parametrize(("end", "packed"), [(".gz", lambda text: gzip.compress(text.encode())), (".zst", zstd)])
def test_compressed_text(put, monkeypatch, end, packed):
    monkeypatch.setattr(features, "BLOCK_VALUES", 4)  # a block per row of four columns
    assert_read(put(f"x.csv{end}", packed(FEATURES)))
    assert_read(put(f"X.TSV{end.upper()}", packed(FEATURES.replace(",", "\t"))))
    assert tables.read_signatures(put(f"s.csv{end}", packed(TRAITS)))["legs"].tolist() == [6, 5]
    assert tables.read_labels(put(f"y.txt{end}", packed("ant\nbee\n")))[0].names == ["ant", "bee"]
    with pytest.raises(ValueError, match=rf"x.csv{end}, line 3, column 'mass': found 'x'"):
        all_rows(put(f"x.csv{end}", packed(FEATURES.replace("1e3", "x"))), labels="label")
    many = packed("a,b\n" + "".join(f"{k},{k % 7}\n" for k in range(20_000)))
    for damaged in (many[: len(many) // 2], b"not at all"):
        with pytest.raises(ValueError, match=rf"x.csv{end} is not a whole {end} file"):
            all_rows(put(f"x.csv{end}", damaged))
    with pytest.raises(ValueError, match=rf"x.parquet{end} ends in '.parquet{end}': expected features in one of"):
        tables.read_header(put(f"x.parquet{end}", b"PAR1"))


def test_what_reads_zstandard_is_named(put, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    with pytest.raises(ValueError, match=r"needs Python 3.14, or pyarrow: pip install 'zskl\[parquet\]'"):
        tables.read_header(put("x.csv.zst", "any"))


def piped(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8"))


def test_standard_input(put, monkeypatch):
    piped(monkeypatch, FEATURES)
    assert tables.label_column(tables.read_header("-"), "-", "label") == "label"
    assert_read("-")  # a second time
    piped(monkeypatch, TRAITS)
    assert tables.read_signatures("-")["legs"].tolist() == [6, 5]
    piped(monkeypatch, "label\nant\nbee\n")
    assert tables.read_labels("-")[0].names == ["ant", "bee"]
    piped(monkeypatch, "a,b\n1,2\n3,x\n")
    with pytest.raises(ValueError, match="standard input, line 3, column 'b': found 'x'"):
        all_rows("-")
    piped(monkeypatch, "")
    with pytest.raises(ValueError, match="standard input is empty"):
        all_rows("-")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    with pytest.raises(ValueError, match="nothing is piped into it"):
        all_rows("-")


SHEET = [
    ["id", "length", "label", "mass", None],
    ["r1", 1.5, "ant", 2, None],
    [None, None, None, None, None],
    ["r2", -0.25, "bee", 1000.0, None],
    ["r3", False, "ant", 7],
    [None],
]


def stand_in(monkeypatch, *sheets):
    """openpyxl as far as it is used here, so that tests need not install it."""

    def load_workbook(path, read_only, data_only):
        if not sheets:
            raise KeyError("no sheet")
        found = [SimpleNamespace(title=f"sheet {k}", iter_rows=lambda k=k, **_: sheets[k]) for k in range(len(sheets))]
        return SimpleNamespace(worksheets=found, close=lambda: None)

    found = {name: ModuleType(name) for name in ("openpyxl", "openpyxl.utils", "openpyxl.utils.exceptions")}
    found["openpyxl"].load_workbook = load_workbook
    found["openpyxl.utils.exceptions"].InvalidFileException = type("InvalidFileException", (Exception,), {})
    for name, module in found.items():
        monkeypatch.setitem(sys.modules, name, module)


def test_the_first_sheet_of_a_workbook(put, monkeypatch):
    stand_in(monkeypatch, SHEET)
    assert_read(put("x.xlsx", "one"))
    stand_in(monkeypatch, [["class", "legs"], ["ant", 6], ["bee", 5]], SHEET)
    with pytest.warns(UserWarning, match="s.xlsx: the first sheet, 'sheet 0', is read, and not 'sheet 1'"):
        assert tables.read_signatures(put("s.xlsx", "other"))["legs"].tolist() == [6, 5]
    stand_in(monkeypatch, [*SHEET[:3], ["r2", "far", "bee", 7]])
    with pytest.raises(ValueError, match=r"x.xlsx, line 4, column 'length': found 'far'"):  # the row of the sheet
        all_rows(put("x.xlsx", "a third"), labels="label")
    stand_in(monkeypatch)
    with pytest.raises(ValueError, match=r"x.xlsx is not an Excel workbook that can be read"):
        all_rows(put("x.xlsx", "damaged one"))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r"pip install 'zskl\[excel\]'"):
        all_rows(put("x.xlsx", "the last one"))


def test_a_workbook_as_openpyxl_writes_it(put):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl, of the extra excel, is not installed")
    book = openpyxl.Workbook()
    for row in SHEET:
        book.active.append(row)
    book.save("x.xlsx")
    assert_read("x.xlsx")
