"""Large requests queue, and slow clients hold up nobody."""

import asyncio
import os
import threading
import warnings
from contextlib import suppress

import httpx
import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from starlette.testclient import TestClient

import services
from zskl import ClassMeansClassifier
from zskl.serve import app, limits, predictions, requests
from zskl.serve.app import GuardMiddleware
from zskl.serve.limits import Limits, Refusal, quote
from zskl.serve.service import Service


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
def test_expensive_requests_queue_for_a_core(asked, large, monkeypatch):
    """Each computation has passed the first semaphore, which lets as many in at once as there are cores; each large
    answer has its place until it is sent."""
    service = services.with_data(*services.digits())
    made, at_once, lock, predict = [], 0, threading.Lock(), predictions.predict_rows
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
        patch.setattr(limits.asyncio, "Semaphore", semaphore)
        application = app.build_app(service)
    monkeypatch.setattr(predictions, "predict_rows", counted)

    async def ask():
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(*(client.post("/predict", json=asked) for _ in range(2 * limits.MAX_WORK)))

    assert {answer.status_code for answer in asyncio.run(ask())} == {200}
    assert outside == []
    work, bodies, answers, _ = made
    assert (work.most, work.ever, work.inside) == (limits.MAX_WORK, 2 * limits.MAX_WORK, 0)
    assert (bodies.ever, answers.ever, answers.inside) == (0, 2 * limits.MAX_WORK if large else 0, 0)


@pytest.mark.parametrize(
    ("path", "kind", "most"),
    [
        ("/predict", "application/json", limits.MAX_LARGE_BODIES),
        ("/predict", "image/jpeg", limits.MAX_PHOTOS),
        ("/classes/3/examples", "image/png", limits.MAX_PHOTOS),
    ],
)
def test_slow_body_does_not_block_other_requests(path, kind, most):
    """Large bodies that never end, more than there are cores: an explanation is still answered."""
    model, data = services.digits()
    if "examples" in path:
        model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    service = services.with_data(model, data)
    service._photos = requests.PhotoEncoder("ours", None)
    application = app.build_app(service)
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
                for _ in range(limits.MAX_WORK + most)
            ]
            while len(begun) < most:
                await asyncio.sleep(0)
            answer = await client.post("/predict", json={"data_rows": [0], "explain": True})
            over.set()
            return answer, await asyncio.gather(*slow)

    answer, refused = asyncio.run(ask())
    assert answer.status_code == 200
    assert {one.status_code for one in refused} == {422}


@pytest.mark.parametrize(
    ("path", "kind", "most"),
    [
        ("/predict", "application/x-npy", limits.MAX_LARGE_BODIES),
        ("/predict", "image/jpeg", limits.MAX_PHOTOS),
    ],
)
def test_stalled_bodies_free_their_places(path, kind, most):
    """All places are taken by bodies that stop; a large body that comes after them is answered nevertheless."""
    model, data = services.digits()
    allowed = limits.Limits(seconds=10 * services.LIMIT, stall=0.05)
    service = services.with_data(model, data)
    service.limits, service._photos = allowed, requests.PhotoEncoder("ours", None)
    application = app.GuardMiddleware(app.build_app(service), None, {"localhost"}, allowed)
    begun = []

    class Body:
        def __init__(self, stops):
            self.stops, self.sent = stops, 0

        async def receive(self):
            self.sent += 1
            if self.sent == 2 and self.stops:
                begun.append(True)
                await asyncio.Event().wait()
            return {"type": "http.request", "body": bytes(allowed.small + 1), "more_body": self.sent < 2}

    async def send(body):
        statuses = []

        async def note(message):
            statuses.append(message.get("status"))

        headers = [(b"host", b"localhost"), (b"content-type", kind.encode())]
        scope = {"type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": path}
        scope |= {"query_string": b"", "raw_path": path.encode(), "root_path": "", "headers": headers}
        await application(scope, body.receive, note)
        return statuses[0]

    async def ask():
        slow = [asyncio.create_task(send(Body(True))) for _ in range(most)]
        while len(begun) < most:
            await asyncio.sleep(0)
        return await send(Body(False)), await asyncio.gather(*slow)

    answer, refused = asyncio.run(asyncio.wait_for(ask(), services.LIMIT))
    assert answer == 422  # it was read, and is no array or photo
    assert set(refused) == {408}


