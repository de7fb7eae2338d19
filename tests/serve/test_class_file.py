"""The file of added classes: other files are left alone, and no line is lost or half written."""

import errno
import os

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from served import not_started
from served_models import strings
from zskl.experiments import jsonl_log
from zskl.serve import class_file
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
def test_another_file_is_refused_and_stays_as_it_is(tmp_path, content, sentence):
    path = tmp_path / "classes.jsonl"
    path.write_text(content)
    model, _ = strings()
    with pytest.raises(ValueError, match=sentence), class_file.opened(path) as kept:
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

    with class_file.opened(path) as kept:
        change(Service(model, "m", Limits(), kept))
        assert len(path.read_text().splitlines()) <= 12
        with pytest.raises(OSError, match="another service"), class_file.opened(path):
            pass
    path.unlink()
    with monkeypatch.context() as windows:  # where an open file cannot be replaced
        windows.setattr(os, "replace", denied)
        with class_file.opened(path) as kept:
            change(Service(model, "m", Limits(), kept))
        assert len(path.read_text().splitlines()) == 60
        with class_file.opened(path) as kept:
            assert kept.classes == {"one": {"size": 19.0}}
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    for _ in range(2):
        with class_file.opened(path) as kept:
            assert len(path.read_text().splitlines()) == 2  # the class, and the versions
            assert kept.version == 60
            assert Service(model, "m", Limits(), kept).book.added["one"].attributes == {"size": 19.0}


@pytest.fixture
def kept(tmp_path):
    """A client of a service in this process that keeps its classes, and the path of their file."""
    X, y, table = served.toy()
    path = tmp_path / "classes.jsonl"
    with class_file.opened(path) as file:
        service = Service(served.kernel().fit(X, y, table), "m", Limits(), file)
        yield served.client(service), path


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
    assert [line["key"] for line in jsonl_log.read(path)] == ["first", "second"]


def test_a_torn_last_line_is_a_class_that_was_never_acknowledged(tmp_path):
    X, y, table = served.toy()
    model, path = served.kernel().fit(X, y, table), tmp_path / "classes.jsonl"
    whole = b'{"key": "a", "deleted": false, "attributes": {"size": 0.1}}\n'
    line = '{"key": "é", "deleted": false, "attributes": {"size": 0.25, "fur": -1e-05}}\n'.encode()
    for cut in range(len(line) + 1):
        path.write_bytes(whole + line[:cut])
        with class_file.opened(path) as file:
            service = Service(model, "m", Limits(), file)
            found = {name: one.attributes for name, one in service.book.added.items()}
            assert found.pop("a") == {"size": 0.1}
            assert found == ({"é": {"size": 0.25, "fur": -1e-05}} if cut >= len(line) - 1 else {})
            service.classes.put("b", {"size": 1.0}, False)
        assert [one["key"] for one in jsonl_log.read(path)][-1] == "b"
