"""Dataset folders: what is written comes back, and a changed file is refused."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from own_files import make
from zskl import datasets, protocols
from zskl.datasets import Dataset
from zskl.datasets.own import folder
from zskl.datasets.xlsa17 import writer


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
