"""What a service was taught survives a restart, a full disk and compaction, and belongs to one model."""

import errno
import os

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import refusal
from served_models import strings
from zskl import ClassMeansClassifier
from zskl.experiments import jsonl_log
from zskl.serve import class_file, kept_classes
from zskl.serve.limits import Limits
from zskl.serve.service import Service

ROW = {"features": [1.0, 0.0, 2.0, 0.5, 0.0, 1.0]}
MANY = [[float(k % 3), float(k % 5), 1.0, float(k % 2), 0.5, float(k % 7)] for k in range(12)]


@pytest.fixture(scope="module")
def model():
    X, y, table = served.toy()
    return ClassMeansClassifier().fit(X, y, table)


def told(client):
    """All that was taught, and what follows from it."""
    names = ("ant", "emu", "own")
    return [client.get(f"/classes/{name}/examples").json().get("examples") for name in names], [
        [one["score"] for one in row["top"]]
        for row in client.post("/predict", json={"rows": MANY, "top": 9}).json()["predictions"]
    ]


def test_examples_and_adaptation_are_there_after_a_restart(tmp_path, model):
    path = tmp_path / "classes.jsonl"
    with class_file.opened(path) as kept:
        service = Service(model, "m", Limits(), kept)
        client = served.client(service)
        client.put("/classes/own", json={"attributes": {"size": 1.0}})
        for name in ("ant", "own", "own", "emu"):
            client.post(f"/classes/{name}/examples", json=ROW)
        gone = client.post("/classes/emu/examples", json={**ROW, "right": False}).json()["id"]
        client.delete("/classes/emu/examples", params={"id": gone})
        verdict = service.teaching.adapt(np.array(MANY, np.float32), "all", force=True)
        assert (verdict["adapted"], verdict["clear"], verdict["classes"]) == (True, None, 3)
        before = told(client)
        assert [len(examples) for examples in before[0]] == [1, 1, 2]
        sure = service.book.lessons.adaptation.told
    for _ in range(2):
        with class_file.opened(path) as kept:
            service = Service(model, "m", Limits(), kept)
            assert told(served.client(service)) == before
            assert service.book.lessons.adaptation.told == sure
            kept._lines = 1000  # as if most were outdated: it is written again
            kept.shorten()
            assert len(jsonl_log.read(path)) == 7  # a class, four examples, an adaptation and the versions
    with class_file.opened(path) as kept:
        service = Service(model, "m", Limits(), kept)
        client = served.client(service)
        assert client.delete("/classes/own").status_code == 204
        assert client.delete("/adapt").status_code == 204
    with class_file.opened(path) as kept:
        service = Service(model, "m", Limits(), kept)
        assert {one.label for one in service.book.lessons.examples} == {"ant", "emu"}
        assert service.book.lessons.adaptation is None


def test_outdated_adaptations_do_not_stay(tmp_path, model):
    """Each is as long as thousands of examples."""
    with class_file.opened(tmp_path / "classes.jsonl") as kept:
        service = Service(model, "m", Limits(), kept)
        client = served.client(service)
        for _ in range(5):
            client.post("/classes/ant/examples", json=ROW)
        for _ in range(4):
            service.teaching.adapt(np.array(MANY, np.float32), "all", force=True)
            service.teaching.forget_adaptation()
        keys = [line["key"] for line in jsonl_log.read(kept.path)]
        assert keys.count(" example") == 5
        assert keys.count(" adapted") <= kept_classes.WASTE


def test_a_folder_that_cannot_be_flushed_loses_nothing(tmp_path, model, monkeypatch):
    """The file has been replaced by then: later lines belong into the new one."""
    path = tmp_path / "classes.jsonl"

    def failing(folder):
        raise OSError(errno.EIO, "Input/output error")

    with class_file.opened(path) as kept:
        service = Service(model, "m", Limits(), kept)
        with monkeypatch.context() as patch:
            patch.setattr("zskl.files.flush_folder", failing)
            for size in range(10):
                service.classes.put("own", {"size": float(size)}, True)
        service.classes.put("other", {"size": 1.0}, True)
    with class_file.opened(path) as kept:
        assert kept.classes == {"own": {"size": 9.0}, "other": {"size": 1.0}}


def test_a_full_disk_teaches_nothing(tmp_path, model, monkeypatch):
    with class_file.opened(tmp_path / "classes.jsonl") as kept:
        service = Service(model, "m", Limits(), kept)
        client = served.client(service)
        made = client.post("/classes/emu/examples", json=ROW).json()["id"]
        before = told(client)

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
        assert told(client) == before
        assert client.delete("/classes/emu/examples").status_code == 204


def test_lessons_of_another_model_are_refused(tmp_path, model):
    path = tmp_path / "classes.jsonl"
    with class_file.opened(path) as kept:
        client = served.client(Service(model, "m", Limits(), kept))
        client.post("/classes/emu/examples", json=ROW)
    content = path.read_text()
    X, y, table = served.toy(width=5)
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
        with pytest.raises(ValueError, match=words), class_file.opened(path) as kept:
            Service(other, "m", Limits(), kept)
        assert path.read_text() == changed
