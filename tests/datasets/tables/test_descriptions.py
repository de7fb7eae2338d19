"""Class descriptions from files."""

import numpy as np
import pandas as pd
import pytest
import scipy.io

from zskl.datasets import tables


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
def test_bad_signatures_are_refused_by_line_and_column(put, case):
    name, content, sentence = BAD_SIGNATURES[case]
    with pytest.raises(ValueError, match=sentence):
        tables.read_signatures(put(name, content))


def test_bad_signature_arrays_are_refused(put):
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
