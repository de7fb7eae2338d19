"""The service answers what the library answers, keeps classes, and refuses with a sentence."""

import asyncio
import csv
import io
import json
import os
import signal
import socket
import struct
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from urllib.parse import quote

import httpx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import uvicorn

import served
from tolerances import FORMULA, SUMS, assert_close, decided
from zskl import cli, metrics
from zskl.baselines import BASELINES
from zskl.datasets import Dataset
from zskl.serve import app, class_book, connections, openapi, pictures, server
from zskl.serve.guard import Guard
from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal, shown
from zskl.serve.service import Service

NPY = "application/x-npy"


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def sends(client, body, kind, **options):
    return client.post("/predict", content=body, headers={"content-type": kind}, params=options)


def refusal(answer, status):
    """The sentence of a refusal."""
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    assert 10 < len(answer.json()["error"]) < 500
    return answer.json()["error"]


# Predictions are the library's ---------------------------------------------------------------------------------------


def integers():
    model, data = served.digits()
    return model, np.asarray(data.X[::150], np.float32)


@cache
def strings():
    X, y, table = served.toy()
    return served.calibrated(served.kernel().fit(X, y, table)), X


def several_signatures():
    X, y, table = served.toy()
    more = pd.concat([table, table.loc[["dog", "emu"]] + 0.5])
    return served.calibrated(served.kernel().fit(X, y, more)), X


def unnamed_attributes():
    X, y, table = served.toy()
    seen = {name: table.loc[name].to_numpy() for name in table.index}
    return served.calibrated(served.kernel().fit(X, y, seen)), X


def named_columns():
    X, y, table = served.toy()
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(6)])
    return served.calibrated(served.kernel().fit(frame, y, table)), frame


def uncalibrated():
    X, y, table = served.toy()
    return served.kernel().fit(X, y, table), X


def not_explained():
    X, y, table = served.toy()
    return served.calibrated(BASELINES["conse"]().fit(X, y, table), 0.01), X


def bilinear():
    X, y, table = served.toy()
    return served.calibrated(BASELINES["eszsl"]().fit(X, y, table), 0.01), X


def of_kernel(name, **parameters):
    def built():
        X, y, table = served.toy()
        return served.calibrated(served.kernel(name, **parameters).fit(X, y, table)), X

    built.__name__ = name
    return built


CASES = [
    integers, strings, several_signatures, unnamed_attributes, named_columns, uncalibrated, not_explained, bilinear,
    of_kernel("cauchy"), of_kernel("polynomial", degree=3),
]  # fmt: skip


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.__name__)
def case(request):
    """A model, rows as the library takes them, and a client of a service of the model."""
    model, X = request.param()
    return model, X, served.client(Service(model, "model.zskl", Limits()))


def values(X):
    return np.asarray(X, np.float32)


def same(answer, model, X, k, kinds=("seen", "unseen"), candidates=None, calibrated=True):
    """An answer says what `top_k` and `predict_proba` say."""
    assert answer.status_code == 200, answer.text
    every = len(model.candidates_ if candidates is None else candidates)
    labels, scores = model.top_k(X, every, candidates=candidates, calibrated=calibrated, return_scores=True)
    found = answer.json()["predictions"]
    assert len(found) == len(labels)
    told = [[one["score"] for one in row["top"]] for row in found]
    assert_close(told, scores[:, :k], SUMS.single)  # the best scores, best first
    own = [dict(zip(map(str, names), mine, strict=True)) for names, mine in zip(labels, scores, strict=True)]
    assert_close(
        told, [[mine[one["class"]] for one in row["top"]] for row, mine in zip(found, own, strict=True)], SUMS.single
    )
    assert {len({one["class"] for one in row["top"]}) for row in found} == {k}
    assert [row["class"] for row in found] == [row["top"][0]["class"] for row in found]
    assert {one["kind"] for row in found for one in row["top"]} <= set(kinds)
    if model.temperatures_ is None:
        assert {one["probability"] for row in found for one in row["top"]} == {None}
        return
    likely = -np.sort(-model.predict_proba(X, candidates=candidates, calibrated=calibrated), axis=1)[:, :k]
    assert_close([[one["probability"] for one in row["top"]] for row in found], likely, SUMS.single)


def test_predictions_are_those_of_the_model(case):
    model, X, client = case
    c = len(model.candidates_)
    same(client.post("/predict", json={"rows": values(X).tolist()}), model, X, min(5, c))
    same(client.post("/predict", json={"rows": values(X).tolist(), "top": 2, "calibrated": False}), model, X, 2,
         calibrated=False)  # fmt: skip
    same(client.post("/predict", json={"rows": values(X).tolist(), "top": 1000}), model, X, c)
    labels = model.candidates_[[0, -1, 1]]
    wanted = [str(label) for label in labels]
    answer = client.post("/predict", json={"rows": values(X).tolist(), "candidates": wanted, "top": 3})
    same(answer, model, X, 3, candidates=labels)
    answer = client.post("/predict", params={"candidates": wanted, "top": 3}, json={"rows": values(X).tolist()})
    same(answer, model, X, 3, candidates=labels)


