"""Classes over HTTP: names, descriptions, limits, the classes most like one."""

import unicodedata
from urllib.parse import quote

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import services
from command import zskl
from services import ODD, explained, refusal, same, strings, values
from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier, datasets, load
from zskl.serve.limits import Limits
from zskl.serve.service import Service


@pytest.mark.parametrize("name", ODD)
def test_odd_class_names_work(over_a_socket, name):
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
def test_bad_class_names_are_refused(fresh, name):
    _, _, client = fresh
    refusal(client.post("/classes", json={"name": name, "attributes": {"size": 1.0}}), 422)
    if name not in (".", ".."):  # which a client takes for steps of the path
        refusal(client.put(f"/classes/{quote(name, safe='')}", json={"attributes": {"size": 1.0}}), 422)
    assert client.get("/classes").json()["version"] == 0


def test_missing_attributes_get_the_mean_of_seen_classes(case):
    model, X, _ = case
    client = services.client_of(model)
    about = client.get("/model").json()["attributes"]
    names = [one["name"] for one in about]
    seen = model.signature_table_.select(model.seen_classes_).matrix.mean(axis=0)
    np.testing.assert_allclose([one["mean"] for one in about], seen, rtol=1e-12)
    made = client.post("/classes", json={"name": "new", "attributes": {names[1]: 0.75}}).json()
    assert made["defaulted"] == [name for name in names if name != names[1]]
    details = client.get("/classes/new").json()
    expected = np.where(np.arange(len(names)) == 1, 0.75, seen)
    np.testing.assert_allclose(list(details["attributes"].values()), expected, rtol=1e-12)
    assert details["defaulted"] == made["defaulted"]
    answer = client.post("/predict", json={"rows": values(X).tolist(), "candidates": ["new"]}).json()
    labels = ["new"] if model.seen_classes_.dtype.kind in "UO" else [99]
    scores = model.compatibility(X, expected[None], labels)[:, 0]
    assert_close([row["top"][0]["score"] for row in answer["predictions"]], scores, SUMS.single)


def test_attribute_may_be_boolean(fresh):
    client = fresh[2]
    for name, value in (("truth", True), ("one", 1.0)):
        assert client.post("/classes", json={"name": name, "attributes": {"size": value}}).status_code == 201
    assert client.get("/classes/truth").json()["attributes"] == client.get("/classes/one").json()["attributes"]


def test_model_classes_cannot_be_changed(fresh):
    model, _, client = fresh
    for name in ("ant", "emu"):
        refusal(client.post("/classes", json={"name": name, "attributes": {"size": 1.0}}), 409)
        refusal(client.put(f"/classes/{name}", json={"attributes": {"size": 1.0}}), 409)
        refusal(client.delete(f"/classes/{name}"), 409)
        row = model.signature_table_.select([name]).matrix[0]
        assert list(client.get(f"/classes/{name}").json()["attributes"].values()) == row.tolist()


def test_bad_descriptions_are_refused(fresh):
    _, _, client = fresh
    for attributes, sentence in [
        ({}, "no attributes"),
        ({"sizes": 1.0}, "did you mean 'size'"),
        ({"size": 1e9}, "expected a number between"),
        (dict.fromkeys(services.ATTRIBUTES, 0.0), "every attribute"),
        ({"size": "1"}, "valid number"),
        ({"size": None}, "valid number"),
        ([1.0], "attributes"),
    ]:
        assert sentence in refusal(client.post("/classes", json={"name": "new", "attributes": attributes}), 422)
    assert client.get("/classes").json()["version"] == 0


def test_similar_classes_equal_those_of_the_model(fresh):
    model, _, client = fresh
    table = model.nearest_classes(top=4)
    for name in model.candidates_:
        near = client.get(f"/classes/{name}").json()["nearest"]
        rows = table[table["class"] == name]
        assert [one["class"] for one in near] == rows["nearest"].tolist()
        np.testing.assert_allclose([one["similarity"] for one in near], rows["similarity"], rtol=1e-6, atol=1e-9)


def test_number_of_added_classes_is_limited():
    model, _ = strings()
    client = services.client(Service(model, "m", Limits(classes=2)))
    assert client.post("/classes", json={"name": "a", "attributes": {"size": 1.0}}).status_code == 201
    assert client.put("/classes/b", json={"attributes": {"size": 1.0}}).status_code == 201
    assert "delete some" in refusal(client.put("/classes/c", json={"attributes": {"size": 1.0}}), 409)
    assert client.put("/classes/b", json={"attributes": {"size": 2.0}}).status_code == 200
    assert client.delete("/classes/a").status_code == 204
    assert client.put("/classes/c", json={"attributes": {"size": 1.0}}).status_code == 201


@pytest.fixture(scope="module")
def tuned_means(tmp_path_factory):
    """The file of a model that was tuned, which takes seconds."""
    path = tmp_path_factory.mktemp("means") / "means.zskl"
    assert zskl("fit", "digits", "-o", str(path), "--method", "class-means").returncode == 0
    return path


