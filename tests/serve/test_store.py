"""The database of added classes and of teaching: other files are left alone, and no acknowledged change is lost."""

import json
import os
import shutil
import sqlite3
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import services
from command import zskl
from services import Worker, not_started, refusal, strings
from zskl import ClassMeansClassifier
from zskl.experiments import run_folder
from zskl.serve import store
from zskl.serve.classes import ClassRegistry
from zskl.serve.limits import Limits, Refusal
from zskl.serve.service import Service
from zskl.serve.store import ClassStore

LINE = '{"key": "new", "deleted": false, "attributes": {"size": 1.0}}\n'
ROW = {"features": [1.0, 0.0, 2.0, 0.5, 0.0, 1.0]}
OTHER = {"features": [0.0, 1.0, 2.0, 0.5, 1.0, 1.0], "right": False}
MANY = np.array([[float(k % 3), float(k % 5), 1.0, float(k % 2), 0.5, float(k % 7)] for k in range(12)], np.float32)


@pytest.fixture(scope="module")
def model():
    X, y, table = services.toy()
    return ClassMeansClassifier().fit(X, y, table)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "classes.db"


@pytest.fixture
def pair(path, model):
    """Two workers with one database."""
    one, other = Worker(model, path), Worker(model, path)
    yield one, other
    one.store.close()
    other.store.close()


def answers(worker):
    """All that a worker knows."""
    client = worker.client
    return [
        client.get("/classes").json(),
        *(client.get(f"/classes/{name}/examples").json() for name in ("ant", "emu", "own")),
        client.post("/predict", json={"rows": MANY.tolist(), "top": 9}).json(),
    ]


def after_restart(path, model):
    """All that a service says which is started with what a crash now would leave."""
    folder = path.parent / "crashed"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for one in path.parent.glob(f"{path.name}*"):
        shutil.copy(one, folder)
    worker = Worker(model, folder / path.name)
    try:
        return answers(worker)
    finally:
        worker.store.close()


# Other files, and those of earlier versions


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (LINE.replace("size", "colour"), "does not fit this model: the model has no attribute 'colour'"),
        (LINE.replace("new", "ant"), "is now a class of the model"),
        (LINE.replace("new", "a\\nb"), "does not fit this model"),
        (LINE.replace("1.0", "NaN"), "does not fit this model"),
        (LINE.replace("1.0", '"1"'), "is not a file of classes"),
        (LINE.replace("1.0", "true"), "is not a file of classes"),
        (LINE.replace('"deleted"', '"gone"'), "is not a file of classes"),
        (LINE.replace('"new"', "7"), "is not a file of classes"),
        ("5\n", "is not a file of classes"),
        ("[]\n", "is not a file of classes"),
        ("notes of mine, without an end", "is not a file of classes"),
        ("notes of mine\nwith two lines", "is not a file of classes"),
        (LINE + "rubbish\n" + LINE, "is not a file of classes"),
        (LINE + "rubbish", "is not a file of classes"),
        ("\x93 binary \0", "is not a file of classes"),
    ],
)
def test_foreign_file_is_refused_and_unchanged(tmp_path, content, sentence):
    old = tmp_path / "classes.jsonl"
    old.write_text(content)
    with pytest.raises(ValueError, match=sentence), ClassStore(old) as kept:
        Service(strings()[0], "m", Limits(), kept)
    assert old.read_text() == content


def test_model_file_is_not_used_as_class_file(toy_file):
    before = toy_file.read_bytes()
    assert "is not a file of classes" in not_started(toy_file, "--classes", toy_file)
    assert toy_file.read_bytes() == before


@pytest.mark.parametrize("made", ["by another program", "by a later version", "not at all"])
def test_foreign_database_is_refused_and_unchanged(path, made):
    if made == "not at all":
        path.write_text("notes of mine, which are no database, and longer than the head of one" * 20)
    else:
        with ClassStore(path) if made == "by a later version" else sqlite3.connect(path) as _:
            pass
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE mine (x)" if made == "by another program" else "PRAGMA user_version = 99")
        other.close()
    before = path.read_bytes()
    with pytest.raises((ValueError, OSError), match="name another"):
        ClassStore(path)
    assert path.read_bytes() == before


