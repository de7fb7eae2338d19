"""How much one request may ask for, and how many large requests run at once. Small requests never wait."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass

from fastapi import Response
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

# multiplications done on the spot; longer work goes to a thread, so that others are answered meanwhile
QUICK_OPERATIONS = 20_000_000
MAX_WORK = min(max(2, os.cpu_count() or 1), 8)  # computations at once
MAX_LARGE_BODIES = 4  # large bodies, and large answers, in memory at once
MAX_PHOTOS = 16  # photos in memory at once; they are smaller, and phones send them slowly


@dataclass(frozen=True)
class Limits:
    body_bytes: int = 256 << 20
    rows: int = 100_000
    explained_rows: int = 1000
    name_length: int = 200
    classes: int = 10_000
    examples: int = 2000
    values: int = 1 << 26  # rows times features
    json_values: int = 5_000_000  # the same in JSON, which takes many times the memory
    answers: int = 1_000_000  # rows times the classes listed for each
    small: int = 1 << 20  # bytes of a body that is answered at once; larger ones queue, so that few are in memory
    seconds: float = 60.0  # for a body to arrive; a large one gets another second per megabyte


class ConcurrencyLimits:
    """Four queues. `work` on a core; `bodies` that arrive or are in memory, and `photos`; `answers` not read yet."""

    # No core waits for a slow client: a body is read before its request queues for `work`, and an answer is sent after
    # it has left that queue. To avoid deadlocks, take several queues in the order bodies, answers, work.
    def __init__(self) -> None:
        most = MAX_WORK, MAX_LARGE_BODIES, MAX_LARGE_BODIES, MAX_PHOTOS
        self.work, self.bodies, self.answers, self.photos = map(asyncio.Semaphore, most)

    async def send_large(self, compute: Callable[[], Response]) -> Response:
        """Compute a large answer. Its slot is free again once a client has read it, or was cut off."""
        await self.answers.acquire()
        try:
            async with self.work:
                reply = await run_in_threadpool(compute)
        except BaseException:
            self.answers.release()
            raise
        return _HeldResponse(reply, self.answers.release)


class _HeldResponse(Response):
    """An answer that frees its slot once it is sent, or cannot be."""

    def __init__(self, reply: Response, free: Callable[[], object]) -> None:
        super().__init__(reply.body, reply.status_code, None, reply.media_type)
        self._free = free

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._free()
