"""A connection before its request has a body: uvicorn would take a head of any length, at any pace, from anyone."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD = 64 << 10  # bytes of a request's first line and headers
SECONDS = 30.0  # for these to arrive


class Connection(HttpToolsProtocol):
    """Ends where the head of a request is too long, or too slow."""

    _head: int | None = 0  # bytes of the one that is arriving; None while there is none
    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._clock = self.loop.call_later(SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            if self._head > HEAD:
                self.send_400_response(f"The head of the request is larger than {HEAD} bytes.")
                return
            self._head += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0
        if self._clock is None:
            self._clock = self.loop.call_later(SECONDS, self.transport.close)

    def on_headers_complete(self) -> None:
        self._head = None
        self._stop()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