def test_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        ClassStore(tmp_path / "file" / "classes.db")
    (tmp_path / "classes.db").mkdir()
    with pytest.raises(OSError, match=r"cannot keep classes in .*name another file by --classes"):
        ClassStore(tmp_path / "classes.db")


@pytest.mark.parametrize(
    ("given", "found"),
    [("m.zskl.classes.jsonl", "m.zskl.classes.db"), ("mine.db", "mine.db"), ("mine", "mine.db"), ("a.b", "a.b.db")],
)
def test_database_lies_beside_the_old_file(tmp_path, given, found):
    with ClassStore(tmp_path / given) as kept:
        assert kept.path == (tmp_path / found).resolve()


def old_lines(path):
    """A file of classes as versions 0.1 (without versions) and 0.2 wrote it."""
    features = store._encode_stored_numbers(np.array(ROW["features"], np.float32))
    mark = {"key": " example", "class": "ant", "right": True, "row": 7, "data": "f", "features": features}
    lines = [
        *({"key": name, "deleted": False, "attributes": {"size": 1.0}} for name in ("a", "b", "a")),
        {"key": "b", "deleted": True, "attributes": {}},
        {**mark, "id": "x", "version": 5},
        {**mark, "id": "y", "right": False, "version": 6},  # the same row once more
        {**mark, "id": "z", "row": None, "version": 7},
        {"key": " forgotten", "ids": ["z"], "version": 8},
        {"key": " forgotten", "ids": [], "versions": {"emu": 3}, "version": 8},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_old_file_is_taken_over_once_and_stays(tmp_path, model):
    old = tmp_path / "classes.jsonl"
    old_lines(old)
    content = old.read_bytes()
    for again in range(2):
        with ClassStore(old) as kept:
            service = Service(model, "m", Limits(), kept)
            assert service.snapshot.version == 8 + again
            assert {name: one.version for name, one in service.snapshot.added.items() if name != "new"} == {"a": 3}
            assert [(one.id, one.right, one.row) for one in service.snapshot.taught.examples] == [("y", False, 7)]
            assert service.snapshot.taught.versions | {"new": 9} == {"a": 1, "ant": 8, "emu": 3, "new": 9}
            with pytest.raises(Refusal, match="was changed in version 3"):
                service.classes.put("a", {"size": 2.0}, True, since=2)
            service.classes.put("new", {"size": 1.0}, True)
        assert old.read_bytes() == content
    (tmp_path / "classes.db").unlink()
    old.write_text("no class file any more")
    with pytest.raises(ValueError, match="is not a file of classes"):
        ClassStore(old)
    assert not (tmp_path / "classes.db").exists()


def test_old_file_in_use_is_not_taken_over(tmp_path):
    old = tmp_path / "classes.jsonl"
    with (
        run_folder.open_log(tmp_path, old.name),
        pytest.raises(OSError, match="another service keeps its classes"),
    ):
        ClassStore(old)


def test_torn_last_line_is_not_taken_over(tmp_path, model):
    whole = b'{"key": "a", "deleted": false, "attributes": {"size": 0.1}}\n'
    line = '{"key": "é", "deleted": false, "attributes": {"size": 0.25, "fur": -1e-05}}\n'.encode()
    for cut in (0, 1, 5, 9, 10, 12, 40, len(line) - 2, len(line) - 1, len(line)):
        old = tmp_path / f"{cut}.jsonl"
        old.write_bytes(whole + line[:cut])
        with ClassStore(old) as kept:
            found = {name: one.attributes for name, one in Service(model, "m", Limits(), kept).snapshot.added.items()}
        assert found.pop("a") == {"size": 0.1}
        assert found == ({"é": {"size": 0.25, "fur": -1e-05}} if cut >= len(line) - 1 else {})


def test_exported_lines_hold_everything(path, pair, model, tmp_path):
    one, other = pair
    one.put("own")
    one.put("odd", 3.0)
    for name in ("own", "ant", "ant"):
        one.client.post(f"/classes/{name}/examples", json=ROW)
    one.service.teaching.adapt(MANY, "all", force=True)
    one.client.delete("/classes/odd")
    lines = other.client.get("/export")
    assert lines.headers["content-type"] == "application/jsonl"
    (tmp_path / "saved.jsonl").write_bytes(lines.content)
    again = Worker(model, tmp_path / "saved.jsonl")
    assert answers(again) == answers(one)
    match = {"if-match": one.client.get("/classes/own").headers["etag"]}
    assert again.client.put("/classes/own", json={"attributes": {"size": 3.0}}, headers=match).status_code == 200
    again.store.close()


def test_command_exports_while_the_service_runs(pair, path, tmp_path):
    pair[0].put("own")
    model, out = path.with_name("m.zskl"), tmp_path / "lines.jsonl"
    zskl("serve", "--classes", str(path), "--export-classes", str(out))
    assert [line["key"] for line in run_folder.read_log(out)] == ["own", " forgotten"]
    shutil.copy(out, tmp_path / "m.zskl.classes.jsonl")
    zskl("serve", str(model), "--export-classes", str(tmp_path / "again.jsonl"))
    assert (tmp_path / "again.jsonl").read_bytes() == out.read_bytes()
    assert "there are no classes to export" in not_started(
        tmp_path / "none.zskl", "--export-classes", tmp_path / "no.jsonl"
    )
    assert "without a model or --classes" in not_started("--export-classes", tmp_path / "no.jsonl")


# Restarts and teaching


def teaching_answers(client):
    """All that was taught, and what follows from it."""
    names = ("ant", "emu", "own")
    return [client.get(f"/classes/{name}/examples").json().get("examples") for name in names], [
        [one["score"] for one in row["top"]]
        for row in client.post("/predict", json={"rows": MANY.tolist(), "top": 9}).json()["predictions"]
    ]


def test_teaching_survives_a_restart(path, model):
    with ClassStore(path) as kept:
        service = Service(model, "m", Limits(), kept)
        client = services.client(service)
        client.put("/classes/own", json={"attributes": {"size": 1.0}})
        for name in ("ant", "own", "own", "emu"):
            client.post(f"/classes/{name}/examples", json=ROW)
        gone = client.post("/classes/emu/examples", json={**ROW, "right": False}).json()["id"]
        client.delete("/classes/emu/examples", params={"id": gone})
        verdict = service.teaching.adapt(MANY, "all", force=True)
        assert (verdict["adapted"], verdict["clear"], verdict["classes"]) == (True, None, 3)
        before = teaching_answers(client)
        assert [len(examples) for examples in before[0]] == [1, 1, 2]
        sure = service.snapshot.taught.adaptation.verdict
    for _ in range(2):
        with ClassStore(path) as kept:
            service = Service(model, "m", Limits(), kept)
            assert teaching_answers(services.client(service)) == before
            assert service.snapshot.taught.adaptation.verdict == sure
    with ClassStore(path) as kept:
        client = services.client(Service(model, "m", Limits(), kept))
        assert client.delete("/classes/own").status_code == 204
        assert client.delete("/adapt").status_code == 204
    with ClassStore(path) as kept:
        service = Service(model, "m", Limits(), kept)
        assert {one.label for one in service.snapshot.taught.examples} == {"ant", "emu"}
        assert service.snapshot.taught.adaptation is None
        assert kept.path.stat().st_size < 200_000


def test_class_that_is_added_again_is_not_adapted(path, model):
    """What unlabelled rows said was about the class that was deleted."""
    with ClassStore(path) as kept:
        service = Service(model, "m", Limits(), kept)
        service.classes.put("own", {"size": 1.0}, True)
        service.teaching.adapt(MANY, "all", force=True)
        assert "own" in service.snapshot.taught.adaptation.kept[0].classes
        adapted = service.snapshot.panel(None).scores(MANY)
        version = service.classes.delete("own").version
        assert "own" not in service.snapshot.taught.adaptation.kept[0].classes
        service.classes.undo(version)
        np.testing.assert_array_equal(service.snapshot.panel(None).scores(MANY), adapted)
        service.classes.delete("own")
        service.classes.put("own", {"size": 1.0}, True)
        assert "own" not in service.snapshot.taught.adaptation.kept[0].classes


def test_teaching_of_another_model_is_refused(path, model):
    with ClassStore(path) as kept:
        services.client(Service(model, "m", Limits(), kept)).post("/classes/emu/examples", json=ROW)
        lines = "".join(json.dumps(line) + "\n" for line in kept.lines())
    X, y, table = services.toy(width=5)
    narrow = ClassMeansClassifier().fit(X, y, table)
    for k, (other, changed, words) in enumerate(
        [
            (strings()[0], lines, "cannot learn from examples"),
            (narrow, lines, "examples with 6 features: the model takes 5"),
            (model, lines.replace('"class": "emu"', '"class": "roc"'), "examples of 'roc', which is not a class"),
            (model, lines.replace('"right": true', '"right": 1'), "is not a file of classes"),
            (model, lines.replace('"features": "', '"features": "!'), "is not a file of classes"),
            (model, lines.replace('"id": ', '"ids": '), "is not a file of classes"),
        ]
    ):
        old = path.with_name(f"{k}.jsonl")
        old.write_text(changed)
        with pytest.raises(ValueError, match=words), ClassStore(old) as kept:
            Service(other, "m", Limits(), kept)
        assert old.read_text() == changed


# Undoing


def test_deletions_are_undone_with_their_examples(fresh, model):
    client = services.client_of(model)
    client.put("/classes/own", json={"attributes": {"size": 1.0}})
    for marked in (ROW, OTHER):
        client.post("/classes/own/examples", json=marked)
    known = client.get("/classes/own").json(), client.get("/classes/own/examples").json()
    deleted = int(client.delete("/classes/own").headers["etag"].strip('"'))
    answer = client.post("/undo", json={"version": deleted})
    assert answer.json() == {"name": "own", "version": deleted + 1}
    found = client.get("/classes/own").json(), client.get("/classes/own/examples").json()
    assert [{**one, "version": 0} for one in found] == [{**one, "version": 0} for one in known]
    client.post("/undo", json={"version": deleted + 1})  # and again
    refusal(client.get("/classes/own"), 404)
    assert "no change of a class" in refusal(client.post("/undo", json={"version": 99}), 404)


def test_descriptions_and_examples_are_undone(model):
    client = services.client_of(model)
    first = client.put("/classes/own", json={"attributes": {"size": 1.0}}).json()["version"]
    second = client.put("/classes/own", json={"attributes": {"size": 2.0}}).json()["version"]
    assert f"changed again in version {second}" in refusal(client.post("/undo", json={"version": first}), 409)
    client.post("/undo", json={"version": second})
    assert client.get("/classes/own").json()["attributes"]["size"] == 1.0
    for marked in (ROW, OTHER):
        client.post("/classes/emu/examples", json=marked)
    before = client.get("/classes/emu/examples").json()["examples"]
    gone = client.delete("/classes/emu/examples").headers["etag"].strip('"')
    assert client.get("/classes/emu/examples").json()["examples"] == []
    client.post("/undo", json={"version": int(gone)})
    assert client.get("/classes/emu/examples").json()["examples"] == before
    new = client.post("/classes/emu/examples", json=ROW).json()["version"]
    client.post("/undo", json={"version": new})
    assert client.get("/classes/emu/examples").json()["examples"] == before


def test_replaced_mark_comes_back_and_old_changes_are_dropped(monkeypatch):
    monkeypatch.setattr(store, "KEPT_CHANGES", 3)
    _, data = services.digits()
    means = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    client = services.client(services.with_data(means, data))
    client.post("/classes/3/examples", json={"row": 5})
    version = client.post("/classes/3/examples", json={"row": 5, "right": False}).json()["version"]
    client.post("/undo", json={"version": version})
    assert [one["right"] for one in client.get("/classes/3/examples").json()["examples"]] == [True]
    for name in ("4", "5", "6"):
        client.post(f"/classes/{name}/examples", json={"row": 9})
    assert "too long ago" in refusal(client.post("/undo", json={"version": version}), 404)


# Full disks


class Failing:
    """A connection to the database that fails where a test wants it to."""

    def __init__(self, connection, statement, error):
        self.connection, self.statement, self.error = connection, statement, error

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def execute(self, statement, *values):
        if statement.startswith(self.statement):
            raise self.error
        return self.connection.execute(statement, *values)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_full_disk_changes_nothing(path, model):
    """Nothing more can be written to files: the system says so, at some place within SQLite."""
    worker = Worker(model, path)
    client = worker.client
    client.put("/classes/first", json={"attributes": {"size": 1.0}})
    made = client.post("/classes/emu/examples", json=ROW).json()["id"]
    before, known = answers(worker), after_restart(path, model)
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    wal = path.with_name(f"{path.name}-wal").stat().st_size
    for room in (0, 3000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (wal + room, limits[1]))
        try:
            refused = [
                client.post("/classes", json={"name": "second", "attributes": {"size": 1.0}}),
                client.put("/classes/first", json={"attributes": {"size": 2.0}}),
                client.delete("/classes/first"),
                client.post("/classes/emu/examples", json=ROW),
                client.delete("/classes/emu/examples", params={"id": made}),
                client.delete("/classes/emu/examples"),
            ]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        for one in refused:
            assert "nothing was changed" in refusal(one, 507)
            assert str(path.parent) not in one.text
    assert answers(worker) == before
    assert after_restart(path, model) == known == before
    assert client.delete("/classes/emu/examples").status_code == 204  # room again
    assert after_restart(path, model) == answers(worker)
    worker.store.close()


def test_service_on_a_full_disk_is_not_ready(path, model, monkeypatch):
    worker = Worker(model, path)
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=store.LEAST_ROOM - 1))
        assert "make room" in refusal(worker.client.get("/ready"), 503)
    assert worker.client.get("/ready").status_code == 200
    worker.store.close()


