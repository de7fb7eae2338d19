"""After kill -9 every class is there that the service had acknowledged."""

import random
import threading
from itertools import count

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from zskl.serve import class_file
from zskl.serve.limits import Limits
from zskl.serve.service import Service


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
                    None if gone else {one: self.draw.uniform(-9, 9) for one in self.draw.sample(served.ATTRIBUTES, 3)}
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


def killed_while_adding(service, answers):
    """Four clients change classes until there have been so many answers; then the process is killed at once.
    What must be there, and what may be."""
    acknowledged = threading.Semaphore(0)
    clients = [Adding(service, f"t{k}", k, acknowledged) for k in range(4)]
    for one in clients:
        one.start()
    try:
        for _ in range(answers):
            assert acknowledged.acquire(timeout=served.LIMIT)
    finally:
        service.process.kill()
    service.process.wait(served.LIMIT)
    sure = {}
    for one in clients:
        one.join(served.LIMIT)
        assert not one.is_alive()
        assert not one.wrong
        sure |= {name: [given] for name, given in one.sure.items()}
        for name, given in one.maybe.items():
            sure[name] = [*sure.get(name, [None]), given]
    return sure


def test_acknowledged_classes_survive_being_killed(tmp_path):
    X, y, table = served.toy()
    path, file = tmp_path / "toy.zskl", tmp_path / "toy.zskl.classes.jsonl"
    model = served.kernel().fit(X, y, table)
    model.save(path)
    with served.running(path) as service:
        sure = killed_while_adding(service, answers=40)
    with file.open("ab") as kept:
        kept.write(b'{"key": "torn", "deleted": false, "attr')
    for added in ("after", "again"):
        with class_file.opened(file) as kept:
            client = served.client(Service(model, "m", Limits(), kept))
            compare(client, sure)
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
