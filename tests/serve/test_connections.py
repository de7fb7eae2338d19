"""Heads of requests that are too long or too slow."""

import socket
import threading
from contextlib import suppress

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import uvicorn

import served
from served_models import strings
from zskl.serve import app, connections, server
from zskl.serve.guard import Guard
from zskl.serve.limits import Limits
from zskl.serve.service import Service


def test_heads_of_requests_are_short(over_a_socket):
    start = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    for endless in (b"GET /" + b"a" * (1 << 16), start + b"x: y\r\n" * 9999, start + b"x: " + b"y" * (1 << 16)):
        cut_off(over_a_socket, endless)
    client = over_a_socket.asking
    assert client.get("/health").status_code == 200
    assert client.get("/health", headers={"x": "y" * 30000}).status_code == 200
    assert over_a_socket.peak() < 1000


def cut_off(service, endless):
    """The service ends a connection rather than read on."""
    with service.connected() as connection:
        connection.sendall(endless)
        with pytest.raises(ConnectionError):
            connection.sendall(b"y" * (100 << 20))


def test_what_stands_between_parts_of_a_body_is_short(over_a_socket):
    lines = [
        "POST /predict HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
    ]
    chunked = "\r\n".join([*lines, "\r\n"]).encode()
    for endless in (b"0\r\nx: " + b"y" * (1 << 16), b"0\r\n" + b"x: y\r\n" * 99_999, b"1;" + b"x" * (1 << 16)):
        cut_off(over_a_socket, chunked + endless)
    with over_a_socket.connected() as connection:
        parts = b"".join(b"1\r\n%c\r\n" % byte for byte in b'{"rows": [[0, 0, 0, 0, 0, 1]]' + b" " * 50_000 + b"}")
        connection.sendall(chunked + parts + b"0\r\nx: y\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
    assert over_a_socket.peak() < 1000


def test_a_head_that_does_not_arrive_ends_the_connection(monkeypatch):
    model, _ = strings()
    service = Service(model, "m", Limits())
    listening = server.bound("127.0.0.1", 0)
    listening.listen()
    guarded = Guard(app.build(service), None, {"localhost"}, service.limits)
    config = server.configured(guarded, keep_alive=served.LIMIT)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, args=([listening],))
    thread.start()

    def connected():
        return socket.create_connection(listening.getsockname(), timeout=served.LIMIT)

    def ended(connection, start):
        """Nothing comes back but the end, also where that comes before all is sent."""
        with suppress(ConnectionError):
            connection.sendall(start)
            assert connection.recv(4096) == b""
        return True

    try:
        with connected() as connection:  # which had a whole request before
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while not answer.endswith(b"}"):  # its head and its body may come apart
                answer += connection.recv(4096)
            assert answer.startswith(b"HTTP/1.1 200")
            monkeypatch.setattr(connections, "SECONDS", 0.05)
            assert ended(connection, b"GET /hea")
        for start in (b"", b"GET /hea"):
            with connected() as connection:
                assert ended(connection, start)
    finally:
        running.should_exit = True
        thread.join(served.LIMIT)
        listening.close()
