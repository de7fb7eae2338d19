"""The application as a whole: all its paths, its headers, and how large requests take turns."""

import asyncio
import threading

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import refusal
from zskl.serve import app, predictions

HEADERS = {"content-security-policy", "x-content-type-options", "referrer-policy", "cross-origin-resource-policy"}


def test_every_answer_says_how_it_may_be_used(plain):
    client = plain[2]
    for answer in (
        client.get("/health"), client.get("/nowhere"), client.post("/health"), client.get("/classes/none"),
        client.get("/health", headers={"host": "evil.example"}), client.post("/predict", content=b"x"),
    ):  # fmt: skip
        assert set(answer.headers) >= HEADERS
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


def test_what_is_not_there(plain):
    client = plain[2]
    assert "/openapi.json" in refusal(client.get("/nowhere"), 404)
    answer = client.delete("/health")
    assert "DELETE" in refusal(answer, 405)
    assert answer.headers["allow"] == "GET, HEAD"
    assert [client.head(path).status_code for path in ("/", "/health")] == [200, 200]
    for path in ("/docs", "/redoc", "/page/..%2f..%2fapp.py", "/page/%2e%2e/app.py", "/page//etc/passwd"):
        assert client.get(path).status_code == 404


def test_a_fault_of_the_service_tells_nothing(fresh, monkeypatch):
    _, X, client = fresh
    monkeypatch.setattr("zskl.serve.predictions.predict", lambda *_: {}["secret"])
    answer = client.post("/predict", json={"rows": X[:1].tolist()})
    assert refusal(answer, 500) == "the service failed on this request; its log says why"
    assert set(answer.headers) >= HEADERS


class Turns(asyncio.Semaphore):
    """A semaphore that knows how many are past it, and how many ever were."""

    inside = ever = 0

    def __init__(self, most):
        super().__init__(most)
        self.most = most

    async def __aenter__(self):
        await super().__aenter__()
        self.inside += 1
        self.ever += 1

    async def __aexit__(self, *fault):
        self.inside -= 1
        await super().__aexit__(*fault)


@pytest.mark.parametrize("asked", [{"data_rows": [0] * 3000}, {"data_rows": [0], "explain": True}])
def test_small_requests_for_much_work_take_turns(asked, monkeypatch):
    """Each computation has passed the semaphore, which lets `TURNS` of them in at once."""
    service = served.with_data(*served.digits())
    made, at_once, lock, predict = [], 0, threading.Lock(), predictions.predict
    outside = []

    def semaphore(most):
        made.append(Turns(most))
        return made[-1]

    def counted(*arguments):
        nonlocal at_once
        with lock:
            at_once += 1
            if at_once > made[0].inside:
                outside.append(at_once)
        try:
            return predict(*arguments)
        finally:
            with lock:
                at_once -= 1

    with monkeypatch.context() as patch:
        patch.setattr(app.asyncio, "Semaphore", semaphore)
        application = app.build(service)
    monkeypatch.setattr(predictions, "predict", counted)

    async def ask():
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(*(client.post("/predict", json=asked) for _ in range(2 * app.TURNS)))

    assert {answer.status_code for answer in asyncio.run(ask())} == {200}
    assert outside == []
    assert [(one.most, one.ever, one.inside) for one in made] == [(app.TURNS, 2 * app.TURNS, 0)]
