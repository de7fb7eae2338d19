"""The application as a whole: all its paths, its headers, and how large requests take turns."""

import asyncio
import threading

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import refusal
from zskl import ClassMeansClassifier
from zskl.serve import app, photos, predictions, turns

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
    for path, status in (
        ("/", 200),
        ("/health", 200),
        ("/classes/ant", 200),
        ("/openapi.json", 200),
        ("/nowhere", 404),
    ):
        head, whole = client.head(path), client.get(path)
        assert (head.status_code, head.content) == (status, b"")
        assert {**head.headers, "content-length": ""} == {**whole.headers, "content-length": ""}
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

    async def acquire(self):
        await super().acquire()
        self.inside += 1
        self.ever += 1
        return True

    def release(self):
        self.inside -= 1
        super().release()


@pytest.mark.parametrize(
    ("asked", "large"), [({"data_rows": [0] * 3000}, True), ({"data_rows": [0], "explain": True}, False)]
)
def test_small_requests_for_much_work_take_turns(asked, large, monkeypatch):
    """Each computation has passed the first semaphore, which lets as many in at once as there are cores; each large
    answer has its place until it is sent."""
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
        patch.setattr(turns.asyncio, "Semaphore", semaphore)
        application = app.build(service)
    monkeypatch.setattr(predictions, "predict", counted)

    async def ask():
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(*(client.post("/predict", json=asked) for _ in range(2 * turns.CORES)))

    assert {answer.status_code for answer in asyncio.run(ask())} == {200}
    assert outside == []
    work, bodies, answers, _ = made
    assert (work.most, work.ever, work.inside) == (turns.CORES, 2 * turns.CORES, 0)
    assert (bodies.ever, answers.ever, answers.inside) == (0, 2 * turns.CORES if large else 0, 0)


@pytest.mark.parametrize(
    ("path", "kind", "most"),
    [
        ("/predict", "application/json", turns.LARGE),
        ("/predict", "image/jpeg", turns.PHOTOS),
        ("/classes/3/examples", "image/png", turns.PHOTOS),
    ],
)
def test_a_body_that_arrives_slowly_keeps_nobody_waiting(path, kind, most):
    """Large bodies that never end, more than there are cores: an explanation is still answered."""
    model, data = served.digits()
    if "examples" in path:
        model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    service = served.with_data(model, data)
    service._photos = photos.Photos("ours", None)
    application = app.build(service)
    begun, end = [], asyncio.Event

    async def ask():
        over = end()

        async def endless():
            yield b" " * (service.limits.small + 1)
            begun.append(True)
            await over.wait()

        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            slow = [
                asyncio.create_task(client.post(path, content=endless(), headers={"content-type": kind}))
                for _ in range(turns.CORES + most)
            ]
            while len(begun) < most:
                await asyncio.sleep(0)
            answer = await client.post("/predict", json={"data_rows": [0], "explain": True})
            over.set()
            return answer, await asyncio.gather(*slow)

    answer, refused = asyncio.run(ask())
    assert answer.status_code == 200
    assert {one.status_code for one in refused} == {422}
