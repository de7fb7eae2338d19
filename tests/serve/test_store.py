"""The file of added classes: other files are left alone, and no line is lost or half written."""

import errno
import json
import os
import sys
import unicodedata

import numpy as np
import pytest

import services
from services import Worker, not_started, refusal, strings
from zskl import ClassMeansClassifier
from zskl.experiments import run_folder
from zskl.serve import store
from zskl.serve.classes import ClassRegistry
from zskl.serve.errors import Refusal
from zskl.serve.limits import Limits
from zskl.serve.service import Service

# Class file -----------------------------------------------------------------------------------------------------------

pytest.importorskip("fastapi", reason="the extra serve is not installed")

LINE = '{"key": "new", "deleted": false, "attributes": {"size": 1.0}}\n'


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
def test_another_file_is_refused_and_stays_as_it_is(tmp_path, content, sentence):
    path = tmp_path / "classes.jsonl"
    path.write_text(content)
    model, _ = strings()
    with pytest.raises(ValueError, match=sentence), store.open_class_file(path) as kept:
        Service(model, "m", Limits(), kept)
    assert path.read_text() == content


def test_a_model_file_as_the_file_of_classes_stays_whole(toy_file):
    before = toy_file.read_bytes()
    assert "is not a file of classes" in not_started(toy_file, "--classes", toy_file)
    assert toy_file.read_bytes() == before


def denied(*_):
    raise PermissionError(13, "Access is denied")


def test_a_file_of_mostly_outdated_lines_is_written_again(tmp_path, monkeypatch):
    """While a service runs, and when it starts. On Windows, or on a full disk, it stays long."""
    model, _ = strings()
    path = tmp_path / "classes.jsonl"

    def change(service):
        for k in range(20):
            service.classes.put("one", {"size": float(k)}, True)
            service.classes.put(f"gone {k}", {"size": 1.0}, True)
            service.classes.delete(f"gone {k}")

    with store.open_class_file(path) as kept:
        change(Service(model, "m", Limits(), kept))
        assert len(path.read_text().splitlines()) <= 12
        with pytest.raises(OSError, match="another service"), store.open_class_file(path):
            pass
    path.unlink()
    with monkeypatch.context() as windows:  # where an open file cannot be replaced
        windows.setattr(os, "replace", denied)
        with store.open_class_file(path) as kept:
            change(Service(model, "m", Limits(), kept))
        assert len(path.read_text().splitlines()) == 60
        with store.open_class_file(path) as kept:
            assert kept.classes == {"one": {"size": 19.0}}
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    for _ in range(2):
        with store.open_class_file(path) as kept:
            assert len(path.read_text().splitlines()) == 2  # the class, and the versions
            assert kept.version == 60
            assert Service(model, "m", Limits(), kept).snapshot.added["one"].attributes == {"size": 19.0}


@pytest.fixture
def kept(tmp_path):
    """A client of a service in this process that keeps its classes, and the path of their file."""
    X, y, table = services.toy()
    path = tmp_path / "classes.jsonl"
    with store.open_class_file(path) as file:
        service = Service(services.kernel().fit(X, y, table), "m", Limits(), file)
        yield services.client(service), path


@pytest.mark.parametrize(
    "how", ["nothing is written", "half of the line is written", "nothing reaches the disk", "nor cut off"]
)
def test_a_full_disk_changes_nothing(kept, monkeypatch, how):
    client, path = kept
    write, truncate = os.write, os.ftruncate

    def failing_write(handle, line):
        if not os.path.samestat(os.fstat(handle), os.stat(path)):
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
    assert [line["key"] for line in run_folder.read_log(path)] == ["first", "second"]


def test_a_torn_last_line_is_a_class_that_was_never_acknowledged(tmp_path):
    X, y, table = services.toy()
    model, path = services.kernel().fit(X, y, table), tmp_path / "classes.jsonl"
    whole = b'{"key": "a", "deleted": false, "attributes": {"size": 0.1}}\n'
    line = '{"key": "é", "deleted": false, "attributes": {"size": 0.25, "fur": -1e-05}}\n'.encode()
    for cut in range(len(line) + 1):
        path.write_bytes(whole + line[:cut])
        with store.open_class_file(path) as file:
            service = Service(model, "m", Limits(), file)
            found = {name: one.attributes for name, one in service.snapshot.added.items()}
            assert found.pop("a") == {"size": 0.1}
            assert found == ({"é": {"size": 0.25, "fur": -1e-05}} if cut >= len(line) - 1 else {})
            service.classes.put("b", {"size": 1.0}, False)
        assert [one["key"] for one in run_folder.read_log(path)][-1] == "b"


