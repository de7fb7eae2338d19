"""Classes that fit a description, by a slow twin."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import refusal


def agreement(values, given, about):
    """Attribute → how far a class agrees."""
    found = {}
    for name, wanted in given.items():
        low, high = about[name]["low"], about[name]["high"]
        found[name] = max(0.0, 1 - abs(values[name] - wanted) / (high - low))
    return found


def test_the_fit_of_a_class_is_its_mean_agreement():
    model, data = served.small()
    client = served.client(served.with_data(model, data))
    about = {one["name"]: one for one in client.get("/model").json()["attributes"]}
    client.put("/classes/added", json={"attributes": {"size": 0.5}})
    given = {"size": about["size"]["high"], "fur": 0.0}
    answer = client.post("/fits", json={"attributes": given, "top": 1000, "rows": 2}).json()
    assert answer["defaulted"] == ["legs", "wings"]
    assert {one["class"] for one in answer["classes"]} == {"ant", "cat", "dog", "emu", "bee", "added"}
    fits = [one["fit"] for one in answer["classes"]]
    assert fits == sorted(fits, reverse=True)
    ranked = [one["row"] for one in client.post("/rank", json={"attributes": given, "top": 100}).json()["rows"]]
    for one in answer["classes"]:
        values = client.get("/classes/" + one["class"]).json()["attributes"]
        expected = agreement(values, given, about)
        assert one["fit"] == pytest.approx(np.mean(list(expected.values())))
        assert {why["attribute"]: pytest.approx(why["agreement"]) for why in one["why"]} == expected
        own = [row for row in ranked if data.y[row] == one["class"]]
        assert [row["row"] for row in one["rows"]] == own[:2]
    assert len(client.post("/fits", json={"attributes": given, "top": 2}).json()["classes"]) == 2


def test_what_follows_from_a_choice_does_not_count():
    """A letter and a mark are two attributes, though all other letters and marks are then ruled out."""
    from zskl import ClassMeansClassifier, datasets

    data = datasets.load("letters")
    rows = data.parts["trainval"][::8]
    client = served.client_of(ClassMeansClassifier().fit(data.X[rows], data.y[rows], data.signatures))
    found = client.post("/fits", json={"attributes": {"letter: a": 1, "mark: ring above": 1}, "top": 4}).json()[
        "classes"
    ]
    assert (found[0]["class"], found[0]["fit"]) == ("å", 1.0)
    assert {one["fit"] for one in found[1:]} == {0.5}
    assert {one["attribute"] for one in found[0]["why"]} == {"letter: a", "mark: ring above"}


def test_without_data_there_are_no_rows(fresh):
    client = fresh[2]
    answer = client.post("/fits", json={"attributes": {"size": 1.0}}).json()
    assert [one["rows"] for one in answer["classes"]] == [[]] * 5
    assert "did you mean 'size'" in refusal(client.post("/fits", json={"attributes": {"sizes": 1.0}}), 422)
