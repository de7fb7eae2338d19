"""`zskl fit --tune` and `--calibrate`, then `zskl predict` with probabilities and "unknown"."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import zskl
from command import invoke
from zskl import datasets, methods
from zskl.batch import predict


def test_a_tuned_model_answers_with_probabilities_and_unknown(tmp_path, monkeypatch):
    """fit --tune, then predict --probabilities and --reject, as a practitioner would."""
    monkeypatch.chdir(tmp_path)
    data = datasets.load("digits")
    np.save("rows.npy", data.X[:40])
    grid = {"sigma": (1.0,), "epochs": (1, 2)}
    monkeypatch.setitem(methods.METHODS, "gaussian", replace(methods.METHODS["gaussian"], grid=grid, bounds={}))
    monkeypatch.setattr(
        import_module("zskl.selection.calibration"), "Engine", lambda *names: None
    )  # no processes for so little
    _, out = invoke("fit", "digits", "-o", "tuned.zskl", "--method", "gaussian", "--tune", "--scoring", "gzsl")
    assert "chosen of 3 settings by gzsl on validation classes" in out
    model = zskl.load("tuned.zskl")
    assert model.calibration_ != 0
    command = ("predict", "tuned.zskl", "rows.npy", "--top", "2")
    plain = invoke(*command)[1].splitlines()
    likely = invoke(*command, "--probabilities")[1].splitlines()
    assert likely[0] == "row,class,probability,class_2,probability_2"
    expected = model.predict_proba(data.X[:40], candidates=model.candidates_)
    answers = [line.split(",") for line in likely[1:]]
    np.testing.assert_allclose([float(a[2]) for a in answers], expected.max(axis=1), rtol=1e-4)
    assert [a[1] for a in answers] == [line.split(",")[1] for line in plain[1:]]
    middle = float(np.median(expected.max(axis=1)))
    rejected = [line.split(",") for line in invoke(*command, "--reject", middle)[1].splitlines()[1:]]
    unknown = [a[1] == "unknown" for a in rejected]
    np.testing.assert_array_equal(unknown, expected.max(axis=1) < middle)
    assert [a[2] for a in rejected] == [line.split(",")[2] for line in plain[1:]]  # scores stay scores


def test_probabilities_of_zero_keep_the_order_of_scores(tmp_path, monkeypatch):
    """At a low temperature all but the best probability round to 0; places 2 and on are still told by the scores."""
    monkeypatch.chdir(tmp_path)
    data = datasets.make_synthetic(8, 3, 20, 10, 6)
    np.save("rows.npy", data.X[:30])
    rows = data.parts["trainval"]
    model = methods.build("devise", {"random_state": 0}).fit(data.X[rows], data.y[rows], data.signatures)
    model.temperatures_ = dict.fromkeys(("seen", "unseen", "mixed"), 1e-6)
    plain = list(predict.Predictor(model, top=5).lines("rows.npy"))
    rejecting = list(predict.Predictor(model, top=5, reject=0.0).lines("rows.npy"))
    likely = list(predict.Predictor(model, top=5, probabilities=True).lines("rows.npy"))
    assert rejecting == plain
    assert [line[1::2] for line in likely[1:]] == [line[1::2] for line in plain[1:]]
    assert {line[4] for line in likely[1:]} == {"0"}


def test_scoring_is_for_tuning():
    with pytest.raises(ValueError, match="without --tune"):
        invoke("fit", "digits", "-o", "x.zskl", "--method", "gaussian", "--scoring", "gzsl")
    with pytest.raises(ValueError, match="without --tune"):
        invoke("fit", "digits", "-o", "x.zskl", "--no-tune", "--scoring", "gzsl")


def test_probabilities_need_a_calibrated_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zskl.engines.Engine", lambda *names: None)  # no processes for so little
    np.save("rows.npy", datasets.load("digits").X[:5])
    invoke("fit", "digits", "-o", "plain.zskl", "--no-tune")
    for option in (("--probabilities",), ("--reject", "0.5")):
        with pytest.raises(ValueError, match="zskl fit --calibrate"):
            invoke("predict", "plain.zskl", "rows.npy", *option)
    invoke("fit", "digits", "-o", "calibrated.zskl", "--no-tune", "--calibrate")
    assert zskl.load("calibrated.zskl").temperatures_ is not None
    with pytest.raises(ValueError, match="expected a probability between 0 and 1"):
        invoke("predict", "calibrated.zskl", "rows.npy", "--reject", 1.5)