def test_a_constant_of_the_caller_takes_the_place_of_the_models(case):
    model, X, client = case
    answer = client.post("/predict", json={"rows": values(X).tolist(), "calibration": 0.7}).json()
    assert answer["calibration"] == 0.7
    seen = np.isin(model.candidates_, model.classes_)
    expected = (model.compatibility(X) - 0.7 * seen).max(axis=1)
    assert_close([row["top"][0]["score"] for row in answer["predictions"]], expected, SUMS.single)
    alone = client.post(
        "/predict", json={"rows": values(X).tolist(), "calibration": 0.7, "candidates": list(map(str, model.classes_))}
    ).json()
    assert alone["calibration"] == 0  # among seen classes alone nothing is taken off


def test_explanations_are_those_of_the_model(case):
    model, X, client = case
    body = {"rows": values(X).tolist(), "explain": True, "attributes": 2}
    if not client.get("/model").json()["explains"]:
        assert "cannot be explained" in refusal(client.post("/predict", json=body), 422)
        return
    explained(client.post("/predict", json=body), model.explain(X, 2), top=5)
    against = model.candidates_[1]
    named = client.post("/predict", json={**body, "against": str(against), "top": 1})
    explained(named, model.explain(X, 2, against=against), top=1)
    lead = str(model.predict(X)[0])  # against the answer itself, the runner-up is explained, as in the library
    found = client.post("/predict", json={**body, "against": lead}).json()["predictions"][0]
    assert (found["class"], found["explanation"]["against"]) == (lead, lead)
    assert found["explanation"]["class"] == found["top"][1]["class"]


def explained(answer, expected, top, rows=None):
    assert answer.status_code == 200, answer.text
    found = answer.json()["predictions"]
    found = found if rows is None else [found[row] for row in rows]
    for row, one in zip(found, expected, strict=True):
        assert len(row["top"]) == top
        mine = row["explanation"]
        assert (mine["class"], mine["against"]) == (str(one.label), str(one.against))
        size = np.abs(one.contributions).max()  # a difference carries the rounding of what it is a sum of
        assert abs(mine["difference"] - one.difference) <= SUMS.single * size
        assert mine["calibration"] == pytest.approx(one.calibration, rel=FORMULA.single)
        assert [part["attribute"] for part in mine["contributions"]] == [name for name, _ in one.top]
        for part, m in zip(mine["contributions"], one.order, strict=True):
            assert abs(part["contribution"] - one.contributions[m]) <= SUMS.single * size
            assert (part["value"], part["value_against"]) == (one.values[m], one.values_against[m])
        total = sum(part["contribution"] for part in mine["contributions"]) + mine["rest"]
        assert abs(total - mine["difference"]) <= FORMULA.single * size


def test_every_kind_of_body_says_the_same(case):
    _, X, client = case
    expected = client.post("/predict", json={"rows": values(X).tolist(), "top": 3}).json()
    for array in (values(X), np.asfortranarray(values(X)), values(X).astype(np.float64), values(X).astype(">f4")):
        assert sends(client, npy(array), NPY, top=3).json() == expected
    assert sends(client, npy(values(X)), "application/octet-stream", top=3).json() == expected
    one = sends(client, npy(values(X)[0]), NPY, top=3).json()["predictions"]
    assert one == client.post("/predict", json={"rows": values(X)[:1].tolist(), "top": 3}).json()["predictions"]


@pytest.fixture(scope="module")
def plain():
    model, X = strings()
    return model, X, served.client(Service(model, "model.zskl", Limits()))


@pytest.mark.parametrize("kind", ["i1", "u2", "<i8", ">i4", "?", "f2"])
def test_numbers_of_any_type(plain, kind):
    model, _, client = plain
    whole = np.arange(12).reshape(2, 6) % 2
    same(sends(client, npy(whole.astype(kind)), NPY), model, whole.astype(np.float32), 5)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"candidates": ["ant", "ant"]}, "names a class twice"),
        ({"candidates": ["ant", "cat", "dog", "emu", "emu"]}, "names a class twice"),
        ({"candidates": ["elk"]}, "no class is called 'elk'"),
        ({"candidates": []}, "at least 1 item"),
        ({"top": 0}, "greater than or equal to 1"),
        ({"top": True}, "valid integer"),
        ({"calibration": 1e300}, "less than or equal"),
        ({"explain": True, "candidates": ["ant"]}, "at least two candidates"),
        ({"explain": True, "against": "elk"}, "none of the candidates"),
        ({"explain": True, "against": "emu", "candidates": ["ant", "cat"]}, "none of the candidates"),
        ({"attributes": 0}, "greater than or equal to 1"),
        ({"data_rows": [1]}, "either rows"),
        ({"colour": 1}, "colour is no field of this request"),
        ({"candidates": ["catt"]}, "did you mean 'cat'"),
        ({"against": "cat"}, "nothing is to be explained"),
        ({"columns": ["a"]}, "does not know names of its features"),
        ({"rows": [{"a": 1}]}, "a row is a list of numbers"),
        ({"rows": None, "data_rows": None}, "either rows"),
    ],
)
def test_options_that_make_no_sense(plain, options, sentence):
    _, X, client = plain
    assert sentence in refusal(client.post("/predict", json={"rows": X[:1].tolist(), **options}), 422)


def test_a_parameter_that_there_is_not_is_refused(plain):
    _, X, client = plain
    assert "did you mean 'top'" in refusal(client.post("/predict?tops=3", json={"rows": X[:1].tolist()}), 422)


