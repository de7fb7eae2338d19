"""Who waits for whom, where a request is large. Small ones never wait."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from fastapi import Response
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

CORES = min(max(2, os.cpu_count() or 1), 8)
LARGE = 4  # large bodies, and large answers, in memory at once
PHOTOS = 16  # photos in memory at once; they are smaller, and phones send them slowly


class Turns:
    """Four queues. `work` on a core; `bodies` that arrive or are in memory, and `photos`; `answers` not read yet.

    Who waits for a slow client waits for it alone: a body is read before its request takes a turn to compute, and an
    answer is sent after its turn. Whoever needs several turns takes them in the order bodies, answers, work.
    """

    def __init__(self) -> None:
        most = CORES, LARGE, LARGE, PHOTOS
        self.work, self.bodies, self.answers, self.photos = map(asyncio.Semaphore, most)

    async def answered(self, compute: Callable[[], Response]) -> Response:
        """A large answer. The next one is computed when a client has read this one, or was cut off."""
        await self.answers.acquire()
        try:
            async with self.work:
                reply = await run_in_threadpool(compute)
        except BaseException:
            self.answers.release()
            raise
        return _Held(reply, self.answers.release)


class _Held(Response):
    """An answer that frees its place once it is sent, or cannot be."""

    def __init__(self, reply: Response, free: Callable[[], object]) -> None:
        super().__init__(reply.body, reply.status_code, None, reply.media_type)
        self._free = free

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._free()
