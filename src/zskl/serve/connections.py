"""Limits on the head of a request, and on the time until an answer is read. uvicorn itself reads lines and headers of
any length, at any pace, from anyone, and keeps an answer for ever."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import httptools

HEAD = 64 << 10  # bytes of a request's first line and headers, or of what stands between and after parts of its body
SECONDS = 30.0  # for a first line and headers to arrive
UNREAD = 60.0  # seconds that an answer may wait for its client to read on
EACH = 0.25  # more of them for each 256 kB that were read: so a large answer takes long, but not for ever
TOO_LONG = f"The head of the request is larger than {HEAD} bytes.".encode()
REPLY = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n"
    b"connection: close\r\n\r\n%s" % (len(TOO_LONG), TOO_LONG)
)


def limited(protocol: type[asyncio.Protocol]) -> type[asyncio.Protocol]:
    """The same HTTP protocol, with connections that end if the head of a request is too long or too slow, or
    if nobody reads the answer.

    All bytes go on to `protocol`. A second parser beside it only says where heads and parts of bodies end.
    """

    class Connection(asyncio.Protocol):
        def __init__(self, **arguments: Any) -> None:
            self._protocol = protocol(**arguments)
            self._parser = httptools.HttpRequestParser(self)
            self._read = 0  # bytes since the last thing that was understood
            self._clock: asyncio.TimerHandle | None = None
            self._unread: asyncio.TimerHandle | None = None
            self._patience = UNREAD

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            self._transport = transport
            self._protocol.connection_made(transport)
            self._start()

        def data_received(self, data: bytes) -> None:
            if self._read > HEAD:
                self._transport.write(REPLY)
                self._transport.close()
                return
            self._read += len(data)
            with suppress(httptools.HttpParserError):  # the other parser finds the same fault, and answers
                self._parser.feed_data(data)
            self._protocol.data_received(data)

        def eof_received(self) -> bool | None:
            return self._protocol.eof_received()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            self._read_on()
            self._protocol.connection_lost(exc)

        def pause_writing(self) -> None:
            if self._unread is None:
                self._unread = asyncio.get_running_loop().call_later(self._patience, self._transport.abort)
            self._protocol.pause_writing()

        def resume_writing(self) -> None:
            self._read_on()
            self._protocol.resume_writing()

        def _read_on(self) -> None:
            if self._unread is not None:
                self._patience = max(0.0, self._unread.when() - asyncio.get_running_loop().time()) + EACH
                self._unread.cancel()
                self._unread = None

        # What the parser calls.

        def on_message_begin(self) -> None:
            self._read = 0
            self._patience = UNREAD
            self._start()

        def on_headers_complete(self) -> None:
            self._read = 0
            self._stop()

        def on_body(self, body: bytes) -> None:
            self._read = 0

        def _start(self) -> None:
            if self._clock is None:
                self._clock = asyncio.get_running_loop().call_later(SECONDS, self._transport.close)

        def _stop(self) -> None:
            if self._clock is not None:
                self._clock.cancel()
                self._clock = None

    return Connection
