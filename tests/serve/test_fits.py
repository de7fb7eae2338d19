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
        assert {why["attribute"]: pytest.approx(why["value"]) for why in one["why"]} == {
            name: values[name] for name in given
        }
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


def test_a_description_wins_as_many_rows_as_the_class_does_once_it_is_saved():
    """With the calibration as for any added class; and the class nearest to it is that of GET /classes/NAME."""
    model, data = served.digits()
    client = served.client(served.with_data(model, data))
    given = {"top": 1.0, "upper right": 1.0, "lower right": 1.0, "bottom": 1.0, "middle": 1.0, "lower left": 0.0}
    before = client.post("/fits", json={"attributes": given}).json()
    client.post("/classes", json={"name": "described", "attributes": given})
    rows = data.X.astype(np.float32).tolist()
    answers = client.post("/predict", json={"rows": rows, "top": 1}).json()["predictions"]
    assert before["wins"] == sum(one["class"] == "described" for one in answers) > 0
    near = client.get("/classes/described").json()["nearest"][0]
    assert before["nearest"] == {**near, "similarity": pytest.approx(near["similarity"])}
    again = client.post("/fits", json={"attributes": given, "replaces": "described"}).json()
    assert (again["wins"], again["nearest"]["class"]) == (before["wins"], near["class"])
    beside = client.post("/fits", json={"attributes": given}).json()
    assert (beside["nearest"]["class"], beside["wins"]) == ("described", 0)  # rounding decides nothing
    assert "expected an added class" in refusal(client.post("/fits", json={"attributes": given, "replaces": "3"}), 422)


def test_the_worked_example_of_any_data_is_understood(fresh):
    [example] = fresh[2].get("/model").json()["examples"]
    found = fresh[2].post("/words", json={"text": example["sentence"]}).json()
    assert found["attributes"]
    assert found["unknown"] == []


PRACTISED = {"weight": 4.0, "shrinkage": 0.3, "crowding": 0.1, "calibration": -0.2, "temperatures": None}


@pytest.mark.parametrize("name", ["bent", "described"])
def test_a_description_wins_as_many_rows_as_the_class_does_where_something_was_taught(name):
    """Examples change the model's calibration by the share of new classes that have some; a saved class is one more."""
    from zskl import ClassMeansClassifier, datasets

    data = datasets.load("digits")
    model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    model.calibration_ = 0.2
    model.practice_ = {"examples": {"1": PRACTISED}}
    client = served.client(served.with_data(model, data))
    rows = list(range(len(data.X)))

    def won(name):
        answers = client.post("/predict", json={"data_rows": rows, "top": 1}).json()
        assert client.get("/model").json()["calibration"] == answers["calibration"] != 0.2
        return sum(one["class"] == name for one in answers["predictions"])

    given = {"top": 1.0, "upper right": 1.0, "lower right": 1.0, "bottom": 1.0, "middle": 1.0, "lower left": 0.0}
    client.put("/classes/described", json={"attributes": {"top": 0.0, "lower left": 1.0}})
    for row in data.parts["test_unseen"][:4].tolist():
        client.post("/classes/described/examples", json={"row": row})
    known = {} if name == "bent" else {"replaces": name}
    before = client.post("/fits", json={"attributes": given, **known}).json()
    assert client.put(f"/classes/{name}", json={"attributes": given}).status_code == (200 if known else 201)
    assert before["wins"] == won(name) > 0
