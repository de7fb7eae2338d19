"""The file of classes among workers, and a file that somebody removes, replaces or cuts short while the service runs.

Nothing that was acknowledged is lost, and nothing is acknowledged that would be.
"""

import json
import os
import shutil
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import services
from services import Worker, refusal
from zskl import ClassMeansClassifier
from zskl.experiments import run_folder
from zskl.serve import store
from zskl.serve.classes import ClassRegistry
from zskl.serve.errors import Refusal
from zskl.serve.limits import Limits
from zskl.serve.service import Service

if sys.platform == "win32":
    pytest.skip("Windows has no workers, and removes no open file", allow_module_level=True)


ROW = {"features": [1.0, 0.0, 2.0, 0.5, 0.0, 1.0]}


MANY = np.array([[float(k % 3), float(k % 5), 1.0, float(k % 2), 0.5, float(k % 7)] for k in range(12)], np.float32)


@pytest.fixture(scope="module")
def model():
    X, y, table = services.toy()
    return ClassMeansClassifier().fit(X, y, table)


@pytest.fixture
def pair(tmp_path, model):
    """What keeps the file, and two workers."""
    with store.open_shared_class_file(tmp_path / "classes.jsonl") as kept:
        yield kept, Worker(model, kept), Worker(model, kept)


def worker_answers(worker):
    """All that a worker knows."""
    client = worker.client
    return [
        client.get("/classes").json(),
        *(client.get(f"/classes/{name}/examples").json() for name in ("ant", "emu", "own")),
        client.post("/predict", json={"rows": MANY.tolist(), "top": 9}).json(),
    ]


def test_workers_see_each_others_changes(pair, model):
    kept, one, other = pair
    assert one.client.put("/classes/own", json={"attributes": {"size": 1.0}}).json()["version"] == 1
    seen = other.client.get("/classes/own")
    assert (seen.headers["etag"], seen.json()["attributes"]["size"]) == ('"1"', 1.0)
    assert other.client.post("/classes/own/examples", json=ROW).json()["version"] == 2
    gone = one.client.post("/classes/emu/examples", json=ROW).json()["id"]
    assert other.client.delete("/classes/emu/examples", params={"id": gone}).status_code == 204
    one.service.teaching.adapt(MANY, "all", force=True)
    assert worker_answers(other) == worker_answers(one)
    assert worker_answers(one)[0]["version"] == 5
    late = {"if-match": seen.headers["etag"]}
    assert one.client.put("/classes/own", json={"attributes": {"size": 2.0}}, headers=late).status_code == 200
    for worker in (one, other):
        refused = worker.client.put("/classes/own", json={"attributes": {"size": 3.0}}, headers=late)
        assert "was changed in version 6" in refusal(refused, 412)
    assert "already" in refusal(other.client.post("/classes", json={"name": "own", "attributes": {"size": 1.0}}), 409)
    assert worker_answers(Worker(model, kept)) == worker_answers(one) == worker_answers(other)  # one that starts later


def test_compaction_keeps_versions(pair, tmp_path):
    kept, one, other = pair
    one.client.post("/classes/ant/examples", json=ROW)
    first = one.client.get("/classes/ant/examples").headers["etag"]
    one.client.delete("/classes/ant/examples")
    with pytest.raises(OSError, match="another service keeps its classes"), store.open_class_file(kept.path):
        pass
    for k in range(20):
        (one, other)[k % 2].put("own", float(k))
    before, inode = worker_answers(one), os.stat(kept.path).st_ino
    kept.maintain()
    assert len(run_folder.read_log(kept.path)) == 2
    assert os.stat(kept.path).st_ino != inode
    with pytest.raises(OSError, match="another service keeps its classes"), store.open_class_file(kept.path):
        pass
    assert other.client.put("/classes/new", json={"attributes": {"fur": 1.0}}).json()["version"] == 23
    assert worker_answers(one) == worker_answers(other) != before
    assert one.client.put("/classes/new", json={"attributes": {"fur": 2.0}}).json()["version"] == 24
    assert worker_answers(one) == worker_answers(other)
    late = other.client.post("/classes/ant/examples", json=ROW, headers={"if-match": first})
    assert "were changed in version 2" in refusal(late, 412)
    kept.maintain()  # nobody asked for it
    assert len(run_folder.read_log(kept.path)) == 4
    (tmp_path / "foreign").write_text("a file of somebody else\n")
    os.replace(tmp_path / "foreign", kept.path)
    kept.shared.numbers.needs_compaction = True
    kept.maintain()
    assert kept.path.read_text() == "a file of somebody else\n"


