"""Two workers and one file of classes, in this process: each follows the other."""

import json
import os
import sys

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
if sys.platform == "win32":
    pytest.skip("Windows has no workers", allow_module_level=True)

import served
from answers import refusal
from sharing import Worker
from zskl import ClassMeansClassifier
from zskl.experiments import jsonl_log
from zskl.serve import class_file, shared_class_file
from zskl.serve.classes import Classes
from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal
from zskl.serve.service import Service

ROW = {"features": [1.0, 0.0, 2.0, 0.5, 0.0, 1.0]}
MANY = np.array([[float(k % 3), float(k % 5), 1.0, float(k % 2), 0.5, float(k % 7)] for k in range(12)], np.float32)


@pytest.fixture(scope="module")
def model():
    X, y, table = served.toy()
    return ClassMeansClassifier().fit(X, y, table)


@pytest.fixture
def pair(tmp_path, model):
    """What keeps the file, and two workers."""
    with shared_class_file.opened(tmp_path / "classes.jsonl") as kept:
        yield kept, Worker(model, kept), Worker(model, kept)


def told(worker):
    """All that a worker knows."""
    client = worker.client
    return [
        client.get("/classes").json(),
        *(client.get(f"/classes/{name}/examples").json() for name in ("ant", "emu", "own")),
        client.post("/predict", json={"rows": MANY.tolist(), "top": 9}).json(),
    ]


def test_each_worker_knows_what_the_other_was_told(pair, model):
    kept, one, other = pair
    assert one.client.put("/classes/own", json={"attributes": {"size": 1.0}}).json()["version"] == 1
    seen = other.client.get("/classes/own")
    assert (seen.headers["etag"], seen.json()["attributes"]["size"]) == ('"1"', 1.0)
    assert other.client.post("/classes/own/examples", json=ROW).json()["version"] == 2
    gone = one.client.post("/classes/emu/examples", json=ROW).json()["id"]
    assert other.client.delete("/classes/emu/examples", params={"id": gone}).status_code == 204
    one.service.teaching.adapt(MANY, "all", force=True)
    assert told(other) == told(one)
    assert told(one)[0]["version"] == 5
    late = {"if-match": seen.headers["etag"]}
    assert one.client.put("/classes/own", json={"attributes": {"size": 2.0}}, headers=late).status_code == 200
    for worker in (one, other):
        refused = worker.client.put("/classes/own", json={"attributes": {"size": 3.0}}, headers=late)
        assert "was changed in version 6" in refusal(refused, 412)
    assert "already" in refusal(other.client.post("/classes", json={"name": "own", "attributes": {"size": 1.0}}), 409)
    assert told(Worker(model, kept)) == told(one) == told(other)  # one that starts later


def test_a_shorter_file_is_another_one_with_the_same_versions(pair, tmp_path):
    kept, one, other = pair
    one.client.post("/classes/ant/examples", json=ROW)
    first = one.client.get("/classes/ant/examples").headers["etag"]
    one.client.delete("/classes/ant/examples")
    with pytest.raises(OSError, match="another service keeps its classes"), class_file.opened(kept.path):
        pass
    for k in range(20):
        (one, other)[k % 2].put("own", float(k))
    before, inode = told(one), os.stat(kept.path).st_ino
    kept.tend()
    assert len(jsonl_log.read(kept.path)) == 2
    assert os.stat(kept.path).st_ino != inode
    with pytest.raises(OSError, match="another service keeps its classes"), class_file.opened(kept.path):
        pass
    assert other.client.put("/classes/new", json={"attributes": {"fur": 1.0}}).json()["version"] == 23
    assert told(one) == told(other) != before
    assert one.client.put("/classes/new", json={"attributes": {"fur": 2.0}}).json()["version"] == 24
    assert told(one) == told(other)
    late = other.client.post("/classes/ant/examples", json=ROW, headers={"if-match": first})
    assert "were changed in version 2" in refusal(late, 412)
    kept.tend()  # nobody asked for it
    assert len(jsonl_log.read(kept.path)) == 4
    (tmp_path / "foreign").write_text("a file of somebody else\n")
    os.replace(tmp_path / "foreign", kept.path)
    kept.marks.wasteful = True
    kept.tend()
    assert kept.path.read_text() == "a file of somebody else\n"


def test_versions_go_on_after_a_restart_and_count_old_lines(tmp_path, model):
    path = tmp_path / "classes.jsonl"
    lines = [{"key": name, "deleted": False, "attributes": {"size": 1.0}} for name in ("a", "b", "a")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))  # as version 0.1 wrote them
    with class_file.opened(path) as kept:
        service = Service(model, "m", Limits(), kept)
        assert {name: one.version for name, one in service.book.added.items()} == {"a": 3, "b": 2}
        service.classes.delete("b")
        kept._lines = 1000
        kept.shorten()
    with class_file.opened(path) as kept:
        service = Service(model, "m", Limits(), kept)
        assert (service.book.version, service.book.added["a"].version) == (4, 3)
        with pytest.raises(Refusal, match="was changed in version 3"):
            service.classes.put("a", {"size": 2.0}, True, since=2)


LINE = b'{"key": "late", "deleted": false, "attributes": {"size": 9.0}, "version": 2}\n'


@pytest.mark.parametrize("shortened", [False, True])
def test_what_a_killed_worker_did_not_acknowledge_is_cut_off(pair, shortened):
    kept, one, other = pair
    one.put("own")
    for version, left in enumerate([LINE, LINE[:-1], LINE[:30]], start=2):
        with kept.path.open("ab") as file:
            file.write(left)
        assert "late" not in other.known()[1]
        if shortened:
            kept.marks.wasteful = True
            kept.tend()
        assert (one, other)[version % 2].put("new", version) == version
        assert {line["key"] for line in jsonl_log.read(kept.path)} == {"own", "new"}
        assert one.known() == other.known() == (version, {"own": (1.0, 1), "new": (version, version)})


def test_a_worker_killed_after_its_line_was_flushed_holds_nobody_up(pair):
    kept, one, other = pair
    one.put("own")
    other.put("new")
    kept.marks.version = 1  # as if it had been killed before it could say so
    assert other.service.classes.stale
    assert other.known() == one.known() == (2, {"own": (1.0, 1), "new": (1.0, 2)})
    assert not other.service.classes.stale


def test_a_full_disk_in_one_worker_changes_nothing_in_any(pair, monkeypatch):
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
    assert len(jsonl_log.read(kept.path)) == 2
    assert one.known() == other.known() == before
    assert other.put("own", 2.0) == 2
    assert one.known() == other.known() == (2, {"own": (2.0, 2)})


def test_without_the_process_that_keeps_the_file_nothing_changes(pair):
    """It was killed while it replaced the file."""
    kept, one, _ = pair
    kept.marks.inode = 0
    with pytest.raises(Refusal, match="nothing was changed"):
        one.put("own")
    assert one.known() == (0, {})


def test_a_book_that_is_not_made_yet_is_not_the_newest(pair, monkeypatch):
    """The file is read before its book is made: meanwhile, requests have to wait."""
    _, one, other = pair
    one.put("own")
    stale, restored = [], Classes._restored

    def noted(classes, *arguments):
        stale.append(classes.stale)
        return restored(classes, *arguments)

    monkeypatch.setattr(Classes, "_restored", noted)
    assert other.known()[0] == 1
    assert stale == [True]
    assert not other.service.classes.stale


def test_changes_that_cannot_be_read_refuse_requests(pair, monkeypatch):
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
