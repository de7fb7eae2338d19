"""A server that shares its socket with other workers, evenly. uvicorn's own takes all connections that wait: one worker
would get all that come at the same moment, and keep them."""

from __future__ import annotations

import asyncio
import logging
import mmap
import socket

import uvicorn

NO_ROOM = 1.0  # seconds until the next try, if there are too many open files
PAUSE = 0.002  # seconds that a worker with more connections than another one leaves the next one to it

log = logging.getLogger("zskl.serve")


class Seats:
    """How many connections each worker has, seen by all processes that were forked after this was made."""

    def __init__(self, workers: int) -> None:
        self._counts = memoryview(mmap.mmap(-1, 8 * workers)).cast("Q")

    def ahead(self, place: int, count: int) -> bool:
        """Whether a worker with so many has more than another one. Its number is noted."""
        self._counts[place] = count
        return count > min(self._counts)


class Sharing(uvicorn.Server):
    """A server that takes one connection at a time, and leaves the next one to a worker that has fewer. If that one is
    too busy, it takes it after all."""

    def __init__(self, config: uvicorn.Config, seats: Seats, place: int) -> None:
        super().__init__(config)
        self._seats, self._place = seats, place
        self._coming: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        assert sockets is not None
        self._socket, self._loop = sockets[0], asyncio.get_running_loop()
        self._socket.setblocking(False)
        self._socket.listen(self.config.backlog)
        self._loop.add_reader(self._socket.fileno(), self._look)
        await super().startup([])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop.remove_reader(self._socket.fileno())
        if self._timer is not None:
            self._timer.cancel()
        await super().shutdown(sockets)

    def _look(self) -> None:
        """A connection waits."""
        if self._seats.ahead(self._place, len(self.server_state.connections) + len(self._coming)):
            self._rest(PAUSE)
        else:
            self._take()

    def _rest(self, seconds: float) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._timer = self._loop.call_later(seconds, self._look_again)

    def _look_again(self) -> None:
        self._loop.add_reader(self._socket.fileno(), self._look)
        self._take()

    def _take(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):  # another worker was faster; or it is gone
            return
        except OSError as error:
            log.error("cannot take a connection: %s", error)
            self._rest(NO_ROOM)
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = self._loop.create_task(self._loop.connect_accepted_socket(self._protocol, connection))
        self._coming.add(task)
        task.add_done_callback(self._coming.discard)

    def _protocol(self) -> asyncio.Protocol:
        protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol
