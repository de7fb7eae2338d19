"""Two who change the same class; names in another form; wrong values."""

import unicodedata

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from answers import refusal


def test_of_two_editors_the_later_is_told(fresh):
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


def test_a_name_is_the_same_whatever_form_its_accents_have(fresh):
    _, X, client = fresh
    whole, parts = (unicodedata.normalize(form, "Bécasse") for form in ("NFC", "NFD"))
    assert whole != parts
    assert client.post("/classes", json={"name": parts, "attributes": {"size": 1.0}}).json()["name"] == whole
    assert "already a class" in refusal(client.post("/classes", json={"name": whole, "attributes": {"size": 1.0}}), 409)
    assert client.get(f"/classes/{parts}").json()["name"] == whole
    answer = client.post("/predict", json={"rows": X[:1].tolist(), "candidates": [parts]}).json()
    assert answer["predictions"][0]["class"] == whole
    assert client.delete(f"/classes/{parts}").status_code == 204


def test_one_sentence_for_a_wrong_value(fresh):
    client = fresh[2]
    said = refusal(client.post("/classes", json={"name": "new", "attributes": {"size": "big"}}), 422)
    assert said == "attributes.size: Input should be a valid number, found 'big'"
    two = refusal(client.post("/classes", json={"name": "new", "attributes": {"size": "big", "fur": None}}), 422)
    assert two.count("valid number") == 2
    assert "a step in an address" in refusal(client.post("/classes", json={"name": "..", "attributes": {}}), 422)


def test_a_constant_as_large_as_may_be_keeps_the_order(case):
    """Single precision would round the scores of seen classes away."""
    model, X, client = case
    rows = X.tolist() if hasattr(X, "tolist") else X.to_numpy().tolist()
    seen = [str(label) for label in model.classes_]
    plain = client.post("/predict", json={"rows": rows, "top": 1000, "calibrated": False}).json()["predictions"]
    for constant in (1e6, -1e6):
        far = client.post("/predict", json={"rows": rows, "top": 1000, "calibration": constant}).json()["predictions"]
        for one, other in zip(plain, far, strict=True):
            order = [[pick["class"] for pick in row["top"] if pick["class"] in seen] for row in (one, other)]
            assert order[0] == order[1]
            assert (other["class"] in seen) == (constant < 0)
    refusal(client.post("/predict", json={"rows": rows, "calibration": -1e20}), 422)
