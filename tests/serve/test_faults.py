"""The service under attack: what no client should send, what no disk should do, and kill -9."""

import errno
import json
import os
import random
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import httpx
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
from tolerances import SUMS, decided, distance
from zskl import methods
from zskl.experiments import jsonl_log
from zskl.serve import app, class_book
from zskl.serve.guard import Guard
from zskl.serve.limits import Limits
from zskl.serve.service import Service

EXAMPLES = (
    20  # of each request, which find planted faults of queries, names and JSON bodies; for .npy there is more below
)
MEMORY = 1000  # megabytes that a service may ever take
NEAR = SUMS.single  # of the largest score; of sums of 2048 products, too, whose roundings mostly cancel
BODIES = list(malformed.everything())


# Whatever the description allows, and what it does not ---------------------------------------------------------------


def description():
    """Of a service of a small model and its rows."""
    bodies = [malformed.saved(np.ones(shape, np.float32)) for shape in ((1, 6), (6,), (3, 3), (0, 6))]
    for kind in (NPY, "application/octet-stream"):
        schemathesis.openapi.media_type(kind, st.one_of(st.binary(max_size=300), st.sampled_from(bodies)))
    service = served.with_data(*served.small())
    guarded = Guard(app.build(service), None, {"testserver"}, service.limits)
    return schemathesis.openapi.from_asgi("/openapi.json", guarded)


@description().parametrize()
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
def test_answers_are_as_described(case):
    """All checks but one: that a request of the described form is accepted. Which attributes, rows and classes there
    are depends on the model, and no description says it."""
    case.call_and_validate(excluded_checks=[positive_data_acceptance])


# Bodies that no request should have ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "digits.zskl"
    served.digits()[0].save(path)
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
        check_sentence(send(attacked.asking, "/predict", JSON, body), body[:50])
    goes_on(attacked)


# Large batches -------------------------------------------------------------------------------------------------------


def agree(answer, model, X):
    """The first class of each row is the model's, but for rows whose best two are as near as rounding."""
    assert answer.status_code == 200, answer.text[:200]
    clear = decided(model.compatibility(X), NEAR)
    assert clear.mean() > 0.99
    found = np.array([row["class"] for row in answer.json()["predictions"]])
    assert found.shape == clear.shape
    np.testing.assert_array_equal(found[clear], model.predict(X).astype(str)[clear])


def test_ten_thousand_rows_as_json(attacked):
    model, data = served.digits()
    X = np.tile(data.X, (6, 1))[:10_000]
    agree(send(attacked.asking, "/predict", JSON, json.dumps({"rows": X.tolist(), "top": 1}).encode()), model, X)
    goes_on(attacked)


def test_ten_thousand_rows_of_many_features(tmp_path):
    draw = np.random.default_rng(0)
    y = np.repeat(served.SEEN, 20)
    seen = draw.standard_normal((60, 2048), np.float32) + np.repeat(np.arange(3), 20)[:, None]
    model = served.kernel().fit(seen, y, served.toy()[2])
    model.save(tmp_path / "wide.zskl")
    X = draw.standard_normal((10_000, 2048), np.float32)
    with served.running(tmp_path / "wide.zskl") as service, service.client() as client:
        agree(send(client, "/predict?top=1", NPY, malformed.saved(X)), model, X)
        assert service.peak() < MEMORY


# A disk that is full -------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path):
    """A service in this process that keeps its classes, a client of it, and the file."""
    X, y, table = served.toy()
    path = tmp_path / "classes.jsonl"
    with class_book.kept_in(path) as file:
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
    assert [line["key"] for line in jsonl_log.read(path)] == ["first", "second"]


def test_a_torn_last_line_is_a_class_that_was_never_acknowledged(tmp_path):
    X, y, table = served.toy()
    model, path = served.kernel().fit(X, y, table), tmp_path / "classes.jsonl"
    whole = b'{"key": "a", "deleted": false, "attributes": {"size": 0.1}}\n'
    line = '{"key": "é", "deleted": false, "attributes": {"size": 0.25, "fur": -1e-05}}\n'.encode()
    for cut in range(len(line) + 1):
        path.write_bytes(whole + line[:cut])
        with class_book.kept_in(path) as file:
            service = Service(model, "m", Limits(), file)
            found = {name: one.attributes for name, one in service.book.added.items()}
            assert found.pop("a") == {"size": 0.1}
            assert found == ({"é": {"size": 0.25, "fur": -1e-05}} if cut >= len(line) - 1 else {})
            service.classes.put("b", {"size": 1.0}, False)
        assert [one["key"] for one in jsonl_log.read(path)][-1] == "b"


# kill -9 -------------------------------------------------------------------------------------------------------------


class Adding(threading.Thread):
    """A client that adds, changes and deletes classes of its own until nobody answers.

    `sure` is what was acknowledged of each class, None where it is deleted; `maybe` the change without an answer.
    `acknowledged` is released by every answer."""

    def __init__(self, service, name, seed, acknowledged):
        super().__init__()
        self.service, self.own, self.draw, self.acknowledged = service, name, random.Random(seed), acknowledged
        self.sure, self.maybe, self.wrong = {}, {}, []

    def run(self):
        with self.service.client() as client:
            for number in count():
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
                except httpx.TransportError:  # the service is gone
                    return
                if answer.status_code != (204 if gone else 200 if there else 201):
                    self.wrong.append(answer.text)
                    return
                self.sure[name], self.maybe = given, {}
                self.acknowledged.release()


