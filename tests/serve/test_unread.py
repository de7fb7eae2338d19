"""Answers that clients do not read: how many bytes of them are kept, and for how long."""

import asyncio

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from tolerances import SUMS, assert_close
from zskl.serve import connections, predictions, unread
from zskl.serve.routes import predict as route


def test_who_has_read_nothing_for_the_longest_time_goes_first():
    """Three answers of two pieces, where there is room for two."""
    size = unread.PIECE + 1
    kept = unread.Unread(2 * size)

    async def ask():
        ends, sent = [asyncio.Event() for _ in range(3)], [[], [], []]

        def client(number):
            async def send(message):
                sent[number].append(message)
                await ends[number].wait()

            return asyncio.create_task(kept.send(bytes(size), False, send))

        tasks = [client(0)]
        await asyncio.sleep(0)
        tasks += [client(1)]
        await asyncio.sleep(0)
        tasks += [client(2)]
        with pytest.raises(unread.CutOff):
            await asyncio.wait_for(tasks[0], served.LIMIT)
        for end in ends:
            end.set()
        await asyncio.wait_for(asyncio.gather(*tasks[1:]), served.LIMIT)
        assert [len(one) for one in sent] == [1, 2, 2]
        assert [one["more_body"] for one in sent[1]] == [True, False]
        assert sum(len(one["body"]) for one in sent[1]) == size
        await asyncio.wait_for(client(0), served.LIMIT)  # nothing is left of what was cut off

    asyncio.run(ask())


def test_a_client_cannot_read_slowly_for_ever(monkeypatch):
    monkeypatch.setattr(connections, "UNREAD", 0.05)
    monkeypatch.setattr(connections, "EACH", 0.0)
    ended = asyncio.Event()

    class Silent(asyncio.Protocol):
        def __getattr__(self, name):
            return lambda *_: None

    class Transport:
        abort = close = staticmethod(ended.set)

    async def ask():
        connection = connections.limited(Silent)()
        connection.connection_made(Transport())
        while not ended.is_set():
            connection.pause_writing()
            await asyncio.sleep(0.001)
            connection.resume_writing()
        connection.connection_lost(None)

    asyncio.run(asyncio.wait_for(ask(), served.LIMIT))


@pytest.mark.parametrize("features", [False, True])
def test_a_large_answer_is_put_together_from_parts(features, digits, monkeypatch):
    """It is what one part would be, while few classes are in memory as objects."""
    client = digits[2]
    body = {"data_rows": list(range(40)), "top": 3, "features": features, "nearest": 1}
    whole = client.post("/predict", json=body).json()
    made, predict = [], predictions.predict

    def counted(book, X, options):
        made.append(len(X))
        return predict(book, X, options)

    monkeypatch.setattr(route, "FEW", 60)
    monkeypatch.setattr(predictions, "predict", counted)
    found = client.post("/predict", json=body).json()
    pairs = list(zip(found.pop("predictions"), whole.pop("predictions"), strict=True))
    assert found == whole
    for one, other in pairs:
        assert (one["class"], one["nearest"]) == (other["class"], other["nearest"])
        scores = [[each["score"] for each in answer["top"]] for answer in (one, other)]
        assert_close(scores[0], scores[1], SUMS.single)
    assert sum(made) == 40
    assert max(made) <= 20
