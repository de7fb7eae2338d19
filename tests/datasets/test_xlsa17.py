"""A small generated package: what is read, from where, and how the command line takes it."""

import errno
import json
import os
import re
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.io
from typer.testing import CliRunner

from benchmark_files import ATTRIBUTES, CLASSES, EACH, UNSEEN, WRITERS, tiny, with_fold, write_package, write_v5
from user_files import make
from zskl import datasets
from zskl.cli import app
from zskl.cli._options import pick_dataset_features
from zskl.datasets import Dataset, folder, make_synthetic, xlsa17
from zskl.datasets.tables.source import TextFile
from zskl.experiments import run_folder
from zskl.experiments.sweep import DatasetSource

n = len(CLASSES) * EACH


pytestmark = pytest.mark.usefixtures("own_cache")


# a package of our own


@pytest.mark.parametrize("kind", WRITERS)
def test_a_small_package(kind, tmp_path):
    splits, features = tiny()
    folder = write_package(tmp_path / "CUB", splits, features, WRITERS[kind])
    data = xlsa17.load("CUB", tmp_path)
    assert data.class_names.tolist() == CLASSES
    assert data.unseen_classes.tolist() == UNSEEN
    np.testing.assert_array_equal(data.X, features["features"].T)
    assert data.y.tolist() == [CLASSES[int(label) - 1] for label in features["labels"].ravel()]
    np.testing.assert_array_equal(data.signatures.to_numpy(), splits["att"].T)
    for part in ("trainval", "test_seen", "test_unseen"):
        np.testing.assert_array_equal(data.parts[part], splits[f"{part}_loc"].ravel() - 1)
    assert data.features == "res101"
    assert str(folder / "att_splits.mat") in data.source
    assert "res101.mat" in data.source


def test_both_kinds_have_one_fingerprint(tmp_path):
    found = [
        xlsa17.load("CUB", write_package(tmp_path / kind / "CUB", *tiny(), writer).parent)
        for kind, writer in WRITERS.items()
    ]
    assert found[0].fingerprint == found[1].fingerprint


def test_another_split_version_has_another_fingerprint(package, tmp_path):
    splits, features = tiny()
    moved, stays = splits["test_seen_loc"][:1], splits["test_seen_loc"][1:]
    changed = splits | {"test_seen_loc": stays, "trainval_loc": np.vstack([splits["trainval_loc"], moved])}
    write_package(tmp_path / "v2" / "CUB", changed, features)
    assert xlsa17.load("CUB", package).fingerprint != xlsa17.load("CUB", tmp_path / "v2").fingerprint


def test_either_orientation(tmp_path):
    splits, features = tiny()
    turned = (
        splits | {"att": splits["att"].T},
        features | {"features": features["features"].T, "labels": features["labels"].T},
    )
    one = xlsa17.load("CUB", write_package(tmp_path / "a" / "CUB", splits, features).parent)
    other = xlsa17.load("CUB", write_package(tmp_path / "b" / "CUB", *turned).parent)
    np.testing.assert_array_equal(one.X, other.X)
    assert one.fingerprint == other.fingerprint


def test_a_square_matrix_is_read_in_the_layout_of_the_package(tmp_path):
    splits, features = tiny()
    n, c = len(CLASSES) * EACH, len(CLASSES)
    square, att = np.random.default_rng(0).random((n, n)), np.random.default_rng(0).random((c, c))
    write_package(tmp_path / "CUB", splits | {"att": att}, features | {"features": square})
    data = xlsa17.load("CUB", tmp_path)
    np.testing.assert_array_equal(data.X, square.T.astype(np.float32))
    np.testing.assert_array_equal(data.signatures.to_numpy(), att.T)


def test_a_large_file_is_mapped_and_checked_once(package, monkeypatch):
    monkeypatch.setattr(xlsa17, "SMALLEST", 0)
    first = xlsa17.load("CUB", package)
    monkeypatch.setattr("zskl.datasets.xlsa17._read_matrix", lambda path: pytest.fail("read again"))
    whole = np.isfinite
    monkeypatch.setattr(np, "isfinite", lambda X: pytest.fail("checked again") if len(X) == n else whole(X))
    data = xlsa17.load("CUB", package)
    assert isinstance(data.X, np.memmap)
    assert data.fingerprint == first.fingerprint
    splits, features = tiny()
    write_package(package / "CUB", splits, features | {"labels": features["labels"] - 1})
    with pytest.raises(pytest.fail.Exception, match="read again"):  # the source changed
        xlsa17.load("CUB", package)


# where it is


@pytest.mark.parametrize("inside", ["", "data", "xlsa17", "xlsa17/data"])
@pytest.mark.parametrize("folder", ["CUB", "cub"])
def test_a_root_may_be_the_package_its_data_or_its_parent(inside, folder, tmp_path, monkeypatch):
    write_package(tmp_path / inside / folder, *tiny())
    assert datasets.load("CUB", root=tmp_path).name == "CUB"
    assert datasets.load("cub", root=str(tmp_path)).name == "CUB"
    monkeypatch.setenv("ZSKL_DATA", str(tmp_path))
    assert datasets.load("Cub").name == "CUB"
    monkeypatch.delenv("ZSKL_DATA")
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path))
    assert datasets.load("CUB").name == "CUB"


def test_the_order_of_roots(tmp_path, monkeypatch):
    for place in ("argument", "environment", "cache"):
        write_package(tmp_path / place / "CUB", *tiny(), file=place)
    monkeypatch.setenv("ZSKL_DATA", str(tmp_path / "environment"))
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path / "cache"))
    assert datasets.load("CUB", root=tmp_path / "argument").features == "argument"
    assert datasets.load("CUB").features == "environment"
    monkeypatch.setenv("ZSKL_DATA", str(tmp_path / "nowhere"))
    assert datasets.load("CUB").features == "cache"
    with pytest.raises(
        FileNotFoundError, match=r"no CUB/att_splits\.mat found. Looked in \S+missing \(no such folder\)"
    ):
        datasets.load("CUB", root=tmp_path / "missing")  # a given root is the only one


