"""Dataset folders: what is written comes back, and a changed file is refused."""

import json
import os
import platform
import re
import shutil
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

import user_files
from user_files import edit
from user_files import make as make_own_files
from zskl import datasets, protocols
from zskl.datasets import Dataset, folder, tables, xlsa17
from zskl.datasets.folder import open_new_folder, release_free_memory
from zskl.datasets.tables.source import list_files

# Folder


def test_what_is_made_is_what_is_loaded(here):
    made, loaded = make_own_files(), datasets.load("birds")
    assert (
        loaded.fingerprint == made.fingerprint == json.loads((here / "birds/manifest.json").read_text())["fingerprint"]
    )
    np.testing.assert_array_equal(loaded.X, made.X)
    assert datasets.load(here / "birds").feature_names == made.feature_names


def test_the_manifest_can_be_read(here):
    make_own_files(unseen=["fox"], seed=3, name="my birds")
    manifest = json.loads((here / "birds/manifest.json").read_text())
    assert (manifest["format"], manifest["version"], manifest["name"]) == ("zskl-dataset", 1, "my birds")
    assert (manifest["rows"], manifest["features"], manifest["classes"], manifest["attributes"]) == (120, 6, 10, 5)
    assert manifest["unseen"] == ["fox"]
    assert manifest["made"]["features"] == "features.csv"
    assert manifest["made"]["seed"] == 3
    assert set(manifest["files"]) == {"features.npy", "labels.csv", "signatures.csv", "splits.json"}
    assert len((here / "birds/manifest.json").read_text().splitlines()) < 60


AWKWARD = "aZ07 ,;:\t\n\"'\\#=-+.|éß猫🦜\u00a0\u0301\u200b\u202e"


@settings(max_examples=25)
@given(
    st.lists(st.text(AWKWARD, min_size=1, max_size=8).filter(str.strip), min_size=4, max_size=6, unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=6, max_size=6),
)
def test_any_names_and_numbers_survive_the_folder(tmp_path_factory, names, values):
    """Class and attribute names with commas, quotes, line breaks or surrogate-free Unicode; floats bit for bit."""
    if not all(name.isprintable() for name in names):
        names = [f"{k} {name.encode('unicode_escape').decode()}\n" for k, name in enumerate(names)]
    place = tmp_path_factory.mktemp("any")
    C = len(names)
    table = pd.DataFrame([[1.0, value] for value in values[:C]], index=names, columns=names[:2])
    parts = {"trainval": [0, 1], "test_seen": [2], "test_unseen": list(range(3, C))}
    y = [names[0], names[1], names[0], *names[3:]]
    np.save(place / folder.FEATURES, np.ones((C, 2), dtype=np.float32))
    data = Dataset("any", np.ones((C, 2)), y, table, parts)
    folder.write_folder(place, data, {})
    back = folder.load_folder(place)
    assert back.fingerprint == data.fingerprint
    np.testing.assert_array_equal(back.signatures.to_numpy(), data.signatures.to_numpy())
    assert back.attribute_names == names[:2]


def test_a_folder_can_be_run_and_pickled(here):
    import pickle

    from zskl import methods

    data = make_own_files()
    model = methods.build("gaussian-ort", {"random_state": 0}).fit(*data.samples("trainval"), data.signatures)
    assert model.feature_names_in_.tolist() == list(data.feature_names)
    again = pickle.loads(pickle.dumps(data))
    assert (again.fingerprint, again.feature_names) == (data.fingerprint, data.feature_names)
    plain = methods.build("gaussian-ort", {"random_state": 0})
    plain.fit(data.X[data.parts["trainval"]], data.y[data.parts["trainval"]], data.signatures)
    np.testing.assert_array_equal(plain.projection_, model.projection_)
    assert protocols.zsl(plain, data).accuracy > 0.5


