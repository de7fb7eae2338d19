"""The rows of the loaded data."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from answers import refusal
from tolerances import SUMS, assert_close


@pytest.mark.parametrize("part", [None, "test_unseen", "trainval"])
def test_rows_are_ranked_as_compatibility_ranks_them(digits, part):
    model, data, client = digits
    attributes = {"top": 1, "upper right": 1, "lower right": 1, "bottom": 0.5, "lower left": 0, "upper left": 0}
    answer = client.post("/rank", json={"attributes": attributes, "top": 30, "part": part}).json()
    assert answer["defaulted"] == ["middle"]
    mean = client.get("/model").json()["attributes"][-1]["mean"]
    rows = np.arange(len(data.X)) if part is None else data.parts[part]
    scores = model.compatibility(data.X[rows], np.array([[*attributes.values(), mean]]), [99])[:, 0]
    told = [row["score"] for row in answer["rows"]]
    assert_close(told, -np.sort(-scores)[:30], SUMS.single)  # the best scores, best first
    own = dict(zip(rows.tolist(), scores, strict=True))
    assert_close(told, [own[row["row"]] for row in answer["rows"]], SUMS.single)
    assert len({row["row"] for row in answer["rows"]}) == 30
    for row in answer["rows"]:
        assert row["class"] == str(data.y[row["row"]])
        assert row["row"] in data.parts[row["part"]]
        assert row["picture"]


def test_rows_of_a_class_and_a_part(digits):
    _, data, client = digits
    everything = client.get("/rows").json()
    assert (everything["total"], len(everything["rows"])) == (len(data.X), 24)
    sevens = client.get("/rows", params={"class": "7", "part": "trainval", "start": 3, "count": 5}).json()
    rows = [row for row in data.parts["trainval"].tolist() if data.y[row] == 7]
    assert (sevens["total"], [row["row"] for row in sevens["rows"]]) == (len(rows), rows[3:8])
    assert "no class is called 'none'" in refusal(client.get("/rows", params={"class": "none"}), 422)
    assert "did you mean 'count'" in refusal(client.get("/rows", params={"counts": 2}), 422)
    assert client.get("/rows", params={"start": 10**9}).json()["rows"] == []
    for wrong in ({"start": -1}, {"count": 0}, {"count": 1001}, {"part": "x"}, {"start": "9" * 5000}):
        refusal(client.get("/rows", params=wrong), 422)


def test_without_data_there_are_no_rows(plain):
    client = plain[2]
    for path in ("/rows", "/rows/0/picture", "/balance", "/confusion"):
        assert "--data" in refusal(client.get(path), 409)
    assert "--data" in refusal(client.post("/rank", json={"attributes": {"size": 1.0}}), 409)
    assert "--data" in refusal(client.post("/predict", json={"data_rows": [0]}), 409)