def test_json_columns_are_taken_by_name():
    model, frame = named_columns()
    client = served.client(Service(model, "m", Limits()))
    mixed = frame[frame.columns[::-1]].assign(more=0.0)
    body = {"rows": mixed.to_numpy().tolist(), "columns": list(mixed.columns)}
    same(client.post("/predict", json=body), model, frame, 5)
    for columns, sentence in [
        (["f0", "f0"], "twice"),
        (["F0", *body["columns"][:5]], "lacks the feature 'f0' (did you mean 'F0'?)"),
        (body["columns"][:-1], "columns names 6"),
    ]:
        assert sentence in refusal(client.post("/predict", json={**body, "columns": columns}), 422)


def test_an_attribute_may_be_true(fresh):
    client = fresh[2]
    for name, value in (("truth", True), ("one", 1.0)):
        assert client.post("/classes", json={"name": name, "attributes": {"size": value}}).status_code == 201
    assert client.get("/classes/truth").json()["attributes"] == client.get("/classes/one").json()["attributes"]


def test_a_computation_cannot_keep_the_process_from_ending(monkeypatch):
    started = []

    class Timer:
        def __init__(self, seconds, function, arguments):
            started.append((seconds, function, arguments))

        def start(self):
            started.append(self.daemon)

    monkeypatch.setattr(server.threading, "Timer", Timer)
    running = server._Server(server.uvicorn.Config("none"), lambda: None)
    running.handle_exit(signal.SIGTERM, None)
    assert started == [(server.WAIT + 2, os._exit, [0]), True]


class Turns(asyncio.Semaphore):
    """A semaphore that knows how many are past it, and how many ever were."""

    inside = ever = 0

    def __init__(self, most):
        super().__init__(most)
        self.most = most

    async def __aenter__(self):
        await super().__aenter__()
        self.inside += 1
        self.ever += 1

    async def __aexit__(self, *fault):
        self.inside -= 1
        await super().__aexit__(*fault)


@pytest.mark.parametrize("asked", [{"data_rows": [0] * 3000}, {"data_rows": [0], "explain": True}])
def test_small_requests_for_much_work_take_turns(asked, monkeypatch):
    """Each computation has passed the semaphore, which lets `TURNS` of them in at once."""
    service = served.with_data(*served.digits())
    made, at_once, lock, predict = [], 0, threading.Lock(), app.answers.predict
    outside = []

    def semaphore(most):
        made.append(Turns(most))
        return made[-1]

    def counted(*arguments):
        nonlocal at_once
        with lock:
            at_once += 1
            if at_once > made[0].inside:
                outside.append(at_once)
        try:
            return predict(*arguments)
        finally:
            with lock:
                at_once -= 1

    with monkeypatch.context() as patch:
        patch.setattr(app.asyncio, "Semaphore", semaphore)
        application = app.build(service)
    monkeypatch.setattr(app.answers, "predict", counted)

    async def ask():
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(*(client.post("/predict", json=asked) for _ in range(2 * app.TURNS)))

    assert {answer.status_code for answer in asyncio.run(ask())} == {200}
    assert outside == []
    assert [(one.most, one.ever, one.inside) for one in made] == [(app.TURNS, 2 * app.TURNS, 0)]


def test_options_of_the_body_go_before_those_of_the_address(plain):
    _, X, client = plain
    answer = client.post("/predict", params={"top": 4}, json={"rows": X[:1].tolist(), "top": 2})
    assert len(answer.json()["predictions"][0]["top"]) == 2
    answer = client.post("/predict", params={"top": 4}, json={"rows": X[:1].tolist()})
    assert len(answer.json()["predictions"][0]["top"]) == 4
    assert "top" in refusal(client.post("/predict", params={"top": "x"}, json={"rows": X[:1].tolist()}), 422)


def test_features_without_a_score_are_refused():
    X, y, table = served.toy()
    model = served.kernel("polynomial", degree=6, feature_scaling="none", signature_scaling="none").fit(X, y, table)
    client = served.client(Service(model, "m", Limits()))
    assert "so large" in refusal(client.post("/predict", json={"rows": [[1e15] * 6]}), 422)


# Classes -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def fresh():
    """A model, rows, and a client of a service that a test may change."""
    model, X = strings()
    return model, X, served.client(Service(model, "m", Limits()))


