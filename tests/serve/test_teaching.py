"""Unlabelled rows over HTTP: the verdict of validation classes, adapting and its undoing, the rows to label next."""

import unicodedata

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import services
from services import refusal
from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier, Committee, datasets
from zskl.serve.limits import Limits
from zskl.serve.service import Service

PROMISED = {"per_class": 1.0, "gain": 0.05, "spread": 0.01, "least": 0.03, "weight": 4.0, "kappa": 30.0, "rounds": 3,
            "shift": 0.0, "crowding": 0.0, "shrinkage": 0.6, "balance": 0.0, "calibration": 0.0,
            "temperatures": None}  # fmt: skip


def practised(gain):
    """A model that was told what validation classes say, and data."""
    data = datasets.load("digits")
    model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    if gain is not None:
        model.practice_ = {"unlabelled": {mode: [{**PROMISED, "gain": gain}] for mode in ("all", "unseen")}}
    return model, data


@pytest.mark.parametrize(("gain", "clear"), [(0.05, True), (0.01, False), (None, None)])
def test_adapts_only_on_a_clear_gain(gain, clear):
    model, data = practised(gain)
    service = services.with_data(model, data)
    client = services.client(service)
    told = client.get("/adapt").json()
    assert (told["adapted"], told["clear"], told["gain"]) == (False, clear, gain)
    tried = client.post("/adapt", json={}).json()
    assert tried["adapted"] is bool(clear)
    assert {True: "it helps", False: "no clear gain", None: "nobody has tried"}[clear] in tried["verdict"]
    forced = client.post("/adapt", json={"force": True, "candidates": "unseen"}).json()
    assert (forced["adapted"], forced["classes"]) == (True, 3)
    assert client.get("/adapt").json() == forced
    rows = data.parts["test_unseen"]
    assert forced["rows"] == len(rows)
    expected = model.adapt(data.X[rows], "unseen", force=True).compatibility(data.X[:5], candidates=[3, 4])
    answer = client.post("/predict", json={"data_rows": [0, 1, 2, 3, 4], "candidates": ["3", "4"]}).json()
    found = [{one["class"]: one["score"] for one in row["top"]} for row in answer["predictions"]]
    assert_close([[row["3"], row["4"]] for row in found], expected, SUMS.single)
    ranked = client.post("/rank", json={"attributes": {"top": 1.0}, "class": "3", "top": 2}).json()["rows"]
    assert len(ranked) == 2
    assert client.delete("/adapt").status_code == 204
    assert client.delete("/adapt").status_code == 204
    assert client.get("/adapt").json() == told


def test_adapting_ignores_labels():
    model, data = practised(0.05)
    X = np.array(data.X)
    shuffled = np.array(data.y)
    for part in ("test_seen", "test_unseen"):
        shuffled[data.parts[part]] = shuffled[data.parts[part]][::-1]
    answers = []
    for y in (data.y, shuffled):
        other = datasets.Dataset(data.name, X, y, data.signatures, data.parts)
        client = services.client(services.with_data(model, other))
        adapted = client.post("/adapt", json={}).json()
        answers.append((adapted, client.get("/label-next").json()["rows"]))
    assert answers[0] == answers[1]


def test_rows_to_label_equal_those_of_the_model():
    model, data = practised(None)
    client = services.client(services.with_data(model, data))
    every = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
    kept = np.random.default_rng(0).permutation(every)[: len(every) // 5]  # one of five is kept back
    pool = np.sort(np.setdiff1d(every, kept))
    expected = pool[model.label_next(data.X[pool], 10)].tolist()
    answer = client.get("/label-next").json()
    found, right = answer["rows"], model.predict(data.X[kept]) == data.y[kept]
    assert (answer["kept_back"], answer["accuracy"]) == (len(kept), pytest.approx(right.mean()))
    assert [one["row"] for one in found] == expected
    assert {len(one["guesses"]) for one in found} == {2}
    assert "class" not in found[0]  # whoever labels is not told
    client.post("/classes/3/examples", json={"row": expected[0]})
    assert expected[0] not in [one["row"] for one in client.get("/label-next?count=20&pictures=true").json()["rows"]]


def test_adapting_is_refused_where_impossible(plain, digits):
    assert "cannot learn" in refusal(plain[2].get("/adapt"), 409)
    assert "no data" in refusal(plain[2].get("/label-next"), 409)
    client = digits[2]
    assert "class-means" in refusal(client.post("/adapt", json={}), 409)
    assert "candidates" in refusal(client.post("/adapt", json={"candidates": "some"}), 422)
    assert len(client.get("/label-next?count=3").json()["rows"]) == 3


SEVEN = {"top": 1.0, "upper right": 1.0, "lower right": 1.0}


def means():
    data = datasets.load("digits")
    return ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures), data


@pytest.fixture(scope="module")
def model_and_data():
    return means()


@pytest.fixture
def taught(model_and_data):
    """A model of class means, its data, and a client of a service of both that a test may change."""
    model, data = model_and_data
    return model, data, services.client(services.with_data(model, data))


