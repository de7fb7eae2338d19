"""Large requests queue, and slow clients hold up nobody."""

import asyncio
import threading

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import services
from zskl import ClassMeansClassifier
from zskl.serve import app, limits, predictions, requests


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