ODD = ["a/b", "/", "a//b/", "é ü 漢字 🦉", "it's \"quoted\"", "100%", "%2F", "%", "a?b#c&d=e", "<b>bold</b>", "x" * 200,
       "...", "a..b", "../../etc/passwd", "C:\\x", "null", "0", "a+b c", "{name}", ";", "openapi.json"]  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A model file that is not written to."""
    path = tmp_path_factory.mktemp("models") / "toy.zskl"
    strings()[0].save(path)
    return path


@pytest.fixture(scope="module")
def over_a_socket(file):
    """A service in a process of its own, where paths are decoded as they will be; `asking` is a client of it."""
    with served.running(file, "--classes", file.with_name("odd.jsonl")) as service, service.client() as client:
        service.asking = client
        yield service


@pytest.mark.parametrize("name", ODD)
def test_classes_of_odd_names(over_a_socket, name):
    client, row = over_a_socket.asking, strings()[1][:1].tolist()
    place = f"/classes/{quote(name, safe='')}"
    made = client.post("/classes", json={"name": name, "attributes": {"size": 1.0}})
    assert made.status_code == 201, made.text
    assert {**made.json(), "version": 1} == {
        "name": name, "kind": "added", "defaulted": ["legs", "wings", "fur"], "version": 1,
    }  # fmt: skip
    assert {"name": name, "kind": "added", "rows": None} in client.get("/classes").json()["classes"]
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
    client = served.client(Service(model, "m", Limits()))
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


def test_added_classes_count_as_unseen(fresh):
    _, X, client = fresh
    client.put("/classes/new", json={"attributes": {"size": 1.0}})
    health, about = client.get("/health").json(), client.get("/model").json()
    assert (health["status"], health["classes"]) == ("ok", 6)
    assert [about[kind] for kind in ("seen", "unseen", "added")] == [3, 2, 1]
    raw = client.post("/predict", json={"rows": X[:1].tolist(), "calibrated": False}).json()["predictions"][0]["top"]
    answer = client.post("/predict", json={"rows": X[:1].tolist()}).json()
    off = {one["class"]: one["score"] for one in answer["predictions"][0]["top"]}
    for one in raw:
        if one["class"] in off:
            lower = answer["calibration"] if one["kind"] == "seen" else 0
            assert off[one["class"]] == pytest.approx(one["score"] - lower, abs=SUMS.single * raw[0]["score"])


# Rows of the loaded data ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    model, data = served.digits()
    return model, data, served.client(served.with_data(model, data))


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


def test_rows_of_the_data_are_predicted_as_such(digits):
    model, data, client = digits
    rows = [5, 1796, 5]
    same(client.post("/predict", json={"data_rows": rows}), model, np.asarray(data.X[rows], np.float32), 5)
    assert "1797 rows" in refusal(client.post("/predict", json={"data_rows": [1797]}), 422)
    refusal(client.post("/predict", json={"data_rows": [-1]}), 422)
    refusal(client.post("/predict", json={"data_rows": []}), 422)


def test_pictures_of_digits_are_what_the_rows_hold(digits):
    _, data, client = digits
    answer = client.get("/rows/17/picture")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    width, height, lines = decoded(answer.content)
    grey = np.frombuffer(lines, np.uint8).reshape(height, width + 1)[:, 1:]
    expected = np.round(255 * (1 - data.X[17].reshape(8, 8) / 16))
    np.testing.assert_array_equal(grey[::8, ::8], expected)
    for row in (1797, -1, 10**30):
        refusal(client.get(f"/rows/{row}/picture"), 404)
    refusal(client.get("/rows/x/picture"), 422)


def decoded(png):
    """Width, height and the unpacked lines of a grey PNG file; its checksums are checked."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + content)
        chunks[kind], at = content, at + 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour) == (8, 0)
    return width, height, zlib.decompress(chunks[b"IDAT"])


def test_pictures_from_files(tmp_path):
    model, data = served.small()
    picture = pictures.png(np.zeros((2, 2), np.uint8))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.png").write_bytes(picture)
    (tmp_path / "b.JPG").write_bytes(b"jpeg")
    (tmp_path / "c.svg").write_text("<svg/>")
    names = [f"some/where/{name}" for name in ["deep/a.png", "b.JPG", "c.svg", *"defghijkl"]]
    by_name = served.client(served.with_data(model, data, tmp_path, names))
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["file", "row"], ["deep/a.png", 0], ["b.JPG", 1]])
    by_table = served.client(served.with_data(model, data, tmp_path))
    for client in (by_name, by_table):
        first, second = client.get("/rows/0/picture"), client.get("/rows/1/picture")
        assert (first.content, first.headers["content-type"]) == (picture, "image/png")
        assert (second.content, second.headers["content-type"]) == (b"jpeg", "image/jpeg")
        assert [row["picture"] for row in client.get("/rows").json()["rows"]] == [True, True] + [False] * 10
        refusal(client.get("/rows/2/picture"), 404)
        assert client.get("/rows", params={"pictures": True}).json()["total"] == 2
    assert by_name.get("/rows").json()["rows"][0]["id"] == "some/where/deep/a.png"
    (tmp_path / "b.JPG").unlink()
    assert "cannot be read any more" in refusal(by_table.get("/rows/1/picture"), 404)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("file,row\na.png,99\n", "below 12"),
        ("file,row\na.png,x\n", "expected a picture"),
        ("file,row\nb.png,1\n", "no picture that a browser shows"),
        ("name\na.png\n", "expected a picture"),
    ],
)
def test_a_table_of_pictures_that_does_not_fit(tmp_path, table, sentence):
    model, data = served.small()
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "rows.csv").write_text(table)
    with pytest.raises(ValueError, match=sentence):
        served.with_data(model, data, tmp_path)


def test_the_balance_is_the_curve_of_the_metrics(digits):
    model, data, client = digits
    rows = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
    scores = model.compatibility(np.asarray(data.X[rows]))
    seen = np.isin(model.candidates_, model.classes_)
    curve = metrics.seen_unseen_curve(np.float32(scores), data.y[rows], model.candidates_, seen)
    found = client.get("/balance").json()
    constants = np.array([point["calibration"] for point in found["points"]])
    assert (np.diff(constants) > 0).all()
    few = curve.thinned(len(constants))
    np.testing.assert_allclose([point["seen"] for point in found["points"]], few.seen, atol=0.01)
    np.testing.assert_allclose([point["unseen"] for point in found["points"]], few.unseen, atol=0.01)
    np.testing.assert_allclose(found["best"]["harmonic"], curve.best()[1], atol=1e-3)
    assert found["current"] == 0.4


