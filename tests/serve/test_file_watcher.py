"""A file of classes that somebody removes, replaces or cuts short while the service runs: nothing that was acknowledged
is lost, and nothing is acknowledged that would be. One process and several workers do the same."""

import os
import shutil
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
if sys.platform == "win32":
    pytest.skip("on Windows nobody can remove an open file", allow_module_level=True)

import services
from services import Worker, refusal
from zskl import ClassMeansClassifier
from zskl.experiments import run_folder
from zskl.serve import store
from zskl.serve.limits import Limits
from zskl.serve.service import Service

ROW = {"features": [1.0, 0.0, 2.0, 0.5, 0.0, 1.0]}
FOREIGN = "a file of somebody else\n"


@pytest.fixture(scope="module")
def model():
    X, y, table = services.toy()
    return ClassMeansClassifier().fit(X, y, table)


def alone(model, path, stack):
    """A service of one process: its clients, and what it does again and again."""
    service = Service(model, "m", Limits(), stack.enter_context(store.open_class_file(path)))
    return SimpleNamespace(clients=[services.client(service)] * 2, maintain=service.classes.maintain)


def shared(model, path, stack):
    """The same of two workers."""
    kept = stack.enter_context(store.open_shared_class_file(path))
    return SimpleNamespace(clients=[Worker(model, kept).client, Worker(model, kept).client], maintain=kept.maintain)


@pytest.fixture(params=[alone, shared])
def service(request, model, tmp_path):
    """A service that was told a few things. `path` is its file; `after_restart` is all that a service says which reads
    the file as it is now."""
    path = tmp_path / "classes.jsonl"
    with ExitStack() as stack:
        found = request.param(model, path, stack)
        one, other = found.clients
        assert one.put("/classes/own", json={"attributes": {"size": 1.0}}).status_code == 201
        assert other.post("/classes/own/examples", json=ROW).status_code == 201
        assert one.put("/classes/late", json={"attributes": {"fur": 2.0}}).json()["version"] == 3

        def after_restart():
            again = shutil.copy(path, tmp_path / "again.jsonl")
            with ExitStack() as later:
                return told(alone(model, Path(again), later).clients[0])

        found.path, found.after_restart = path, after_restart
        found.maintain_long = lambda: [found.maintain() for _ in range(store.RETRY_AFTER + 1)]
        yield found


def told(client):
    """All that a service says of its classes."""
    asked = ("/classes", "/classes/own", "/classes/late", "/classes/own/examples")
    return [(answer.json(), answer.headers.get("etag")) for answer in map(client.get, asked)]


def put(client, name="new"):
    return client.put(f"/classes/{name}", json={"attributes": {"size": 3.0}})


def kept_out(path):
    """Other services do not get the file."""
    with pytest.raises(OSError, match="another service keeps its classes"), store.open_class_file(path):
        pass


@pytest.mark.parametrize("moved", [False, True])
def test_a_removed_file_is_written_again_whole(service, moved, caplog):
    one, other = service.clients
    before, content = told(one), service.path.read_bytes()
    service.path.chmod(0o600)
    if moved:
        service.path.rename(service.path.with_name("moved"))
    else:
        service.path.unlink()
    assert told(one) == told(other) == before
    service.maintain()
    assert told(one) == told(other) == before
    assert "somebody has removed" in caplog.text
    assert service.path.stat().st_mode & 0o777 == 0o600
    kept_out(service.path)
    assert put(other).json()["version"] == 4
    assert put(one).json()["version"] == 5
    known = told(one)
    assert told(other) == known != before
    if moved:
        assert service.path.with_name("moved").read_bytes() == content
    assert [one.name for one in service.path.parent.iterdir() if one.name.startswith(".")] == []
    assert service.after_restart() == known  # with their versions


@pytest.mark.parametrize("times", [1, 2])
def test_no_change_is_acknowledged_that_a_removed_file_would_lose(service, times):
    for k, client in enumerate(service.clients[:times]):
        told(client)  # so it has read the file
        service.path.unlink()
        answer = put(client, f"new {k}")
        if answer.status_code != 201:  # a worker: the process that keeps the file has not looked yet
            assert "was removed, so nothing was changed" in refusal(answer, 503)
            assert client.get(f"/classes/new {k}").status_code == 404
            service.maintain()
            answer = put(client, f"new {k}")
        assert answer.json()["version"] == 4 + k
    known = told(service.clients[0])
    assert service.after_restart() == known