def test_wrong_tokens_of_an_address_wait_longer_each_time(caplog, monkeypatch):
    now = 0.0
    wrong = limits.WrongTokens(lambda: now)
    assert [wrong.add("a") for _ in range(6)] == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0]
    assert wrong.add("b") == 0.25
    now = limits.FORGET_TOKENS_SECONDS
    assert wrong.add("a") == 4.0
    now = 2 * limits.FORGET_TOKENS_SECONDS + 1
    assert wrong.add("a") == 0.25
    said = [f"a wrong token from {which} so far" for which in ("'a': 1", "'a': 2", "'a': 4", "'b': 1", "'a': 1")]
    assert [record.getMessage() for record in caplog.records] == said
    monkeypatch.setattr(limits, "MAX_TOKEN_ADDRESSES", 2)
    for address in ("c", "a", "d"):  # b, the one with the oldest wrong token, goes first
        wrong.add(address)
    assert set(wrong._counts) == {"a", "d"}
    assert [wrong.add("e") for _ in range(5000)][-1] == 4.0


# Requests a minute


def test_rate_is_limited_for_each_address():
    now = [1000.0]
    rate = limits.RateLimit(3, clock=lambda: now[0])

    def allowed(address):
        try:
            rate.check(address)
        except Refusal as refusal:
            return int(refusal.headers["retry-after"])
        return True

    assert [allowed("a") for _ in range(5)] == [True, True, True, 20, 20]
    assert allowed("b") is True
    now[0] += 19.5
    assert allowed("a") == 1
    now[0] += 0.5
    assert [allowed("a") for _ in range(2)] == [True, 20]
    now[0] += 600
    assert [allowed("a") for _ in range(4)] == [True, True, True, 20]


def test_rate_equals_slow_twin():
    """Requests at random times; the twin refills a bucket of so many tokens."""
    rng, now = np.random.default_rng(0), [0.0]
    rate, tokens, last = limits.RateLimit(6, clock=lambda: now[0]), 6.0, 0.0
    for gap in rng.exponential(8.0, 400):
        now[0] += gap
        tokens, last = min(6.0, tokens + (now[0] - last) / 10), now[0]
        allowed = tokens >= 1
        if abs(tokens - 1) < 1e-3:  # decided by rounding
            continue
        tokens -= allowed
        if allowed:
            rate.check("a")
        else:
            with pytest.raises(Refusal):
                rate.check("a")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no workers")
def test_rate_is_limited_over_all_processes():
    rate = limits.RateLimit(200)
    reading, writing = os.pipe()
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which earlier tests may have left
            child = os.fork()
        if child == 0:
            allowed = 0
            for _ in range(150):
                with suppress(Refusal):
                    rate.check("a")
                    allowed += 1
            os.write(writing, b"%d " % allowed)
            os._exit(0)
    for _ in range(2):
        os.wait()
    found = sum(map(int, os.read(reading, 100).split()))
    os.close(reading)
    os.close(writing)
    assert 200 <= found <= 200 + 200 * services.LIMIT / 60  # those that the time of the test allows again
    assert found < 300


def test_limited_service_says_when_to_come_again(plain):
    application, rate = app.build_app(Service(plain[0], "m", Limits())), limits.RateLimit(2)
    guarded = GuardMiddleware(application, None, {"localhost"}, Limits(), rate=rate)
    client = TestClient(guarded, base_url="http://localhost")
    assert [client.get("/v1/model").status_code for _ in range(3)] == [200, 200, 429]
    answer = client.get("/model")
    assert "try again in" in services.refusal(answer, 429)
    assert 0 < int(answer.headers["retry-after"]) <= 30
    assert {client.get(path).status_code for path in ("/health", "/v1/ready")} == {200}


def test_quoted_values_are_short():
    assert quote("a" * 10**6) == "'" + "a" * 59 + "…"
    assert quote(0xF << 10**5) == "a number too long to be shown"
    assert len(quote([["x" * 100] * 100] * 100)) <= 61
    assert quote("a\nb") == r"'a\nb'"
    assert Refusal(422, "x").status == 422