# Shared class file ----------------------------------------------------------------------------------------------------
# Two workers and one file of classes, in this process: each follows the other.

pytest.importorskip("fastapi", reason="the extra serve is not installed")
if sys.platform == "win32":
    pytest.skip("Windows has no workers", allow_module_level=True)

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
    with pytest.raises(OSError, match="another service keeps its classes"), store.open_class_file(kept.path):
        pass
    for k in range(20):
        (one, other)[k % 2].put("own", float(k))
    before, inode = told(one), os.stat(kept.path).st_ino
    kept.maintain()
    assert len(run_folder.read_log(kept.path)) == 2
    assert os.stat(kept.path).st_ino != inode
    with pytest.raises(OSError, match="another service keeps its classes"), store.open_class_file(kept.path):
        pass
    assert other.client.put("/classes/new", json={"attributes": {"fur": 1.0}}).json()["version"] == 23
    assert told(one) == told(other) != before
    assert one.client.put("/classes/new", json={"attributes": {"fur": 2.0}}).json()["version"] == 24
    assert told(one) == told(other)
    late = other.client.post("/classes/ant/examples", json=ROW, headers={"if-match": first})
    assert "were changed in version 2" in refusal(late, 412)
    kept.maintain()  # nobody asked for it
    assert len(run_folder.read_log(kept.path)) == 4
    (tmp_path / "foreign").write_text("a file of somebody else\n")
    os.replace(tmp_path / "foreign", kept.path)
    kept.shared.numbers.needs_compaction = True
    kept.maintain()
    assert kept.path.read_text() == "a file of somebody else\n"


def test_versions_go_on_after_a_restart_and_count_old_lines(tmp_path, model):
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


SHARED_CLASS_FILE_LINE = b'{"key": "late", "deleted": false, "attributes": {"size": 9.0}, "version": 2}\n'


@pytest.mark.parametrize("shortened", [False, True])
def test_what_a_killed_worker_did_not_acknowledge_is_cut_off(pair, shortened):
    kept, one, other = pair
    one.put("own")
    for version, left in enumerate(
        [SHARED_CLASS_FILE_LINE, SHARED_CLASS_FILE_LINE[:-1], SHARED_CLASS_FILE_LINE[:30]], start=2
    ):
        with kept.path.open("ab") as file:
            file.write(left)
        assert "late" not in other.known()[1]
        if shortened:
            kept.shared.numbers.needs_compaction = True
            kept.maintain()
        assert (one, other)[version % 2].put("new", version) == version
        assert {line["key"] for line in run_folder.read_log(kept.path)} == {"own", "new"}
        assert one.known() == other.known() == (version, {"own": (1.0, 1), "new": (version, version)})


def test_a_worker_killed_after_its_line_was_flushed_holds_nobody_up(pair):
    kept, one, other = pair
    one.put("own")
    other.put("new")
    kept.shared.numbers.version = 1  # as if it had been killed before it could say so
    assert other.service.classes.is_stale
    assert other.known() == one.known() == (2, {"own": (1.0, 1), "new": (1.0, 2)})
    assert not other.service.classes.is_stale


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
    assert len(run_folder.read_log(kept.path)) == 2
    assert one.known() == other.known() == before
    assert other.put("own", 2.0) == 2
    assert one.known() == other.known() == (2, {"own": (2.0, 2)})


def test_without_the_process_that_keeps_the_file_nothing_changes(pair):
    """It was killed while it replaced the file."""
    kept, one, _ = pair
    kept.shared.numbers.inode = 0
    with pytest.raises(Refusal, match="nothing was changed"):
        one.put("own")
    assert one.known() == (0, {})


def test_a_book_that_is_not_made_yet_is_not_the_newest(pair, monkeypatch):
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


# Lessons kept ---------------------------------------------------------------------------------------------------------
# What a service was taught survives a restart, a full disk and compaction, and belongs to one model.

pytest.importorskip("fastapi", reason="the extra serve is not installed")
LESSONS_KEPT_MANY = [[float(k % 3), float(k % 5), 1.0, float(k % 2), 0.5, float(k % 7)] for k in range(12)]


@pytest.fixture(scope="module")
def model_lessons_kept():
    X, y, table = services.toy()
    return ClassMeansClassifier().fit(X, y, table)


def told_lessons_kept(client):
    """All that was taught, and what follows from it."""
    names = ("ant", "emu", "own")
    return [client.get(f"/classes/{name}/examples").json().get("examples") for name in names], [
        [one["score"] for one in row["top"]]
        for row in client.post("/predict", json={"rows": LESSONS_KEPT_MANY, "top": 9}).json()["predictions"]
    ]


