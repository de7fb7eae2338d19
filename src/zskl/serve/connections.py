"""What of a connection is no body: uvicorn would take lines and headers of any length, at any pace, from anyone."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD = 64 << 10  # bytes of a request's first line and headers, or of what stands between and after parts of its body
SECONDS = 30.0  # for a first line and headers to arrive


class Connection(HttpToolsProtocol):
    """Ends where the head of a request is too long, or too slow."""

    _read = 0  # bytes since the last thing that was understood
    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        if self._read > HEAD:
            self.send_400_response(f"The head of the request is larger than {HEAD} bytes.")
            return
        self._read += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._read = 0
        self._start()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._read = 0
        self._stop()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._read = 0
        super().on_body(body)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        if self._clock is None:
            self._clock = self.loop.call_later(SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
