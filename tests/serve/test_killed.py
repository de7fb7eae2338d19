"""After kill -9 every class and every example is there that the service had acknowledged."""

import random
import threading
from itertools import count

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from zskl import ClassMeansClassifier
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


class Marking(threading.Thread):
    """A client that teaches a class of the model, and takes examples back, until nobody answers.

    `sure` are the examples that were acknowledged, id → right, in their order; `maybe` is (id, right) without an
    answer: a new one has no id yet, and what is taken back has no `right`."""

    def __init__(self, service, name, seed, acknowledged):
        super().__init__()
        self.service, self.own, self.draw, self.acknowledged = service, name, random.Random(seed), acknowledged
        self.sure, self.maybe, self.wrong = {}, None, []

    def run(self):
        path = f"/classes/{self.own}/examples"
        with self.service.client() as client:
            while True:
                gone = self.draw.choice(list(self.sure)) if self.sure and self.draw.random() < 0.4 else None
                right = None if gone else self.draw.random() < 0.6
                self.maybe = gone, right
                try:
                    if gone is None:
                        features = [self.draw.uniform(-2, 2) for _ in range(6)]
                        answer = client.post(path, json={"features": features, "right": right})
                    else:
                        answer = client.delete(path, params={"id": gone})
                except httpx.TransportError:  # the service is gone
                    return
                if answer.status_code != (201 if gone is None else 204):
                    self.wrong.append(answer.text)
                    return
                if gone is None:
                    self.sure[answer.json()["id"]] = right
                else:
                    del self.sure[gone]
                self.maybe = None
                self.acknowledged.release()

    def compare(self, client):
        """Every acknowledged example is there, and none that was taken back; one that had no answer may be there.
        What was found is from now on what must be there."""
        found = {one["id"]: one["right"] for one in client.get(f"/classes/{self.own}/examples").json()["examples"]}
        gone, right = self.maybe or (None, None)
        assert len(found) <= len(self.sure) + (right is not None)
        assert set(self.sure) - set(found) <= {gone}
        assert {right} >= set(found.values()) - set(self.sure.values()) or not set(found) - set(self.sure)
        assert all(found[one] == self.sure[one] for one in set(found) & set(self.sure))
        self.sure, self.maybe = found, None


def killed_while_changing(service, answers):
    """Clients change classes and examples until there have been so many answers; then the process is killed at once.
    What must be there, and what may be; and those who taught."""
    acknowledged = threading.Semaphore(0)
    clients = [Adding(service, f"t{k}", k, acknowledged) for k in range(3)]
    teachers = [Marking(service, name, name, acknowledged) for name in ("ant", "emu", "bee")]
    for one in [*clients, *teachers]:
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
    for one in teachers:
        one.join(served.LIMIT)
        assert not one.is_alive()
        assert not one.wrong
    return sure, teachers


def test_acknowledged_classes_and_examples_survive_being_killed(tmp_path):
    X, y, table = served.toy()
    path, file = tmp_path / "toy.zskl", tmp_path / "toy.zskl.classes.jsonl"
    model = ClassMeansClassifier().fit(X, y, table)
    model.save(path)
    with served.running(path) as service:
        sure, teachers = killed_while_changing(service, answers=60)
    with file.open("ab") as kept:
        kept.write(b'{"key": " example", "id": "torn", "class": "emu", "right": true, "row": null, "feat')
    for added in ("after", "again"):
        with class_file.opened(file) as kept:
            client = served.client(Service(model, "m", Limits(), kept))
            compare(client, sure)
            for one in teachers:
                one.compare(client)
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