@pytest.fixture(scope="module", params=["plain", "adapted"])
def service(request, tuned_means):
    path, data = tuned_means, datasets.load("digits")
    if request.param == "adapted":
        path = tuned_means.with_name("adapted.zskl")
        load(tuned_means).adapt(data.X[data.parts["test_unseen"]], force=True).save(path)
    model = load(path)
    assert isinstance(model, ClassMeansClassifier)
    return model, data, services.client(services.with_data(model, data))


def test_class_means_service_answers_every_request(service):
    model, data, client = service
    about = client.get("/model").json()
    assert (about["estimator"], about["explains"]) == ("class-means", True)
    rows = [5, 700, 1796]
    X = np.asarray(data.X[rows], np.float32)
    same(client.post("/predict", json={"data_rows": rows}), model, X, 5)
    answer = client.post("/predict", json={"data_rows": rows, "explain": True, "attributes": 3})
    explained(answer, model.explain(X, 3), top=5)
    assert 0 <= client.get("/balance").json()["best"]["harmonic"] <= 1
    assert len(client.get("/confusion").json()["classes"]) == 10
    assert client.get("/classes/3").json()["nearest"][0]["kind"] in ("seen", "unseen")


def test_blocks_of_features_are_explained(tmp_path):
    data = datasets.load("digits")
    rows = data.parts["trainval"]
    model = ClassMeansClassifier(blocks={"left": 24, "right": 40}).fit(data.X[rows], data.y[rows], data.signatures)
    model.save(tmp_path / "blocks.zskl")
    client = services.client(services.with_data(load(tmp_path / "blocks.zskl"), data))
    answer = client.post("/predict", json={"data_rows": [5, 700], "explain": True, "attributes": 3})
    explained(answer, model.explain(np.asarray(data.X[[5, 700]], np.float32), 3), top=5)
    assert set(answer.json()["predictions"][0]["explanation"]["blocks"]) == {"left", "right"}


def test_class_means_rank_rows_and_take_new_classes(service):
    model, data, client = service
    attributes = dict(zip(data.signatures.columns, [1, 1, 0, 1, 1, 0, 1], strict=True))
    answer = client.post("/rank", json={"attributes": attributes, "top": 20}).json()
    scores = model.compatibility(data.X, np.array([list(attributes.values())]), [99])[:, 0]
    assert {row["class"] for row in answer["rows"]} == {"2"}
    assert answer["rows"][0]["score"] <= 1
    assert client.put("/classes/own", json={"attributes": attributes}).status_code == 201
    top = client.post("/predict", json={"data_rows": [0], "candidates": ["own", "0"]}).json()["predictions"][0]["top"]
    mine = next(one for one in top if one["class"] == "own")
    assert (mine["kind"], mine["score"]) == ("added", pytest.approx(scores[0], abs=SUMS.single))
    assert client.delete("/classes/own").status_code == 204


def test_second_editor_of_a_class_gets_a_conflict(fresh):
    client = fresh[2]
    made = client.post("/classes", json={"name": "new", "attributes": {"size": 1.0}})
    client.put("/classes/other", json={"attributes": {"size": 1.0}})
    seen = client.get("/classes/new")
    assert (made.headers["etag"], seen.headers["etag"], seen.json()["version"]) == ('"1"', '"2"', 2)
    first = {"if-match": seen.headers["etag"]}
    assert client.put("/classes/new", json={"attributes": {"size": 2.0}}, headers=first).status_code == 200
    for late in (
        client.put("/classes/new", json={"attributes": {"size": 3.0}}, headers=first),
        client.delete("/classes/new", headers=first),
        client.delete("/classes/new", headers={"if-match": made.headers["etag"]}),
    ):
        assert "was changed in version 3" in refusal(late, 412)
    assert client.get("/classes/new").json()["attributes"]["size"] == 2.0
    assert client.delete("/classes/other", headers=first).status_code == 204  # a change of another class is no matter
    assert "not there any more" in refusal(client.delete("/classes/other", headers=first), 412)
    assert client.put("/classes/new", json={"attributes": {"size": 3.0}}, headers={"if-match": "*"}).status_code == 200
    assert client.delete("/classes/new", headers={"if-match": '"5"'}).status_code == 204
    for wrong in ("5", 'W/"5"', '"x"', '"1", "2"', ""):
        assert "If-Match" in refusal(client.delete("/classes/new", headers={"if-match": wrong}), 422)


def test_names_match_in_either_unicode_form(fresh):
    _, X, client = fresh
    whole, parts = (unicodedata.normalize(form, "Bécasse") for form in ("NFC", "NFD"))
    assert whole != parts
    assert client.post("/classes", json={"name": parts, "attributes": {"size": 1.0}}).json()["name"] == whole
    assert "already a class" in refusal(client.post("/classes", json={"name": whole, "attributes": {"size": 1.0}}), 409)
    assert client.get(f"/classes/{parts}").json()["name"] == whole
    answer = client.post("/predict", json={"rows": X[:1].tolist(), "candidates": [parts]}).json()
    assert answer["predictions"][0]["class"] == whole
    assert client.delete(f"/classes/{parts}").status_code == 204
