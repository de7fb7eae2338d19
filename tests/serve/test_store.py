"""The file of added classes: other files are left alone, and no line is lost or half written."""

import errno
import os

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import services
from services import not_started, refusal, strings
from zskl import ClassMeansClassifier
from zskl.experiments import run_folder
from zskl.serve import store
from zskl.serve.limits import Limits
from zskl.serve.service import Service

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
def test_foreign_file_is_refused_and_unchanged(tmp_path, content, sentence):
    path = tmp_path / "classes.jsonl"
    path.write_text(content)
    model, _ = strings()
    with pytest.raises(ValueError, match=sentence), store.open_class_file(path) as kept:
        Service(model, "m", Limits(), kept)
    assert path.read_text() == content


def test_model_file_is_not_used_as_class_file(toy_file):
    before = toy_file.read_bytes()
    assert "is not a file of classes" in not_started(toy_file, "--classes", toy_file)
    assert toy_file.read_bytes() == before


def denied(*_):
    raise PermissionError(13, "Access is denied")


def test_file_of_outdated_lines_is_compacted(tmp_path, monkeypatch):
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
def test_full_disk_changes_nothing(kept, monkeypatch, how):
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


def test_torn_last_line_is_dropped(tmp_path):
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


ROW = {"features": [1.0, 0.0, 2.0, 0.5, 0.0, 1.0]}
MANY = [[float(k % 3), float(k % 5), 1.0, float(k % 2), 0.5, float(k % 7)] for k in range(12)]


@pytest.fixture(scope="module")
def model():
    X, y, table = services.toy()
    return ClassMeansClassifier().fit(X, y, table)


def teaching_answers(client):
    """All that was taught, and what follows from it."""
    names = ("ant", "emu", "own")
    return [client.get(f"/classes/{name}/examples").json().get("examples") for name in names], [
        [one["score"] for one in row["top"]]
        for row in client.post("/predict", json={"rows": MANY, "top": 9}).json()["predictions"]
    ]


def test_teaching_survives_a_restart(tmp_path, model):
    path = tmp_path / "classes.jsonl"
    with store.open_class_file(path) as kept:
        service = Service(model, "m", Limits(), kept)
        client = services.client(service)
        client.put("/classes/own", json={"attributes": {"size": 1.0}})
        for name in ("ant", "own", "own", "emu"):
            client.post(f"/classes/{name}/examples", json=ROW)
        gone = client.post("/classes/emu/examples", json={**ROW, "right": False}).json()["id"]
        client.delete("/classes/emu/examples", params={"id": gone})
        verdict = service.teaching.adapt(np.array(MANY, np.float32), "all", force=True)
        assert (verdict["adapted"], verdict["clear"], verdict["classes"]) == (True, None, 3)
        before = teaching_answers(client)
        assert [len(examples) for examples in before[0]] == [1, 1, 2]
        sure = service.snapshot.taught.adaptation.verdict
    for _ in range(2):
        with store.open_class_file(path) as kept:
            service = Service(model, "m", Limits(), kept)
            assert teaching_answers(services.client(service)) == before
            assert service.snapshot.taught.adaptation.verdict == sure
            kept._lines = 1000  # as if most were outdated: it is written again
            kept.compact()
            assert len(run_folder.read_log(path)) == 7  # a class, four examples, an adaptation and the versions
    with store.open_class_file(path) as kept:
        service = Service(model, "m", Limits(), kept)
        client = services.client(service)
        assert client.delete("/classes/own").status_code == 204
        assert client.delete("/adapt").status_code == 204
    with store.open_class_file(path) as kept:
        service = Service(model, "m", Limits(), kept)
        assert {one.label for one in service.snapshot.taught.examples} == {"ant", "emu"}
        assert service.snapshot.taught.adaptation is None


def test_outdated_adaptations_are_compacted(tmp_path, model):
    """Each is as long as thousands of examples."""
    with store.open_class_file(tmp_path / "classes.jsonl") as kept:
        service = Service(model, "m", Limits(), kept)
        client = services.client(service)
        for _ in range(5):
            client.post("/classes/ant/examples", json=ROW)
        for _ in range(4):
            service.teaching.adapt(np.array(MANY, np.float32), "all", force=True)
            service.teaching.forget_adaptation()
        keys = [line["key"] for line in run_folder.read_log(kept.path)]
        assert keys.count(" example") == 5
        assert keys.count(" adapted") <= store.MAX_LINES_PER_ENTRY


def test_unflushed_folder_loses_nothing(tmp_path, model, monkeypatch):
    """The file has been replaced by then: later lines belong into the new one."""
    path = tmp_path / "classes.jsonl"

    def failing(folder):
        raise OSError(errno.EIO, "Input/output error")

    with store.open_class_file(path) as kept:
        service = Service(model, "m", Limits(), kept)
        with monkeypatch.context() as patch:
            patch.setattr("zskl._files.flush_folder", failing)
            for size in range(10):
                service.classes.put("own", {"size": float(size)}, True)
        service.classes.put("other", {"size": 1.0}, True)
    with store.open_class_file(path) as kept:
        assert kept.classes == {"own": {"size": 9.0}, "other": {"size": 1.0}}


def test_full_disk_teaches_nothing(tmp_path, model, monkeypatch):
    with store.open_class_file(tmp_path / "classes.jsonl") as kept:
        service = Service(model, "m", Limits(), kept)
        client = services.client(service)
        made = client.post("/classes/emu/examples", json=ROW).json()["id"]
        before = teaching_answers(client)

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
        assert teaching_answers(client) == before
        assert client.delete("/classes/emu/examples").status_code == 204


def test_teaching_of_another_model_is_refused(tmp_path, model):
    path = tmp_path / "classes.jsonl"
    with store.open_class_file(path) as kept:
        client = services.client(Service(model, "m", Limits(), kept))
        client.post("/classes/emu/examples", json=ROW)
    content = path.read_text()
    X, y, table = services.toy(width=5)
    narrow = ClassMeansClassifier().fit(X, y, table)
    for other, changed, words in [
        (strings()[0], content, "cannot learn from examples"),
        (narrow, content, "examples with 6 features: the model takes 5"),
        (model, content.replace('"class": "emu"', '"class": "roc"'), "examples of 'roc', which is not a class"),
        (model, content.replace('"right": true', '"right": 1'), "is not a file of classes"),
        (model, content.replace('"features": "', '"features": "!'), "is not a file of classes"),
        (model, content.replace('"id": ', '"ids": '), "is not a file of classes"),
    ]:
        path.write_text(changed)
        with pytest.raises(ValueError, match=words), store.open_class_file(path) as kept:
            Service(other, "m", Limits(), kept)
        assert path.read_text() == changed
