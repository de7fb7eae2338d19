"""The real split files, the real features, and generated features on real splits: whole, shifted and damaged.

Classes and rows are those the authors publish. Without ZSKL_DATA see test_xlsa17.py, which needs no data.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark_files import labels_for, write_package, write_v5
from zskl import datasets
from zskl.datasets import fetch, xlsa17
from zskl.datasets.tables import arrays

REAL = os.environ.get("ZSKL_DATA")
needs_data = pytest.mark.skipif(REAL is None, reason="ZSKL_DATA is unset: the real split files are not at hand")
COUNTS = {  # classes, rows, seen, unseen
    "AWA1": (50, 30475, 40, 10),
    "AWA2": (50, 37322, 40, 10),
    "SUN": (717, 14340, 645, 72),
    "CUB": (200, 11788, 150, 50),
    "APY": (32, 15339, 20, 12),
}


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ZSKL_DATA", raising=False)


@pytest.fixture
def shared_cache(monkeypatch, tmp_path_factory):
    """Kept between the tests of real features, which are large."""
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path_factory.getbasetemp() / "real-features"))


def real_folder(name):
    return fetch.benchmark_folders(name, REAL)[0]


# the real files


@needs_data
@pytest.mark.parametrize("name", COUNTS)
def test_real_splits(name):
    splits = xlsa17.read_splits(real_folder(name) / "att_splits.mat")
    classes, rows, _, _ = COUNTS[name]
    assert len(splits.class_names) == len(splits.att) == len(splits.original_att) == classes
    assert splits.rows == rows
    every = np.concatenate(list(splits.parts.values()))
    np.testing.assert_array_equal(np.sort(every), np.arange(rows))  # counted from 0
    assert (splits.train_loc is not None) == (splits.val_loc is not None) == (name == "AWA1")


@needs_data
@pytest.mark.parametrize(("name", "features"), [("cub", "efficientnet_lite2"), ("Awa1", "handcrafted_pca512")])
def test_real_features(name, features, shared_cache):
    data = datasets.load(name, root=REAL)
    _, rows, seen, unseen = COUNTS[name.upper()]
    assert data.features == features
    assert len(data.X) == rows
    assert (len(data.seen_classes), len(data.unseen_classes)) == (seen, unseen)
    assert isinstance(data.X, np.memmap)
    assert not any(re.match(r"\d|attribute \d", attribute) for attribute in data.attribute_names)
    for k in (1, 2, 3):
        train, val = (np.unique(data.y[data.parts[f"fold{k}_{kind}"]]) for kind in ("train", "val"))
        assert not np.intersect1d(train, val).size
        assert len(train) + len(val) == seen
        assert 0.3 < len(val) / seen < 0.37
    again = datasets.load(name, root=REAL, features=features)
    assert again.fingerprint == data.fingerprint
    np.testing.assert_array_equal(again.X[:50], data.X[:50])


@needs_data
def test_real_cub_folds_are_those_of_the_class_lists(shared_cache):
    data = datasets.load("CUB", root=REAL)
    named = (real_folder("CUB") / "valclasses2.txt").read_text().split()
    assert set(data.y[data.parts["fold2_val"]]) == set(named)


@needs_data
def test_real_awa1_fold_of_the_file(shared_cache):
    data = datasets.load("AWA1", root=REAL, folds="file")
    assert [len(data.parts[part]) for part in ("fold1_train", "fold1_val")] == [13460, 6372]
    assert "fold2_train" not in data.parts


@pytest.fixture(scope="module", params=["AWA2", "SUN", "APY"])
def generated(request, tmp_path_factory):
    """Generated features and labels beside the real split file."""
    if REAL is None:
        pytest.skip("ZSKL_DATA is unset: the real split files are not at hand")
    root, name = tmp_path_factory.mktemp("generated"), request.param
    (root / name).mkdir()
    real = real_folder(name) / "att_splits.mat"
    (root / name / "att_splits.mat").symlink_to(Path(real).resolve())
    splits = xlsa17.read_splits(real)
    labels = labels_for(splits, *COUNTS[name][2:])
    X = np.random.default_rng(1).standard_normal((4, splits.rows)).astype(np.float32)
    write_v5(root / name / "res101.mat", {"features": X, "labels": labels}, compress=False)
    return name, root, X, labels


def test_generated_features_on_real_splits(generated):
    name, root, X, labels = generated
    data = datasets.load(name.lower(), root)
    classes, rows, seen, unseen = COUNTS[name]
    assert data.name == name
    assert (len(data.class_names), len(data.X)) == (classes, rows)
    assert (len(data.seen_classes), len(data.unseen_classes)) == (seen, unseen)
    np.testing.assert_array_equal(data.X, X.T)
    np.testing.assert_array_equal(data.codes, labels - 1)
    assert data.attribute_names[0] == "attribute 1"
    held = [np.unique(data.y[data.parts[f"fold{k}_val"]]) for k in (1, 2, 3)]
    assert sorted(np.concatenate(held)) == sorted(data.seen_classes)  # each held out once
    assert all(abs(len(classes) - seen / 3) < 1 for classes in held)


@pytest.mark.parametrize("shift", [-1, 1, 7])
def test_shifted_labels_on_real_splits(generated, shift):
    name, root, X, labels = generated
    write_v5(root / name / "shifted.mat", {"features": X, "labels": labels + shift}, compress=False)
    with pytest.raises(ValueError, match=r"shifted\.mat: labels holds (0 at rows|class numbers up to)"):
        datasets.load(name, root, features="shifted")


@pytest.mark.parametrize("rows", [1, -1, 500])
def test_labels_shifted_by_rows_on_real_splits(generated, rows):
    name, root, X, labels = generated
    write_v5(root / name / "rolled.mat", {"features": X, "labels": np.roll(labels, rows)}, compress=False)
    with pytest.raises(ValueError, match=r"rolled\.mat: labels and .*att_splits\.mat contradict each other"):
        datasets.load(name, root, features="rolled")


@needs_data
@pytest.mark.parametrize(("name", "files"), [("AWA1", True), ("CUB", True), ("CUB", False)])
def test_real_labels_shifted_around_the_end(name, files, shared_cache):
    """All numbers stay in range and all parts disjoint: image folders, else the lists of classes, tell."""
    folder = real_folder(name)
    splits = xlsa17.read_splits(folder / "att_splits.mat")
    found = xlsa17.read_features(xlsa17.choose_features(folder))
    found = replace(found, folders=found.folders if files else None)
    xlsa17.check_labels_match(splits, found)
    told = "contradicts image_files in" if files else r"other classes than .*trainvalclasses\.txt lists"
    with pytest.raises(ValueError, match=rf"{found.source.name}: labels .*{told}"):
        xlsa17.check_labels_match(splits, replace(found, labels=(found.labels + 1) % COUNTS[name][0]))


DAMAGES = {
    "shifted labels": (lambda s, f: f.update(labels=f["labels"] - 1), r"res101\.mat: labels holds 0 at rows"),
    "missing class": (
        lambda s, f: f.update(labels=np.where(f["labels"] == 3, 4, f["labels"])),
        r"res101\.mat: labels has no row of classes",
    ),
    "index out of range": (
        lambda s, f: s["trainval_loc"].__setitem__(5, 40000),
        r"att_splits\.mat: trainval_loc holds 40000",
    ),
    "NaN": (lambda s, f: f["features"].__setitem__((1, 9), np.nan), r"res101\.mat: features is NaN .* rows 9 "),
    "NaN signature": (lambda s, f: s["att"].__setitem__((1, 1), np.nan), r"att_splits\.mat: att is NaN"),
    "unseen class in trainval": (
        lambda s, f: s.update(
            trainval_loc=np.vstack([s["trainval_loc"], s["test_unseen_loc"][:1]]),
            test_unseen_loc=s["test_unseen_loc"][1:],
        ),
        "contradict each other: classes",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_copies_on_real_splits(damage, generated, tmp_path):
    name, root, X, labels = generated
    spoil, sentence = DAMAGES[damage]
    names = ("allclasses_names", "att", "trainval_loc", "test_seen_loc", "test_unseen_loc")
    splits = arrays.read_mat(root / name / "att_splits.mat", names)
    features = {"features": X.copy(), "labels": labels.copy()}
    spoil(splits, features)
    write_package(tmp_path / name, splits, features)
    with pytest.raises(ValueError, match=sentence):
        datasets.load(name, tmp_path)


@pytest.mark.parametrize("file", ["att_splits.mat", "res101.mat"])
def test_truncated_copies_on_real_splits(file, generated, tmp_path):
    name, root, _, _ = generated
    (tmp_path / name).mkdir()
    for source in (root / name / "att_splits.mat", root / name / "res101.mat"):
        content = source.read_bytes()
        (tmp_path / name / source.name).write_bytes(content[:-1000] if source.name == file else content)
    with pytest.raises(ValueError, match=rf"{file} is not a readable MATLAB file .*truncated"):
        datasets.load(name, tmp_path)