def scores(client, rows, name):
    """Of loaded rows for one class."""
    answer = client.post("/predict", json={"data_rows": rows, "candidates": [name], "calibrated": False}).json()
    return [one["top"][0]["score"] for one in answer["predictions"]]


def slow_scores(model, X, label, right, wrong):
    """The cosine of each row with n₀ m̂ + Σ x̂ of right examples − 0.35 · the mean x̂ of wrong ones, less crowding, in
    float64 and one after the other."""
    hats = [hat(model, x) for x in X]
    question = model._question(np.empty((0, 0)), model.signature_table_.select([label]))
    described = np.asarray(model._described_directions(question), np.float64)[0]
    worth = model._left_out_classes().description_worth(model.shrinkage_)
    direction = worth * float(model._description_certainty(question)[0]) * described
    for x in right:
        direction = direction + hat(model, x)
    for x in wrong:
        direction = direction - 0.35 / len(wrong) * hat(model, x)
    direction = direction / np.sqrt(sum(value * value for value in direction))
    near = sorted((float(row @ direction) for row in model.kept_rows_.astype(np.float64)), reverse=True)
    count = max(1, int(model.crowding_share * len(near)))
    crowded = model.crowding_ * sum(near[:count]) / count
    return [float(one @ direction) - crowded for one in hats]


def hat(model, x):
    """x̂ of a row."""
    scaled = np.asarray(model._scale_rows(np.asarray(x, np.float64)[None]), np.float64)[0]
    white = (scaled - model.center_) @ model.whitening_.astype(np.float64)
    return white / np.sqrt(sum(value * value for value in white))


def test_examples_move_a_class(taught):
    model, data, client = taught
    threes, others = (np.flatnonzero(data.y == digit)[:3].tolist() for digit in (3, 5))
    for row in threes:
        made = client.post("/classes/3/examples", json={"row": row})
        assert made.status_code == 201, made.text
    client.post("/classes/3/examples", json={"features": data.X[others[0]].tolist(), "right": False})
    client.post("/classes/3/examples", json={"row": others[1], "right": False})
    rows = list(range(0, 1797, 300))
    expected = slow_scores(model, data.X[rows], 3, data.X[threes], data.X[others[:2]])
    assert_close(scores(client, rows, "3"), expected, SUMS.single)
    listed = client.get("/classes/3/examples")
    assert (listed.json()["right"], listed.json()["wrong"]) == (3, 2)
    assert [one["row"] for one in listed.json()["examples"]] == [*threes, None, others[1]]
    assert [one["picture"] for one in listed.json()["examples"]] == [True, True, True, False, True]
    assert listed.headers["etag"] == '"5"'


def test_teaching_can_be_undone(taught):
    _, _, client = taught
    before = scores(client, [3, 5, 13], "3")
    first = client.post("/classes/3/examples", json={"row": 3}).json()["id"]
    second = client.post("/classes/3/examples", json={"row": 5, "right": False}).json()["id"]
    both = scores(client, [3, 5, 13], "3")
    assert both[0] > before[0]
    assert client.delete("/classes/3/examples", params={"id": first}).status_code == 204
    assert "no example" in refusal(client.delete("/classes/3/examples", params={"id": first}), 404)
    assert [one["id"] for one in client.get("/classes/3/examples").json()["examples"]] == [second]
    again = client.post("/classes/3/examples", json={"row": 5}).json()  # the mark is changed: a row counts once
    assert (client.get("/classes/3/examples").json()["right"], again["right"]) == (1, True)
    assert client.delete("/classes/3/examples").status_code == 204
    assert client.delete("/classes/3/examples").status_code == 204  # nothing is left, and nothing is wrong with that
    assert scores(client, [3, 5, 13], "3") == before


def test_ranking_for_a_class_uses_its_examples(taught):
    _, data, client = taught
    asked = {"attributes": SEVEN, "top": 1000, "class": "own"}
    client.put("/classes/own", json={"attributes": SEVEN})
    before = [row["row"] for row in client.post("/rank", json=asked).json()["rows"]]
    ones = [row for row in before if data.y[row] == 1]
    client.post("/classes/own/examples", json={"row": ones[0], "right": True})
    client.post("/classes/own/examples", json={"row": before[0], "right": False})
    after = [row["row"] for row in client.post("/rank", json=asked).json()["rows"]]
    assert after.index(ones[0]) < before.index(ones[0])
    answer = client.post("/predict", json={"data_rows": [ones[0]], "explain": True, "against": "1", "top": 1}).json()
    assert answer["predictions"][0]["class"] in ("own", "1", "7")