@pytest.mark.parametrize("statement", ["COMMIT", "INSERT INTO changes", "BEGIN"])
def test_failing_statement_changes_nothing(path, model, monkeypatch, statement):
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_IOERR_FSYNC, "SQLITE_IOERR_FSYNC"
    worker = Worker(model, path)
    worker.put("own")
    before = answers(worker)
    with monkeypatch.context() as patch:
        patch.setattr(worker.store, "_connection", Failing(worker.store._connection, statement, error))
        assert "make room" in refusal(worker.client.put("/classes/new", json={"attributes": {"size": 1.0}}), 507)
    assert answers(worker) == before
    assert worker.put("new") == 2
    assert after_restart(path, model)[0] == answers(worker)[0]
    worker.store.close()


# Workers


def test_workers_see_each_others_changes(pair, model, path):
    one, other = pair
    assert one.client.put("/classes/own", json={"attributes": {"size": 1.0}}).json()["version"] == 1
    seen = other.client.get("/classes/own")
    assert (seen.headers["etag"], seen.json()["attributes"]["size"]) == ('"1"', 1.0)
    assert other.client.post("/classes/own/examples", json=ROW).json()["version"] == 2
    gone = one.client.post("/classes/emu/examples", json=ROW).json()["id"]
    assert other.client.delete("/classes/emu/examples", params={"id": gone}).status_code == 204
    one.service.teaching.adapt(MANY, "all", force=True)
    assert answers(other) == answers(one)
    assert answers(one)[0]["version"] == 5
    late = {"if-match": seen.headers["etag"]}
    assert one.client.put("/classes/own", json={"attributes": {"size": 2.0}}, headers=late).status_code == 200
    for worker in (one, other):
        refused = worker.client.put("/classes/own", json={"attributes": {"size": 3.0}}, headers=late)
        assert "was changed in version 6" in refusal(refused, 412)
    assert "already" in refusal(other.client.post("/classes", json={"name": "own", "attributes": {"size": 1.0}}), 409)
    late = Worker(model, path)  # one that starts later
    assert answers(late) == answers(one) == answers(other) == after_restart(path, model)
    late.store.close()


