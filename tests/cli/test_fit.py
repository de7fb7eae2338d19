"""`zskl fit` without a method: class means, tuned by gzsl and calibrated, because that takes seconds."""

from dataclasses import replace
from importlib import import_module

import pytest

import command
import user_files
import zskl
from command import invoke
from user_files import MAKE
from zskl import datasets, methods, selection

GRID = {"shrinkage": (0.1, 0.2), "crowding": (0.0, 0.6)}
BOUNDS = {"crowding": (0.0, 0.6)}  # the grid already reaches them


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Four settings beside the default one, and no processes for so little."""
    changed = replace(methods.METHODS["class-means"], grid=GRID, bounds=BOUNDS)
    monkeypatch.setitem(methods.METHODS, "class-means", changed)
    monkeypatch.setattr(import_module("zskl.selection.calibration"), "Engine", lambda *names: None)


def test_the_default_is_class_means_tuned_and_calibrated(tmp_path):
    done = command.zskl("fit", "digits", "-o", str(tmp_path / "m.zskl"))
    assert done.returncode == 0
    out, told = done.stdout, done.stderr
    assert "chosen of 5 settings by gzsl on validation classes" in out
    assert " % over folds; of the default setting " in out
    assert "calibrated: " in out
    assert "the default setting is kept: the best other is " in out
    assert told.count("note: validation is weak: there are 7 training classes") == 1
    assert "class-means fitted on" in out
    assert "(zskl teach): " in out
    assert "in H from unlabelled rows of all classes (zskl adapt): " in out
    data = datasets.load("digits")
    X, y = data.samples("trainval")
    twin = selection.tune(
        *(zskl.ClassMeansClassifier(), X, y, data.signatures, GRID, selection.folds(data), "gzsl"), engine=None
    )
    model = zskl.load(tmp_path / "m.zskl")
    assert (model.shrinkage, model.crowding) == (twin.best["shrinkage"], twin.best["crowding"])
    assert (model.calibration_, model.temperatures_) == (twin.calibration, twin.model.temperatures_)


def test_tuning_can_be_turned_off_and_asked_for(tmp_path):
    file = tmp_path / "m.zskl"
    assert "chosen" not in invoke("fit", "digits", "-o", file, "--no-tune")[1]
    assert zskl.load(file).temperatures_ is None
    assert "calibrated" in invoke("fit", "digits", "-o", file, "--no-tune", "--calibrate")[1]
    out = invoke("fit", "digits", "-o", file, "--tune", "--scoring", "zsl", "--set", "shrinkage=0.3")[1]
    assert "chosen of 3 settings by zsl" in out
    assert zskl.load(file).shrinkage == 0.3
    assert "chosen" not in invoke("fit", "digits", "-o", file, "--method", "eszsl")[1]


def test_too_few_classes_for_folds_get_the_defaults_and_a_sentence(here):
    user_files.write_birds(here, ["ant", "bee", "cat", "dog"])
    invoke(*MAKE, "--unseen", "dog")
    done = command.zskl("fit", "birds", "-o", "m.zskl")
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("note: fitted with the default settings, neither tuned nor calibrated: the training")
    assert zskl.load("m.zskl").temperatures_ is None
    for option in ("--tune", "--calibrate"):  # who asks for it is told that it cannot be
        refused = command.zskl("fit", "birds", "-o", "n.zskl", option)
        assert refused.returncode == 2
        assert "of 3 class(es)" in refused.stderr
        assert not (here / "n.zskl").exists()


def test_scoring_is_for_tuning():
    with pytest.raises(ValueError, match="without --tune"):
        invoke("fit", "digits", "-o", "x.zskl", "--method", "gaussian", "--scoring", "gzsl")
    with pytest.raises(ValueError, match="without --tune"):
        invoke("fit", "digits", "-o", "x.zskl", "--no-tune", "--scoring", "gzsl")