@pytest.mark.parametrize("file", folder.FILES)
def test_a_changed_file_is_refused_by_name(here, file):
    make_own_files()
    path = here / "birds" / file
    shutil.copy(path, here / "copy")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ValueError, match=file.replace(".", r"\.")):
        datasets.load("birds")
    path.unlink()
    with pytest.raises(
        ValueError, match=file.replace(".", r"\.") if file != "manifest.json" else "no dataset is called"
    ):
        datasets.load("birds")
    shutil.copy(here / "copy", path)
    assert len(datasets.load("birds").X) == 120


def test_a_moved_split_and_a_changed_number_are_noticed(here):
    make_own_files()
    splits = json.loads((here / "birds/splits.json").read_text())
    swapped = splits | {"test_seen": splits["test_seen"][::-1]}
    original = (here / "birds/splits.json").read_text()
    text = original.replace(str(splits["test_seen"])[1:-1], str(swapped["test_seen"])[1:-1])
    assert len(text) == len(original)
    assert text != original
    (here / "birds/splits.json").write_text(text)
    with pytest.raises(ValueError, match=r"splits\.json has changed"):
        datasets.load("birds")
    (here / "birds/splits.json").write_text(original)
    X = np.load(here / "birds/features.npy")
    X[0, 0] += 1
    np.save(here / "birds/features.npy", X)
    datasets.load("birds")  # the large file is not read as a whole
    with pytest.raises(ValueError, match=r"features\.npy has changed"):
        folder.check_folder_features(here / "birds")
    header = json.loads((here / "birds/manifest.json").read_text())
    for change, sentence in (
        ({"version": 9}, "version 9"),
        ({"format": "other"}, "of format 'other'"),
        ({"rows": 3}, r"manifest says \(3, 6\)"),
    ):
        (here / "birds/manifest.json").write_text(json.dumps(header | change))
        with pytest.raises(ValueError, match=sentence):
            datasets.load("birds")


def test_choices_among_files_are_for_benchmarks(here):
    make_own_files()
    for choice in ({"root": "."}, {"features": "res101"}, {"signatures": "att"}, {"folds": "file"}):
        with pytest.raises(ValueError, match="leave out"):
            datasets.load("birds", **choice)
    (here / "empty").mkdir()
    with pytest.raises(ValueError, match=r"has no manifest\.json"):
        datasets.load(here / "empty")
    (here / "mats").mkdir()
    xlsa17.write_benchmark(datasets.load("birds"), here / "mats")
    with pytest.raises(ValueError, match="leave root out"):
        datasets.load("mats", root=".")


# What `make` reads from a user's files, and what it refuses.


def test_make_keeps_everything(here):
    data = make_own_files(unseen=["fox", "ant"])
    X, names, *_ = user_files.all_rows("features.csv", labels="label")
    np.testing.assert_array_equal(data.X, X)
    assert data.feature_names == names == tuple(f"f{k}" for k in range(6))
    assert data.y.tolist() == [name for name in user_files.SPECIES for _ in range(12)]
    pd.testing.assert_frame_equal(data.signatures, tables.read_signatures("traits.csv"), check_names=False)
    assert data.unseen_classes.tolist() == ["ant", "fox"]
    assert {part: len(rows) for part, rows in data.parts.items() if "fold" not in part} == {
        "trainval": 8 * 10,
        "test_seen": 8 * 2,
        "test_unseen": 24,
    }
    assert data.name == "birds"
    assert isinstance(data.X, np.memmap)
    assert folder.read_row_names(here / "birds") == [f"r{k}" for k in range(120)]


def test_the_same_arguments_make_the_same_bytes(here):
    make_own_files("one", name="x")
    make_own_files("two", name="x")
    for file in folder.FILES:
        assert (here / "one" / file).read_bytes() == (here / "two" / file).read_bytes(), file


