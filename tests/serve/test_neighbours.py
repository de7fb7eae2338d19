"""The nearest rows of the loaded data, none of these, and features, in answers of POST /predict."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import refusal
from tolerances import SUMS, assert_close


def asks(client, **body):
    return client.post("/predict", json=body)


@pytest.fixture(scope="module")
def shown():
    model, data = served.small()
    return model, data, served.client(served.with_data(model, data))


def test_the_nearest_rows_of_each_class_come_with_the_answer(shown):
    model, data, client = shown
    X = model.feature_scaling_.apply(data.X.astype(np.float64))
    (one,) = asks(client, data_rows=[7], top=3, nearest=2).json()["predictions"]
    assert [near["class"] for near in one["nearest"]] == [best["class"] for best in one["top"]]
    for near in one["nearest"]:
        of_class = [k for k in range(len(X)) if data.y[k] == near["class"] and k != 7]
        away = {k: np.sqrt(sum((X[k, j] - X[7, j]) ** 2 for j in range(X.shape[1]))) for k in of_class}
        assert [row["row"] for row in near["rows"]] == sorted(away, key=away.get)[:2]
        assert_close([row["distance"] for row in near["rows"]], sorted(away.values())[:2], SUMS.double)
        assert {row["class"] for row in near["rows"]} == {near["class"]}
    own = asks(client, rows=data.X[7:8].tolist(), top=1, nearest=2, features=True).json()
    assert own["predictions"][0]["nearest"] == one["nearest"][:1]  # it is row 7, whoever sends it
    assert own["features"] == data.X[7:8].tolist()
    assert asks(client, data_rows=[7]).json()["features"] is None


def test_what_lists_too_much_is_refused(shown, plain):
    _, _, client = shown
    assert "lower top" in refusal(asks(client, data_rows=[1] * 1001, top=1, nearest=1), 413)
    assert "--data" in refusal(asks(plain[2], rows=[[0.0] * 6], nearest=1), 409)


def test_none_of_these_is_said_below_a_probability(shown):
    model, data, client = shown
    best = model.predict_proba(data.X, candidates=model.candidates_).max(axis=1)
    limit = float(np.median(best)) + 1e-9
    found = asks(client, data_rows=list(range(12)), reject=limit).json()["predictions"]
    assert [one["none_of_these"] for one in found] == (best < limit).tolist()
    assert 0 < sum(one["none_of_these"] for one in found) < 12
    scores = model.top_k(data.X, 5, return_scores=True)[1]
    assert_close([one["average"] for one in found], scores.mean(axis=1), SUMS.single)
    plain = served.client_of(served.kernel().fit(data.X[:6], data.y[:6], data.signatures))
    assert "zskl fit --calibrate" in refusal(asks(plain, rows=data.X[:1].tolist(), reject=0.5), 422)
