"""Dataset folders: what make writes, what load gives back, and what either refuses."""

import json
import os
import shutil
import stat

import numpy as np
import pandas as pd
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

import own_files
from zskl import datasets, protocols
from zskl.datasets import Dataset, make_synthetic, tables
from zskl.datasets.own import folder
from zskl.datasets.own.new_folder import new_folder
from zskl.datasets.xlsa17 import writer


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with features.csv and traits.csv of ten classes."""
    monkeypatch.chdir(tmp_path)
    own_files.write(tmp_path)
    return tmp_path


def make(out="birds", labels="label", **how):
    return datasets.make(out, "features.csv", labels, "traits.csv", **how)


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


# making and loading


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


def test_what_is_made_is_what_is_loaded(here):
    made, loaded = make(), datasets.load("birds")
    assert (
        loaded.fingerprint == made.fingerprint == json.loads((here / "birds/manifest.json").read_text())["fingerprint"]
    )
    np.testing.assert_array_equal(loaded.X, made.X)
    assert datasets.load(here / "birds").feature_names == made.feature_names


def test_the_manifest_can_be_read(here):
    make(unseen=["fox"], seed=3, name="my birds")
    manifest = json.loads((here / "birds/manifest.json").read_text())
    assert (manifest["format"], manifest["version"], manifest["name"]) == ("zskl-dataset", 1, "my birds")
    assert (manifest["rows"], manifest["features"], manifest["classes"], manifest["attributes"]) == (120, 6, 10, 5)
    assert manifest["unseen"] == ["fox"]
    assert manifest["made"]["features"] == "features.csv"
    assert manifest["made"]["seed"] == 3
    assert set(manifest["files"]) == {"features.npy", "labels.csv", "signatures.csv", "splits.json"}
    assert len((here / "birds/manifest.json").read_text().splitlines()) < 60


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
    folder.write(place, data, {})
    back = folder.load(place)
    assert back.fingerprint == data.fingerprint
    np.testing.assert_array_equal(back.signatures.to_numpy(), data.signatures.to_numpy())
    assert back.attribute_names == names[:2]


def test_a_folder_can_be_run_and_pickled(here):
    import pickle

    from zskl import methods

    data = make()
    model = methods.build("gaussian-ort", {"random_state": 0}).fit(*data.samples("trainval"), data.signatures)
    assert model.feature_names_in_.tolist() == list(data.feature_names)
    again = pickle.loads(pickle.dumps(data))
    assert (again.fingerprint, again.feature_names) == (data.fingerprint, data.feature_names)
    plain = methods.build("gaussian-ort", {"random_state": 0})
    plain.fit(data.X[data.parts["trainval"]], data.y[data.parts["trainval"]], data.signatures)
    np.testing.assert_array_equal(plain.projection_, model.projection_)
    assert protocols.zsl(plain, data).accuracy > 0.5


# splits


def test_splits_of_every_class(here):
    data = make(unseen_fraction=0.3, seed=1)
    seen, unseen = data.seen_classes, data.unseen_classes
    assert (len(seen), len(unseen)) == (7, 3)
    for label in seen:
        mine = {part: int((data.y[rows] == label).sum()) for part, rows in data.parts.items()}
        assert (mine["trainval"], mine["test_seen"], mine["test_unseen"]) == (10, 2, 0)
    for k in (1, 2, 3):
        train, val = (set(data.y[data.parts[f"fold{k}_{side}"]]) for side in ("train", "val"))
        assert train | val == set(seen)
        assert not train & val
        assert len(val) in (2, 3)
        both = np.concatenate([data.parts[f"fold{k}_train"], data.parts[f"fold{k}_val"]])
        assert sorted(both) == data.parts["trainval"].tolist()
    held_out = [name for k in (1, 2, 3) for name in set(data.y[data.parts[f"fold{k}_val"]])]
    assert sorted(held_out) == sorted(seen)  # each class once


def test_the_seed_decides_and_one_draw_does_not_move_another(here):
    first, again, other = make("a"), make("b"), make("c", seed=1)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    fewer, more = make("d", unseen=["ant"]), make("e", unseen=["ant", "bee"])
    of_cat = [rows[fewer.y[rows] == "cat"].tolist() for rows in (fewer.parts["test_seen"], more.parts["test_seen"])]
    assert of_cat[0] == of_cat[1]


def test_few_classes_have_no_folds(here):
    own_files.write(here, own_files.SPECIES[:5])
    assert set(make().parts) == {"trainval", "test_seen", "test_unseen"}


def test_a_class_without_rows_is_unseen(here):
    with (here / "traits.csv").open("a") as file:
        file.write("yak,1,2,3,4,5\n")
    data = make(unseen=[])
    assert data.unseen_classes.tolist() == ["yak"]
    assert not len(data.parts["test_unseen"])
    assert make("more").unseen_classes.tolist()[-1] == "yak"


# refusals

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
    "fraction of none": (lambda here: None, {"unseen_fraction": 0}, ["unseen_fraction is 0", "both excluded"]),
    "unseen with a comma": (lambda here: None, {"unseen": ["ant, fox"]}, ["'ant, fox'", "--unseen ant --unseen fox"]),
    "a row's name twice": (
        lambda here: edit(here / "features.csv", "\nr5,", "\nr4,"),
        {},
        ["features.csv: in 'id', which names the rows, several have 'r4'"],
    ),
    "fraction of nearly all": (lambda here: None, {"unseen_fraction": 0.95}, ["leaves 0 of 10", "at least 2"]),
    "seed": (lambda here: None, {"seed": -1}, ["seed is -1"]),
    "zero signature": (
        lambda here: (here / "traits.csv").open("a").write("nil,0,0,0,0,0\n"),
        {},
        ["traits.csv", "only zeros", "'nil'"],
    ),
    "bad number": (lambda here: edit(here / "features.csv", "\nr5,", "\nr5,x"), {}, ["features.csv, line 7", "'f0'"]),
    "no labels": (lambda here: edit(here / "features.csv", ",bee\n", ",\n"), {}, ["features.csv, line 14", "no label"]),
    "inputs inside": (lambda here: None, {"out": "."}, ["features.csv lies in .", "choose another folder"]),
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


def test_an_existing_folder_is_replaced_only_by_force_and_only_if_it_is_a_dataset(here):
    first = make(seed=0).fingerprint
    with pytest.raises(ValueError, match="birds is there already"):
        make(seed=1)
    assert datasets.load("birds").fingerprint == first
    assert make(seed=1, force=True).fingerprint != first
    (here / "diary").mkdir()
    (here / "diary/notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="diary is not a dataset folder"):
        make("diary", force=True)
    assert (here / "diary/notes.txt").read_text() == "mine"
    assert sorted(os.listdir(here)) == ["birds", "diary", "features.csv", "traits.csv"]
    assert make("new/deep/birds").name == "birds"


def test_a_replacement_that_fails_keeps_the_old(here):
    first = make().fingerprint
    (here / "traits.csv").write_text("class,t0\nant,1\n")
    with pytest.raises(ValueError, match="no row for the class"):
        make(force=True)
    assert datasets.load("birds").fingerprint == first
    with pytest.raises(RuntimeError), new_folder("birds", force=True):
        raise RuntimeError
    assert datasets.load("birds").fingerprint == first
    assert stat.S_IMODE((here / "birds").stat().st_mode) == 0o777 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("file", folder.FILES)
def test_a_changed_file_is_refused_by_name(here, file):
    make()
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
    make()
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
        folder.check_features(here / "birds")
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
    make()
    for choice in ({"root": "."}, {"features": "res101"}, {"signatures": "att"}, {"folds": "file"}):
        with pytest.raises(ValueError, match="leave out"):
            datasets.load("birds", **choice)
    (here / "empty").mkdir()
    with pytest.raises(ValueError, match=r"has no manifest\.json"):
        datasets.load(here / "empty")
    (here / "mats").mkdir()
    writer.write(datasets.load("birds"), here / "mats")
    with pytest.raises(ValueError, match="leave root out"):
        datasets.load("mats", root=".")


# the format of other projects


def as_others_read_it(place):
    """The lines that published code uses, with scipy alone."""
    content, splits = scipy.io.loadmat(place / "res101.mat"), scipy.io.loadmat(place / "att_splits.mat")
    names = [entry[0][0] for entry in splits["allclasses_names"]]
    return {
        "X": content["features"].T,
        "y": [names[int(k) - 1] for k in content["labels"].squeeze()],
        "files": [entry[0][0] for entry in content["image_files"]],
        "att": splits["att"].T,
        "names": names,
        **{key: splits[key].squeeze().astype(int) - 1 for key in splits if key.endswith("_loc")},
    }


def test_xlsa17_round_trip_as_others_read_it(here):
    data = make()
    writer.write(data, here, folder.row_names(here / "birds"))
    back = as_others_read_it(here)
    np.testing.assert_array_equal(back["X"], data.X)
    np.testing.assert_array_equal(back["att"], data.signatures.to_numpy())
    assert back["X"].dtype == np.float32
    assert back["y"] == data.y.tolist()
    assert back["names"] == data.class_names.tolist()
    assert back["files"] == [f"r{k}" for k in range(120)]
    for field, part in (
        ("trainval", "trainval"),
        ("test_seen", "test_seen"),
        ("test_unseen", "test_unseen"),
        ("train", "fold1_train"),
        ("val", "fold1_val"),
    ):
        assert back[f"{field}_loc"].tolist() == data.parts[part].tolist()
    assert (here / "trainvalclasses.txt").read_text().split() == data.seen_classes.tolist()
    assert (here / "testclasses.txt").read_text().split() == data.unseen_classes.tolist()


@pytest.mark.parametrize("folds", [None, "file"])
def test_xlsa17_round_trip_as_we_read_it(here, folds, monkeypatch):
    monkeypatch.setenv("ZSKL_CACHE", str(here / "cache"))
    data = make()
    (here / "other").mkdir()
    writer.write(data, here / "other")
    back = datasets.load("other", folds=folds)
    assert (back.name, back.features) == ("other", "res101")
    np.testing.assert_array_equal(back.X, data.X)
    np.testing.assert_array_equal(back.y, data.y)
    pd.testing.assert_frame_equal(back.signatures, data.signatures, check_names=False)
    wanted = [part for part in data.parts if folds is None or not part.startswith(("fold2", "fold3"))]
    assert list(back.parts) == wanted
    for part in wanted:
        np.testing.assert_array_equal(back.parts[part], data.parts[part], err_msg=part)
    if folds is None:
        assert back.fingerprint == data.fingerprint


def test_xlsa17_holds_one_signature_per_class_and_names_on_one_line(tmp_path):
    with pytest.raises(ValueError, match=r"several signatures for class 'class 0'.*average"):
        writer.write(make_synthetic(descriptions=2), tmp_path)
    data = make_synthetic()
    broken = Dataset(data.name, data.X, data.y, data.signatures.rename(columns={"attribute 0": "a\nb"}), data.parts)
    with pytest.raises(ValueError, match="line break"):
        writer.write(broken, tmp_path)
    described = pd.concat([data.signatures, data.signatures[:1].set_axis(["yak"])])
    with pytest.raises(ValueError, match="no rows of class 'yak'"):
        writer.write(Dataset(data.name, data.X, data.y, described, data.parts), tmp_path)
    untested = {**data.parts, "test_seen": []}
    with pytest.raises(ValueError, match="no rows in 'test_seen'"):
        writer.write(Dataset(data.name, data.X, data.y, data.signatures, untested), tmp_path)
    assert not list(tmp_path.iterdir())
