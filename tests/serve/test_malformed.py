"""Bodies that no request should have, and very large ones: each gets a sentence, and the service goes on."""

import json
import re
from collections import defaultdict
from functools import cache

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import request_bodies
import services
from request_bodies import GOOD, JSON, NPY, described, npy_bytes, npy_file
from tolerances import SUMS, decided

MEMORY = 1000  # megabytes that a service may ever take


NEAR = SUMS.single  # of the largest score; of sums of 2048 products, too, whose roundings mostly cancel
GROUPS = [
    ".npy", "JSON", "attributes", "data_rows", "explanation", "name",
    "number", "of", "option", "ranking", "rows", "sent",
]  # fmt: skip


@cache
def bodies():
    """By group, the first word of what each is."""
    found = defaultdict(list)
    for name, path, kind, body in request_bodies.everything():
        found[name.split(",")[0].split()[0]].append((name, path, kind, body))
    return found


def send(client, path, kind, body):
    method = "PUT" if path.startswith("/classes/") else "POST"
    return client.request(method, path, content=body, headers={"content-type": kind.encode("utf-8")})


def goes_on(service):
    assert service.process.poll() is None
    assert service.asking.get("/health").json()["status"] == "ok"
    assert service.asking.post("/predict", json=GOOD["/predict"]).content == service.expected
    assert service.peak() < MEMORY


def check_sentence(answer, of):
    assert 400 <= answer.status_code < 500, (of, answer.status_code, answer.text[:200])
    assert answer.headers["content-type"] == "application/json", of
    assert list(answer.json()) == ["error"], of
    sentence = answer.json()["error"]
    assert 10 < len(sentence) < 400, (of, sentence)
    assert sentence.isprintable(), (of, sentence)
    assert not re.search(r"Traceback|\.py\b|site-packages|/(tmp|home|usr|etc|root|work)/|0x[0-9a-f]{8}", sentence), (
        sentence
    )


def test_there_are_enough_of_them():
    assert sorted(bodies()) == sorted(GROUPS)
    every = [one for group in bodies().values() for one in group]
    assert len(every) > 200
    assert {path for _, path, _, _ in every} == set(GOOD)
    assert len({(path, kind, body) for _, path, kind, body in every}) > 0.97 * len(every)


@pytest.mark.parametrize("group", GROUPS)
def test_every_malformed_body_gets_a_sentence(attacked, group):
    for name, path, kind, body in bodies()[group]:
        check_sentence(send(attacked.asking, path, kind, body), (name, path))
    goes_on(attacked)
    assert attacked.asking.get("/classes").json()["version"] == 0


def test_good_bodies_are_taken(attacked):
    """So that the refusals above are about what is wrong with the others."""
    client = attacked.asking
    good = npy_bytes(np.zeros((1, 64), np.float32))
    for kind, body in ((NPY, good), (JSON, json.dumps(GOOD["/predict"]).encode())):
        assert send(client, "/predict", kind, body).status_code == 200
    assert send(client, "/predict", NPY, npy_file(described(), b"\0" * 256)).status_code == 200
    assert send(client, "/predict", NPY, npy_file(described(), b"\0" * 256, (2, 0))).status_code == 200
    assert client.post("/rank", json=GOOD["/rank"]).status_code == 200
    twice = b'{"top": 9, "top": 2, "rows": ' + json.dumps(GOOD["/predict"]["rows"]).encode() + b"}"
    assert len(send(client, "/predict", JSON, twice).json()["predictions"][0]["top"]) == 2  # the last one counts


def test_large_json_takes_little_memory(attacked):
    million = 1_000_000
    for body in (
        b'{"rows": [[' + b"0," * (20 * million) + b"0]]}",
        b'{"rows": [[' + b"0," * (4 * million) + b"0]]}",
        b'{"rows": [' + b"[]," * (4 * million) + b"[]]}",
        b'{"rows": [[' + b'"",' * (4 * million) + b"0]]}",
        b'{"rows": [' + b'"",' * 20_000 + b"0]}",
        b'{"data_rows": [' + b"null," * (4 * million) + b"0]}",
        b'{"x": ' + b'"' + b"\\u0001" * (4 * million) + b'"}',
        b"{" + b",".join(b'"%d": 0' % k for k in range(24_000)) + b"}",
        b'{"rows": [' + b",".join([json.dumps([0] * 64).encode()] * 80_000) + b"]}",
        b'{"data_rows": [' + b"0," * 100_000 + b"0]}",
    ):
        check_sentence(send(attacked.asking, "/predict", JSON, body), body[:50])
    goes_on(attacked)


def agree(answer, model, X):
    """The first class of each row is the model's, but for rows whose best two are as near as rounding; every seventh
    row is looked at."""
    assert answer.status_code == 200, answer.text[:200]
    found = np.array([row["class"] for row in answer.json()["predictions"]])
    assert len(found) == len(X)
    found, X = found[::7], X[::7]
    clear = decided(model.compatibility(X), NEAR)
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(found[clear], model.predict(X).astype(str)[clear])


def test_ten_thousand_rows_as_json(attacked):
    model, data = services.digits()
    X = np.tile(data.X, (6, 1))[:10_000]
    agree(send(attacked.asking, "/predict", JSON, json.dumps({"rows": X.tolist(), "top": 1}).encode()), model, X)
    goes_on(attacked)


def test_ten_thousand_rows_of_many_features(tmp_path):
    draw = np.random.default_rng(0)
    y = np.repeat(services.SEEN, 20)
    seen = draw.standard_normal((60, 2048), np.float32) + np.repeat(np.arange(3), 20)[:, None]
    model = services.kernel().fit(seen, y, services.toy()[2])
    model.save(tmp_path / "wide.zskl")
    X = draw.standard_normal((10_000, 2048), np.float32)
    with services.running(tmp_path / "wide.zskl") as service, service.client() as client:
        agree(send(client, "/predict?top=1", NPY, npy_bytes(X)), model, X)
        assert service.peak() < MEMORY