def test_labels_that_look_like_numbers(here):
    for classes, expected in (
        (["7", "8", "10", "-2"], [7, 8, 10, -2]),
        (["007", "8", "9", "10"], ["007", "8", "9", "10"]),
    ):
        user_files.write_birds(here, classes)
        data = make_own_files(unseen=[classes[0]], force=True)
        assert data.class_names.tolist() == expected
        assert data.unseen_classes.tolist() == expected[:1]
        assert datasets.load("birds").y[0].item() == expected[0]
    edit(here / "traits.csv", "class,", "class,")
    with (here / "traits.csv").open("a") as file:
        file.write("zebra,1,2,3,4,5\n")
    own = make_own_files(unseen=["zebra"], force=True)
    assert own.y.dtype.kind == "U"


def test_whole_numbers_as_floats_are_the_same_labels(here):
    user_files.write_birds(here, ["0", "7", "8", "10"])
    expected = make_own_files("integers", unseen=["7"])
    text = (here / "traits.csv").read_text()
    (here / "traits.csv").write_text("\n".join(line.replace(",", ".0,", 1) for line in text.splitlines()))
    edit(here / "traits.csv", "class.0", "class")
    data = make_own_files("floats", unseen=["7.0"])
    assert data.fingerprint == expected.fingerprint
    assert data.class_names.tolist() == [0, 7, 8, 10]
    text = (here / "features.csv").read_text().splitlines()
    (here / "features.csv").write_text("\n".join([text[0], *(line + ".0" for line in text[1:])]) + "\n")
    assert make_own_files("both", unseen=[7]).fingerprint == expected.fingerprint
    with (here / "traits.csv").open("a") as file:
        file.write("\nzebra,1,2,3,4,5\n")
    assert make_own_files("text", unseen=["zebra"]).class_names.tolist() == ["0.0", "7.0", "8.0", "10.0", "zebra"]


