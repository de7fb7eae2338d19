"""Workers share the connections of one socket evenly, and take those that others are too busy for."""

import asyncio
import socket
import sys
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
if sys.platform == "win32":
    pytest.skip("Windows has no workers", allow_module_level=True)

import served
from zskl.serve import server, shared_socket
from zskl.serve.shared_socket import Seats, Sharing


async def app(scope, receive, send):
    """Nobody asks it anything."""


@asynccontextmanager
async def sharing(seats, place, listening):
    config = server.configured(app)
    found = Sharing(config, seats, place)
    found.lifespan = config.lifespan_class(config)
    with listening.dup() as own:  # as after a fork
        await found.startup([own])
        try:
            yield found
        finally:
            await found.shutdown([own])


async def counts(workers, connections, seats):
    """How many connections each worker has, of those that came before any of them could look."""
    async with AsyncExitStack() as stack:
        listening = stack.enter_context(server.bound(server.Address(port=0)))
        crew = [await stack.enter_async_context(sharing(seats, place, listening)) for place in range(workers)]
        for _ in range(connections):
            stack.enter_context(socket.create_connection(listening.getsockname(), served.LIMIT))
        while sum(len(one.server_state.connections) for one in crew) < connections:
            await asyncio.sleep(0)
        return [len(one.server_state.connections) for one in crew]


def test_connections_that_come_at_once_are_shared():
    assert max(asyncio.run(counts(2, 8, Seats(2)))) <= 6  # uvicorn's own server would take all


def test_a_worker_leaves_connections_to_others_but_not_for_long():
    seats = Seats(2)  # the second one never looks
    assert [seats.ahead(0, 1), seats.ahead(0, 0)] == [True, False]
    assert asyncio.run(counts(1, 8, seats)) == [8]
    assert not seats.ahead(1, 7)
    assert seats.ahead(1, 8)


def test_too_many_open_files_pass(monkeypatch, caplog):
    accept, failed = socket.socket.accept, []

    def failing(own):
        if failed:
            return accept(own)
        failed.append(True)
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(socket.socket, "accept", failing)
    monkeypatch.setattr(shared_socket, "NO_ROOM", 0)
    assert asyncio.run(counts(1, 1, Seats(1))) == [1]
    assert "Too many open files" in caplog.text