def killed_while_adding(service, number, answers):
    """Four clients change classes until there have been so many answers; then the process is killed at once.
    What must be there, and what may be."""
    acknowledged = threading.Semaphore(0)
    clients = [Adding(service, f"r{number} t{k}", 10 * number + k, acknowledged) for k in range(4)]
    for one in clients:
        one.start()
    try:
        for _ in range(answers):
            assert acknowledged.acquire(timeout=served.LIMIT)
    finally:
        service.process.kill()
    service.process.wait(served.LIMIT)
    sure = {}
    for one in clients:
        one.join(served.LIMIT)
        assert not one.is_alive()
        assert not one.wrong
        sure |= {name: [given] for name, given in one.sure.items()}
        for name, given in one.maybe.items():
            sure[name] = [*sure.get(name, [None]), given]
    return sure


def test_acknowledged_classes_survive_being_killed(tmp_path):
    X, y, table = served.toy()
    path, file = tmp_path / "toy.zskl", tmp_path / "toy.zskl.classes.jsonl"
    model = served.kernel().fit(X, y, table)
    model.save(path)
    with served.running(path) as service:
        sure = killed_while_adding(service, 0, answers=40)
    with file.open("ab") as kept:
        kept.write(b'{"key": "torn", "deleted": false, "attr')
    with served.running(path) as service:
        with service.client() as client:
            compare(client, sure)
        sure |= killed_while_adding(service, 1, answers=7)
    with class_book.kept_in(file) as kept:
        compare(served.client(Service(model, "m", Limits(), kept)), sure)


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

STATES = [
    {"changing": {"size": 1.0, "legs": -1.0}},
    {"changing": {"size": -1.0, "fur": 2.0}},
    {"changing": {"size": -1.0, "fur": 2.0}, "coming": {"wings": 3.0}},
    {"changing": {"size": 1.0, "legs": -1.0}, "coming": {"wings": 3.0}},
]  # and the first again
STEPS = [("changing", STATES[1]), ("coming", STATES[2]), ("changing", STATES[3]), ("coming", None)]


def change(client, number):
    """The step after so many others."""
    name, state = STEPS[number % 4]
    if state is None:
        assert client.delete(f"/classes/{name}").status_code == 204
    else:
        assert client.put(f"/classes/{name}", json={"attributes": state[name]}).status_code in (200, 201)


def toy_model():
    X, y, table = served.toy()
    return served.calibrated(served.kernel().fit(X, y, table)), {"rows": X[:20].tolist(), "top": 1000}


def expected_answers(model, body):
    """What services of just these classes say, one for each state."""
    found = []
    for state in STATES:
        client = served.client(Service(model, "m", Limits()))
        for name, given in state.items():
            client.put(f"/classes/{name}", json={"attributes": given})
        found.append(client.post("/predict", json=body).json()["predictions"])
    return found


@pytest.mark.parametrize("explain", [False, True])
def test_classes_that_change_during_a_request_change_nothing_in_it(explain, monkeypatch):
    """The request is held before the first score is computed, and all steps are taken meanwhile."""
    model, body = toy_model()
    body = {**body, "explain": explain}
    expected = expected_answers(model, body)
    predict = app.answers.predict

    def held(book, *rest):
        monkeypatch.setattr(app.answers, "predict", predict)
        for number in range(3):
            service.classes.put(STEPS[number][0], STEPS[number][1][STEPS[number][0]], True)
        return predict(book, *rest)

    service = Service(model, "m", Limits())
    client = served.client(service)
    client.put("/classes/changing", json={"attributes": STATES[0]["changing"]})
    monkeypatch.setattr(app.answers, "predict", held)
    first, second = (client.post("/predict", json=body).json() for _ in range(2))
    assert (first["version"], second["version"]) == (1, 4)
    assert same(first["predictions"], expected[0])
    assert same(second["predictions"], expected[3])


def test_a_request_sees_the_classes_of_one_moment(tmp_path):
    """With every version an answer must be what a service of just these classes says. Each change waits for one
    answer more than there are readers: one of them asked after the change, so that every version is seen."""
    model, body = toy_model()
    path = tmp_path / "toy.zskl"
    model.save(path)
    expected = expected_answers(methods.load(path), body)
    wrong, versions, done, answered = [], set(), threading.Event(), threading.Semaphore(0)

    def read():
        with service.client() as client:
            last = 0
            while not done.is_set():
                answer = client.post("/predict", json=body).json()
                versions.add(answer["version"])
                if answer["version"] < last:
                    wrong.append(("back in time", last, answer["version"]))
                last = answer["version"]
                if not same(answer["predictions"], expected[(last - 1) % 4]):
                    wrong.append(("a mixture", last))
                answered.release()

    with served.running(path) as service, service.client() as client:
        client.put("/classes/changing", json={"attributes": STATES[0]["changing"]})
        with ThreadPoolExecutor(2) as pool:
            readers = [pool.submit(read) for _ in range(2)]
            try:
                for number in range(24):
                    change(client, number)
                    mine = client.get("/classes").json()
                    assert mine["version"] == number + 2
                    added = {one["name"] for one in mine["classes"] if one["kind"] == "added"}
                    assert added == set(STATES[(number + 1) % 4])
                    while answered.acquire(blocking=False):
                        pass
                    for _ in range(3):
                        assert answered.acquire(timeout=served.LIMIT)
            finally:
                done.set()
            for reader in readers:
                reader.result()
    assert not wrong
    assert versions >= set(range(2, 26))


def same(found, expected):
    """The same classes with the same scores, in an order that is the same but for rounding."""
    mine, theirs = ([{one["class"]: one["score"] for one in row["top"]} for row in rows] for rows in (found, expected))
    if [set(row) for row in mine] != [set(row) for row in theirs]:
        return False
    return distance(*([[row[name] for name in sorted(row)] for row in rows] for rows in (mine, theirs))) < NEAR
