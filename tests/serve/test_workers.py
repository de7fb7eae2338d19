"""Several processes that answer at one address: what one acknowledges all know, and none is left behind."""

import json
import os
import random
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import count
from types import SimpleNamespace

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import held
import services
from services import refusal
from zskl import ClassMeansClassifier
from zskl.serve import server
from zskl.serve.limits import Limits
from zskl.serve.service import Service
from zskl.serve.store import ClassStore, StoredState

if not hasattr(os, "fork") or sys.platform == "darwin":
    pytest.skip("this system has no workers", allow_module_level=True)

ROW = {"features": [1.0, 0.0, 2.0, 0.5, 0.0, 1.0]}
OWN = {"attributes": {"size": 1.0}}


@pytest.fixture
def service(tmp_path):
    """A service with two workers; `path` is its file of classes, `workers` are the numbers of the processes."""
    X, y, table = services.toy()
    ClassMeansClassifier().fit(X, y, table).save(tmp_path / "toy.zskl")
    with services.running(tmp_path / "toy.zskl", "--workers", 2, patient=True) as running:
        lines = iter(running.process.stdout.readline, "")
        told = next(line for line in lines if line.startswith("worker processes: "))
        running.workers = [int(number) for number in told.split(": ")[1].split(", ")]
        running.path = tmp_path / "toy.zskl.classes.db"
        yield running


@contextmanager
def asleep(process):
    """In this block other processes answer."""
    os.kill(process, signal.SIGSTOP)
    try:
        held.wait_until(lambda: held.stopped(process), "it sleeps")  # until then it may take the next connection
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def add(client, name, acknowledged):
    """Add classes until there are enough, or until nobody answers; note the version of each."""
    for number in range(8):
        try:
            answer = client.post("/classes", json={"name": f"{name} {number}", **OWN})
        except httpx.TransportError:
            return
        assert answer.status_code == 201, answer.text
        acknowledged.append((answer.json()["version"], f"{name} {number}"))


def stored_names(path):
    with ClassStore(path) as kept:
        return set(kept.read(StoredState(-1)).classes)


def names(client):
    return [one["name"] for one in client.get("/classes").json()["classes"] if one["kind"] == "added"]


