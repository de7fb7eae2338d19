"""A small generated package: what is read, from where, and how the command line takes it."""

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from benchmark_files import ATTRIBUTES, CLASSES, EACH, UNSEEN, WRITERS, tiny, with_fold, write_package, write_v5
from zskl import datasets
from zskl.cli import app
from zskl.cli._datasets import pick_features
from zskl.datasets import xlsa17
from zskl.experiments import run_folder

# Package --------------------------------------------------------------------------------------------------------------

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
    assert pick_features("CUB", []) is None
    assert pick_features("apy", ["res50", "aPY=vgg", "CUB=clip"]) == "vgg"
    assert pick_features("SUN", ["aPY=vgg", "res50"]) == "res50"
    for entry in ("CUB=", "=clip", ""):
        with pytest.raises(ValueError, match="expected NAME or DATASET=NAME"):
            pick_features("CUB", [entry])
    with pytest.raises(ValueError, match="no dataset is called 'CBU'"):
        pick_features("CUB", ["CBU=clip"])


# Class table ----------------------------------------------------------------------------------------------------------
# Signatures of a benchmark: att, original_att, another .mat, a table.

pytestmark = pytest.mark.usefixtures("own_cache")


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


# Fold lists -----------------------------------------------------------------------------------------------------------
# Validation folds: seeded, of class lists, of the file; planted test rows.

pytestmark = pytest.mark.usefixtures("own_cache")


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


# Damaged --------------------------------------------------------------------------------------------------------------
# Every damaged copy of a package is refused with a sentence that names the file, the field and the rows.

pytestmark = pytest.mark.usefixtures("own_cache")


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
