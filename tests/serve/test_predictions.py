"""Predictions over HTTP are the library's own."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import explained, refusal, same
from served_models import strings, values
from tolerances import SUMS, assert_close


def test_predictions_are_those_of_the_model(case):
    model, X, client = case
    c = len(model.candidates_)
    same(client.post("/predict", json={"rows": values(X).tolist()}), model, X, min(5, c))
    same(client.post("/predict", json={"rows": values(X).tolist(), "top": 2, "calibrated": False}), model, X, 2,
         calibrated=False)  # fmt: skip
    same(client.post("/predict", json={"rows": values(X).tolist(), "top": 1000}), model, X, c)
    labels = model.candidates_[[0, -1, 1]]
    wanted = [str(label) for label in labels]
    answer = client.post("/predict", json={"rows": values(X).tolist(), "candidates": wanted, "top": 3})
    same(answer, model, X, 3, candidates=labels)
    answer = client.post("/predict", params={"candidates": wanted, "top": 3}, json={"rows": values(X).tolist()})
    same(answer, model, X, 3, candidates=labels)


def test_a_constant_of_the_caller_replaces_that_of_the_model(case):
    model, X, client = case
    answer = client.post("/predict", json={"rows": values(X).tolist(), "calibration": 0.7}).json()
    assert answer["calibration"] == 0.7
    seen = np.isin(model.candidates_, model.classes_)
    expected = (model.compatibility(X) - 0.7 * seen).max(axis=1)
    assert_close([row["top"][0]["score"] for row in answer["predictions"]], expected, SUMS.single)
    alone = client.post(
        "/predict", json={"rows": values(X).tolist(), "calibration": 0.7, "candidates": list(map(str, model.classes_))}
    ).json()
    assert alone["calibration"] == 0  # among seen classes alone nothing is subtracted


def test_explanations_are_those_of_the_model(case):
    model, X, client = case
    body = {"rows": values(X).tolist(), "explain": True, "attributes": 2}
    if not client.get("/model").json()["explains"]:
        assert "cannot be explained" in refusal(client.post("/predict", json=body), 422)
        return
    explained(client.post("/predict", json=body), model.explain(X, 2), top=5)
    explained(client.post("/predict", json={**body, "raw": True}), model.explain(X, 2, raw=True), top=5)
    against = model.candidates_[1]
    named = client.post("/predict", json={**body, "against": str(against), "top": 1})
    explained(named, model.explain(X, 2, against=against), top=1)
    lead = str(model.predict(X)[0])  # against the answer itself, the runner-up is explained, as in the library
    found = client.post("/predict", json={**body, "against": lead}).json()["predictions"][0]
    assert (found["class"], found["explanation"]["against"]) == (lead, lead)
    assert found["explanation"]["class"] == found["top"][1]["class"]


def test_rows_of_the_data_are_predicted_as_such(digits):
    model, data, client = digits
    rows = [5, 1796, 5]
    same(client.post("/predict", json={"data_rows": rows}), model, np.asarray(data.X[rows], np.float32), 5)
    assert "1797 rows" in refusal(client.post("/predict", json={"data_rows": [1797]}), 422)
    refusal(client.post("/predict", json={"data_rows": [-1]}), 422)
    refusal(client.post("/predict", json={"data_rows": []}), 422)


def test_added_classes_count_as_unseen(fresh):
    _, X, client = fresh
    client.put("/classes/new", json={"attributes": {"size": 1.0}})
    health, about = client.get("/health").json(), client.get("/model").json()
    assert (health["status"], health["classes"]) == ("ok", 6)
    assert [about[kind] for kind in ("seen", "unseen", "added")] == [3, 2, 1]
    raw = client.post("/predict", json={"rows": X[:1].tolist(), "calibrated": False}).json()["predictions"][0]["top"]
    answer = client.post("/predict", json={"rows": X[:1].tolist()}).json()
    off = {one["class"]: one["score"] for one in answer["predictions"][0]["top"]}
    for one in raw:
        if one["class"] in off:
            lower = answer["calibration"] if one["kind"] == "seen" else 0
            assert off[one["class"]] == pytest.approx(one["score"] - lower, abs=SUMS.single * raw[0]["score"])


def test_features_without_a_score_are_refused():
    X, y, table = served.toy()
    model = served.kernel("polynomial", degree=6, feature_scaling="none", signature_scaling="none").fit(X, y, table)
    client = served.client_of(model)
    assert "so large" in refusal(client.post("/predict", json={"rows": [[1e15] * 6]}), 422)


def test_requests_of_many_threads_at_once(over_a_socket):
    body = {"rows": strings()[1].tolist(), "candidates": served.SEEN}

    def ask(_):
        with over_a_socket.client() as client:
            return [client.post("/predict", json=body).json()["predictions"] for _ in range(5)]

    expected = ask(0)[0]
    with ThreadPoolExecutor(8) as pool:
        assert all(answer == expected for answers in pool.map(ask, range(8)) for answer in answers)
