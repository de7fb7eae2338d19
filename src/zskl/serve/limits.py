"""The answer to a request that the service cannot answer: a status and a sentence, never a stack trace."""

from __future__ import annotations

import asyncio
import os
import reprlib
from collections.abc import Callable, Collection
from dataclasses import dataclass

from fastapi import Response
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from zskl._validation import suggest

# Refusal --------------------------------------------------------------------------------------------------------------

MAX_COMPARED_NAMES, MAX_COMPARED_LETTERS = (
    2000,
    60,
)  # up to so many names of this length, a misspelt name is compared with all


class Refusal(Exception):
    """An answer with an error status: the value found, what was expected, what to do."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


def unknown_class(name: str, names: Collection[str], status: int = 422) -> Refusal:
    """The refusal of a name that no class has."""
    near = suggest(name, names) if len(names) <= MAX_COMPARED_NAMES and len(name) <= MAX_COMPARED_LETTERS else ""
    return Refusal(status, f"no class is called {quote_value(name)}{near}: GET /classes lists all classes")


def quote_value(value: object, longest: int = 60) -> str:
    """A value as part of a sentence: one line of printable text, cut where it is long. What is cut is not looked at."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()  # as in JSON
    whole = not isinstance(value, str) or len(value) <= longest
    try:
        written = repr(value[:longest]) if isinstance(value, str) else reprlib.repr(value)
    except ValueError:  # a number with thousands of digits
        written = "a number too long to be shown"
    return written if whole and len(written) <= longest else written[:longest] + "…"


# Limits ---------------------------------------------------------------------------------------------------------------
# How much one request may ask for. Every limit has a sentence that names it.

QUICK_OPERATIONS = (
    20_000_000  # multiplications done on the spot; longer work goes to a thread, so that others are answered
)


@dataclass(frozen=True)
class Limits:
    """The limits of a service.

    `body_bytes` of a body, `rows` of a prediction, `explained_rows` with an explanation, `name_length` letters of a
    class name, `classes` that may be added, `examples` that may be given. Also of a prediction: `values`, rows times
    features; `json_values`, the same in JSON, which takes many times the memory; and `answers`, rows times the classes
    listed for each.
    A body of at most `small` bytes is read and answered at once. Larger ones take turns, so that few of them are in
    memory. `seconds` is how long a client may take to send its body; a large one gets another second per megabyte.
    """

    body_bytes: int = 256 << 20
    rows: int = 100_000
    explained_rows: int = 1000
    name_length: int = 200
    classes: int = 10_000
    examples: int = 2000
    values: int = 1 << 26
    json_values: int = 5_000_000
    answers: int = 1_000_000
    small: int = 1 << 20
    seconds: float = 60.0


# Turns ----------------------------------------------------------------------------------------------------------------
# Who waits for whom, where a request is large. Small ones never wait.

MAX_WORK = min(max(2, os.cpu_count() or 1), 8)
MAX_LARGE_BODIES = 4  # large bodies, and large answers, in memory at once
MAX_PHOTOS = 16  # photos in memory at once; they are smaller, and phones send them slowly


class ConcurrencyLimits:
    """Four queues. `work` on a core; `bodies` that arrive or are in memory, and `photos`; `answers` not read yet.

    Who waits for a slow client waits for it alone: a body is read before its request takes a turn to compute, and an
    answer is sent after its turn. Whoever needs several turns takes them in the order bodies, answers, work.
    """

    def __init__(self) -> None:
        most = MAX_WORK, MAX_LARGE_BODIES, MAX_LARGE_BODIES, MAX_PHOTOS
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
        return _HeldResponse(reply, self.answers.release)


class _HeldResponse(Response):
    """An answer that frees its place once it is sent, or cannot be."""

    def __init__(self, reply: Response, free: Callable[[], object]) -> None:
        super().__init__(reply.body, reply.status_code, None, reply.media_type)
        self._free = free

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._free()