def test_workers_share_classes_and_survive_crashes(service):
    """One service for all of it: to start one takes seconds."""
    with ExitStack() as stack:
        clients = [
            stack.enter_context(service.client(limits=httpx.Limits(keepalive_expiry=services.LIMIT))) for _ in range(2)
        ]
        for client, sleeper in zip(clients, reversed(service.workers), strict=True):
            with asleep(sleeper):
                assert client.get("/health").status_code == 200  # from now on they are of different workers
        one, other = clients
        assert one.put("/classes/own", json=OWN).json()["version"] == 1
        assert other.post("/classes/own/examples", json=ROW).json()["version"] == 2
        assert one.get("/classes/own/examples").json()["right"] == 1
        with ThreadPoolExecutor(2) as pool:
            match = {"if-match": other.get("/classes/own").headers["etag"]}
            both = pool.map(lambda client: client.put("/classes/own", json=OWN, headers=match).status_code, clients)
            assert sorted(both) == [200, 412]  # of two who change the same version, one is told
            acknowledged = []
            for done in [pool.submit(add, client, f"t{k}", acknowledged) for k, client in enumerate(clients)]:
                done.result(services.LIMIT)
            assert sorted(version for version, _ in acknowledged) == list(range(4, 20))
            assert sorted(names(one)) == sorted(names(other)) == sorted(["own", *(name for _, name in acknowledged)])

            later = [pool.submit(add, client, f"u{k}", acknowledged) for k, client in enumerate(clients)]
            os.kill(service.workers[0], signal.SIGKILL)
            for done in later:
                done.result(services.LIMIT)
        known = {name for _, name in acknowledged}
        assert {f"u1 {number}" for number in range(8)} <= known <= set(names(other))  # the other one went on
        with asleep(service.workers[1]), service.client() as client:  # whoever took the place of the dead one
            assert known <= set(names(client))
            assert client.put("/classes/last", json=OWN).status_code == 201
        versions = [version for version, _ in acknowledged]
        assert len(versions) == len(set(versions))
        assert "last" in names(other)

    body = json.dumps({"name": "on the way", **OWN}).encode()
    head = ["POST /classes HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Expect: 100-continue"]
    with service.connected() as connection:
        connection.sendall("\r\n".join([*head, f"Content-Length: {len(body)}", "\r\n"]).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100")
        service.process.terminate()
        service.wait_until_closed()
        connection.sendall(body)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 201")
    assert service.process.wait(services.LIMIT) == 0
    assert stored_names(service.path) >= {*known, "own", "last", "on the way"}


def test_changes_are_refused_while_the_database_is_missing(service):
    one, other = service.workers
    folder, away = service.path.parent, service.path.parent.with_name("away")
    with service.client() as client:
        assert client.put("/classes/own", json=OWN).status_code == 201
    folder.rename(away)
    for sleeper in (one, other):
        with asleep(sleeper), service.client() as client:
            assert names(client) == ["own"]
            assert "nothing was changed" in refusal(client.put("/classes/new", json=OWN), 503)
    away.rename(folder)
    os.kill(one, signal.SIGKILL)
    with asleep(other), service.client() as client:  # so the new one answers
        assert names(client) == ["own"]
        assert client.put("/classes/new", json=OWN).json()["version"] == 2
    with service.client() as client:
        assert names(client) == ["own", "new"]
    count_and_reload_together(service)
    assert service.end() == 0
    assert stored_names(service.path) == {"own", "new"}


def count_and_reload_together(service):
    """Both workers, and the one that takes the place of another."""
    other, path, (X, y, table) = service.workers[1], service.path.with_name("toy.zskl"), services.toy()
    for sleeping in (True, False):
        with asleep(other) if sleeping else nullcontext(), service.client() as client:
            for _ in range(15):
                assert client.post("/v1/predict", json={"rows": X[:2].tolist()}).status_code == 200
            assert f"zskl_rows_total {30.0 if sleeping else 60.0}" in client.get("/v1/metrics").text
            assert 'zskl_classes{kind="added"} 2.0' in client.get("/v1/metrics").text
    ClassMeansClassifier().fit(X, y, table.rename(index={"bee": "wasp"})).save(path)
    with service.client() as client:
        assert client.post("/v1/reload").json()["status"] == "reloaded"
    for stopped in (signal.SIGSTOP, signal.SIGKILL):
        os.kill(other, stopped)
        with service.client() as client:  # the other one, or a new one that knows what was loaded again
            for _ in range(3):
                known = {one["name"] for one in client.get("/v1/classes").json()["classes"]}
                assert "wasp" in known
                assert "bee" not in known
            assert "zskl_rows_total 60.0" in client.get("/v1/metrics").text


def served_by(work, told=None):
    """Have two processes do a work until it fails, or until the first of them has told what it has to."""
    closed = []
    server.run_workers(2, work, told or pytest.fail, lambda: closed.append(True))
    assert closed


def test_failed_start_is_explained():
    def work(place, tell, over):
        raise ValueError("there is no model")

    with pytest.raises(ChildProcessError, match=r"^there is no model$"):
        served_by(work)
    with pytest.raises(ChildProcessError, match=r"ended while it started \(killed by SIGKILL\)"):
        served_by(lambda *_: os.kill(os.getpid(), signal.SIGKILL))


def test_repeated_crashes_stop_the_service(caplog):
    said, (reading, writing) = [], os.pipe()

    def work(place, tell, over):
        tell(["it answers"])
        os.read(reading, 1)  # until all answer

    def say(line):
        said.append(line)
        os.write(writing, b"." * 10)

    with pytest.raises(ChildProcessError, match="ended 6 times in 60 seconds, the last one by exit code 0"):
        served_by(work, say)
    os.close(reading)
    os.close(writing)
    assert said[0] == "it answers"
    assert caplog.text.count("takes its place") == server.MAX_CRASHES
    crashes = server.CrashCounter(most=2, seconds=10)
    assert [crashes.add(now) for now in (0, 9, 11, 12, 30)] == [False, False, False, True, False]


def test_crashed_worker_is_reaped_once(monkeypatch):
    def full(*_):
        raise OSError(11, "Resource temporarily unavailable")

    dead = SimpleNamespace(pid=0, error=None, read_messages=lambda: None, exit_reason=lambda: "killed by SIGKILL")
    living = SimpleNamespace(exit_reason=lambda: None, read_messages=lambda: None)
    crew = [dead, living]
    monkeypatch.setattr(server, "Worker", full)
    with pytest.raises(OSError, match="Resource"):
        server._replace_crashed_workers(crew, server.CrashCounter(), full)
    assert crew == [living]


def test_workers_stop_with_their_parent():
    """A parent that is killed, and workers that hold an end of a pipe."""
    reading, writing = os.pipe()

    def work(place, tell, over):
        os.close(reading)
        tell(["it answers"])
        while not over():
            time.sleep(server.POLL_SECONDS)

    parent = os.fork()
    if parent == 0:
        try:
            served_by(work, lambda line: os.write(writing, b"!"))
        finally:
            os._exit(1)
    os.close(writing)
    assert os.read(reading, 1) == b"!"  # all answer
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    while os.read(reading, 100):  # until nobody holds the other end
        pass
    os.close(reading)


def test_workers_are_refused_without_safe_fork(monkeypatch):
    with pytest.raises(ValueError, match="--workers is 2 with --device cuda"):
        server.check_workers(2, "cuda")
    monkeypatch.setattr(server, "sys", SimpleNamespace(platform="darwin"))
    server.check_workers(1, None)
    assert "leave out --workers" in services.not_started("--demo", "--workers", 2)


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
                    None
                    if gone
                    else {one: self.draw.uniform(-9, 9) for one in self.draw.sample(services.ATTRIBUTES, 3)}
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


class Marking(threading.Thread):
    """A client that teaches a class of the model, and takes examples back, until nobody answers.

    `sure` are the examples that were acknowledged, id → right, in their order; `maybe` is (id, right) without an
    answer: a new one has no id yet, and what is taken back has no `right`."""

    def __init__(self, service, name, seed, acknowledged):
        super().__init__()
        self.service, self.own, self.draw, self.acknowledged = service, name, random.Random(seed), acknowledged
        self.sure, self.maybe, self.wrong = {}, None, []

    def run(self):
        path = f"/classes/{self.own}/examples"
        with self.service.client() as client:
            while True:
                gone = self.draw.choice(list(self.sure)) if self.sure and self.draw.random() < 0.4 else None
                right = None if gone else self.draw.random() < 0.6
                self.maybe = gone, right
                try:
                    if gone is None:
                        features = [self.draw.uniform(-2, 2) for _ in range(6)]
                        answer = client.post(path, json={"features": features, "right": right})
                    else:
                        answer = client.delete(path, params={"id": gone})
                except httpx.TransportError:  # the service is gone
                    return
                if answer.status_code != (201 if gone is None else 204):
                    self.wrong.append(answer.text)
                    return
                if gone is None:
                    self.sure[answer.json()["id"]] = right
                else:
                    del self.sure[gone]
                self.maybe = None
                self.acknowledged.release()

    def compare(self, client):
        """Every acknowledged example is there, and none that was taken back; one that had no answer may be there.
        What was found is from now on what must be there."""
        found = {one["id"]: one["right"] for one in client.get(f"/classes/{self.own}/examples").json()["examples"]}
        gone, right = self.maybe or (None, None)
        assert len(found) <= len(self.sure) + (right is not None)
        assert set(self.sure) - set(found) <= {gone}
        assert {right} >= set(found.values()) - set(self.sure.values()) or not set(found) - set(self.sure)
        assert all(found[one] == self.sure[one] for one in set(found) & set(self.sure))
        self.sure, self.maybe = found, None


def killed_while_changing(service, answers):
    """Clients change classes and examples until there have been so many answers; then the process is killed at once.
    What must be there, and what may be; and those who taught."""
    acknowledged = threading.Semaphore(0)
    clients = [Adding(service, f"t{k}", k, acknowledged) for k in range(3)]
    teachers = [Marking(service, name, name, acknowledged) for name in ("ant", "emu", "bee")]
    for one in [*clients, *teachers]:
        one.start()
    try:
        for _ in range(answers):
            assert acknowledged.acquire(timeout=services.LIMIT)
    finally:
        service.process.kill()
    service.process.wait(services.LIMIT)
    sure = {}
    for one in clients:
        one.join(services.LIMIT)
        assert not one.is_alive()
        assert not one.wrong
        sure |= {name: [given] for name, given in one.sure.items()}
        for name, given in one.maybe.items():
            sure[name] = [*sure.get(name, [None]), given]
    for one in teachers:
        one.join(services.LIMIT)
        assert not one.is_alive()
        assert not one.wrong
    return sure, teachers


def test_acknowledged_changes_survive_a_kill(tmp_path):
    X, y, table = services.toy()
    path, file = tmp_path / "toy.zskl", tmp_path / "toy.zskl.classes.db"
    model = ClassMeansClassifier().fit(X, y, table)
    model.save(path)
    with services.running(path) as service:
        sure, teachers = killed_while_changing(service, answers=60)
    with file.with_name(f"{file.name}-wal").open("ab") as kept:
        kept.write(b"half of a change")
    for added in ("after", "again"):
        with ClassStore(file) as kept:
            client = services.client(Service(model, "m", Limits(), kept))
            compare(client, sure)
            for one in teachers:
                one.compare(client)
            assert client.put(f"/classes/{added}", json={"attributes": {"legs": 1 / 3}}).status_code == 201
        sure[added] = [{"legs": 1 / 3}]


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
