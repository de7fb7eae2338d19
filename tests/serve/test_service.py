"""GET /model and GET /health, and sentences of refusals."""

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import services
from tolerances import SUMS, distance
from zskl import methods
from zskl.serve import predictions
from zskl.serve.limits import Limits
from zskl.serve.service import Service


def test_model_is_described(digits):
    _, data, client = digits
    about = client.get("/model").json()
    assert (about["file"], about["estimator"], about["features"]) == ("digits.zskl", "kernel", 64)
    assert (about["seen"], about["unseen"], about["added"]) == (7, 3, 0)
    assert about["data"]["rows"] == 1797
    assert about["data"]["parts"] == {name: len(rows) for name, rows in data.parts.items()}
    assert about["parameters"]["kernel"] == "gaussian"
    limits = Limits()
    assert about["limits"]["rows"] == limits.rows
    assert about["limits"]["body_bytes"] == limits.body_bytes


NEAR = SUMS.single  # of the largest score


STATES = [
    {"changing": {"size": 1.0, "legs": -1.0}},
    {"changing": {"size": -1.0, "fur": 2.0}},
    {"changing": {"size": -1.0, "fur": 2.0}, "coming": {"wings": 3.0}},
    {"changing": {"size": 1.0, "legs": -1.0}, "coming": {"wings": 3.0}},
]  # and the first again


STEPS = [("changing", STATES[1]), ("coming", STATES[2]), ("changing", STATES[3]), ("coming", None)]


def change(client, number):
    """The step after so many others."""
    name, state = STEPS[number % 4]
    if state is None:
        assert client.delete(f"/classes/{name}").status_code == 204
    else:
        assert client.put(f"/classes/{name}", json={"attributes": state[name]}).status_code in (200, 201)


def toy_model():
    X, y, table = services.toy()
    return services.calibrated(services.kernel().fit(X, y, table)), {"rows": X[:20].tolist(), "top": 1000}


def expected_answers(model, body):
    """What services of just these classes say, one for each state."""
    found = []
    for state in STATES:
        client = services.client_of(model)
        for name, given in state.items():
            client.put(f"/classes/{name}", json={"attributes": given})
        found.append(client.post("/predict", json=body).json()["predictions"])
    return found


@pytest.mark.parametrize("explain", [False, True])
def test_request_is_not_affected_by_concurrent_changes(explain, monkeypatch):
    """The request is held before the first score is computed, and all steps are taken meanwhile."""
    model, body = toy_model()
    body = {**body, "explain": explain}
    expected = expected_answers(model, body)
    predict = predictions.predict_rows

    def held(snapshot, *rest):
        monkeypatch.setattr(predictions, "predict_rows", predict)
        for number in range(3):
            service.classes.put(STEPS[number][0], STEPS[number][1][STEPS[number][0]], True)
        return predict(snapshot, *rest)

    service = Service(model, "m", Limits())
    client = services.client(service)
    client.put("/classes/changing", json={"attributes": STATES[0]["changing"]})
    monkeypatch.setattr(predictions, "predict_rows", held)
    first, second = (client.post("/predict", json=body).json() for _ in range(2))
    assert (first["version"], second["version"]) == (1, 4)
    assert same(first["predictions"], expected[0])
    assert same(second["predictions"], expected[3])


def test_requests_see_consistent_classes(tmp_path):
    """With every version an answer must be what a service of just these classes says. Each change waits for one
    answer more than there are readers: one of them asked after the change, so that every version is seen."""
    model, body = toy_model()
    path = tmp_path / "toy.zskl"
    model.save(path)
    expected = expected_answers(methods.load(path), body)
    wrong, versions, done, answered = [], set(), threading.Event(), threading.Semaphore(0)

    def read():
        with httpx.Client(base_url=address, timeout=services.LIMIT, trust_env=False) as client:
            last = 0
            while not done.is_set():
                answer = client.post("/predict", json=body).json()
                versions.add(answer["version"])
                if answer["version"] < last:
                    wrong.append(("back in time", last, answer["version"]))
                last = answer["version"]
                if not same(answer["predictions"], expected[(last - 1) % 4]):
                    wrong.append(("a mixture", last))
                answered.release()

    with (
        services.in_thread(path) as (address, _),
        httpx.Client(base_url=address, timeout=services.LIMIT, trust_env=False) as client,
    ):
        client.put("/classes/changing", json={"attributes": STATES[0]["changing"]})
        with ThreadPoolExecutor(2) as pool:
            readers = [pool.submit(read) for _ in range(2)]
            try:
                for number in range(24):
                    change(client, number)
                    mine = client.get("/classes").json()
                    assert mine["version"] == number + 2
                    added = {one["name"] for one in mine["classes"] if one["kind"] == "added"}
                    assert added == set(STATES[(number + 1) % 4])
                    while answered.acquire(blocking=False):
                        pass
                    for _ in range(3):
                        assert answered.acquire(timeout=services.LIMIT)
            finally:
                done.set()
            for reader in readers:
                reader.result()
    assert not wrong
    assert versions >= set(range(2, 26))


def same(found, expected):
    """The same classes with the same scores, in an order that is the same but for rounding."""
    mine, theirs = ([{one["class"]: one["score"] for one in row["top"]} for row in rows] for rows in (found, expected))
    if [set(row) for row in mine] != [set(row) for row in theirs]:
        return False
    return distance(*([[row[name] for name in sorted(row)] for row in rows] for rows in (mine, theirs))) < NEAR


def test_worked_example_is_understood(fresh):
    [example] = fresh[2].get("/model").json()["examples"]
    found = fresh[2].post("/words", json={"text": example["sentence"]}).json()
    assert found["attributes"]
    assert found["unknown"] == []