LINE = b'{"key": "late", "deleted": false, "attributes": {"size": 9.0}, "version": 2}\n'


def test_versions_continue_after_a_restart(tmp_path, model):
    path = tmp_path / "classes.jsonl"
    lines = [{"key": name, "deleted": False, "attributes": {"size": 1.0}} for name in ("a", "b", "a")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))  # as version 0.1 wrote them
    with store.open_class_file(path) as kept:
        service = Service(model, "m", Limits(), kept)
        assert {name: one.version for name, one in service.snapshot.added.items()} == {"a": 3, "b": 2}
        service.classes.delete("b")
        kept._lines = 1000
        kept.compact()
    with store.open_class_file(path) as kept:
        service = Service(model, "m", Limits(), kept)
        assert (service.snapshot.version, service.snapshot.added["a"].version) == (4, 3)
        with pytest.raises(Refusal, match="was changed in version 3"):
            service.classes.put("a", {"size": 2.0}, True, since=2)


@pytest.mark.parametrize("shortened", [False, True])
def test_unacknowledged_line_of_a_killed_worker_is_dropped(pair, shortened):
    kept, one, other = pair
    one.put("own")
    for version, left in enumerate([LINE, LINE[:-1], LINE[:30]], start=2):
        with kept.path.open("ab") as file:
            file.write(left)
        assert "late" not in other.known()[1]
        if shortened:
            kept.shared.numbers.needs_compaction = True
            kept.maintain()
        assert (one, other)[version % 2].put("new", version) == version
        assert {line["key"] for line in run_folder.read_log(kept.path)} == {"own", "new"}
        assert one.known() == other.known() == (version, {"own": (1.0, 1), "new": (version, version)})


def test_worker_killed_after_flush_blocks_nobody(pair):
    kept, one, other = pair
    one.put("own")
    other.put("new")
    kept.shared.numbers.version = 1  # as if it had been killed before it could say so
    assert other.service.classes.is_stale
    assert other.known() == one.known() == (2, {"own": (1.0, 1), "new": (1.0, 2)})
    assert not other.service.classes.is_stale


def test_full_disk_in_one_worker_changes_none(pair, monkeypatch):
    kept, one, other = pair
    one.put("own")
    before = one.known()

    def failing(*_):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        patch.setattr(os, "ftruncate", failing)  # the whole line stays there
        with pytest.raises(Refusal, match="nothing was changed"):
            one.put("new")
    assert len(run_folder.read_log(kept.path)) == 2
    assert one.known() == other.known() == before
    assert other.put("own", 2.0) == 2
    assert one.known() == other.known() == (2, {"own": (2.0, 2)})


def test_changes_need_the_owner_of_the_file(pair):
    """It was killed while it replaced the file."""
    kept, one, _ = pair
    kept.shared.numbers.inode = 0
    with pytest.raises(Refusal, match="nothing was changed"):
        one.put("own")
    assert one.known() == (0, {})


def test_snapshot_is_stale_until_it_is_made(pair, monkeypatch):
    """The file is read before its snapshot is made: meanwhile, requests have to wait."""
    _, one, other = pair
    one.put("own")
    stale, load = [], ClassRegistry._load

    def noted(classes, *arguments):
        stale.append(classes.is_stale)
        return load(classes, *arguments)

    monkeypatch.setattr(ClassRegistry, "_load", noted)
    assert other.known()[0] == 1
    assert stale == [True]
    assert not other.service.classes.is_stale


def test_unreadable_changes_refuse_requests(pair, monkeypatch):
    _, one, other = pair
    one.put("own")
    client = other.client

    def failing(*_):
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", failing)
        assert "try again" in refusal(client.get("/classes"), 503)
        assert refusal(client.get("/classes", headers={"host": "elsewhere"}), 421)
    assert client.get("/classes").json()["version"] == 1


FOREIGN = "a file of somebody else\n"


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
                return answers_about(alone(model, Path(again), later).clients[0])

        found.path, found.after_restart = path, after_restart
        found.maintain_long = lambda: [found.maintain() for _ in range(store.RETRY_AFTER + 1)]
        yield found