def test_the_confusion_is_that_of_predictions(digits):
    model, data, client = digits
    rows = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
    right = metrics.per_class_accuracy(data.y[rows], model.predict(data.X[rows]))
    seen = np.isin(model.candidates_, model.classes_)
    clear = decided(model.compatibility(data.X[rows]) - model.calibration_ * seen, SUMS.single)
    assert clear.mean() > 0.95
    found = client.get("/confusion").json()["classes"]
    assert {one["class"] for one in found} == {str(label) for label in right}
    for one in found:
        undecided = (~clear[data.y[rows] == int(one["class"])]).mean()
        assert one["accuracy"] == pytest.approx(right[int(one["class"])], abs=undecided + 1e-9)
        assert one["rows"] == int((data.y[rows] == int(one["class"])).sum())
        assert one["kind"] == ("seen" if int(one["class"]) in model.classes_ else "unseen")
        shares = [other["share"] for other in one["wrong"]]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) <= 1 - one["accuracy"] + 1e-9


def test_without_data_there_are_no_rows(plain):
    client = plain[2]
    for path in ("/rows", "/rows/0/picture", "/balance", "/confusion"):
        assert "--data" in refusal(client.get(path), 409)
    assert "--data" in refusal(client.post("/rank", json={"attributes": {"size": 1.0}}), 409)
    assert "--data" in refusal(client.post("/predict", json={"data_rows": [0]}), 409)


def test_data_without_unseen_test_rows_have_no_balance():
    model, data = served.small()
    X, y = np.asarray(data.X)[:8], data.y[:8]
    parts = {"trainval": np.arange(6), "test_seen": np.arange(6, 8), "test_unseen": np.arange(0)}
    some = Dataset("some", X, y, data.signatures, parts)
    client = served.client(served.with_data(model, some))
    assert "no curve" in refusal(client.get("/balance"), 409)
    assert client.get("/confusion").status_code == 200


# What the service is -------------------------------------------------------------------------------------------------


def test_the_model_is_described(digits):
    _, data, client = digits
    about = client.get("/model").json()
    assert (about["file"], about["estimator"], about["features"]) == ("digits.zskl", "kernel", 64)
    assert (about["seen"], about["unseen"], about["added"]) == (7, 3, 0)
    assert about["data"]["rows"] == 1797
    assert about["data"]["parts"] == {name: len(rows) for name, rows in data.parts.items()}
    assert about["parameters"]["kernel"] == "gaussian"
    limits = Limits()
    assert about["limits"]["rows"] == limits.rows
    assert about["limits"]["body_bytes"] == limits.body_bytes


def test_the_description_lists_everything(plain):
    found = plain[2].get("/openapi.json").json()
    operations = {(method, path) for path, one in found["paths"].items() for method in one}
    assert operations == {
        ("get", "/health"), ("get", "/model"), ("get", "/classes"), ("post", "/classes"), ("get", "/classes/{name}"),
        ("put", "/classes/{name}"), ("delete", "/classes/{name}"), ("post", "/predict"), ("post", "/rank"),
        ("get", "/rows"), ("get", "/rows/{row}/picture"), ("get", "/balance"), ("get", "/confusion"),
    }  # fmt: skip
    predict = found["paths"]["/predict"]["post"]
    assert set(predict["requestBody"]["content"]) == {"application/json", NPY, "application/octet-stream"}
    assert {"top", "candidates", "calibrated", "calibration", "explain", "against", "attributes"} == {
        one["name"] for one in predict["parameters"]
    }
    assert "ValidationError" not in json.dumps(found)
    known = set(found["components"]["schemas"])
    for reference in set(json.dumps(found).split('"#/components/schemas/')[1:]):
        assert reference.partition('"')[0] in known
    assert openapi.WHY.keys() >= {404, 409, 413, 415, 422}


HEADERS = {"content-security-policy", "x-content-type-options", "referrer-policy", "cross-origin-resource-policy"}


def test_every_answer_says_how_it_may_be_used(plain):
    client = plain[2]
    for answer in (
        client.get("/health"), client.get("/nowhere"), client.post("/health"), client.get("/classes/none"),
        client.get("/health", headers={"host": "evil.example"}), client.post("/predict", content=b"x"),
    ):  # fmt: skip
        assert set(answer.headers) >= HEADERS
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


def test_what_is_not_there(plain):
    client = plain[2]
    assert "/openapi.json" in refusal(client.get("/nowhere"), 404)
    answer = client.delete("/health")
    assert "DELETE" in refusal(answer, 405)
    assert answer.headers["allow"] == "GET, HEAD"
    assert [client.head(path).status_code for path in ("/", "/health")] == [200, 200]
    for path in ("/docs", "/redoc", "/page/..%2f..%2fapp.py", "/page/%2e%2e/app.py", "/page//etc/passwd"):
        assert client.get(path).status_code == 404


def test_a_fault_of_the_service_tells_nothing(fresh, monkeypatch):
    _, X, client = fresh
    monkeypatch.setattr("zskl.serve.predictions.predict", lambda *_: {}["secret"])
    answer = client.post("/predict", json={"rows": X[:1].tolist()})
    assert refusal(answer, 500) == "the service failed on this request; its log says why"
    assert set(answer.headers) >= HEADERS


# Who may ask ---------------------------------------------------------------------------------------------------------


