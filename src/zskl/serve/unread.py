"""Large answers on their way to clients: so many bytes of them are kept, and no more."""

from __future__ import annotations

import asyncio

from starlette.types import Send

MOST = 256 << 20  # bytes that were not read yet
PIECE = 256 << 10  # bytes that are sent at once: who does not read them gets no more


class CutOff(BaseException):
    """Nobody reads an answer, and others need its place. No Exception: the application has nothing to say to it."""


class Unread:
    """Who sends answers in pieces. If more than `most` bytes wait, those go whose clients have read nothing for the
    longest time. Whoever reads goes on."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._left: dict[asyncio.Timeout, int] = {}  # bytes of each answer, the longest wait first

    async def send(self, body: bytes, more: bool, send: Send) -> None:
        """A body, or a part of it with `more` to come."""
        if len(body) <= PIECE:
            await send({"type": "http.response.body", "body": body, "more_body": more})
            return
        try:
            async with asyncio.timeout(None) as clock:
                for place in range(0, len(body), PIECE):
                    rest = len(body) - place - PIECE
                    if rest > 0:
                        self._keep(clock, len(body) - place)
                    piece = body[place : place + PIECE]
                    await send({"type": "http.response.body", "body": piece, "more_body": more or rest > 0})
        except TimeoutError:
            raise CutOff from None
        finally:
            self._left.pop(clock, None)

    def _keep(self, clock: asyncio.Timeout, size: int) -> None:
        if clock.when() is not None:  # it was cut off while its client read
            raise CutOff
        self._left.pop(clock, None)  # its client has read: to the end of the queue
        self._left[clock] = size
        waiting, now = sum(self._left.values()), asyncio.get_running_loop().time()
        for other in list(self._left)[:-1]:
            if waiting <= self._most:
                return
            waiting -= self._left.pop(other)
            other.reschedule(now)