def test_examples_and_adaptation_are_there_after_a_restart(tmp_path, model_lessons_kept):
    path = tmp_path / "classes.jsonl"
    with store.open_class_file(path) as kept:
        service = Service(model_lessons_kept, "m", Limits(), kept)
        client = services.client(service)
        client.put("/classes/own", json={"attributes": {"size": 1.0}})
        for name in ("ant", "own", "own", "emu"):
            client.post(f"/classes/{name}/examples", json=ROW)
        gone = client.post("/classes/emu/examples", json={**ROW, "right": False}).json()["id"]
        client.delete("/classes/emu/examples", params={"id": gone})
        verdict = service.teaching.adapt(np.array(LESSONS_KEPT_MANY, np.float32), "all", force=True)
        assert (verdict["adapted"], verdict["clear"], verdict["classes"]) == (True, None, 3)
        before = told_lessons_kept(client)
        assert [len(examples) for examples in before[0]] == [1, 1, 2]
        sure = service.snapshot.taught.adaptation.verdict
    for _ in range(2):
        with store.open_class_file(path) as kept:
            service = Service(model_lessons_kept, "m", Limits(), kept)
            assert told_lessons_kept(services.client(service)) == before
            assert service.snapshot.taught.adaptation.verdict == sure
            kept._lines = 1000  # as if most were outdated: it is written again
            kept.compact()
            assert len(run_folder.read_log(path)) == 7  # a class, four examples, an adaptation and the versions
    with store.open_class_file(path) as kept:
        service = Service(model_lessons_kept, "m", Limits(), kept)
        client = services.client(service)
        assert client.delete("/classes/own").status_code == 204
        assert client.delete("/adapt").status_code == 204
    with store.open_class_file(path) as kept:
        service = Service(model_lessons_kept, "m", Limits(), kept)
        assert {one.label for one in service.snapshot.taught.examples} == {"ant", "emu"}
        assert service.snapshot.taught.adaptation is None


def test_outdated_adaptations_do_not_stay(tmp_path, model_lessons_kept):
    """Each is as long as thousands of examples."""
    with store.open_class_file(tmp_path / "classes.jsonl") as kept:
        service = Service(model_lessons_kept, "m", Limits(), kept)
        client = services.client(service)
        for _ in range(5):
            client.post("/classes/ant/examples", json=ROW)
        for _ in range(4):
            service.teaching.adapt(np.array(LESSONS_KEPT_MANY, np.float32), "all", force=True)
            service.teaching.forget_adaptation()
        keys = [line["key"] for line in run_folder.read_log(kept.path)]
        assert keys.count(" example") == 5
        assert keys.count(" adapted") <= store.MAX_LINES_PER_ENTRY


def test_a_folder_that_cannot_be_flushed_loses_nothing(tmp_path, model_lessons_kept, monkeypatch):
    """The file has been replaced by then: later lines belong into the new one."""
    path = tmp_path / "classes.jsonl"

    def failing(folder):
        raise OSError(errno.EIO, "Input/output error")

    with store.open_class_file(path) as kept:
        service = Service(model_lessons_kept, "m", Limits(), kept)
        with monkeypatch.context() as patch:
            patch.setattr("zskl._files.flush_folder", failing)
            for size in range(10):
                service.classes.put("own", {"size": float(size)}, True)
        service.classes.put("other", {"size": 1.0}, True)
    with store.open_class_file(path) as kept:
        assert kept.classes == {"own": {"size": 9.0}, "other": {"size": 1.0}}


def test_a_full_disk_teaches_nothing(tmp_path, model_lessons_kept, monkeypatch):
    with store.open_class_file(tmp_path / "classes.jsonl") as kept:
        service = Service(model_lessons_kept, "m", Limits(), kept)
        client = services.client(service)
        made = client.post("/classes/emu/examples", json=ROW).json()["id"]
        before = told_lessons_kept(client)

        def full(handle, line):
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            for attempt in (
                client.post("/classes/emu/examples", json=ROW),
                client.delete("/classes/emu/examples", params={"id": made}),
                client.delete("/classes/emu/examples"),
            ):
                assert "nothing was changed" in refusal(attempt, 507)
        assert told_lessons_kept(client) == before
        assert client.delete("/classes/emu/examples").status_code == 204


