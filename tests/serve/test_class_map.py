"""The map of classes is classical scaling, the same in every process; added classes move nothing."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served_models
from answers import refusal
from tolerances import SOLUTION, SUMS, assert_close
from zskl.serve import class_map


def classical_scaling(vectors):
    """(c, c) inner products of the best points in a plane, from distances alone."""
    n = len(vectors)
    squared = np.array([[sum((a - b) ** 2) for b in vectors] for a in vectors])
    centring = np.eye(n) - 1 / n
    values, columns = np.linalg.eigh(-centring @ squared @ centring / 2)
    return (columns[:, -2:] * values[-2:]) @ columns[:, -2:].T, values[-2:][::-1] / values.sum()


@pytest.mark.parametrize("shape", [(9, 4), (4, 9)])  # more classes than attributes, and fewer
def test_a_plane_is_that_of_classical_scaling(shape):
    vectors = np.random.default_rng(3).normal(size=shape)
    plane = class_map.Plane(vectors)
    places = plane.places(vectors)
    inner, kept = classical_scaling(vectors)
    assert_close(places @ places.T, inner, SOLUTION.double)
    assert_close(plane.kept, kept, SOLUTION.double)
    turned = class_map.Plane(vectors[::-1])  # the order of classes does not matter, and no axis is mirrored by it
    assert_close(turned.places(vectors), places, SOLUTION.double)


def test_classes_on_a_line_or_all_alike_have_a_place():
    line = np.arange(4.0)[:, None] * np.array([[1.0, -2.0, 0.5]])
    places = class_map.Plane(line).places(line)
    assert (np.diff(places[:, 0]) < 0).all()  # the largest entry of the direction is positive
    assert (places[:, 1] == 0).all()
    assert (class_map.Plane(np.ones((3, 5))).places(np.ones((2, 5))) == 0).all()


def test_the_map_of_a_service_stays_when_a_class_comes(fresh):
    _, _, client = fresh
    before = client.get("/map").json()
    names = [one["name"] for one in client.get("/classes").json()["classes"]]
    assert [one["class"] for one in before["classes"]] == names
    first = before["classes"][0]
    details = client.get(f"/classes/{first['class']}").json()
    assert first["nearest"] == details["nearest"][: len(first["nearest"])]
    assert client.put("/classes/twin", json={"attributes": details["attributes"]}).status_code == 201
    after = client.get("/map").json()
    moved = zip(after["classes"], before["classes"], strict=False)
    assert all((new["x"], new["y"]) == (old["x"], old["y"]) for new, old in moved)
    twin = after["classes"][-1]
    assert (twin["kind"], twin["nearest"][0]["class"]) == ("added", first["class"])
    assert_close([twin["x"], twin["y"]], [first["x"], first["y"]], SUMS.double)
    assert after["version"] == before["version"] + 1


def test_several_signatures_of_a_class_are_one_point():
    import served

    model, _ = served_models.several_signatures()
    client = served.client_of(model)
    found = client.get("/map").json()["classes"]
    assert len(found) == len(set(model.signature_table_.labels.tolist())) < len(model.signature_table_.labels)


def test_a_map_of_too_many_classes_is_refused(plain, monkeypatch):
    monkeypatch.setattr(class_map, "MOST", 2)
    assert "a map shows 2 at most" in refusal(plain[2].get("/map"), 409)
