"""Classes over HTTP: names, descriptions, limits, the classes most like one."""

from urllib.parse import quote

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import refusal
from served import ODD
from served_models import strings, values
from tolerances import SUMS, assert_close
from zskl.serve.limits import Limits
from zskl.serve.service import Service


@pytest.mark.parametrize("name", ODD)
def test_classes_of_odd_names(over_a_socket, name):
    client, row = over_a_socket.asking, strings()[1][:1].tolist()
    place = f"/classes/{quote(name, safe='')}"
    made = client.post("/classes", json={"name": name, "attributes": {"size": 1.0}})
    assert made.status_code == 201, made.text
    assert {**made.json(), "version": 1} == {
        "name": name, "kind": "added", "defaulted": ["legs", "wings", "fur"], "version": 1,
    }  # fmt: skip
    assert {"name": name, "kind": "added", "rows": None, "picture": None} in client.get("/classes").json()["classes"]
    details = client.get(place).json()
    assert (details["name"], details["attributes"]["size"]) == (name, 1.0)
    answer = client.post("/predict", json={"rows": row, "candidates": [name, "ant"]}).json()
    assert {one["class"] for one in answer["predictions"][0]["top"]} == {name, "ant"}
    assert refusal(client.post("/classes", json={"name": name, "attributes": {"size": 1.0}}), 409)
    assert client.put(place, json={"attributes": {"size": 2.0}}).status_code == 200
    assert client.get(place).json()["attributes"]["size"] == 2.0
    assert client.delete(place).status_code == 204
    refusal(client.get(place), 404)
    refusal(client.delete(place), 404)
    assert client.put(place, json={"attributes": {"size": 2.0}}).status_code == 201


@pytest.mark.parametrize(
    "name", ["", " ", " a", "a ", ".", "..", "a\nb", "a\rb", "\0", "a\tb", "\x7f", "a\u202eb", "\u200b", "x" * 201]
)
def test_names_that_are_refused(fresh, name):
    _, _, client = fresh
    refusal(client.post("/classes", json={"name": name, "attributes": {"size": 1.0}}), 422)
    if name not in (".", ".."):  # which a client takes for steps of the path
        refusal(client.put(f"/classes/{quote(name, safe='')}", json={"attributes": {"size": 1.0}}), 422)
    assert client.get("/classes").json()["version"] == 0


def test_what_is_left_out_is_the_mean_of_the_seen_classes(case):
    model, X, _ = case
    client = served.client_of(model)
    about = client.get("/model").json()["attributes"]
    names = [one["name"] for one in about]
    seen = model.signature_table_.select(model.classes_).matrix.mean(axis=0)
    np.testing.assert_allclose([one["mean"] for one in about], seen, rtol=1e-12)
    made = client.post("/classes", json={"name": "new", "attributes": {names[1]: 0.75}}).json()
    assert made["defaulted"] == [name for name in names if name != names[1]]
    details = client.get("/classes/new").json()
    expected = np.where(np.arange(len(names)) == 1, 0.75, seen)
    np.testing.assert_allclose(list(details["attributes"].values()), expected, rtol=1e-12)
    assert details["defaulted"] == made["defaulted"]
    answer = client.post("/predict", json={"rows": values(X).tolist(), "candidates": ["new"]}).json()
    labels = ["new"] if model.classes_.dtype.kind in "UO" else [99]
    scores = model.compatibility(X, expected[None], labels)[:, 0]
    assert_close([row["top"][0]["score"] for row in answer["predictions"]], scores, SUMS.single)


def test_an_attribute_may_be_true(fresh):
    client = fresh[2]
    for name, value in (("truth", True), ("one", 1.0)):
        assert client.post("/classes", json={"name": name, "attributes": {"size": value}}).status_code == 201
    assert client.get("/classes/truth").json()["attributes"] == client.get("/classes/one").json()["attributes"]


def test_classes_of_the_model_stay_as_they_are(fresh):
    model, _, client = fresh
    for name in ("ant", "emu"):
        refusal(client.post("/classes", json={"name": name, "attributes": {"size": 1.0}}), 409)
        refusal(client.put(f"/classes/{name}", json={"attributes": {"size": 1.0}}), 409)
        refusal(client.delete(f"/classes/{name}"), 409)
        row = model.signature_table_.select([name]).matrix[0]
        assert list(client.get(f"/classes/{name}").json()["attributes"].values()) == row.tolist()


def test_descriptions_that_make_no_sense(fresh):
    _, _, client = fresh
    for attributes, sentence in [
        ({}, "no attributes"),
        ({"sizes": 1.0}, "did you mean 'size'"),
        ({"size": 1e9}, "expected a number between"),
        (dict.fromkeys(served.ATTRIBUTES, 0.0), "every attribute"),
        ({"size": "1"}, "valid number"),
        ({"size": None}, "valid number"),
        ([1.0], "attributes"),
    ]:
        assert sentence in refusal(client.post("/classes", json={"name": "new", "attributes": attributes}), 422)
    assert client.get("/classes").json()["version"] == 0


def test_nearest_classes_are_the_models(fresh):
    model, _, client = fresh
    table = model.nearest_classes(top=4)
    for name in model.candidates_:
        near = client.get(f"/classes/{name}").json()["nearest"]
        rows = table[table["class"] == name]
        assert [one["class"] for one in near] == rows["nearest"].tolist()
        np.testing.assert_allclose([one["similarity"] for one in near], rows["similarity"], rtol=1e-6, atol=1e-9)


def test_as_many_classes_as_there_may_be():
    model, _ = strings()
    client = served.client(Service(model, "m", Limits(classes=2)))
    assert client.post("/classes", json={"name": "a", "attributes": {"size": 1.0}}).status_code == 201
    assert client.put("/classes/b", json={"attributes": {"size": 1.0}}).status_code == 201
    assert "delete some" in refusal(client.put("/classes/c", json={"attributes": {"size": 1.0}}), 409)
    assert client.put("/classes/b", json={"attributes": {"size": 2.0}}).status_code == 200
    assert client.delete("/classes/a").status_code == 204
    assert client.put("/classes/c", json={"attributes": {"size": 1.0}}).status_code == 201