def test_an_index_of_pandas_is_neither_feature_nor_attribute(here):
    expected = make_own_files("plain")
    frame, traits = pd.read_csv("features.csv"), pd.read_csv("traits.csv")
    frame.to_csv("features.csv")
    traits.to_csv("traits.csv")
    data = make_own_files("indexed")
    np.testing.assert_array_equal(data.X, expected.X)
    assert (data.feature_names, data.fingerprint) == (expected.feature_names, expected.fingerprint)
    assert folder.read_row_names(here / "indexed") == frame["id"].tolist()
    halves = frame.drop(columns="id").set_axis([0, 1] * (len(frame) // 2))
    halves.to_csv("features.csv")  # such an index, after pd.concat, names nothing
    assert make_own_files("halves").feature_names == expected.feature_names


def test_several_descriptions_of_a_class(here):
    with (here / "traits.csv").open("a") as file:
        file.write("ant,1,2,3,4,5\nant,0.1,0.2,0.3,0.4,0.5\n")
    data = make_own_files()
    assert (data.signatures.index == "ant").sum() == 3
    assert data.class_names.tolist() == list(user_files.SPECIES)


def test_labels_in_a_file_are_matched_by_id(here):
    frame = pd.read_csv("features.csv")
    further = pd.DataFrame({"id": ["r999"], "label": ["a class of rows that are not here"]})
    pd.concat([further, frame[["id", "label"]].sample(frac=1, random_state=1)]).to_csv("labels.csv", index=False)
    frame.drop(columns="label").to_csv("features.csv", index=False)
    assert make_own_files(labels="labels.csv").y.tolist() == frame["label"].tolist()
    (here / "labels.txt").write_text("\n".join(frame["label"]))
    assert make_own_files("again", labels="labels.txt").y.tolist() == frame["label"].tolist()


def test_other_kinds_of_files(here):
    expected = make_own_files("csv")
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
        make_own_files("a")
        assert (opened["features.csv"], opened["traits.csv"]) == (2, 1)
        opened.clear()
        make_own_files("b", features="only.csv", labels="y.csv")
        assert (opened["only.csv"], opened["y.csv"], opened["traits.csv"]) == (2, 1, 1)
    looked, check = Counter(), tables.find_table_source
    monkeypatch.setattr(tables, "find_table_source", lambda path, *more: looked.update([path]) or check(path, *more))
    make_own_files("c", features="features.parquet")
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
    "all unseen": (lambda here: None, {"unseen": list(user_files.SPECIES)}, ["leaves 0 of 10 classes"]),
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
        make_own_files(**how)
    for part in parts:
        assert part in str(refused.value), str(refused.value)
    assert sorted(os.listdir(here)) == before


# Which folders are replaced, and when.


def test_an_existing_folder_is_replaced_only_by_force_and_only_if_it_is_a_dataset(here):
    first = make_own_files(seed=0).fingerprint
    with pytest.raises(ValueError, match="birds is there already"):
        make_own_files(seed=1)
    assert datasets.load("birds").fingerprint == first
    assert make_own_files(seed=1, force=True).fingerprint != first
    (here / "diary").mkdir()
    (here / "diary/notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="diary is not a dataset folder"):
        make_own_files("diary", force=True)
    assert (here / "diary/notes.txt").read_text() == "mine"
    assert sorted(os.listdir(here)) == ["birds", "diary", "features.csv", "traits.csv"]
    assert make_own_files("new/deep/birds").name == "birds"


def test_a_replacement_that_fails_keeps_the_old(here):
    first = make_own_files().fingerprint
    (here / "traits.csv").write_text("class,t0\nant,1\n")
    with pytest.raises(ValueError, match="no row for the class"):
        make_own_files(force=True)
    assert datasets.load("birds").fingerprint == first
    with pytest.raises(RuntimeError), open_new_folder("birds", force=True):
        raise RuntimeError
    assert datasets.load("birds").fingerprint == first
    assert stat.S_IMODE((here / "birds").stat().st_mode) == 0o777 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Memory that is free goes back to the system.

PIECES, SIZE = 20_000, 4096  # 80 MB, in blocks that the C library takes from its heap


def resident():
    return 1024 * int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text("utf-8"))[1])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the C library of Linux gives back parts of a heap")
def test_free_blocks_below_one_that_is_in_use_are_given_back():
    blocks = [b"x" * SIZE for _ in range(PIECES)]
    last = blocks.pop()
    full = resident()
    del blocks
    release_free_memory()
    assert full - resident() > PIECES * SIZE / 2
    assert len(last) == SIZE


@pytest.mark.parametrize("platform_name", ["darwin", "win32"])
def test_elsewhere_the_c_library_is_left_alone(platform_name, monkeypatch):
    monkeypatch.setattr(folder.sys, "platform", platform_name)
    monkeypatch.setattr(folder.ctypes, "CDLL", lambda _: pytest.fail("there is no such library to open"))
    assert release_free_memory() is None


# Several files side by side


@pytest.fixture
def two(here):
    """Two files of features and two class tables, the halves of the usual ones; the whole dataset."""
    whole = make_own_files("whole")
    rows, table = pd.read_csv("features.csv"), pd.read_csv("traits.csv")
    rows[["id", "f0", "f1", "label"]].to_csv("eye.csv", index=False)
    np.save("ear.npy", rows[["f2", "f3", "f4", "f5"]].to_numpy(np.float32))
    table[["class", "t0", "t1"]].to_csv("look.csv", index=False)
    table[["class", "t2", "t3", "t4"]].iloc[::-1].to_csv("sound.csv", index=False)
    return whole


def make_both(**changes):
    files = {"features": ["eye.csv", "ear.npy"], "labels": "label", "signatures": ["look.csv", "sound.csv"], **changes}
    return datasets.make("both", **files)


def test_several_files_stand_side_by_side(here, two):
    both = make_both()
    np.testing.assert_array_equal(both.X, two.X)
    np.testing.assert_array_equal(both.y, two.y)
    pd.testing.assert_frame_equal(both.signatures, two.signatures)
    assert dict(both.blocks) == {"eye": range(2), "ear": range(2, 6)}
    assert dict(both.signature_blocks) == {"look": range(2), "sound": range(2, 5)}
    assert folder.read_row_names(here / "both") == folder.read_row_names(here / "whole")
    assert dict(two.blocks) == {"features": range(6)}
    assert "blocks" not in json.loads((here / "whole/manifest.json").read_text())


def test_blocks_of_files_are_small_pieces_together(here, two, monkeypatch):
    from zskl.datasets.tables import features

    monkeypatch.setattr(features, "BLOCK_VALUES", 14)  # seven rows of one file, three of the other
    np.testing.assert_array_equal(make_both().X, two.X)


def test_tables_with_the_same_columns_are_told_apart(here, two):
    table = pd.read_csv("look.csv")
    table.to_csv("again.csv", index=False)
    both = make_both(signatures=["look.csv", "again.csv"])
    assert both.attribute_names == ["look:t0", "look:t1", "again:t0", "again:t1"]


def test_files_that_do_not_stand_side_by_side(here, two):
    rows = pd.read_csv("features.csv")

    def refused(sentence, **changes):
        with pytest.raises(ValueError, match=sentence):
            make_both(**changes)
        assert not (here / "both").exists()

    np.save("short.npy", np.ones((119, 2), np.float32))
    refused(r"short has 119 rows, and another file has more: expected the same", features=["eye.csv", "short.npy"])
    rows[["id", "f2"]].iloc[::-1].to_csv("turned.csv", index=False)
    refused(r"row 0 \(counted from 0\) is 'r0' in eye and 'r119' in turned", features=["eye.csv", "turned.csv"])
    rows[["f1", "f2"]].to_csv("same.csv", index=False)
    refused(r"have the column 'f1' several times: rename", features=["eye.csv", "same.csv"])
    refused(r"words and empty cells are for one: expected numbers alone", missing="mean")
    refused(r"no file at none.npy: check the path", features=["eye.csv", "none.npy"])
    shutil.copy("ear.npy", "an+ear.npy")
    refused(r"an\+ear.npy has a \+ in its path", features=["eye.csv", "an+ear.npy"])
    pd.read_csv("sound.csv").iloc[1:].to_csv("fewer.csv", index=False)
    refused(r"fewer has no row for class 'jay': expected one", signatures=["look.csv", "fewer.csv"])


def test_words_in_one_of_several_class_tables(here, two):
    table = pd.read_csv("sound.csv")
    table["sings"] = ["loud", "soft"] * 5
    table.to_csv("wordy.csv", index=False)
    np.save("eye.npy", pd.read_csv("eye.csv")[["f0", "f1"]].to_numpy(np.float32))
    pd.read_csv("eye.csv")[["label"]].to_csv("labels.txt", index=False, header=False)
    given = {"features": ["eye.npy", "ear.npy"], "labels": "labels.txt"}
    both = make_both(**given, signatures=["look.csv", "wordy.csv"], categories="onehot")
    assert both.attribute_names == ["t0", "t1", "t2", "t3", "t4", "sings=loud", "sings=soft"]
    assert dict(both.signature_blocks) == {"look": range(2), "wordy": range(2, 7)}
    columns = json.loads(both.signatures.attrs["zskl_preparation"])
    assert [one["name"] for one in columns] == ["t0", "t1", "t2", "t3", "t4", "sings"]


def test_a_command_takes_several_files_in_one_path(here, two):
    from zskl import ClassMeansClassifier
    from zskl.batch.predict import open_for_model

    both = make_both()
    model = ClassMeansClassifier(blocks=both.blocks).fit(*both.samples("trainval"), both.signatures)
    pd.read_csv("features.csv")[["f0", "f1"]].to_csv("new.csv", index=False)
    X = np.concatenate([block.X for block in open_for_model(model, "new.csv+ear.npy").blocks()])
    np.testing.assert_array_equal(X, two.X)
    assert list_files("new.csv+none.npy") == ["new.csv+none.npy"]
    shutil.copy("new.csv", "a+b.csv")  # a file may be called so
    assert list_files("a+b.csv") == ["a+b.csv"]