def test_a_token_opens_everything_but_the_page(plain):
    client = served.client(Service(plain[0], "m", Limits()), token="s3cret")
    wrong = ["Bearer wrong", "s3cret", "Basic s3cret", "Bearer s3cretx", "Bearer ", b"Bearer \xff"]
    for header in ({}, *({"authorization": value} for value in wrong)):
        for path in ("/health", "/model", "/classes", "/openapi.json", "/nowhere", "/page"):
            answer = client.get(path, headers=header)
            assert "token" in refusal(answer, 401)
            assert answer.headers["www-authenticate"] == "Bearer"
        refusal(client.post("/predict", headers=header, content=b"{"), 401)
    for header in ("Bearer s3cret", "bearer s3cret", "BEARER  s3cret "):
        assert client.get("/health", headers={"authorization": header}).status_code == 200
    assert client.get("/").status_code != 401
    assert client.get("/page/none.js").status_code == 404
    elsewhere = client.get("/health", headers={"host": "models.example", "authorization": "Bearer s3cret"})
    assert elsewhere.status_code == 200  # the token stands for the name


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "localhost:80:80", "", "127.0.0.2"])
def test_a_name_of_another_machine_is_not_answered(plain, host):
    assert "answers to" in refusal(plain[2].get("/health", headers={"host": host}), 421)


def test_names_of_this_machine_are_answered(plain):
    for host in ("localhost", "LOCALHOST:8000", "localhost:1"):
        assert plain[2].get("/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "http://localhost.evil", "x"])
def test_a_page_of_another_origin_may_not_ask(plain, origin):
    client = plain[2]
    assert "origin" in refusal(client.get("/health", headers={"origin": origin}), 403)
    refusal(client.post("/classes", headers={"origin": origin}, json={"name": "x", "attributes": {"size": 1.0}}), 403)


def test_the_page_of_the_service_may_ask(plain):
    assert plain[2].get("/health", headers={"origin": "http://localhost"}).status_code == 200


@pytest.mark.parametrize(
    ("host", "token", "sentence"),
    [
        ("0.0.0.0", None, "can be reached from other machines"),
        ("::", None, "can be reached"),
        ("192.168.1.2", None, "can be reached"),
        ("example.org", None, "can be reached"),
        ("127.0.0.1", "", "the token is empty"),
        ("127.0.0.1", "two words", "blanks"),
        ("127.0.0.1", "é", "ASCII"),
        ("0.0.0.0", "", "the token is empty"),
    ],
)
def test_addresses_and_tokens_that_are_refused(host, token, sentence):
    with pytest.raises(ValueError, match=sentence):
        server.check(host, token)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost", "LocalHost"])
def test_addresses_of_this_machine_need_no_token(host):
    server.check(host, None)


# Limits --------------------------------------------------------------------------------------------------------------


def tight(**limits):
    model, X = strings()
    service = Service(model, "m", Limits(**limits))
    return X, served.client(service)


def test_a_body_that_is_too_large():
    X, client = tight(body_bytes=2000, small=500)
    assert "2000 bytes" in refusal(sends(client, npy(np.tile(X, (20, 1))), NPY), 413)
    assert "2000 bytes" in refusal(sends(client, (part for part in [b"x" * 1500] * 2), NPY), 413)  # chunked
    large = {"name": "n", "attributes": {"size": 1.0, "x" * 600: 1.0}}
    assert "500 bytes" in refusal(client.post("/classes", json=large), 413)
    assert "500 bytes" in refusal(client.put("/classes/n", json={"attributes": large["attributes"]}), 413)


def test_too_many_rows():
    X, client = tight(rows=10, explained_rows=2, values=30, answers=12, json_values=100)
    assert "expected 1 to 10" in refusal(client.post("/predict", json={"rows": X[:11].tolist()}), 413)
    assert "expected 1 to 10" in refusal(sends(client, npy(X[:11]), NPY), 413)
    assert "more than 30 numbers" in refusal(sends(client, npy(X[:6]), NPY), 413)
    assert "ask for a lower top" in refusal(sends(client, npy(X[:3]), NPY, top=5), 413)
    assert sends(client, npy(X[:3]), NPY, top=4).status_code == 200
    assert "at most 2" in refusal(sends(client, npy(X[:3]), NPY, top=1, explain=True), 413)
    assert "100 values" in refusal(client.post("/predict", json={"rows": [[0] * 200]}), 413)


def test_a_body_of_another_type(plain):
    client = plain[2]
    for kind in (
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "",
        "application",
        "application/vnd.apache.parquet",
    ):
        assert "Content-Type" in refusal(client.post("/predict", content=b"x", headers={"content-type": kind}), 415)
        assert "Content-Type" in refusal(client.post("/classes", content=b"x", headers={"content-type": kind}), 415)
    refusal(client.post("/classes", content=npy(np.zeros(3)), headers={"content-type": NPY}), 415)
    kind = "Application/JSON; charset=utf-8"
    assert (
        client.post("/predict", content=b'{"rows": [[0,0,0,0,0,1]]}', headers={"content-type": kind}).status_code == 200
    )


def test_values_in_a_sentence_are_short():
    assert shown("a" * 10**6) == "'" + "a" * 59 + "…"
    assert shown(0xF << 10**5) == "a number too long to be shown"
    assert len(shown([["x" * 100] * 100] * 100)) <= 61
    assert shown("a\nb") == r"'a\nb'"
    assert Refusal(422, "x").status == 422


# Starting, stopping, starting again ----------------------------------------------------------------------------------


def not_started(*arguments):
    """The sentence of a service that is started in this process, which is quicker."""
    run = CliRunner().invoke(cli.app, ["serve", *map(str, arguments)])
    assert isinstance(run.exception, ValueError | OSError), (run.exception, run.stdout)
    return str(run.exception)


def test_options_that_make_no_sense_together(file, tmp_path, monkeypatch):
    monkeypatch.delenv("ZSKL_TOKEN", raising=False)
    bad = tmp_path / "bad.zskl"
    bad.write_text("no model")
    assert "a model file, or --demo" in not_started()
    assert "not both" in not_started(file, "--demo")
    assert "without --data" in not_started(file, "--images", tmp_path)
    assert "leave out --data" in not_started("--demo", "--data", "digits")
    assert "give a token" in served.refused(file, "--host", "0.0.0.0")
    assert "bad.zskl" in not_started(bad)
    assert "none.zskl" in not_started(tmp_path / "none.zskl")
    assert "64 features" in not_started(file, "--data", "digits")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"port {port}" in not_started(file, "--port", port, "--classes", tmp_path / "c.jsonl")


LINE = '{"key": "new", "deleted": false, "attributes": {"size": 1.0}}\n'


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (LINE.replace("size", "colour"), "does not fit this model: the model has no attribute 'colour'"),
        (LINE.replace("new", "ant"), "is a class of the model by now"),
        (LINE.replace("new", "a\\nb"), "does not fit this model"),
        (LINE.replace("1.0", "NaN"), "does not fit this model"),
        (LINE.replace("1.0", '"1"'), "is no file of classes"),
        (LINE.replace("1.0", "true"), "is no file of classes"),
        (LINE.replace('"deleted"', '"gone"'), "is no file of classes"),
        (LINE.replace('"new"', "7"), "is no file of classes"),
        ("5\n", "is no file of classes"),
        ("[]\n", "is no file of classes"),
        ("notes of mine, without an end", "is no file of classes"),
        ("notes of mine\nwith two lines", "is no file of classes"),
        (LINE + "rubbish\n" + LINE, "is no file of classes"),
        (LINE + "rubbish", "is no file of classes"),
        ("\x93 binary \0", "is no file of classes"),
    ],
)
def test_a_file_of_classes_that_is_none_stays_as_it_is(tmp_path, content, sentence):
    path = tmp_path / "classes.jsonl"
    path.write_text(content)
    model, _ = strings()
    with pytest.raises(ValueError, match=sentence), class_book.kept_in(path) as kept:
        Service(model, "m", Limits(), kept)
    assert path.read_text() == content