def test_lessons_of_another_model_are_refused(tmp_path, model_lessons_kept):
    path = tmp_path / "classes.jsonl"
    with store.open_class_file(path) as kept:
        client = services.client(Service(model_lessons_kept, "m", Limits(), kept))
        client.post("/classes/emu/examples", json=ROW)
    content = path.read_text()
    X, y, table = services.toy(width=5)
    narrow = ClassMeansClassifier().fit(X, y, table)
    for other, changed, words in [
        (strings()[0], content, "cannot learn from examples"),
        (narrow, content, "examples with 6 features: the model takes 5"),
        (
            model_lessons_kept,
            content.replace('"class": "emu"', '"class": "roc"'),
            "examples of 'roc', which is not a class",
        ),
        (model_lessons_kept, content.replace('"right": true', '"right": 1'), "is not a file of classes"),
        (model_lessons_kept, content.replace('"features": "', '"features": "!'), "is not a file of classes"),
        (model_lessons_kept, content.replace('"id": ', '"ids": '), "is not a file of classes"),
    ]:
        path.write_text(changed)
        with pytest.raises(ValueError, match=words), store.open_class_file(path) as kept:
            Service(other, "m", Limits(), kept)
        assert path.read_text() == changed


# Editors --------------------------------------------------------------------------------------------------------------
# Two who change the same class; names in another form; wrong values.

pytest.importorskip("fastapi", reason="the extra serve is not installed")


def test_of_two_editors_the_later_is_told(fresh):
    client = fresh[2]
    made = client.post("/classes", json={"name": "new", "attributes": {"size": 1.0}})
    client.put("/classes/other", json={"attributes": {"size": 1.0}})
    seen = client.get("/classes/new")
    assert (made.headers["etag"], seen.headers["etag"], seen.json()["version"]) == ('"1"', '"2"', 2)
    first = {"if-match": seen.headers["etag"]}
    assert client.put("/classes/new", json={"attributes": {"size": 2.0}}, headers=first).status_code == 200
    for late in (
        client.put("/classes/new", json={"attributes": {"size": 3.0}}, headers=first),
        client.delete("/classes/new", headers=first),
        client.delete("/classes/new", headers={"if-match": made.headers["etag"]}),
    ):
        assert "was changed in version 3" in refusal(late, 412)
    assert client.get("/classes/new").json()["attributes"]["size"] == 2.0
    assert client.delete("/classes/other", headers=first).status_code == 204  # a change of another class is no matter
    assert "not there any more" in refusal(client.delete("/classes/other", headers=first), 412)
    assert client.put("/classes/new", json={"attributes": {"size": 3.0}}, headers={"if-match": "*"}).status_code == 200
    assert client.delete("/classes/new", headers={"if-match": '"5"'}).status_code == 204
    for wrong in ("5", 'W/"5"', '"x"', '"1", "2"', ""):
        assert "If-Match" in refusal(client.delete("/classes/new", headers={"if-match": wrong}), 422)


def test_a_name_is_the_same_whatever_form_its_accents_have(fresh):
    _, X, client = fresh
    whole, parts = (unicodedata.normalize(form, "Bécasse") for form in ("NFC", "NFD"))
    assert whole != parts
    assert client.post("/classes", json={"name": parts, "attributes": {"size": 1.0}}).json()["name"] == whole
    assert "already a class" in refusal(client.post("/classes", json={"name": whole, "attributes": {"size": 1.0}}), 409)
    assert client.get(f"/classes/{parts}").json()["name"] == whole
    answer = client.post("/predict", json={"rows": X[:1].tolist(), "candidates": [parts]}).json()
    assert answer["predictions"][0]["class"] == whole
    assert client.delete(f"/classes/{parts}").status_code == 204


def test_one_sentence_for_a_wrong_value(fresh):
    client = fresh[2]
    said = refusal(client.post("/classes", json={"name": "new", "attributes": {"size": "big"}}), 422)
    assert said == "attributes.size: Input should be a valid number, found 'big'"
    two = refusal(client.post("/classes", json={"name": "new", "attributes": {"size": "big", "fur": None}}), 422)
    assert two.count("valid number") == 2
    assert "a step in an address" in refusal(client.post("/classes", json={"name": "..", "attributes": {}}), 422)


def test_a_constant_as_large_as_may_be_keeps_the_order(case):
    """Single precision would round the scores of seen classes away."""
    model, X, client = case
    rows = X.tolist() if hasattr(X, "tolist") else X.to_numpy().tolist()
    seen = [str(label) for label in model.classes_]
    plain = client.post("/predict", json={"rows": rows, "top": 1000, "calibrated": False}).json()["predictions"]
    for constant in (1e6, -1e6):
        far = client.post("/predict", json={"rows": rows, "top": 1000, "calibration": constant}).json()["predictions"]
        for one, other in zip(plain, far, strict=True):
            order = [[pick["class"] for pick in row["top"] if pick["class"] in seen] for row in (one, other)]
            assert order[0] == order[1]
            assert (other["class"] in seen) == (constant < 0)
    refusal(client.post("/predict", json={"rows": rows, "calibration": -1e20}), 422)
