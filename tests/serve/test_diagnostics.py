"""The seen–unseen curve and the confusion are those of the library."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import refusal
from tolerances import SUMS, decided
from zskl import metrics
from zskl.datasets import Dataset


def test_the_balance_is_the_curve_of_the_metrics(digits):
    model, data, client = digits
    rows = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
    scores = model.compatibility(np.asarray(data.X[rows]))
    seen = np.isin(model.candidates_, model.classes_)
    curve = metrics.seen_unseen_curve(np.float32(scores), data.y[rows], model.candidates_, seen)
    found = client.get("/balance").json()
    constants = np.array([point["calibration"] for point in found["points"]])
    assert (np.diff(constants) > 0).all()
    few = curve.thinned(len(constants))
    np.testing.assert_allclose([point["seen"] for point in found["points"]], few.seen, atol=0.01)
    np.testing.assert_allclose([point["unseen"] for point in found["points"]], few.unseen, atol=0.01)
    np.testing.assert_allclose(found["best"]["harmonic"], curve.best()[1], atol=1e-3)
    assert found["current"] == 0.4


def test_the_confusion_is_that_of_predictions(digits):
    model, data, client = digits
    rows = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
    right = metrics.per_class_accuracy(data.y[rows], model.predict(data.X[rows]))
    seen = np.isin(model.candidates_, model.classes_)
    clear = decided(model.compatibility(data.X[rows]) - model.calibration_ * seen, SUMS.single)
    assert clear.mean() > 0.95
    found = client.get("/confusion").json()["classes"]
    assert {one["class"] for one in found} == {str(label) for label in right}
    for one in found:
        undecided = (~clear[data.y[rows] == int(one["class"])]).mean()
        assert one["accuracy"] == pytest.approx(right[int(one["class"])], abs=undecided + 1e-9)
        assert one["rows"] == int((data.y[rows] == int(one["class"])).sum())
        assert one["kind"] == ("seen" if int(one["class"]) in model.classes_ else "unseen")
        shares = [other["share"] for other in one["wrong"]]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) <= 1 - one["accuracy"] + 1e-9


def test_data_without_unseen_test_rows_have_no_balance():
    model, data = served.small()
    X, y = np.asarray(data.X)[:8], data.y[:8]
    parts = {"trainval": np.arange(6), "test_seen": np.arange(6, 8), "test_unseen": np.arange(0)}
    some = Dataset("some", X, y, data.signatures, parts)
    client = served.client(served.with_data(model, some))
    assert "no curve" in refusal(client.get("/balance"), 409)
    assert client.get("/confusion").status_code == 200