def answers_about(client):
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
def test_removed_file_is_rewritten(service, moved, caplog):
    one, other = service.clients
    before, content = answers_about(one), service.path.read_bytes()
    service.path.chmod(0o600)
    if moved:
        service.path.rename(service.path.with_name("moved"))
    else:
        service.path.unlink()
    assert answers_about(one) == answers_about(other) == before
    service.maintain()
    assert answers_about(one) == answers_about(other) == before
    assert "somebody has removed" in caplog.text
    assert service.path.stat().st_mode & 0o777 == 0o600
    kept_out(service.path)
    assert put(other).json()["version"] == 4
    assert put(one).json()["version"] == 5
    known = answers_about(one)
    assert answers_about(other) == known != before
    if moved:
        assert service.path.with_name("moved").read_bytes() == content
    assert [one.name for one in service.path.parent.iterdir() if one.name.startswith(".")] == []
    assert service.after_restart() == known  # with their versions


@pytest.mark.parametrize("times", [1, 2])
def test_removed_file_loses_no_acknowledged_change(service, times):
    for k, client in enumerate(service.clients[:times]):
        answers_about(client)  # so it has read the file
        service.path.unlink()
        answer = put(client, f"new {k}")
        if answer.status_code != 201:  # a worker: the process that keeps the file has not looked yet
            assert "was removed, so nothing was changed" in refusal(answer, 503)
            assert client.get(f"/classes/new {k}").status_code == 404
            service.maintain()
            answer = put(client, f"new {k}")
        assert answer.json()["version"] == 4 + k
    known = answers_about(service.clients[0])
    assert service.after_restart() == known


def test_unwritable_file_refuses_changes_but_not_reads(service, monkeypatch, caplog):
    before = answers_about(service.clients[0])
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
            assert answers_about(client) == before
            assert "nothing was changed" in refusal(client.get("/ready"), 503)
            assert client.get("/health").json()["status"] == "ok"
    service.maintain_long()
    assert [client.get("/ready").json() for client in service.clients] == [{"status": "ready"}] * len(service.clients)
    assert answers_about(service.clients[1]) == before
    assert put(service.clients[1]).json()["version"] == 4


def test_foreign_file_in_its_place_is_left_alone(service, caplog):
    before = answers_about(service.clients[0])
    service.path.rename(service.path.with_name("moved"))
    service.path.write_text(FOREIGN)
    for client in service.clients:
        assert "remove the file that is there now" in refusal(put(client), 503)
        assert answers_about(client) == before
    caplog.clear()
    service.maintain_long()
    assert caplog.text.count("another program has replaced") == 1  # though nobody asks for a change
    assert service.path.read_text() == FOREIGN
    service.path.unlink()
    service.maintain_long()
    assert put(service.clients[0]).json()["version"] == 4
    known = answers_about(service.clients[1])
    assert service.after_restart() == known


def test_file_that_returns_is_used_again(service):
    service.path.rename(service.path.with_name("moved"))
    service.path.write_text(FOREIGN)
    assert put(service.clients[0]).status_code == 503
    service.path.with_name("moved").replace(service.path)
    assert put(service.clients[1]).json()["version"] == 4
    assert len(run_folder.read_log(service.path)) == 4


def test_truncated_file_refuses_changes(service):
    """The next line would stand in a wrong place, where others read half of it."""
    one, other = service.clients
    before, content = answers_about(one), service.path.read_bytes()
    assert answers_about(other) == before
    os.truncate(service.path, 30)
    for client in service.clients:
        assert "put back what it held" in refusal(put(client), 503)
        assert answers_about(client) == before
    service.maintain()
    assert service.path.read_bytes() == content[:30]
    service.path.write_bytes(content)
    assert put(service.clients[0]).json()["version"] == 4
    assert len(run_folder.read_log(service.path)) == 4


def test_worker_starts_after_the_file_was_removed(tmp_path, model):
    with store.open_shared_class_file(tmp_path / "classes.jsonl") as kept:
        one = Worker(model, kept)
        one.put("own")
        kept.path.unlink()
        late = Worker(model, kept)
        assert late.known() == one.known() == (1, {"own": (1.0, 1)})
        kept.maintain()
        assert late.put("new") == 2
        assert one.known() == late.known() == Worker(model, kept).known()


def test_rewritten_file_has_only_acknowledged_changes(tmp_path, model):
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


def test_stale_worker_catches_up_after_the_file_was_removed(tmp_path, model):
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


def test_running_service_rewrites_its_file(tmp_path, toy_file):
    path = tmp_path / "classes.jsonl"
    with services.in_thread(toy_file, classes=path):
        path.unlink()
        end = time.monotonic() + services.LIMIT
        while not path.exists():  # nobody asks for anything
            assert time.monotonic() < end
            time.sleep(0.01)