def test_any_kind_of_class_takes_examples(taught):
    _, _, client = taught
    whole, parts = (unicodedata.normalize(form, "Bécasse") for form in ("NFC", "NFD"))
    client.put(f"/classes/{whole}", json={"attributes": SEVEN})
    for name, found in (("0", "0"), ("3", "3"), (parts, whole)):
        assert client.post(f"/classes/{name}/examples", json={"row": 0}).json()["name"] == found
    twice = {"data_rows": [0], "candidates": [whole, parts, "1"]}
    assert "names a class twice" in refusal(client.post("/predict", json=twice), 422)
    asked = {"data_rows": [0], "candidates": [parts, "0"], "explain": True, "against": parts}
    assert client.post("/predict", json=asked).json()["predictions"][0]["explanation"]["against"] == whole
    assert client.get("/rows", params={"class": parts}).json()["total"] == 0
    seen = {"if-match": client.get(f"/classes/{whole}/examples").headers["etag"]}
    assert client.delete(f"/classes/{parts}").status_code == 204
    assert client.put(f"/classes/{whole}", json={"attributes": SEVEN}).status_code == 201
    assert client.get(f"/classes/{whole}/examples").json()["examples"] == []  # they went with the class
    assert client.post(f"/classes/{whole}/examples", json={"row": 0}, headers=seen).status_code == 412


def test_second_teacher_of_a_class_gets_a_conflict(taught):
    _, _, client = taught
    seen = {"if-match": client.get("/classes/3/examples").headers["etag"]}
    assert client.post("/classes/5/examples", json={"row": 0}, headers=seen).status_code == 201
    made = client.post("/classes/3/examples", json={"row": 0}, headers=seen)  # another class is no matter
    for late in (
        client.post("/classes/3/examples", json={"row": 1}, headers=seen),
        client.delete("/classes/3/examples", headers=seen),
    ):
        assert "were changed in version 2" in refusal(late, 412)
    assert client.delete("/classes/3/examples", headers={"if-match": made.headers["etag"]}).status_code == 204


def test_bad_examples_are_refused(taught, fresh):
    _, _, client = taught
    for body, status, words in [
        ({}, 422, "either row"),
        ({"row": 0, "features": [1.0]}, 422, "either row"),
        ({"row": 99999}, 422, "no row 99999"),
        ({"features": [1.0]}, 422, "takes 64 features"),
        ({"features": [1e39] * 64}, 422, "finite number"),
        ({"row": 0, "right": "yes"}, 422, "right"),
        ({"row": 0, "weight": 3}, 422, "not a field"),
    ]:
        assert words in refusal(client.post("/classes/3/examples", json=body), status)
    assert "no class" in refusal(client.post("/classes/thing/examples", json={"row": 0}), 404)
    assert "takes no photos" in refusal(
        client.post("/classes/3/examples", content=b"x", headers={"content-type": "image/png"}), 409
    )
    assert "another name" in refusal(client.post("/classes", json={"name": "a/examples", "attributes": SEVEN}), 422)
    assert "PUT is not possible" in refusal(client.put("/classes/a/examples", json={"attributes": SEVEN}), 405)
    assert client.get("/classes").json()["version"] == 0
    said = refusal(fresh[2].post("/classes/ant/examples", json={"features": [0.0] * 6}), 409)
    assert "class-means" in said
    assert not fresh[2].get("/model").json()["teaches"]


def test_number_of_examples_is_limited(model_and_data):
    client = services.client(Service(model_and_data[0], "m", Limits(examples=2)))
    row = {"features": [1.0] * 64}
    made = [client.post("/classes/3/examples", json=row).status_code for _ in range(2)]
    assert made == [201, 201]
    assert "take some back" in refusal(client.post("/classes/3/examples", json=row), 409)


def test_committee_of_numbered_classes_learns(model_and_data):
    data = model_and_data[1]
    X, y = data.samples("trainval")
    members = [("means", ClassMeansClassifier()), ("others", ClassMeansClassifier(kernel="linear"))]
    model = Committee(members, random_state=0).fit(X, y, data.signatures)
    client = services.client(services.with_data(model, data))
    rows = np.flatnonzero(data.y == 3)[:2].tolist()
    for row in rows:
        assert client.post("/classes/3/examples", json={"row": row}).status_code == 201
    expected = model.add_examples(data.X[rows], [3, 3]).compatibility(data.X[:4], candidates=[3])[:, 0]
    assert_close(scores(client, [0, 1, 2, 3], "3"), expected, SUMS.single)


def test_taught_rows_are_the_photos_of_a_class(taught):
    _, data, client = taught
    client.put("/classes/own", json={"attributes": SEVEN})
    rows = np.flatnonzero(data.y == 7)[:2].tolist()
    for row, right in zip(rows, (True, False), strict=True):
        client.post("/classes/own/examples", json={"row": row, "right": right})
    listed = {one["name"]: one["picture"] for one in client.get("/classes").json()["classes"]}
    assert listed["own"] == rows[0]
    fits = client.post("/fits", json={"attributes": SEVEN, "top": 20}).json()["classes"]
    assert next(one for one in fits if one["class"] == "own")["rows"][0]["row"] == rows[0]
    found = client.get("/classes/own/examples?features=true").json()["examples"]
    assert found[0]["features"] == pytest.approx(data.X[rows[0]].tolist())
    assert "features" not in client.get("/classes/own/examples").json()["examples"][0]
