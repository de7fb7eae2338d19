"""Several processes that answer at one address: what one acknowledges all know, and none is left behind."""

import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
if not hasattr(os, "fork") or sys.platform == "darwin":
    pytest.skip("this system has no workers", allow_module_level=True)

import served
from answers import refusal
from zskl import ClassMeansClassifier
from zskl.serve import class_file, server, workers

ROW = {"features": [1.0, 0.0, 2.0, 0.5, 0.0, 1.0]}
OWN = {"attributes": {"size": 1.0}}


@pytest.fixture
def service(tmp_path):
    """A service with two workers; `path` is its file of classes, `workers` are the numbers of the processes."""
    X, y, table = served.toy()
    ClassMeansClassifier().fit(X, y, table).save(tmp_path / "toy.zskl")
    with served.running(tmp_path / "toy.zskl", "--workers", 2, patient=True) as running:
        lines = iter(running.process.stdout.readline, "")
        told = next(line for line in lines if line.startswith("worker processes: "))
        running.workers = [int(number) for number in told.split(": ")[1].split(", ")]
        running.path = tmp_path / "toy.zskl.classes.jsonl"
        yield running


@contextmanager
def asleep(process):
    """In this block other processes answer."""
    os.kill(process, signal.SIGSTOP)
    try:
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


def names(client):
    return [one["name"] for one in client.get("/classes").json()["classes"] if one["kind"] == "added"]


def test_workers_share_classes_and_survive_each_other(service):
    """One service for all of it: to start one takes seconds."""
    with ExitStack() as stack:
        clients = [
            stack.enter_context(service.client(limits=httpx.Limits(keepalive_expiry=served.LIMIT))) for _ in range(2)
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
                done.result(served.LIMIT)
            assert sorted(version for version, _ in acknowledged) == list(range(4, 20))
            assert sorted(names(one)) == sorted(names(other)) == sorted(["own", *(name for _, name in acknowledged)])

            later = [pool.submit(add, client, f"u{k}", acknowledged) for k, client in enumerate(clients)]
            os.kill(service.workers[0], signal.SIGKILL)
            for done in later:
                done.result(served.LIMIT)
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
    assert service.process.wait(served.LIMIT) == 0
    with class_file.opened(service.path) as kept:  # nobody else has it any more
        assert kept.classes.keys() >= {*known, "own", "last", "on the way"}


def test_a_worker_is_replaced_though_the_file_is_gone(service):
    """Its folder has another name, so that nobody can write it again before the new worker starts."""
    one, other = service.workers
    folder, away = service.path.parent, service.path.parent.with_name("away")
    with service.client() as client:
        assert client.put("/classes/own", json=OWN).status_code == 201
    folder.rename(away)
    os.kill(one, signal.SIGKILL)
    with asleep(other), service.client() as client:  # so the new one answers
        assert names(client) == ["own"]
        assert "nothing was changed" in refusal(client.put("/classes/new", json=OWN), 503)
        assert names(client) == ["own"]
        away.rename(folder)
        service.path.unlink()
        answer, end = client.put("/classes/new", json=OWN), time.monotonic() + served.LIMIT
        while answer.status_code == 503:  # until it is written again
            assert time.monotonic() < end
            answer = client.put("/classes/new", json=OWN)
        assert answer.json()["version"] == 2
    with service.client() as client:
        assert names(client) == ["own", "new"]
    assert service.end() == 0
    with class_file.opened(service.path) as kept:
        assert kept.classes.keys() == {"own", "new"}


def served_by(work, told=None):
    """Have two processes do a work until it fails, or until the first of them has told what it has to."""
    closed = []
    workers.run(2, work, told or pytest.fail, lambda: None, lambda: closed.append(True))
    assert closed


def test_a_service_that_cannot_start_says_why():
    def work(place, tell, over):
        raise ValueError("there is no model")

    with pytest.raises(ChildProcessError, match=r"^there is no model$"):
        served_by(work)
    with pytest.raises(ChildProcessError, match=r"ended while it started \(killed by SIGKILL\)"):
        served_by(lambda *_: os.kill(os.getpid(), signal.SIGKILL))


def test_workers_that_die_again_and_again_end_the_service(caplog):
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
    assert caplog.text.count("takes its place") == workers.DEATHS
    deaths = workers.Deaths(most=2, seconds=10)
    assert [deaths.too_many(now) for now in (0, 9, 11, 12, 30)] == [False, False, False, True, False]


def test_a_worker_that_cannot_be_replaced_is_waited_for_once(monkeypatch):
    def full(*_):
        raise OSError(11, "Resource temporarily unavailable")

    dead = SimpleNamespace(pid=0, error=None, listen=lambda: None, ended=lambda: "killed by SIGKILL")
    living = SimpleNamespace(ended=lambda: None, listen=lambda: None)
    crew = [dead, living]
    monkeypatch.setattr(workers, "Worker", full)
    with pytest.raises(OSError, match="Resource"):
        workers._replace_dead(crew, workers.Deaths(), full)
    assert crew == [living]


def test_no_worker_outlives_its_parent():
    """A parent that is killed, and workers that hold an end of a pipe."""
    reading, writing = os.pipe()

    def work(place, tell, over):
        os.close(reading)
        tell(["it answers"])
        while not over():
            time.sleep(server.TICK)

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


def test_workers_where_they_cannot_be(monkeypatch):
    with pytest.raises(ValueError, match="--workers is 2 with --device cuda"):
        workers.check(2, "cuda")
    monkeypatch.setattr(workers, "sys", SimpleNamespace(platform="darwin"))
    workers.check(1, None)
    assert "leave out --workers" in served.not_started("--demo", "--workers", 2)