def test_old_version_of_examples_is_refused_for_ever(pair):
    one, other = pair
    one.client.post("/classes/ant/examples", json=ROW)
    first = one.client.get("/classes/ant/examples").headers["etag"]
    one.client.delete("/classes/ant/examples")
    for k in range(20):
        (one, other)[k % 2].put("own", float(k))
    late = other.client.post("/classes/ant/examples", json=ROW, headers={"if-match": first})
    assert "were changed in version 2" in refusal(late, 412)


def test_changes_of_workers_wait_for_each_other(pair):
    """Both change at once, again and again; each change has a version of its own."""
    versions, workers = [], pair

    def change(worker, name):
        versions.extend(worker.put(f"{name} {k}") for k in range(20))

    threads = [threading.Thread(target=change, args=(worker, name)) for worker, name in zip(workers, "ab", strict=True)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(services.LIMIT)
    assert sorted(versions) == list(range(1, 41))
    assert workers[0].known() == workers[1].known()
    assert len(workers[0].known()[1]) == 40


def test_unfinished_change_is_seen_by_nobody(pair, model, path):
    """As of a worker that is killed before it has written all."""
    one, other = pair
    one.put("own")

    def change():
        with one.store.change():
            one.store.write(store.class_line("late", {"size": 9.0}), "late")
            assert "late" not in other.known()[1]
            assert "late" not in str(after_restart(path, model))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        change()
    assert one.known() == other.known() == (1, {"own": (1.0, 1)})
    assert other.put("new", 2.0) == 2


def test_snapshot_is_stale_until_it_is_made(pair, monkeypatch):
    """The database is read before its snapshot is made: meanwhile, requests have to wait."""
    one, other = pair
    one.put("own")
    stale, load = [], ClassRegistry._load

    def noted(classes):
        stale.append(classes.is_stale)
        return load(classes)

    monkeypatch.setattr(ClassRegistry, "_load", noted)
    assert other.known()[0] == 1
    assert stale == [True]
    assert not other.service.classes.is_stale


def test_unreadable_changes_refuse_requests(pair, monkeypatch):
    one, other = pair
    one.put("own")
    error = sqlite3.OperationalError("disk I/O error")
    for connection, statement in (("_connection", "SELECT max"), ("_watch", "PRAGMA")):
        with monkeypatch.context() as patch:
            patch.setattr(other.store, connection, Failing(getattr(other.store, connection), statement, error))
            assert "try again" in refusal(other.client.get("/classes"), 503)  # never stale data
            assert refusal(other.client.get("/classes", headers={"host": "elsewhere"}), 421)
            assert other.client.get("/health").status_code == 200
    assert other.client.get("/classes").json()["version"] == 1


def test_change_that_does_not_fit_the_model_refuses_requests(pair):
    """Somebody writes to the database who has another model."""
    one, other = pair
    with one.store.change():
        one.store.write(store.class_line("odd", {"colour": 1.0}), "odd")
    assert "the log says why" in refusal(other.client.get("/classes"), 503)


# A database that somebody removes, replaces or cuts short


def put(client, name="new"):
    return client.put(f"/classes/{name}", json={"attributes": {"size": 3.0}})


@pytest.fixture
def told(pair, path, model):
    """Two workers that were told a few things."""
    one, other = pair
    assert put(one.client, "own").status_code == 201
    assert other.client.post("/classes/own/examples", json=ROW).status_code == 201
    return one, other


ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows removes and replaces no open file")


@ON_POSIX
@pytest.mark.parametrize("part", ["", "-wal", "-shm"])
@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_moved_database_refuses_changes_until_it_is_back(told, path, model, part, how, caplog):
    before, moved = answers(told[0]), path.with_name(f"{path.name}{part}")
    moved.rename(path.with_name("away"))
    if how == "replaced":
        shutil.copy(path.with_name("away"), moved)
    for worker in told:
        for refused in (
            put(worker.client),
            worker.client.delete("/classes/own"),
            worker.client.post("/classes/own/examples", json=ROW),
            worker.client.get("/ready"),
        ):
            said = refusal(refused, 503)
            assert "nothing was changed: put back what was there" in said
            assert str(path.parent) not in said
        assert answers(worker) == before
        assert worker.client.get("/health").status_code == 200
    assert str(moved) in caplog.text
    path.with_name("away").replace(moved)
    assert [put(worker.client, f"new {k}").json()["version"] for k, worker in enumerate(told)] == [3, 4]
    assert answers(told[0]) == answers(told[1]) == after_restart(path, model)


@ON_POSIX
def test_removed_database_can_be_saved(told, path, model, tmp_path):
    """What a 503 says to do."""
    before = answers(told[0])
    for one in path.parent.glob(f"{path.name}*"):
        one.unlink()
    assert "GET /v1/export" in refusal(put(told[0].client), 503)
    (tmp_path / "saved.jsonl").write_bytes(told[1].client.get("/export").content)
    again = Worker(model, tmp_path / "saved.jsonl")
    assert answers(again) == before
    again.store.close()


@ON_POSIX
def test_truncated_database_refuses_changes(told, path):
    content = path.read_bytes()
    os.truncate(path, len(content) - 1000)
    for worker in told:
        assert "cut short, so nothing was changed" in refusal(put(worker.client), 503)
    path.write_bytes(content)
    assert put(told[0].client).status_code == 201
