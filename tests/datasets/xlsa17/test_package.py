"""A small generated package: what is read, from where, and how the command line takes it."""

import numpy as np
import pytest
from typer.testing import CliRunner

from package_files import CLASSES, EACH, UNSEEN, WRITERS, tiny, with_fold, write_package, write_v5
from zskl import datasets
from zskl.cli import app
from zskl.cli.named import features_of
from zskl.datasets import xlsa17
from zskl.datasets.xlsa17 import feature_cache
from zskl.experiments import jsonl_log

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
    monkeypatch.setattr(feature_cache, "SMALLEST", 0)
    first = xlsa17.load("CUB", package)
    monkeypatch.setattr("zskl.datasets.xlsa17.features._matrix", lambda path: pytest.fail("read again"))
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
    (line,) = jsonl_log.read(record)
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
    assert features_of("CUB", []) is None
    assert features_of("apy", ["res50", "aPY=vgg", "CUB=clip"]) == "vgg"
    assert features_of("SUN", ["aPY=vgg", "res50"]) == "res50"
    for entry in ("CUB=", "=clip", ""):
        with pytest.raises(ValueError, match="expected NAME or DATASET=NAME"):
            features_of("CUB", [entry])
    with pytest.raises(ValueError, match="no dataset is called 'CBU'"):
        features_of("CUB", ["CBU=clip"])