def test_a_model_file_as_the_file_of_classes_stays_whole(file):
    before = file.read_bytes()
    assert "is no file of classes" in not_started(file, "--classes", file)
    assert file.read_bytes() == before


def ended_by(number, service, headers=()):
    """Send a signal in the middle of a request: the request is answered, then the process ends by itself."""
    X = strings()[1]
    body = json.dumps({"rows": X.tolist()}).encode()
    lines = [
        "POST /predict HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "Expect: 100-continue",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    with service.connected() as connection:
        connection.sendall("\r\n".join([*lines, "\r\n"]).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100")  # the service waits for the body
        connection.sendall(body[:100])
        service.process.send_signal(number)
        service.wait_until_closed()  # it has the signal
        connection.sendall(body[100:])
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    assert answer.startswith(b"HTTP/1.1 200")
    assert len(json.loads(answer.partition(b"\r\n\r\n")[2])["predictions"]) == len(X)
    assert service.process.wait(served.LIMIT) == 0
    return service.process.stdout.read().splitlines()


def test_classes_are_there_after_a_restart_however_it_was_ended(tmp_path, file):
    """Three services one after another, each ended by another signal; the first has a token."""
    model = tmp_path / file.name
    model.write_bytes(file.read_bytes())
    kept = tmp_path / f"{file.name}.classes.jsonl"
    token = {"authorization": "Bearer t0ken"}
    with served.running(model, patient=True, ZSKL_TOKEN="t0ken") as service, service.client(headers=token) as client:
        assert service.name == "toy.zskl"
        assert "t0ken" not in service.said
        with service.client() as nobody:
            refusal(nobody.get("/health"), 401)
        for name in ODD:
            assert client.post("/classes", json={"name": name, "attributes": {"size": 0.1}}).status_code == 201
        client.put("/classes/100%25", json={"attributes": {"legs": 1 / 3, "fur": -1e-300}})
        client.delete("/classes/null")
        before, about = client.get("/classes").json()["classes"], client.get("/classes/100%25").json()
        assert "another service keeps its classes" in not_started(model, "--port", 0)
        said = ended_by(signal.SIGTERM, service, ["Authorization: Bearer t0ken"])
        assert said[-2:] == [f"added classes are kept in {kept}; there now: 0", "stopped"]
    assert len(kept.read_text().splitlines()) == len(ODD) + 2
    with served.running(model, patient=True) as service, service.client() as client:
        assert client.get("/classes").json() == {"version": 0, "classes": before}
        assert client.get("/classes/100%25").json() == about
        assert ended_by(signal.SIGINT, service)[-1] == "stopped"
    other = tmp_path / "other.jsonl"
    with served.running(model, "--classes", other, patient=True) as service, service.client() as client:
        assert len(client.get("/classes").json()["classes"]) == 5
        said = ended_by(signal.SIGHUP, service)
        assert said[-2:] == [f"added classes are kept in {other}; there now: 0", "stopped"]


@pytest.mark.parametrize("ignored", [True, False])
def test_under_nohup_a_terminal_that_closes_ends_nothing(ignored):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        running = server._Server(uvicorn.Config("none"), lambda: None)
        with running.capture_signals():
            assert (signal.getsignal(signal.SIGHUP) is signal.SIG_IGN) == ignored
            assert (signal.getsignal(signal.SIGHUP) == running.handle_exit) == (not ignored)
        assert signal.getsignal(signal.SIGHUP) is (signal.SIG_IGN if ignored else signal.SIG_DFL)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_file_of_mostly_outdated_lines_is_written_anew(tmp_path):
    model, _ = strings()
    path = tmp_path / "classes.jsonl"
    with class_book.kept_in(path) as kept:
        service = Service(model, "m", Limits(), kept)
        for k in range(20):
            service.classes.put("one", {"size": float(k)}, True)
            service.classes.put(f"gone {k}", {"size": 1.0}, True)
            service.classes.delete(f"gone {k}")
    assert len(path.read_text().splitlines()) == 60
    for _ in range(2):
        with class_book.kept_in(path) as kept:
            assert len(path.read_text().splitlines()) == 1
            assert Service(model, "m", Limits(), kept).book.added["one"].attributes == {"size": 19.0}


class Slow:
    """A client that sends some messages and then nothing."""

    def __init__(self, messages):
        self.messages, self.sent = messages, []

    async def receive(self):
        if not self.messages:
            await asyncio.Event().wait()
        return self.messages.pop(0)

    async def send(self, message):
        self.sent.append(message)


def test_a_slow_body_and_a_client_that_goes_away():
    """Neither is a fault of the service."""
    model, _ = strings()
    limits = Limits(seconds=0.05)
    service = Service(model, "m", limits)

    guarded = Guard(app.build(service), None, {"localhost"}, limits)
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": "/predict",
        "query_string": b"", "raw_path": b"/predict", "root_path": "", "server": ("localhost", 80),
        "client": ("127.0.0.1", 1), "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
    }  # fmt: skip
    for messages, status in (
        ([{"type": "http.request", "body": b"{", "more_body": True}], 408),
        ([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}], 400),
    ):
        slow = Slow(messages)
        asyncio.run(guarded(dict(scope), slow.receive, slow.send))
        assert slow.sent[0]["status"] == status
        if status == 408:
            assert "did not arrive" in json.loads(slow.sent[1]["body"])["error"]


