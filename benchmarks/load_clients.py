"""Clients of a service in one process that does as little as possible: each sends the next request when its last is
answered. One loop over plain sockets: on a machine of two cores, what the clients take the service does not have."""

from __future__ import annotations

import re
import selectors
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

LENGTH = re.compile(rb"content-length: (\d+)\r\n", re.IGNORECASE)
ROOM = 1 << 20  # bytes: a whole request fits in, so that sending it never waits


@dataclass
class Loaded:
    """Seconds that each answered request took, and the first lines of refusals."""

    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Client:
    """A connection, and the request that waits for an answer on it."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.connect(("127.0.0.1", port))
        self.began, self._got = 0.0, b""

    def ask(self, request: bytes) -> None:
        self.began = time.perf_counter()
        self.socket.sendall(request)

    def answer(self) -> bytes | None:
        """The answer, once all of it is there."""
        data = self.socket.recv(ROOM)
        if not data:
            raise ConnectionError("the service closed a connection")
        self._got += data
        head = self._got.find(b"\r\n\r\n") + 4
        if head < 4:
            return None
        length = LENGTH.search(self._got, 0, head)
        assert length is not None
        if len(self._got) < head + int(length[1]):
            return None
        found, self._got = self._got, b""
        return found


def load(
    port: int, requests: Sequence[bytes], clients: int, seconds: float, each_second: Callable[[], object]
) -> Loaded:
    """Ask for so long, and wait for the last answers."""
    found, until, sent = Loaded(), time.perf_counter() + seconds, 0
    ticked = time.perf_counter()
    with selectors.DefaultSelector() as ready:
        asking = [Client(port) for _ in range(clients)]
        for one in asking:
            ready.register(one.socket, selectors.EVENT_READ, one)
            one.ask(requests[sent % len(requests)])
            sent += 1
        waiting = clients
        while waiting:
            for key, _ in ready.select():
                one = key.data
                answer = one.answer()
                if answer is None:
                    continue
                now = time.perf_counter()
                found.times.append(now - one.began)
                if not answer.startswith(b"HTTP/1.1 200"):
                    found.errors.append(answer.split(b"\r\n", 1)[0].decode())
                if now < until:
                    one.ask(requests[sent % len(requests)])
                    sent += 1
                else:
                    waiting -= 1
                if now - ticked > 1:
                    ticked = now
                    each_second()
        for one in asking:
            one.socket.close()
    return found