def test_a_file_that_cannot_be_written_again_refuses_changes_only(service, monkeypatch, caplog):
    before = told(service.clients[0])
    service.path.unlink()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        for _ in range(3):
            service.maintain_long()
        assert caplog.text.count("cannot be written again (No space left on device)") == 1  # not again and again
        for client in service.clients:
            for refused in (put(client), client.delete("/classes/own"), client.post("/classes/own/examples", json=ROW)):
                assert "nothing was changed" in refusal(refused, 503)
                assert str(service.path.parent) not in refused.text
            assert told(client) == before
    service.maintain_long()
    assert told(service.clients[1]) == before
    assert put(service.clients[1]).json()["version"] == 4


def test_a_file_of_somebody_else_in_its_place_stays(service, caplog):
    before = told(service.clients[0])
    service.path.rename(service.path.with_name("moved"))
    service.path.write_text(FOREIGN)
    for client in service.clients:
        assert "remove the file that is there now" in refusal(put(client), 503)
        assert told(client) == before
    caplog.clear()
    service.maintain_long()
    assert caplog.text.count("another program has replaced") == 1  # though nobody asks for a change
    assert service.path.read_text() == FOREIGN
    service.path.unlink()
    service.maintain_long()
    assert put(service.clients[0]).json()["version"] == 4
    known = told(service.clients[1])
    assert service.after_restart() == known


def test_a_file_that_was_away_for_a_while_is_used_on(service):
    service.path.rename(service.path.with_name("moved"))
    service.path.write_text(FOREIGN)
    assert put(service.clients[0]).status_code == 503
    service.path.with_name("moved").replace(service.path)
    assert put(service.clients[1]).json()["version"] == 4
    assert len(run_folder.read_log(service.path)) == 4


def test_a_file_that_was_cut_short_takes_no_change(service):
    """The next line would stand in a wrong place, where others read half of it."""
    one, other = service.clients
    before, content = told(one), service.path.read_bytes()
    assert told(other) == before
    os.truncate(service.path, 30)
    for client in service.clients:
        assert "put back what it held" in refusal(put(client), 503)
        assert told(client) == before
    service.maintain()
    assert service.path.read_bytes() == content[:30]
    service.path.write_bytes(content)
    assert put(service.clients[0]).json()["version"] == 4
    assert len(run_folder.read_log(service.path)) == 4


def test_a_worker_that_starts_without_the_file_knows_all(tmp_path, model):
    with store.open_shared_class_file(tmp_path / "classes.jsonl") as kept:
        one = Worker(model, kept)
        one.put("own")
        kept.path.unlink()
        late = Worker(model, kept)
        assert late.known() == one.known() == (1, {"own": (1.0, 1)})
        kept.maintain()
        assert late.put("new") == 2
        assert one.known() == late.known() == Worker(model, kept).known()


def test_what_nobody_acknowledged_does_not_come_back_with_the_file(tmp_path, model):
    with store.open_shared_class_file(tmp_path / "classes.jsonl") as kept:
        one, other = Worker(model, kept), Worker(model, kept)
        one.put("own")
        with kept.path.open("ab") as file:  # of a worker that was killed
            file.write(b'{"key": "torn", "deleted": false, "attributes": {"size": 9.0}, "version": 2}\n')
        kept.path.unlink()
        kept.maintain()
        assert other.put("new") == 2
        assert one.known() == (2, {"own": (1.0, 1), "new": (1.0, 2)})
        assert {line["key"] for line in run_folder.read_log(kept.path)} == {"own", "new", " forgotten"}


def test_a_worker_that_is_behind_catches_up_without_the_file(tmp_path, model):
    with store.open_shared_class_file(tmp_path / "classes.jsonl") as kept:
        one, other, third = (Worker(model, kept) for _ in range(3))
        one.put("own")
        kept.path.unlink()
        assert other.known() == (1, {"own": (1.0, 1)})
        kept.maintain()
        kept.path.unlink()  # again, before all have seen the new one
        assert "try again" in refusal(third.client.get("/classes"), 503)  # never an old answer
        kept.maintain()
        assert third.known() == other.known() == one.known() == (1, {"own": (1.0, 1)})


def test_a_running_service_looks_after_its_file(tmp_path, toy_file):
    path = tmp_path / "classes.jsonl"
    with services.in_thread(toy_file, classes=path):
        path.unlink()
        end = time.monotonic() + services.LIMIT
        while not path.exists():  # nobody asks for anything
            assert time.monotonic() < end
            time.sleep(0.01)