def test_a_missing_benchmark_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("ZSKL_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load("aPY")
    for word in ("APY", f"{tmp_path} (is there)", f"{tmp_path / 'cache'} (no such folder)", "zskl data fetch xlsa17"):
        assert word in str(caught.value)


# which features


def test_res101_comes_first_then_the_only_one(tmp_path):
    splits, features = tiny()
    folder = write_package(tmp_path / "CUB", splits, features, file="vgg19")
    assert xlsa17.load("CUB", tmp_path).features == "vgg19"
    write_v5(folder / "sentences.mat", {"att": splits["att"]})  # no features
    (folder / "notes.mat").write_text("no MATLAB file")
    assert xlsa17.load("CUB", tmp_path).features == "vgg19"
    write_v5(folder / "clip.mat", features)
    with pytest.raises(ValueError, match=r"has no res101\.mat: choose with features= .*one of clip, vgg19$"):
        xlsa17.load("CUB", tmp_path)
    write_v5(folder / "res101.mat", features)
    assert xlsa17.load("CUB", tmp_path).features == "res101"
    assert xlsa17.load("CUB", tmp_path, features="CLIP.mat").features == "clip"
    with pytest.raises(ValueError, match=r"has no res50\.mat: choose .*clip, .*res101"):
        xlsa17.load("CUB", tmp_path, features="res50")


def test_no_features(package):
    (package / "CUB" / "res101.mat").unlink()
    with pytest.raises(
        ValueError, match=r"CUB has no feature file, neither res101\.mat nor another: .*zskl data fetch"
    ):
        xlsa17.load("CUB", package)


def test_unknown_benchmarks():
    with pytest.raises(ValueError, match="name is 'FLO': expected one of the benchmarks AWA1, AWA2, SUN, CUB, APY"):
        xlsa17.load("FLO")
    with pytest.raises(ValueError, match=r"no dataset is called 'CBU' \(did you mean 'CUB'\?\)"):
        datasets.load("CBU")


# the command line


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_run_a_benchmark(package, tmp_path):
    record = tmp_path / "record.jsonl"
    (package / "CUB" / "res101.mat").rename(package / "CUB" / "clip.mat")
    done = run("run", "cub", "--root", package, "--method", "gaussian-ort", "--set", "epochs=1", "--json", record)
    assert done.exit_code == 0, done.output
    assert "CUB: features clip, the only feature file there (no res101.mat)" in done.output
    (line,) = run_folder.read_log(record)
    assert line["dataset"] == "CUB"
    assert line["features"] == "clip"
    assert line["fingerprint"] == xlsa17.load("CUB", package).fingerprint
    done = run(
        *("run", "cub", "--root", package, "--method", "gaussian-ort", "--set", "epochs=1"),
        *("--features", "CUB=clip", "--signatures", "original_att"),
    )
    assert done.exit_code == 0, done.output
    assert "features clip" not in done.output


def test_run_reports_dropped_rows(tmp_path):
    with_fold(tmp_path, planted=4)
    done = run("run", "CUB", "--root", tmp_path, "--method", "gaussian-ort", "--set", "epochs=1", "--folds", "file")
    assert done.exit_code == 0, done.output
    assert "dropped 4 of the" in done.output + done.stderr


def test_features_for_each_dataset():
    assert pick_dataset_features("CUB", []) is None
    assert pick_dataset_features("apy", ["res50", "aPY=vgg", "CUB=clip"]) == "vgg"
    assert pick_dataset_features("SUN", ["aPY=vgg", "res50"]) == "res50"
    for entry in ("CUB=", "=clip", ""):
        with pytest.raises(ValueError, match="expected NAME or DATASET=NAME"):
            pick_dataset_features("CUB", [entry])
    with pytest.raises(ValueError, match="no dataset is called 'CBU'"):
        pick_dataset_features("CUB", ["CBU=clip"])


# Signatures of a benchmark: att, original_att, another .mat, a table.


def test_original_att_and_attribute_names(package):
    splits, _ = tiny()
    (package / "CUB" / "attribute_names.txt").write_text("1 has fur\n2. has::legs\n  3\tbite\n")
    data = xlsa17.load("CUB", package, signatures="original_att")
    np.testing.assert_array_equal(data.signatures.to_numpy(), splits["original_att"].T)
    assert data.attribute_names == ["has fur", "has::legs", "bite"]
    (package / "CUB" / "attribute_names.txt").write_text("4 legs\n2 legs\n0 legs\n")  # numbers that belong to the names
    assert xlsa17.load("CUB", package).attribute_names == ["4 legs", "2 legs", "0 legs"]
    (package / "CUB" / "attribute_names.txt").write_text("fur\nlegs\n")
    with pytest.raises(ValueError, match=r"attribute_names\.txt names 2 attributes, \S*att_splits\.mat has 3"):
        xlsa17.load("CUB", package)


def test_a_file_without_original_att(tmp_path):
    splits, features = tiny()
    del splits["original_att"]
    write_package(tmp_path / "CUB", splits, features)
    assert xlsa17.load("CUB", tmp_path).signatures.shape == (len(CLASSES), ATTRIBUTES)
    with pytest.raises(ValueError, match="has no original_att"):
        xlsa17.load("CUB", tmp_path, signatures="original_att")


@pytest.mark.parametrize("kind", WRITERS)
def test_signatures_of_another_mat(kind, package, monkeypatch):
    embeddings = np.random.default_rng(3).random((11, len(CLASSES)))
    path = package / "sentences.mat"
    WRITERS[kind](path, {"att": embeddings, "short": embeddings[:4].T})
    data = xlsa17.load("CUB", package, signatures=path)
    np.testing.assert_array_equal(data.signatures.to_numpy(), embeddings.T)
    assert data.attribute_names[:2] == ["att 1", "att 2"]
    data = xlsa17.load("CUB", package, signatures=f"{path}:short")
    np.testing.assert_array_equal(data.signatures.to_numpy(), embeddings[:4].T)
    with pytest.raises(ValueError, match=r"sentences\.mat has no variable 'long': it has 'att', 'short'"):
        xlsa17.load("CUB", package, signatures=f"{path}:long")
    path.rename(package / "CUB" / path.name)  # beside the splits the name is enough
    assert xlsa17.load("CUB", package, signatures="sentences.mat:short").signatures.shape == (len(CLASSES), 4)


def test_signatures_of_another_mat_with_its_own_order(package):
    embeddings = np.random.default_rng(3).random((11, len(CLASSES) + 1))
    names = ["yak", *reversed(CLASSES)]
    write_v5(package / "s.mat", {"att": embeddings, "allclasses_names": names})
    data = xlsa17.load("CUB", package, signatures=package / "s.mat")
    assert data.class_names.tolist() == CLASSES
    np.testing.assert_array_equal(data.signatures.to_numpy(), embeddings[:, :0:-1].T)
    write_v5(package / "s.mat", {"att": embeddings, "allclasses_names": ["yak", "emu", *CLASSES[1:]]})
    with pytest.raises(ValueError, match=r"s\.mat: allclasses_names lacks 'ant'"):
        xlsa17.load("CUB", package, signatures=package / "s.mat")
    write_v5(package / "s.mat", {"att": embeddings})
    with pytest.raises(ValueError, match=r"s\.mat: att is float64 of shape \(11, 9\): .* each of the 8 classes"):
        xlsa17.load("CUB", package, signatures=package / "s.mat")


def test_signatures_of_a_table(package):
    table = pd.DataFrame({"class": [*reversed(CLASSES), "yak", "ant"], "legs": range(1, 11), "fur": 1.0})
    table.to_csv(package / "table.csv", index=False)
    data = xlsa17.load("CUB", package, signatures=str(package / "table.csv"))
    assert data.class_names.tolist() == CLASSES
    assert data.attribute_names == ["legs", "fur"]
    assert data.signatures.loc["ant", "legs"].tolist() == [8, 10]  # two descriptions
    assert data.signatures.loc["hen", "legs"] == 1
    table[2:].to_csv(package / "table.csv", index=False)
    with pytest.raises(ValueError, match=r"table\.csv has no row for classes 'gnu', 'hen'"):
        xlsa17.load("CUB", package, signatures=package / "table.csv")
    (package / "table.csv").write_text("class,legs\nant,\nbee,6\n")
    with pytest.raises(ValueError, match=r"table\.csv: signatures contains NaN at class 'ant'"):
        xlsa17.load("CUB", package, signatures=package / "table.csv")


@pytest.mark.parametrize("wish", ["attributes", "none.mat", "none.mat:att", "none.csv"])
def test_unknown_signatures(package, wish):
    with pytest.raises(ValueError, match=r"signatures names .* expected 'att', 'original_att', FILE\.mat"):
        xlsa17.load("CUB", package, signatures=wish)
    (package / "CUB" / "table.txt").write_text("")
    with pytest.raises(ValueError, match=r"signatures is 'table\.txt': expected 'att'"):
        xlsa17.load("CUB", package, signatures="table.txt")


# Validation folds: seeded, of class lists, of the file; planted test rows.


def test_seeded_folds(package):
    data = xlsa17.load("CUB", package)
    folds = [name for name in data.parts if name.startswith("fold")]
    assert folds == [f"fold{k}_{kind}" for k in (1, 2, 3) for kind in ("train", "val")]
    for k in (1, 2, 3):
        train, val = data.parts[f"fold{k}_train"], data.parts[f"fold{k}_val"]
        assert len(set(data.y[val])) == 2
        assert not set(data.y[train]) & set(data.y[val])
        np.testing.assert_array_equal(np.sort(np.concatenate([train, val])), np.sort(data.parts["trainval"]))
    assert xlsa17.load("CUB", package).fingerprint == data.fingerprint


def lists(folder, number, train, val):
    (folder / f"trainclasses{number}.txt").write_text("\n".join(train) + "\n")
    (folder / f"valclasses{number}.txt").write_text("\r\n".join(val))


def test_folds_of_class_lists(package):
    lists(package / "CUB", 1, ["ant", "bee", "dog"], ["eel"])
    lists(package / "CUB", 2, ["ant"], ["gnu", "hen"])
    data = xlsa17.load("CUB", package, folds="file")  # which the file does not have: without complaint
    found = {part: sorted(set(data.y[rows])) for part, rows in data.parts.items() if part.startswith("fold")}
    assert found == {
        "fold1_train": ["ant", "bee", "dog"],
        "fold1_val": ["eel"],
        "fold2_train": ["ant"],
        "fold2_val": ["gnu", "hen"],
    }
    assert not set(data.parts["fold1_val"]) & set(data.parts["test_seen"])


@pytest.mark.parametrize(
    ("train", "val", "sentence"),
    [
        (["ant", "dog"], ["fox"], r"valclasses1\.txt lists classes without rows in trainval: 'fox'"),
        (["ant", "dog"], ["dog"], r"valclasses1\.txt share classes 'dog'"),
        (["ant", "dog"], [], r"valclasses1\.txt lists no class"),
    ],
)
def test_damaged_class_lists(package, train, val, sentence):
    lists(package / "CUB", 1, train, val)
    with pytest.raises(ValueError, match=sentence):
        xlsa17.load("CUB", package)


def test_class_lists_with_other_names(package):
    plain = xlsa17.load("CUB", package).fingerprint
    lists(package / "CUB", 1, ["ant", "the yak"], ["bee"])
    with pytest.warns(UserWarning, match=r"trainclasses1\.txt lists classes that .* does not know: 'the yak'; seeded"):
        assert xlsa17.load("CUB", package).fingerprint == plain


def test_a_fold_with_one_of_its_two_lists_is_refused(package):
    lists(package / "CUB", 1, ["ant"], ["bee"])
    (package / "CUB" / "valclasses1.txt").unlink()
    with pytest.raises(ValueError, match=r"trainclasses1\.txt has no valclasses1\.txt beside it"):
        xlsa17.load("CUB", package)


def test_fold_of_the_file_only_on_request(tmp_path):
    train, val = with_fold(tmp_path)
    data = xlsa17.load("CUB", tmp_path, folds="file")
    assert [part for part in data.parts if part.startswith("fold")] == ["fold1_train", "fold1_val"]
    np.testing.assert_array_equal(np.sort(data.parts["fold1_train"]), np.sort(train))
    np.testing.assert_array_equal(np.sort(data.parts["fold1_val"]), np.sort(val))
    assert "fold3_val" in xlsa17.load("CUB", tmp_path).parts


def test_planted_test_rows_are_dropped_and_reported(tmp_path):
    train, val = with_fold(tmp_path, planted=4)
    told = (
        rf"att_splits\.mat: dropped 4 of the {len(train) + 4} rows of train_loc \(4 of them in test_seen_loc\) and 3 "
        rf"of the {len(val) + 3} rows of val_loc \(3 of them in test_seen_loc\)"
    )
    with pytest.warns(UserWarning, match=told):
        data = xlsa17.load("CUB", tmp_path, folds="file")
    np.testing.assert_array_equal(np.sort(data.parts["fold1_train"]), np.sort(train))
    np.testing.assert_array_equal(np.sort(data.parts["fold1_val"]), np.sort(val))
    xlsa17.load("CUB", tmp_path)  # not asked for, not a word


def test_a_fold_that_shares_classes_is_reported(tmp_path):
    splits, features = tiny()
    rows = splits["trainval_loc"].ravel()
    write_package(tmp_path / "CUB", splits | {"train_loc": rows[::2], "val_loc": rows[1::2]}, features)
    with pytest.warns(UserWarning, match="train_loc and val_loc share classes"):
        xlsa17.load("CUB", tmp_path, folds="file")
    write_package(tmp_path / "CUB", splits | {"train_loc": rows, "val_loc": rows[:2]}, features)
    with pytest.raises(ValueError, match="train_loc and val_loc share rows"):
        xlsa17.load("CUB", tmp_path, folds="file")
    write_package(tmp_path / "CUB", splits | {"train_loc": rows, "val_loc": splits["test_seen_loc"]}, features)
    with pytest.raises(ValueError, match=r"val_loc has no row of trainval_loc; leave out folds='file'"):
        xlsa17.load("CUB", tmp_path, folds="file")
    with pytest.raises(ValueError, match="folds is 'lists': expected None"):
        xlsa17.load("CUB", tmp_path, folds="lists")


# Every damaged copy of a package is refused with a sentence that names the file, the field and the rows.


def changed(field, change):
    """Damage one variable: of the splits if they have it, else of the features."""

    def damage(splits, features):
        holder = splits if field in splits else features
        holder[field] = change(holder[field])

    return damage


def at(place, value):
    def change(array):
        array = array.astype(np.float64)
        array[place] = value
        return array

    return change


def without_files(change):
    """The same damage where no image paths could tell."""

    def damage(splits, features):
        del features["image_files"]
        change(splits, features)

    return damage


def missing_class(splits, features):
    """No row is labelled eel: its rows are of its neighbour."""
    labels = features["labels"]
    labels[labels == CLASSES.index("eel") + 1] += 2


def unseen_in_trainval(splits, features):
    moved = splits["test_unseen_loc"][:2]
    splits["test_unseen_loc"] = splits["test_unseen_loc"][2:]
    splits["trainval_loc"] = np.vstack([splits["trainval_loc"], moved])


def around_the_end(splits, features):
    features["labels"] = features["labels"] % len(CLASSES) + 1


def fewer_names(splits, features):
    splits["allclasses_names"] = CLASSES[:-1]


SPLITS, RES101 = r"att_splits\.mat: ", r"res101\.mat: "
DAMAGES = {
    "labels from 0": (changed("labels", lambda y: y - 1), RES101 + r"labels holds 0 at rows .*add 1 to all"),
    "labels one too high": (changed("labels", lambda y: y + 1), RES101 + r"labels holds class numbers up to 9"),
    "labels around the end": (around_the_end, RES101 + r"labels contradicts image_files in 48 rows"),
    "one label of its neighbour": (
        changed("labels", lambda y: np.where(np.arange(n)[:, None] == 3, y % 8 + 1, y)),
        RES101 + "labels contradict",
    ),
    "labels a row too low": (
        without_files(changed("labels", lambda y: np.roll(y, 1))),
        "labels and .* contradict each other: classes",
    ),
    "missing class": (without_files(missing_class), RES101 + "labels has no row of classes 'eel'"),
    "missing name": (fewer_names, SPLITS + r"att is float64 of shape \(3, 8\): .*each of the 7 classes"),
    "fraction of a label": (changed("labels", at(5, 1.5)), RES101 + r"labels holds 1\.5 at rows 5 "),
    "NaN label": (changed("labels", at(5, np.nan)), RES101 + "labels holds nan at rows 5 "),
    "fewer labels": (
        changed("labels", lambda y: y[:-1]),
        RES101 + r"features is float32 of shape \(5, 48\) and labels has 47",
    ),
    "labels in a matrix": (changed("labels", lambda y: np.ones((5, 5))), RES101 + r"labels is .* of shape \(5, 5\)"),
    "index beyond": (
        changed("trainval_loc", at(0, n + 1)),
        SPLITS + rf"trainval_loc holds {n + 1}, but .* has {n} rows",
    ),
    "unseen index beyond": (changed("test_unseen_loc", at(3, 999)), SPLITS + "test_unseen_loc holds 999, but"),
    "index 0": (changed("test_seen_loc", at(2, 0)), SPLITS + r"test_seen_loc holds 0 at rows 2 .*count from 1"),
    "negative index": (changed("test_seen_loc", at(2, -4)), SPLITS + r"test_seen_loc holds -4 at rows 2"),
    "indices from 0": (
        lambda splits, features: splits.update({k: v - 1 for k, v in splits.items() if k.endswith("_loc")}),
        SPLITS + r"(trainval|test_seen|test_unseen)_loc holds 0 at rows",
    ),
    "repeated index": (changed("trainval_loc", lambda r: np.vstack([r, r[:1]])), SPLITS + "trainval_loc repeats rows"),
    "no index": (changed("test_unseen_loc", lambda r: r[:0]), SPLITS + "test_unseen_loc is empty"),
    "shared rows": (
        lambda splits, features: splits.update(
            trainval_loc=np.vstack([splits["trainval_loc"], splits["test_seen_loc"][:1]])
        ),
        SPLITS + "trainval_loc and test_seen_loc share rows",
    ),
    "unseen class in trainval": (
        unseen_in_trainval,
        "contradict each other: classes .* are in trainval_loc too, yet test_unseen_loc",
    ),
    "NaN feature": (
        changed("features", at((2, 7), np.nan)),
        RES101 + r"features is NaN or infinite .* rows 7 .*columns 2;",
    ),
    "infinite feature": (changed("features", at((0, 1), np.inf)), RES101 + "features is NaN or infinite .* rows 1 "),
    "NaN attribute": (
        changed("att", at((1, 3), np.nan)),
        SPLITS + "att is NaN or infinite for classes 'dog' in 1 cells",
    ),
    "names twice": (changed("allclasses_names", lambda c: [*c[:-1], "ant"]), SPLITS + "allclasses_names repeats 'ant'"),
    "empty name": (
        changed("allclasses_names", lambda c: [*c[:-1], ""]),
        SPLITS + "allclasses_names is not a list of class names",
    ),
    "names as numbers": (
        changed("allclasses_names", lambda c: np.arange(8.0)),
        SPLITS + "allclasses_names is not a list",
    ),
    "words for features": (changed("features", lambda X: ["a", "b"]), RES101 + "features is "),
}


OF_BOTH_KINDS = ["labels from 0", "fraction of a label", "no index", "NaN feature", "words for features"]


@pytest.mark.parametrize(
    ("damage", "kind"), [*((damage, "v5") for damage in DAMAGES), *((damage, "v7.3") for damage in OF_BOTH_KINDS)]
)
def test_damaged_copies_are_refused_by_name(damage, kind, tmp_path):
    spoil, sentence = DAMAGES[damage]
    splits, features = tiny()
    spoil(splits, features)
    write_package(tmp_path / "CUB", splits, features, WRITERS[kind])
    with pytest.raises(ValueError, match=sentence):
        xlsa17.load("CUB", tmp_path)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("file", ["att_splits.mat", "res101.mat"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_truncated_copies(file, share, kind, tmp_path):
    path = write_package(tmp_path / "CUB", *tiny(), WRITERS[kind]) / file
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=rf"{file} is not a readable MATLAB file .*truncated"):
        xlsa17.load("CUB", tmp_path)


@pytest.mark.parametrize("field", ["labels", "features", "trainval_loc", "att", "allclasses_names"])
def test_a_missing_variable(field, tmp_path):
    splits, features = tiny()
    for variables in (splits, features):
        variables.pop(field, None)
    write_package(tmp_path / "CUB", splits, features)
    with pytest.raises(ValueError, match=rf"\.mat has no variable '{field}': it has "):
        xlsa17.load("CUB", tmp_path)


def test_the_lists_of_seen_and_unseen_classes(package):
    folder = package / "CUB"
    (folder / "testclasses.txt").write_text("\n".join(UNSEEN))
    (folder / "trainvalclasses.txt").write_text("\n".join(name for name in CLASSES if name not in UNSEEN))
    xlsa17.load("CUB", package)
    (folder / "testclasses.txt").write_text("a cat\na fox\n")  # other names: nothing to compare
    xlsa17.load("CUB", package)
    (folder / "testclasses.txt").write_text("fox\ndog\n")
    with pytest.raises(
        ValueError, match=r"than \S*testclasses\.txt lists: the list alone has 'dog', the labels alone 'cat'"
    ):
        xlsa17.load("CUB", package)


def test_folders_that_are_not_classes_tell_nothing(tmp_path):
    splits, features = tiny()
    features["image_files"] = [f"images\\cat\\{k}.jpg" for k in range(n)]  # one folder that happens to be called so
    assert xlsa17.load("CUB", write_package(tmp_path / "a" / "CUB", splits, features).parent)
    features["image_files"] = [f"{k}.jpg" for k in range(n)]
    assert xlsa17.load("CUB", write_package(tmp_path / "b" / "CUB", splits, features).parent)
    features["image_files"] = features["image_files"][:-1]
    assert xlsa17.load("CUB", write_package(tmp_path / "c" / "CUB", splits, features).parent)


def test_folders_in_folders(tmp_path):
    """SUN keeps church_indoor in c/church/indoor."""
    splits, features = tiny()
    splits["allclasses_names"] = [f"{name}_in.door" for name in CLASSES]
    features["image_files"] = [file.replace("/images/", "/images/c/") for file in features["image_files"]]
    features["image_files"] = [re.sub(r"/(\d+\.jpg)", r"/in-door/\1", file) for file in features["image_files"]]
    write_package(tmp_path / "CUB", splits, features)
    xlsa17.load("CUB", tmp_path)
    around_the_end(splits, features)
    write_package(tmp_path / "CUB", splits, features)
    with pytest.raises(ValueError, match="contradicts image_files in 48 rows"):
        xlsa17.load("CUB", tmp_path)


def test_rows_outside_all_parts_are_reported(tmp_path):
    splits, features = tiny()
    splits["trainval_loc"] = splits["trainval_loc"][:-2]
    write_package(tmp_path / "CUB", splits, features)
    with pytest.warns(UserWarning, match=r"att_splits\.mat: 2 of the 48 rows of .*res101\.mat are in no part"):
        xlsa17.load("CUB", tmp_path)


# The layout that other projects read: as they read it, and as we do


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
    xlsa17.write_benchmark(data, here, folder.read_row_names(here / "birds"))
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
    xlsa17.write_benchmark(data, here / "other")
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
        xlsa17.write_benchmark(make_synthetic(descriptions=2), tmp_path)
    data = make_synthetic()
    broken = Dataset(data.name, data.X, data.y, data.signatures.rename(columns={"attribute 0": "a\nb"}), data.parts)
    with pytest.raises(ValueError, match="line break"):
        xlsa17.write_benchmark(broken, tmp_path)
    described = pd.concat([data.signatures, data.signatures[:1].set_axis(["yak"])])
    with pytest.raises(ValueError, match="no rows of class 'yak'"):
        xlsa17.write_benchmark(Dataset(data.name, data.X, data.y, described, data.parts), tmp_path)
    untested = {**data.parts, "test_seen": []}
    with pytest.raises(ValueError, match="no rows in 'test_seen'"):
        xlsa17.write_benchmark(Dataset(data.name, data.X, data.y, data.signatures, untested), tmp_path)
    assert not list(tmp_path.iterdir())


# A large matrix is read once; a change of its file is noticed; a cache that fails does no harm


SHAPE = (50, 7)


@pytest.fixture
def every_file_is_large(monkeypatch, tmp_path):
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(xlsa17, "SMALLEST", 0)


@pytest.fixture
def source(every_file_is_large, tmp_path):
    path = tmp_path / "features.npy"
    np.save(path, np.random.default_rng(0).standard_normal(SHAPE))
    return path


class Reader:
    """Counts how often it is asked."""

    calls = 0

    def __call__(self, path):
        self.calls += 1
        return np.load(path), {"labels": [1, 2], "names": ["ä"]}


@pytest.fixture
def read():
    return Reader()


@pytest.fixture
def settled(monkeypatch):
    """The source counts as old enough for its times to be trusted."""
    monkeypatch.setattr(xlsa17, "SETTLED", -(10**18))


def rewrite(path, values, keep_time=True):
    """Other content of the same size and, as `cp -p` and unpackers do, the same time of modification."""
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # until the file system's clock has moved on
        np.save(path, values)
        if keep_time:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def entry(tmp_path):
    (found,) = (tmp_path / "cache" / "mapped").iterdir()
    return found


def test_read_once(source, read):
    first, second = xlsa17.load_matrix(source, read), xlsa17.load_matrix(source, read)
    assert read.calls == 1
    for found in (first, second):
        assert isinstance(found.X, np.memmap)
        assert found.X.dtype == np.float32
        assert found.notes == {"labels": [1, 2], "names": ["ä"]}
        np.testing.assert_array_equal(found.X, np.load(source).astype(np.float32))
        with pytest.raises(ValueError, match="read-only"):
            found.X[0, 0] = 1


@pytest.mark.parametrize("make", [np.asfortranarray, np.ascontiguousarray, lambda x: x.astype(np.float32)])
def test_any_layout_and_block_height(source, make, monkeypatch, tmp_path):
    monkeypatch.setattr(xlsa17, "BLOCK_VALUES", 30)
    whole = np.load(source)
    found = xlsa17.load_matrix(source, lambda path: (make(whole), {}))
    np.testing.assert_array_equal(found.X, whole.astype(np.float32))
    monkeypatch.setattr(xlsa17, "SMALLEST", 1 << 30)
    found = xlsa17.load_matrix(source, lambda path: (make(whole), {}))
    np.testing.assert_array_equal(found.X, whole.astype(np.float32))
    assert not isinstance(found.X, np.memmap)


def test_small_files_are_not_kept(source, read, monkeypatch, tmp_path):
    monkeypatch.setattr(xlsa17, "SMALLEST", 1 << 23)
    xlsa17.load_matrix(source, read)
    assert not (tmp_path / "cache").exists()


def test_an_unchanged_source_is_not_hashed_again(source, read, settled, monkeypatch):
    xlsa17.load_matrix(source, read)
    monkeypatch.setattr(xlsa17, "_describe_source", lambda *_: pytest.fail("hashed"))
    xlsa17.load_matrix(source, read)
    assert read.calls == 1


@pytest.mark.parametrize("keep_time", [True, False])
def test_other_content_of_the_same_size_is_noticed(source, read, settled, keep_time):
    xlsa17.load_matrix(source, read)
    rewrite(source, np.ones(SHAPE), keep_time)
    np.testing.assert_array_equal(xlsa17.load_matrix(source, read).X, np.ones(SHAPE))
    assert read.calls == 2


def test_other_content_within_the_clocks_resolution_is_noticed(source, read, monkeypatch):
    """Times that did not move prove nothing for a file written a moment ago."""
    fixed = time.time_ns() + 10**18  # not old enough, however slow this machine is
    monkeypatch.setattr(xlsa17, "_file_times", lambda status: [fixed, fixed])
    xlsa17.load_matrix(source, read)
    rewrite(source, np.ones(SHAPE))
    np.testing.assert_array_equal(xlsa17.load_matrix(source, read).X, np.ones(SHAPE))


def test_another_size_is_noticed(source, read, settled):
    xlsa17.load_matrix(source, read)
    rewrite(source, np.ones((3, 7)))
    assert xlsa17.load_matrix(source, read).X.shape == (3, 7)


def test_a_touched_source_is_hashed_once_and_not_read(source, read, settled, monkeypatch, tmp_path):
    xlsa17.load_matrix(source, read)
    os.utime(source)
    xlsa17.load_matrix(source, read)
    assert read.calls == 1
    monkeypatch.setattr(xlsa17, "_describe_source", lambda *_: pytest.fail("hashed"))
    xlsa17.load_matrix(source, read)


def test_a_source_that_changes_while_read_is_not_kept(source, tmp_path):
    def read(path):
        whole = np.load(path)
        rewrite(path, np.ones(SHAPE))
        return whole, {}

    assert not isinstance(xlsa17.load_matrix(source, read).X, np.memmap)
    assert not (tmp_path / "cache").exists()


def test_an_older_map_survives_the_new_one(source, read, tmp_path):
    old = xlsa17.load_matrix(source, read).X
    values = np.array(old)
    rewrite(source, np.ones(SHAPE))
    xlsa17.load_matrix(source, read)
    np.testing.assert_array_equal(old, values)
    assert len(list(entry(tmp_path).glob("*.npy"))) == 1


def test_files_of_one_name_in_two_folders(source, read, tmp_path):
    (tmp_path / "b").mkdir()
    other = tmp_path / "b" / source.name
    np.save(other, np.ones(SHAPE))
    xlsa17.load_matrix(source, read)
    np.testing.assert_array_equal(xlsa17.load_matrix(other, read).X, np.ones(SHAPE))
    assert xlsa17.load_matrix(source, read).X[0, 0] != 1


def test_a_cache_that_cannot_be_made(source, read, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path / "file"))
    for calls in (1, 2):
        np.testing.assert_array_equal(xlsa17.load_matrix(source, read).X, np.load(source).astype(np.float32))
        assert read.calls == calls


def test_a_full_disk(source, read, monkeypatch, tmp_path):
    @contextmanager
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")
        yield

    monkeypatch.setattr(xlsa17, "replace_file", full)
    np.testing.assert_array_equal(xlsa17.load_matrix(source, read).X, np.load(source).astype(np.float32))


def truncate(folder):
    for path in folder.glob("*.npy"):
        path.write_bytes(path.read_bytes()[:-10])


def empty(folder):
    for path in folder.glob("*.npy"):
        path.write_bytes(b"")


def remove(folder):
    for path in folder.glob("*.npy"):
        path.unlink()


def other_shape(folder):
    for path in folder.glob("*.npy"):
        np.save(path, np.ones((3, 3), dtype=np.float32))


def no_json(folder):
    (folder / "source.json").write_text("{")


def other_json(folder):
    (folder / "source.json").write_text("[1]")


def no_keys(folder):
    (folder / "source.json").write_text("{}")


def newer_format(folder):
    known = json.loads((folder / "source.json").read_text())
    (folder / "source.json").write_text(json.dumps(known | {"format": 99}))


CACHE_DAMAGES = [truncate, empty, remove, other_shape, no_json, other_json, no_keys, newer_format]


@pytest.mark.parametrize("damage", CACHE_DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_cache_is_made_again(damage, source, read, tmp_path):
    xlsa17.load_matrix(source, read)
    damage(entry(tmp_path))
    np.testing.assert_array_equal(xlsa17.load_matrix(source, read).X, np.load(source).astype(np.float32))
    xlsa17.load_matrix(source, read)
    assert read.calls == 2


def test_temporary_files_of_killed_processes_are_removed(source, read, tmp_path):
    xlsa17.load_matrix(source, read)
    old, new = entry(tmp_path) / ".x.npy.1.part", entry(tmp_path) / ".y.npy.2.part"
    old.write_text("")
    new.write_text("")
    os.utime(old, (0, 0))
    rewrite(source, np.ones(SHAPE))
    xlsa17.load_matrix(source, read)
    assert not old.exists()
    assert new.exists()


@pytest.mark.parametrize("moment", ["while the first reads", "while the first writes"])
def test_two_at_once(source, read, moment, monkeypatch, tmp_path):
    """A second load begins and ends in the midst of the first, as another process may."""
    blocks, second = xlsa17._float_blocks, []

    def in_the_midst():
        if not second:
            second.append(None)  # the second load comes by here too
            second[0] = xlsa17.load_matrix(source, read)

    def reading(path):
        if "reads" in moment:
            in_the_midst()
        return read(path)

    def writing(*arguments):
        for block in blocks(*arguments):
            yield block
            if "writes" in moment:
                in_the_midst()

    monkeypatch.setattr(xlsa17, "_float_blocks", writing)
    monkeypatch.setattr(xlsa17, "BLOCK_VALUES", 70)
    first = xlsa17.load_matrix(source, reading)
    for found in (first, second[0], xlsa17.load_matrix(source, pytest.fail)):
        assert isinstance(found.X, np.memmap)
        np.testing.assert_array_equal(found.X, np.load(source).astype(np.float32))
    assert read.calls == 2
    assert sorted(path.suffix for path in entry(tmp_path).iterdir()) == [".json", ".npy"]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_values_that_are_not_finite(value, kept, source, read, monkeypatch, tmp_path):
    monkeypatch.setattr(xlsa17, "BLOCK_VALUES", 30)
    monkeypatch.setattr(xlsa17, "SMALLEST", 0 if kept else 1 << 30)
    values = np.ones(SHAPE)
    values[41, 2] = values[41, 5] = values[42, 0] = value
    np.save(source, values)
    with pytest.raises(ValueError, match=r"features\.npy: features is NaN or infinite .* in rows 41.*in columns 2, 5;"):
        xlsa17.load_matrix(source, read)
    assert not kept or not list(entry(tmp_path).iterdir())


# several feature files, several class tables


@pytest.fixture
def two_networks(tmp_path):
    """Two roots with the same rows: res101.mat and sent_splits.mat, and clip.mat of three features."""
    splits, features = tiny()
    one = write_package(tmp_path / "one" / "CUB", splits, features)
    scipy.io.savemat(one / "sent_splits.mat", splits | {"att": np.arange(3.0 * len(CLASSES)).reshape(3, -1)})
    two = write_package(tmp_path / "two" / "CUB", splits, features)
    (two / "res101.mat").unlink()
    scipy.io.savemat(two / "clip.mat", features | {"features": features["features"][:3] + 1})
    return [tmp_path / "one", tmp_path / "two"]


def test_two_networks_stand_side_by_side(two_networks):
    data = xlsa17.load("CUB", two_networks, "res101+clip")
    alone = [xlsa17.load("CUB", root) for root in two_networks]
    np.testing.assert_array_equal(data.X, np.hstack([one.X for one in alone]))
    d = alone[0].X.shape[1]
    assert dict(data.blocks) == {"res101": range(d), "clip": range(d, d + 3)}
    assert data.features == "res101+clip"
    assert "res101.mat and clip.mat" in data.source
    assert dict(alone[1].blocks) == {"clip": range(3)}
    assert alone[1].features == "clip"


def test_the_second_root_is_looked_in_for_a_single_network(two_networks):
    np.testing.assert_array_equal(
        xlsa17.load("CUB", two_networks, "clip").X, xlsa17.load("CUB", two_networks[1], "clip").X
    )


@pytest.mark.parametrize("fault", ["labels", "images"])
def test_networks_of_other_rows_are_refused(two_networks, fault):
    _, features = tiny()
    other = features | {"features": features["features"][:3]}
    if fault == "labels":
        other["labels"] = np.roll(features["labels"], 1, axis=0)
    else:
        other["image_files"] = np.roll(features["image_files"], 1, axis=0)
    scipy.io.savemat(two_networks[1] / "CUB" / "clip.mat", other)
    with pytest.raises(
        ValueError, match=r"clip\.mat has other rows than .*res101\.mat .*same images in the same order"
    ):
        xlsa17.load("CUB", two_networks, "res101+clip")


@pytest.mark.parametrize("names", ["res101+", "+", "res101+RES101"])
def test_names_of_networks_are_different_and_not_empty(two_networks, names):
    with pytest.raises(ValueError, match=r"features is .*: expected NAME, or different names such as A\+B"):
        xlsa17.load("CUB", two_networks, names)


def test_named_split_files_hold_other_class_tables(two_networks):
    sentences = xlsa17.load("CUB", two_networks, "res101", "sent").signatures
    np.testing.assert_array_equal(sentences.to_numpy(), np.arange(3.0 * len(CLASSES)).reshape(3, -1).T)
    assert list(sentences.columns) == ["sent 1", "sent 2", "sent 3"]
    both = xlsa17.load("CUB", two_networks, "res101", "att+sent")
    attributes = xlsa17.load("CUB", two_networks, "res101").signatures
    pd.testing.assert_frame_equal(both.signatures, pd.concat([attributes, sentences], axis=1))
    p = attributes.shape[1]
    assert dict(both.signature_blocks) == {"att": range(p), "sent": range(p, p + 3)}
    with pytest.raises(
        ValueError, match=r"signatures names 'words'.*expected 'att', 'original_att', 'sent', FILE\.mat"
    ):
        xlsa17.load("CUB", two_networks, "res101", "words")


def test_class_tables_are_looked_for_in_all_roots(two_networks):
    """Whatever the order of the roots."""
    expected = xlsa17.load("CUB", two_networks, "res101", "att+sent").signatures
    found = xlsa17.load("CUB", two_networks[::-1], "res101", "att+sent").signatures
    pd.testing.assert_frame_equal(found, expected)


def test_a_table_of_signatures_with_decimal_commas(package):
    path = package / "table.csv"
    path.write_text("class;legs\n" + "".join(f"{name};{k},5\n" for k, name in enumerate(CLASSES)))
    found = xlsa17.load("CUB", package, signatures=TextFile(str(path), decimal=",")).signatures
    assert found["legs"].tolist() == [k + 0.5 for k in range(len(CLASSES))]


def test_equal_columns_of_two_tables_are_told_apart(two_networks):
    both = xlsa17.load("CUB", two_networks, "res101", "att+original_att")
    assert both.attribute_names[0].startswith("att: ")
    assert not both.signatures.columns.has_duplicates


def test_the_command_line_takes_several_roots(two_networks):
    roots = [part for root in two_networks for part in ("--root", str(root))]
    answer = CliRunner().invoke(app, ["data", "check", "CUB", *roots, "--features", "res101+clip"])
    assert answer.exit_code in (0, 1), answer.output
    assert str(xlsa17.load("CUB", two_networks, "res101+clip").X.shape[1]) in answer.output


def test_a_sweep_finds_the_same_roots_from_another_folder(two_networks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = DatasetSource("cub", ("one", "two"), "res101+clip")
    found = source.absolute(source.load())
    assert found == DatasetSource("cub", tuple(str(root.resolve()) for root in two_networks), "res101+clip")


# Whether a res101.mat is the published one


def features(name, length, rows=None, columns=2048, low=0.0):
    """Rows of one length that take no memory."""
    row = np.full(columns, length / columns**0.5)
    row[0] += low
    shape = (xlsa17.PACKAGE_ROWS[name] if rows is None else rows, columns)
    return SimpleNamespace(features="res101", name=name, X=np.broadcast_to(row, shape))


def test_features_are_the_published_ones_only_if_shape_and_norms_fit():
    assert all(xlsa17.has_published_features(features(name, 30.0)) for name in xlsa17.PACKAGE_ROWS)
    for other in (
        features("CUB", 1.0),  # scaled to unit length
        features("CUB", 300.0),
        features("CUB", 30.0, rows=11787),
        features("CUB", 30.0, columns=512),
        features("CUB", 30.0, low=-5.0),  # centred
    ):
        assert xlsa17.has_published_features(other) is False
    assert xlsa17.has_published_features(SimpleNamespace(features="resnet50")) is None
