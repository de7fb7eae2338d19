"""The service under attack: what no client should send, what no disk should do, and kill -9."""

import errno
import io
import json
import os
import random
import re
import threading
import time

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("schemathesis", reason="schemathesis is not installed")

import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import positive_data_acceptance

import malformed
import served
from malformed import GOOD, JSON, NPY
from zskl import methods, records
from zskl.baselines import BASELINES
from zskl.serve import app, classes
from zskl.serve.guard import Guard
from zskl.serve.limits import Limits
from zskl.serve.service import Service

MEMORY = 1000  # megabytes that a service may ever take
BODIES = list(malformed.everything())


# Whatever the description allows, and what it does not ---------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    return served.digits()


def description():
    """Of a service of a small model and its rows."""
    bodies = [malformed.saved(np.ones(shape, np.float32)) for shape in ((1, 6), (6,), (3, 3), (0, 6))]
    for kind in (NPY, "application/octet-stream"):
        schemathesis.openapi.media_type(kind, st.one_of(st.binary(max_size=300), st.sampled_from(bodies)))
    service = served.with_data(*served.small())
    guarded = Guard(app.make(service), None, {"testserver"}, service.limits)
    return schemathesis.openapi.from_asgi("/openapi.json", guarded)


@description().parametrize()
@settings(max_examples=100, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_answers_are_as_described(case):
    """All checks but one: that a request of the described form is accepted. Which attributes, rows and classes there
    are depends on the model, and no description says it."""
    case.call_and_validate(excluded_checks=[positive_data_acceptance])


# Bodies that no request should have ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory, digits):
    path = tmp_path_factory.mktemp("served") / "digits.zskl"
    digits[0].save(path)
    return path


@pytest.fixture(scope="module")
def attacked(file):
    """A service in a process of its own that all bodies go to, one after another."""
    with served.running(file, "--data", "digits") as service, service.client() as client:
        service.asking = client
        service.expected = client.post("/predict", json=GOOD["/predict"]).content
        yield service
        assert service.process.poll() is None


def send(client, path, kind, body):
    method = "PUT" if path.startswith("/classes/") else "POST"
    return client.request(method, path, content=body, headers={"content-type": kind.encode("utf-8")})


def goes_on(service):
    assert service.process.poll() is None
    assert service.asking.get("/health").json()["status"] == "ok"
    assert service.asking.post("/predict", json=GOOD["/predict"]).content == service.expected
    assert service.peak() < MEMORY


def check_sentence(answer, of):
    assert 400 <= answer.status_code < 500, (of, answer.status_code, answer.text[:200])
    assert answer.headers["content-type"] == "application/json", of
    assert list(answer.json()) == ["error"], of
    sentence = answer.json()["error"]
    assert 10 < len(sentence) < 400, (of, sentence)
    assert sentence.isprintable(), (of, sentence)
    assert not re.search(r"Traceback|\.py\b|site-packages|/(tmp|home|usr|etc|root|work)/|0x[0-9a-f]{8}", sentence), (
        sentence
    )


def test_there_are_enough_of_them():
    assert len(BODIES) > 200
    assert {path for _, path, _, _ in BODIES} == set(GOOD)
    assert len({(path, kind, body) for _, path, kind, body in BODIES}) > 0.97 * len(BODIES)


@pytest.mark.parametrize("group", sorted({name.split(",")[0].split()[0] for name, *_ in BODIES}))
def test_every_malformed_body_gets_a_sentence(attacked, group):
    for name, path, kind, body in BODIES:
        if name.split(",")[0].split()[0] == group:
            check_sentence(send(attacked.asking, path, kind, body), (name, path))
    goes_on(attacked)
    assert attacked.asking.get("/classes").json()["version"] == 0


def test_good_bodies_are_taken(attacked):
    """So that the refusals above are about what is wrong with the others."""
    client = attacked.asking
    good = malformed.saved(np.zeros((1, 64), np.float32))
    for kind, body in ((NPY, good), (JSON, json.dumps(GOOD["/predict"]).encode())):
        assert send(client, "/predict", kind, body).status_code == 200
    assert send(client, "/predict", NPY, malformed.npy(malformed.described(), b"\0" * 256)).status_code == 200
    assert send(client, "/predict", NPY, malformed.npy(malformed.described(), b"\0" * 256, (2, 0))).status_code == 200
    assert client.post("/rank", json=GOOD["/rank"]).status_code == 200
    twice = b'{"top": 9, "top": 2, "rows": ' + json.dumps(GOOD["/predict"]["rows"]).encode() + b"}"
    assert len(send(client, "/predict", JSON, twice).json()["predictions"][0]["top"]) == 2  # the last one counts


def test_large_json_takes_little_memory(attacked):
    million = 1_000_000
    for body in (
        b'{"rows": [[' + b"0," * (20 * million) + b"0]]}",
        b'{"rows": [[' + b"0," * (4 * million) + b"0]]}",
        b'{"rows": [' + b"[]," * (4 * million) + b"[]]}",
        b'{"rows": [[' + b'"",' * (4 * million) + b"0]]}",
        b'{"rows": [' + b'"",' * 20_000 + b"0]}",
        b'{"data_rows": [' + b"null," * (4 * million) + b"0]}",
        b'{"x": ' + b'"' + b"\\u0001" * (4 * million) + b'"}',
        b"{" + b",".join(b'"%d": 0' % k for k in range(24_000)) + b"}",
        b'{"rows": [' + b",".join([json.dumps([0] * 64).encode()] * 80_000) + b"]}",
        b'{"data_rows": [' + b"0," * 100_000 + b"0]}",
    ):
        began = time.monotonic()
        check_sentence(send(attacked.asking, "/predict", JSON, body), body[:50])
        assert time.monotonic() - began < 20
    goes_on(attacked)


# Large batches -------------------------------------------------------------------------------------------------------


def test_ten_thousand_rows_as_json(attacked, digits):
    model, data = digits
    X = np.tile(data.X, (6, 1))[:10_000]
    answer = send(attacked.asking, "/predict", JSON, json.dumps({"rows": X.tolist(), "top": 1}).encode())
    assert answer.status_code == 200, answer.text[:200]
    assert [row["class"] for row in answer.json()["predictions"]] == [str(one) for one in model.predict(X)]
    goes_on(attacked)


def test_ten_thousand_rows_of_many_features(tmp_path):
    draw = np.random.default_rng(0)
    y = np.repeat(served.SEEN, 20)
    table = served.toy()[2]
    seen = draw.standard_normal((60, 2048), np.float32) + np.repeat(np.arange(3), 20)[:, None]
    model = BASELINES["eszsl"].estimator().fit(seen, y, table)
    model.save(tmp_path / "wide.zskl")
    X = draw.standard_normal((10_000, 2048), np.float32)
    file = io.BytesIO()
    np.save(file, X)
    with served.running(tmp_path / "wide.zskl") as service, service.client() as client:
        began = time.monotonic()
        answer = client.post("/predict?top=1", content=file.getvalue(), headers={"content-type": NPY})
        assert answer.status_code == 200
        assert time.monotonic() - began < 30
        assert [row["class"] for row in answer.json()["predictions"]] == model.predict(X).tolist()
        assert service.peak() < MEMORY


# A disk that is full -------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path):
    """A service in this process that keeps its classes, a client of it, and the file."""
    X, y, table = served.toy()
    path = tmp_path / "classes.jsonl"
    with classes.kept_in(path) as file:
        service = Service(served.kernel().fit(X, y, table), "m", Limits(), file)
        yield service, served.client(service), path, file


@pytest.mark.parametrize(
    "how", ["nothing is written", "half of the line is written", "nothing reaches the disk", "nor cut off"]
)
def test_a_full_disk_changes_nothing(kept, monkeypatch, how):
    _, client, path, file = kept
    write, truncate = os.write, os.ftruncate

    def failing_write(handle, line):
        if handle != file._handle:
            return write(handle, line)
        if how == "nothing is written":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, line[: len(line) // 2]) if how != "nothing reaches the disk" else write(handle, line)

    def failing_sync(handle):
        raise OSError(errno.EIO, "Input/output error")

    def failing_cut(handle, length):
        if how == "nor cut off":
            raise OSError(errno.EIO, "Input/output error")
        truncate(handle, length)

    assert client.put("/classes/first", json={"attributes": {"size": 1.0}}).status_code == 201
    before = client.get("/classes").json()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", failing_write)
        patch.setattr(os, "fsync", failing_sync)
        patch.setattr(os, "ftruncate", failing_cut)
        for attempt in (
            client.post("/classes", json={"name": "second", "attributes": {"size": 1.0}}),
            client.put("/classes/first", json={"attributes": {"size": 2.0}}),
            client.delete("/classes/first"),
        ):
            assert attempt.status_code == 507
            assert "nothing was changed" in attempt.json()["error"]
            assert str(path.parent) not in attempt.text
    assert client.get("/classes").json() == before
    assert client.get("/classes/first").json()["attributes"]["size"] == 1.0
    assert (
        client.post("/classes", json={"name": "second", "attributes": {"size": 3.0}}).status_code == 201
    )  # room again
    assert [line["key"] for line in records.read(path)] == ["first", "second"]


def test_a_torn_last_line_is_a_class_that_was_never_acknowledged(tmp_path):
    X, y, table = served.toy()
    model, path = served.kernel().fit(X, y, table), tmp_path / "classes.jsonl"
    whole = b'{"key": "a", "deleted": false, "attributes": {"size": 0.1}}\n'
    line = '{"key": "é", "deleted": false, "attributes": {"size": 0.25, "fur": -1e-05}}\n'.encode()
    for cut in range(len(line) + 1):
        path.write_bytes(whole + line[:cut])
        with classes.kept_in(path) as file:
            service = Service(model, "m", Limits(), file)
            found = {name: one.attributes for name, one in service.book.added.items()}
            assert found.pop("a") == {"size": 0.1}
            assert found == ({"é": {"size": 0.25, "fur": -1e-05}} if cut >= len(line) - 1 else {})
            service.classes.put("b", {"size": 1.0}, False)
        assert [one["key"] for one in records.read(path)][-1] == "b"


# kill -9 -------------------------------------------------------------------------------------------------------------


class Adding(threading.Thread):
    """A client that adds, changes and deletes classes of its own until nobody answers.

    `sure` is what was acknowledged of each class, None where it is deleted; `maybe` the change without an answer."""

    def __init__(self, service, name, seed):
        super().__init__()
        self.service, self.own, self.draw = service, name, random.Random(seed)
        self.sure, self.maybe, self.wrong = {}, {}, []

    def run(self):
        with self.service.client() as client:
            for number in range(10_000):
                name = f"{self.own} {number}"
                if self.sure and self.draw.random() < 0.3:
                    name = self.draw.choice(list(self.sure))
                there = self.sure.get(name) is not None
                gone = there and self.draw.random() < 0.4
                given = (
                    None if gone else {one: self.draw.uniform(-9, 9) for one in self.draw.sample(served.ATTRIBUTES, 3)}
                )
                self.maybe = {name: given}
                try:
                    if gone:
                        answer = client.delete(f"/classes/{name}")
                    else:
                        answer = client.put(f"/classes/{name}", json={"attributes": given})
                except Exception:  # the service is gone
                    return
                if answer.status_code != (204 if gone else 200 if there else 201):
                    self.wrong.append(answer.text)
                    return
                self.sure[name], self.maybe = given, {}


@pytest.mark.parametrize("torn", [False, True], ids=["as it was left", "with a torn line"])
def test_acknowledged_classes_survive_being_killed(tmp_path, torn):
    X, y, table = served.toy()
    path, file = tmp_path / "toy.zskl", tmp_path / "toy.zskl.classes.jsonl"
    served.kernel().fit(X, y, table).save(path)
    sure, acknowledged = {}, 0
    for round_ in range(4):
        with served.running(path) as service:
            with service.client() as client:
                compare(client, sure)
            if round_ == 3:
                break
            clients = [Adding(service, f"r{round_} t{k}", seed=10 * round_ + k) for k in range(4)]
            for one in clients:
                one.start()
            time.sleep(random.Random(100 * torn + round_).uniform(0.2, 0.8))
            end = time.monotonic() + 20
            while sum(len(one.sure) for one in clients) < 12 and time.monotonic() < end:
                time.sleep(0.01)  # on a slow machine
            service.process.kill()
            service.process.wait(30)
            for one in clients:
                one.join(30)
                assert not one.wrong
                assert not one.is_alive()
                acknowledged += len(one.sure)
                sure |= {name: [given] for name, given in one.sure.items()}
                for name, given in one.maybe.items():
                    sure[name] = [*sure.get(name, [None]), given]
            if torn:
                with file.open("ab") as kept:
                    kept.write(b'{"key": "torn", "deleted": false, "attr')
    assert acknowledged > 30


def compare(client, sure):
    """Every class is there as it was last acknowledged, or as an unanswered change would have it; no other is there.
    What was found is from now on what must be there."""
    listed = {one["name"] for one in client.get("/classes").json()["classes"] if one["kind"] == "added"}
    assert listed <= set(sure)
    for name, states in sure.items():
        found = None
        if name in listed:
            details = client.get(f"/classes/{name}").json()
            found = {one: value for one, value in details["attributes"].items() if one not in details["defaulted"]}
        assert found in states, (name, found, states)
        sure[name] = [found]


# Classes that change while requests run ------------------------------------------------------------------------------


def test_a_request_sees_the_classes_of_one_moment(tmp_path):
    """With every version an answer must be what a service of just these classes says."""
    X, y, table = served.toy()
    path = tmp_path / "toy.zskl"
    model = served.calibrated(served.kernel().fit(X, y, table))
    model.save(path)
    body = {"rows": X[:20].tolist(), "top": 1000}
    states = [
        {"changing": {"size": 1.0, "legs": -1.0}},
        {"changing": {"size": -1.0, "fur": 2.0}},
        {"changing": {"size": -1.0, "fur": 2.0}, "coming": {"wings": 3.0}},
        {"changing": {"size": 1.0, "legs": -1.0}, "coming": {"wings": 3.0}},
    ]  # and the first again
    expected = []
    for state in states:
        client = served.client(Service(methods.load(path), "m", Limits()))
        for name, given in state.items():
            client.put(f"/classes/{name}", json={"attributes": given})
        expected.append(client.post("/predict", json=body).json()["predictions"])
    steps = [("changing", states[1]), ("coming", states[2]), ("changing", states[3]), ("coming", None)]
    wrong, versions, done = [], [], threading.Event()

    def read():
        with service.client() as client:
            last = 0
            for _ in range(2000):
                if done.is_set():
                    return
                answer = client.post("/predict", json=body).json()
                versions.append(answer["version"])
                if answer["version"] < last:
                    wrong.append(("back in time", last, answer["version"]))
                last = answer["version"]
                if last and not same(answer["predictions"], expected[(last - 1) % 4]):
                    wrong.append(("a mixture", last))

    with served.running(path) as service, service.client() as client:
        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        client.put("/classes/changing", json={"attributes": states[0]["changing"]})
        for number in range(160):
            name, state = steps[number % 4]
            if state is None:
                assert client.delete(f"/classes/{name}").status_code == 204
            else:
                assert client.put(f"/classes/{name}", json={"attributes": state[name]}).status_code in (200, 201)
            mine = client.get("/classes").json()
            assert mine["version"] == number + 2
            assert {one["name"] for one in mine["classes"] if one["kind"] == "added"} == set(states[(number + 1) % 4])
        done.set()
        for reader in readers:
            reader.join(60)
    assert not wrong
    assert len(set(versions)) > 20


def same(found, expected):
    """The same classes in the same order with the same scores, but for rounding."""
    return len(found) == len(expected) and all(
        [one["class"] for one in mine["top"]] == [one["class"] for one in theirs["top"]]
        and np.allclose(
            [one["score"] for one in mine["top"]], [one["score"] for one in theirs["top"]], rtol=1e-5, atol=1e-6
        )
        for mine, theirs in zip(found, expected, strict=True)
    )
