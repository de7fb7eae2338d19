"""Labels in files of their own."""

import numpy as np
import pandas as pd
import pytest
import scipy.io

from zskl.datasets import tables
from zskl.datasets.tables.labels import to_label_type


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
    labels, ids, _ = tables.read_labels(put(name, content))
    assert (labels.names, labels.codes.tolist(), ids) == (["ant", "bee"], [0, 1, 0], None)


def test_labels_from_arrays(put):
    np.save("y.npy", np.array([2, 1, 2]))
    np.savez("y.npz", labels=np.array(["x", "y"]), features=np.ones((2, 2)))
    scipy.io.savemat("y.mat", {"labels": np.array([[1.0], [5.0]])})
    scipy.io.savemat("cells.mat", {"labels": np.array([["ant"], ["a bee"]], dtype=object)})
    pd.DataFrame({"id": ["r1", "r2"], "label": [7, 8]}).to_parquet("y.parquet")
    found = {path: tables.read_labels(path) for path in ("y.npy", "y.npz", "y.mat", "cells.mat", "y.parquet")}
    texts = {path: [labels.names[code] for code in labels.codes] for path, (labels, *_) in found.items()}
    assert texts == {
        "y.npy": ["2", "1", "2"],
        "y.npz": ["x", "y"],
        "y.mat": ["1", "5"],
        "cells.mat": ["ant", "a bee"],
        "y.parquet": ["7", "8"],
    }
    assert found["y.parquet"][1] == ["r1", "r2"]


def test_labels_are_integers_only_if_all_are_whole_numbers():
    assert to_label_type(["3", "-10", "0"]).tolist() == [3, -10, 0]
    assert to_label_type(["007", "8"]).tolist() == ["007", "8"]
    assert to_label_type(["7", "8"], ["9", "nine"]).tolist() == ["7", "8"]
    assert to_label_type(["3.0", "-10"], ["0.0"]).tolist() == [3, -10]
    assert to_label_type(["3.0", "10"], ["1.5"]).tolist() == ["3.0", "10"]
    for text in ("1.00", "-0.0", "01.0", "+1", "-0", "1e3", " 1", "१", "99999999999999999999"):
        assert to_label_type([text]).tolist() == [text]


BAD_LABELS = {
    "empty line": ("y.txt", "ant\n\nbee\n", "y.txt, line 2 is empty"),
    "nothing": ("y.txt", "\n\n", "y.txt has no labels"),
    "empty cell": ("y.csv", "id,label\n1,ant\n2,\n", "y.csv, line 3 has no label"),
    "two columns": ("y.csv", "a,b\n1,ant\n", "y.csv has the columns 'a', 'b'"),
    "ragged": ("y.csv", "id,label\n1\n", "y.csv, line 2 has 1 cells"),
    "header only": ("y.csv", "label\n", "y.csv has no labels"),
    "latin-1": ("y.txt", "Möwe\n".encode("latin-1"), "y.txt is not UTF-8"),
    "unknown": ("y.json", "[]", "y.json ends in '.json'"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels_are_refused_by_line(put, case):
    name, content, sentence = BAD_LABELS[case]
    with pytest.raises(ValueError, match=sentence):
        tables.read_labels(put(name, content))


def test_bad_label_arrays_are_refused(put):
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


def test_names_of_rows_in_a_features_file_and_a_label_file(put):
    found, ids, _ = tables.read_labels(put("y.csv", ",id,label\n0,r1,ant\n1,r2,bee\n"))
    assert (found.names, ids) == (["ant", "bee"], ["r1", "r2"])
    found, ids, _ = tables.read_labels(put("z.csv", "index,kind\nr1,ant\nr2,bee\n"))
    assert (found.names, ids) == (["ant", "bee"], ["r1", "r2"])
