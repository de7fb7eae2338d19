"""What `make` reads from a user's files, and what it refuses."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io

import own_files
from own_files import edit, make
from zskl import datasets
from zskl.datasets import tables
from zskl.datasets.own import folder


def test_make_keeps_everything(here):
    data = make(unseen=["fox", "ant"])
    X, names, _ = tables.read_features("features.csv", "label")
    np.testing.assert_array_equal(data.X, X)
    assert data.feature_names == names == tuple(f"f{k}" for k in range(6))
    assert data.y.tolist() == [name for name in own_files.SPECIES for _ in range(12)]
    pd.testing.assert_frame_equal(data.signatures, tables.read_signatures("traits.csv"), check_names=False)
    assert data.unseen_classes.tolist() == ["ant", "fox"]
    assert {part: len(rows) for part, rows in data.parts.items() if "fold" not in part} == {
        "trainval": 8 * 10,
        "test_seen": 8 * 2,
        "test_unseen": 24,
    }
    assert data.name == "birds"
    assert isinstance(data.X, np.memmap)
    assert folder.row_names(here / "birds") == [f"r{k}" for k in range(120)]


def test_the_same_arguments_make_the_same_bytes(here):
    make("one", name="x")
    make("two", name="x")
    for file in folder.FILES:
        assert (here / "one" / file).read_bytes() == (here / "two" / file).read_bytes(), file


def test_labels_that_look_like_numbers(here):
    for classes, expected in (
        (["7", "8", "10", "-2"], [7, 8, 10, -2]),
        (["007", "8", "9", "10"], ["007", "8", "9", "10"]),
    ):
        own_files.write(here, classes)
        data = make(unseen=[classes[0]], force=True)
        assert data.class_names.tolist() == expected
        assert data.unseen_classes.tolist() == expected[:1]
        assert datasets.load("birds").y[0].item() == expected[0]
    edit(here / "traits.csv", "class,", "class,")
    with (here / "traits.csv").open("a") as file:
        file.write("zebra,1,2,3,4,5\n")
    own = make(unseen=["zebra"], force=True)
    assert own.y.dtype.kind == "U"


def test_whole_numbers_as_floats_are_the_same_labels(here):
    own_files.write(here, ["0", "7", "8", "10"])
    expected = make("integers", unseen=["7"])
    text = (here / "traits.csv").read_text()
    (here / "traits.csv").write_text("\n".join(line.replace(",", ".0,", 1) for line in text.splitlines()))
    edit(here / "traits.csv", "class.0", "class")
    data = make("floats", unseen=["7.0"])
    assert data.fingerprint == expected.fingerprint
    assert data.class_names.tolist() == [0, 7, 8, 10]
    text = (here / "features.csv").read_text().splitlines()
    (here / "features.csv").write_text("\n".join([text[0], *(line + ".0" for line in text[1:])]) + "\n")
    assert make("both", unseen=[7]).fingerprint == expected.fingerprint
    with (here / "traits.csv").open("a") as file:
        file.write("\nzebra,1,2,3,4,5\n")
    assert make("text", unseen=["zebra"]).class_names.tolist() == ["0.0", "7.0", "8.0", "10.0", "zebra"]


def test_an_index_of_pandas_is_neither_feature_nor_attribute(here):
    expected = make("plain")
    frame, traits = pd.read_csv("features.csv"), pd.read_csv("traits.csv")
    frame.to_csv("features.csv")
    traits.to_csv("traits.csv")
    data = make("indexed")
    np.testing.assert_array_equal(data.X, expected.X)
    assert (data.feature_names, data.fingerprint) == (expected.feature_names, expected.fingerprint)
    assert folder.row_names(here / "indexed") == frame["id"].tolist()
    halves = frame.drop(columns="id").set_axis([0, 1] * (len(frame) // 2))
    halves.to_csv("features.csv")  # such an index, after pd.concat, names nothing
    assert make("halves").feature_names == expected.feature_names


def test_several_descriptions_of_a_class(here):
    with (here / "traits.csv").open("a") as file:
        file.write("ant,1,2,3,4,5\nant,0.1,0.2,0.3,0.4,0.5\n")
    data = make()
    assert (data.signatures.index == "ant").sum() == 3
    assert data.class_names.tolist() == list(own_files.SPECIES)


def test_labels_in_a_file_are_matched_by_id(here):
    frame = pd.read_csv("features.csv")
    further = pd.DataFrame({"id": ["r999"], "label": ["a class of rows that are not here"]})
    pd.concat([further, frame[["id", "label"]].sample(frac=1, random_state=1)]).to_csv("labels.csv", index=False)
    frame.drop(columns="label").to_csv("features.csv", index=False)
    assert make(labels="labels.csv").y.tolist() == frame["label"].tolist()
    (here / "labels.txt").write_text("\n".join(frame["label"]))
    assert make("again", labels="labels.txt").y.tolist() == frame["label"].tolist()


def test_other_kinds_of_files(here):
    expected = make("csv")
    frame = pd.read_csv("features.csv")
    X, y = np.array(expected.X), expected.y
    frame.to_parquet("x.parquet")
    np.save("x.npy", X)
    np.save("y.npy", y)
    np.savez("x.npz", features=X, labels=y)
    scipy.io.savemat("x.mat", {"features": X.T, "labels": np.array([[name] for name in y], dtype=object)})
    for features, labels in (("x.parquet", "label"), ("x.npy", "y.npy"), ("x.npz", "labels"), ("x.mat", "labels")):
        data = datasets.make("out", features, labels, "traits.csv", force=True)
        np.testing.assert_array_equal(data.X, expected.X, err_msg=features)
        assert data.fingerprint == expected.fingerprint, features


def test_each_file_is_opened_as_rarely_as_possible(here, monkeypatch):
    """A table of features once for its first lines and once for its rows; the other files once."""
    frame = pd.read_csv("features.csv")
    frame.drop(columns="label").to_csv("only.csv", index=False)
    frame[["id", "label"]].to_csv("y.csv", index=False)
    frame.to_parquet("features.parquet")
    opened, really = Counter(), Path.open

    def counting(path, *arguments, **options):
        opened[path.name] += 1
        return really(path, *arguments, **options)

    with monkeypatch.context() as counted:
        counted.setattr(Path, "open", counting)
        make("a")
        assert (opened["features.csv"], opened["traits.csv"]) == (2, 1)
        opened.clear()
        make("b", features="only.csv", labels="y.csv")
        assert (opened["only.csv"], opened["y.csv"], opened["traits.csv"]) == (2, 1, 1)
    looked, check = Counter(), tables._existing
    monkeypatch.setattr(tables, "_existing", lambda path, *more: looked.update([path]) or check(path, *more))
    make("c", features="features.parquet")
    assert set(looked.values()) == {1}


BAD = {
    "label without signature": (
        lambda here: edit(here / "features.csv", ",fox\n", ",foxx\n"),
        {},
        ["traits.csv has no row for the class 'foxx'", "did you mean 'fox'", "features.csv"],
    ),
    "too few labels": (
        lambda here: (here / "y.txt").write_text("ant\n" * 119),
        {"labels": "y.txt"},
        ["features.csv has 120 rows", "y.txt 119 labels"],
    ),
    "unknown column": (lambda here: None, {"labels": "lable"}, ["'lable'", "neither a file nor a column", "'label'"]),
    "an id without label": (
        lambda here: (here / "y.csv").write_text("id,label\nr0,ant\n"),
        {"labels": "y.csv"},
        ["y.csv has no label for the rows 'r1'", "features.csv"],
    ),
    "an id twice": (
        lambda here: (here / "y.csv").write_text("id,label\nr0,ant\nr0,bee\n"),
        {"labels": "y.csv"},
        ["y.csv uses an id twice ('r0')"],
    ),
    "unknown unseen class": (lambda here: None, {"unseen": ["foxy"]}, ["'foxy'", "did you mean 'fox'"]),
    "all unseen": (lambda here: None, {"unseen": list(own_files.SPECIES)}, ["leaves 0 of 10 classes"]),
    "fraction": (lambda here: None, {"unseen_fraction": 1.5}, ["unseen_fraction is 1.5"]),
    "fraction of none": (lambda here: None, {"unseen_fraction": 0}, ["unseen_fraction is 0", "above 0 and below 1"]),
    "unseen with a comma": (lambda here: None, {"unseen": ["ant, fox"]}, ["'ant, fox'", "--unseen ant --unseen fox"]),
    "a row's name twice": (
        lambda here: edit(here / "features.csv", "\nr5,", "\nr4,"),
        {},
        ["features.csv: 'id', which names the rows, repeats 'r4'"],
    ),
    "fraction of nearly all": (lambda here: None, {"unseen_fraction": 0.95}, ["leaves 0 of 10", "at least 2"]),
    "seed": (lambda here: None, {"seed": -1}, ["seed is -1"]),
    "bad number": (lambda here: edit(here / "features.csv", "\nr5,", "\nr5,x"), {}, ["features.csv, line 7", "'f0'"]),
    "no labels": (lambda here: edit(here / "features.csv", ",bee\n", ",\n"), {}, ["features.csv, line 14", "no label"]),
    "inputs inside": (lambda here: None, {"out": "."}, ["features.csv is inside .", "choose another folder"]),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("case", BAD)
def test_bad_input_leaves_nothing_behind(here, case):
    spoil, how, parts = BAD[case]
    spoil(here)
    before = sorted(os.listdir(here))
    if "labels" in how:
        frame = pd.read_csv("features.csv").drop(columns="label" if how["labels"] != "lable" else [])
        frame.to_csv("features.csv", index=False)
    with pytest.raises(ValueError) as refused:
        make(**how)
    for part in parts:
        assert part in str(refused.value), str(refused.value)
    assert sorted(os.listdir(here)) == before