def test_heads_of_requests_are_short(over_a_socket):
    start = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    for endless in (b"GET /" + b"a" * (1 << 16), start + b"x: y\r\n" * 9999, start + b"x: " + b"y" * (1 << 16)):
        cut_off(over_a_socket, endless)
    client = over_a_socket.asking
    assert client.get("/health").status_code == 200
    assert client.get("/health", headers={"x": "y" * 30000}).status_code == 200
    assert over_a_socket.peak() < 1000


def cut_off(service, endless):
    """The service ends a connection rather than read on."""
    with service.connected() as connection:
        connection.sendall(endless)
        with pytest.raises(ConnectionError):
            connection.sendall(b"y" * (100 << 20))


def test_what_stands_between_parts_of_a_body_is_short(over_a_socket):
    lines = [
        "POST /predict HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
    ]
    chunked = "\r\n".join([*lines, "\r\n"]).encode()
    for endless in (b"0\r\nx: " + b"y" * (1 << 16), b"0\r\n" + b"x: y\r\n" * 99_999, b"1;" + b"x" * (1 << 16)):
        cut_off(over_a_socket, chunked + endless)
    with over_a_socket.connected() as connection:
        parts = b"".join(b"1\r\n%c\r\n" % byte for byte in b'{"rows": [[0, 0, 0, 0, 0, 1]]' + b" " * 50_000 + b"}")
        connection.sendall(chunked + parts + b"0\r\nx: y\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
    assert over_a_socket.peak() < 1000


def test_a_head_that_does_not_arrive_ends_the_connection(monkeypatch):
    model, _ = strings()
    service = Service(model, "m", Limits())
    listening = server.bound("127.0.0.1", 0)
    listening.listen()
    guarded = Guard(app.build(service), None, {"localhost"}, service.limits)
    config = uvicorn.Config(
        guarded, http=connections.Connection, ws="none", log_config=None, timeout_keep_alive=served.LIMIT
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, args=([listening],))
    thread.start()

    def connected():
        return socket.create_connection(listening.getsockname(), timeout=served.LIMIT)

    def ended(connection, start):
        """Nothing comes back but the end, also where that comes before all is sent."""
        with suppress(ConnectionError):
            connection.sendall(start)
            assert connection.recv(4096) == b""
        return True

    try:
        with connected() as connection:  # which had a whole request before
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
            monkeypatch.setattr(connections, "SECONDS", 0.05)
            assert ended(connection, b"GET /hea")
        for start in (b"", b"GET /hea"):
            with connected() as connection:
                assert ended(connection, start)
    finally:
        running.should_exit = True
        thread.join(served.LIMIT)
        listening.close()


def test_requests_of_many_threads_at_once(over_a_socket):
    body = {"rows": strings()[1].tolist(), "candidates": served.SEEN}

    def ask(_):
        with over_a_socket.client() as client:
            return [client.post("/predict", json=body).json()["predictions"] for _ in range(5)]

    expected = ask(0)[0]
    with ThreadPoolExecutor(8) as pool:
        assert all(answer == expected for answers in pool.map(ask, range(8)) for answer in answers)
