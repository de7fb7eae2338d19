"""Unlabelled rows over HTTP: the verdict of validation classes, adapting and its undoing, the rows to label next."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import refusal
from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier, datasets

PROMISED = {"per_class": 1.0, "gain": 0.05, "spread": 0.01, "least": 0.03, "weight": 4.0, "kappa": 30.0, "rounds": 3,
            "shift": 0.0, "crowding": 0.0, "shrinkage": 0.6, "balance": 0.0, "calibration": 0.0,
            "temperatures": None}  # fmt: skip


def practised(gain):
    """A model that was told what validation classes say, and data."""
    data = datasets.load("digits")
    model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    if gain is not None:
        model.practice_ = {"unlabelled": {mode: [{**PROMISED, "gain": gain}] for mode in ("all", "unseen")}}
    return model, data


@pytest.mark.parametrize(("gain", "clear"), [(0.05, True), (0.01, False), (None, None)])
def test_the_verdict_decides_whether_to_adapt(gain, clear):
    model, data = practised(gain)
    service = served.with_data(model, data)
    client = served.client(service)
    told = client.get("/adapt").json()
    assert (told["adapted"], told["clear"], told["gain"]) == (False, clear, gain)
    tried = client.post("/adapt", json={}).json()
    assert tried["adapted"] is bool(clear)
    assert {True: "it helps", False: "no clear gain", None: "nobody has tried"}[clear] in tried["verdict"]
    forced = client.post("/adapt", json={"force": True, "candidates": "unseen"}).json()
    assert (forced["adapted"], forced["classes"]) == (True, 3)
    assert client.get("/adapt").json() == forced
    rows = data.parts["test_unseen"]
    assert forced["rows"] == len(rows)
    expected = model.adapt(data.X[rows], "unseen", force=True).compatibility(data.X[:5], candidates=[3, 4])
    answer = client.post("/predict", json={"data_rows": [0, 1, 2, 3, 4], "candidates": ["3", "4"]}).json()
    found = [{one["class"]: one["score"] for one in row["top"]} for row in answer["predictions"]]
    assert_close([[row["3"], row["4"]] for row in found], expected, SUMS.single)
    ranked = client.post("/rank", json={"attributes": {"top": 1.0}, "class": "3", "top": 2}).json()["rows"]
    assert len(ranked) == 2
    assert client.delete("/adapt").status_code == 204
    assert client.delete("/adapt").status_code == 204
    assert client.get("/adapt").json() == told


def test_labels_of_test_rows_are_not_used():
    model, data = practised(0.05)
    X = np.array(data.X)
    shuffled = np.array(data.y)
    for part in ("test_seen", "test_unseen"):
        shuffled[data.parts[part]] = shuffled[data.parts[part]][::-1]
    answers = []
    for y in (data.y, shuffled):
        other = datasets.Dataset(data.name, X, y, data.signatures, data.parts)
        client = served.client(served.with_data(model, other))
        adapted = client.post("/adapt", json={}).json()
        answers.append((adapted, client.get("/label-next").json()))
    assert answers[0] == answers[1]


def test_rows_to_label_next_are_those_of_the_library():
    model, data = practised(None)
    client = served.client(served.with_data(model, data))
    pool = np.sort(np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]]))
    expected = pool[model.label_next(data.X[pool], 10)].tolist()
    found = client.get("/label-next").json()["rows"]
    assert [one["row"] for one in found] == expected
    assert {len(one["guesses"]) for one in found} == {2}
    assert "class" not in found[0]  # whoever labels is not told
    client.post("/classes/3/examples", json={"row": expected[0]})
    assert expected[0] not in [one["row"] for one in client.get("/label-next?count=20&pictures=true").json()["rows"]]


def test_what_cannot_be_adapted(plain, digits):
    assert "cannot learn" in refusal(plain[2].get("/adapt"), 409)
    assert "no data" in refusal(plain[2].get("/label-next"), 409)
    client = digits[2]
    assert "class-means" in refusal(client.post("/adapt", json={}), 409)
    assert "candidates" in refusal(client.post("/adapt", json={"candidates": "some"}), 422)
    assert len(client.get("/label-next?count=3").json()["rows"]) == 3
