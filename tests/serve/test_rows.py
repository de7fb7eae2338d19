"""The rows of the loaded data."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import refusal
from tolerances import SUMS, assert_close
from zskl.serve import rivals, rows
from zskl.signatures.table import SignatureTable


def slow_ranking(model, data, attributes, means):
    """{row: score}: compatibility with the description, less half that of the best seen class which it rules out."""
    described = np.array([[attributes.get(name, mean) for name, mean in means.items()]])
    found = model.compatibility(data.X, described, [99])[:, 0].astype(np.float64)
    seen = [label for label in data.signatures.index if label in set(model.classes_.tolist())]
    rivals = [
        label
        for label in seen
        if any(abs(data.signatures.loc[label, name] - value) > 0.5 for name, value in attributes.items())
    ]
    for row, scores in enumerate(model.compatibility(data.X, candidates=rivals) if rivals else ()):
        found[row] -= max(scores) / 2
    return dict(enumerate(found.tolist()))


@pytest.mark.parametrize("part", [None, "test_unseen"])
def test_rows_are_ranked_by_a_description_and_what_it_rules_out(digits, part):
    model, data, client = digits
    means = {one["name"]: one["mean"] for one in client.get("/model").json()["attributes"]}
    complete = {"top": 1, "upper right": 1, "lower right": 1, "bottom": 0.5, "lower left": 0, "upper left": 0}
    for attributes in (complete, {"top": 1}):  # "top" alone leaves few rivals
        answer = client.post("/rank", json={"attributes": attributes, "top": 30, "part": part}).json()
        assert answer["defaulted"] == [name for name in means if name not in attributes]
        scores = slow_ranking(model, data, attributes, means)
        wanted = range(len(data.X)) if part is None else data.parts[part].tolist()
        told = [row["score"] for row in answer["rows"]]
        assert_close(told, sorted((scores[row] for row in wanted), reverse=True)[:30], SUMS.single)
        assert_close(told, [scores[row["row"]] for row in answer["rows"]], SUMS.single)
        assert len({row["row"] for row in answer["rows"]}) == 30
        for row in answer["rows"]:
            assert row["class"] == str(data.y[row["row"]])
            assert row["row"] in data.parts[row["part"]]
            assert row["picture"]


def test_a_class_with_several_descriptions_is_ruled_out_if_all_of_them_are():
    table = SignatureTable(np.array(["a", "a", "b", "c"]), np.array([[0, 0], [1, 0], [0, 4], [0, 1.9]]), None)
    classes, described = np.array(["a", "b", "c"]), np.array([1.0, 0.0])
    given = np.array([True, True])
    assert rivals.ruled_out(table, classes, described, given).tolist() == [False, True, True]
    assert rivals.ruled_out(table, classes, described, np.array([False, True])).tolist() == [False, True, False]
    far = rivals.ruled_out(table, classes, 100 * np.ones(2), given)
    assert far.tolist() == rivals.ruled_out(table, classes, table.matrix.max(axis=0), given).tolist()  # nearest to it
    known = np.array([[1.0, 4.0, 9.0]])
    assert rivals.lessened(np.array([3.0]), known, np.zeros(3, bool)).tolist() == [3.0]
    assert rivals.lessened(np.array([3.0]), known, np.array([True, True, False])).tolist() == [1.0]


def test_with_very_many_rows_and_classes_nothing_is_ruled_out(digits, monkeypatch):
    model, data, _ = digits
    monkeypatch.setattr(rows, "SCORES", 0)
    client = served.client(served.with_data(model, data))
    attributes = dict(zip(data.signatures.columns, [1, 1, 0, 1, 1, 0, 1], strict=True))
    told = client.post("/rank", json={"attributes": attributes, "top": 3}).json()["rows"]
    scores = model.compatibility(data.X, np.array([list(attributes.values())]), [99])[:, 0]
    assert_close([row["score"] for row in told], -np.sort(-scores)[:3], SUMS.single)


def test_rows_of_a_class_and_a_part(digits):
    _, data, client = digits
    everything = client.get("/rows").json()
    assert (everything["total"], len(everything["rows"])) == (len(data.X), 24)
    sevens = client.get("/rows", params={"class": "7", "part": "trainval", "start": 3, "count": 5}).json()
    own = [row for row in data.parts["trainval"].tolist() if data.y[row] == 7]
    assert (sevens["total"], [row["row"] for row in sevens["rows"]]) == (len(own), own[3:8])
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
