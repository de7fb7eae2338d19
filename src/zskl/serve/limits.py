"""Refusals: a status and a sentence; how much one request may ask for, and how many large requests run at once. Small
requests never wait."""

import asyncio
import logging
import math
import mmap
import os
import reprlib
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import Response
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from zskl._validation import suggest

MAX_COMPARED_NAMES, MAX_COMPARED_LETTERS = 2000, 60  # beyond these a misspelt name gets no suggestion
# multiplications done on the spot; longer work goes to a thread, so that others are answered meanwhile
QUICK_OPERATIONS = 20_000_000
MAX_WORK = min(max(2, os.cpu_count() or 1), 8)  # computations at once
MAX_LARGE_BODIES = 4  # large bodies, and large answers, in memory at once
MAX_PHOTOS = 16  # photos in memory at once; they are smaller, and phones send them slowly
FIRST_TOKEN_WAIT, MAX_TOKEN_WAIT = 0.25, 4.0  # seconds until a wrong token is answered: twice as long each time
FORGET_TOKENS_SECONDS = 600.0  # after the last wrong token of an address
MAX_TOKEN_ADDRESSES = 4096
RATE_PLACES, RATE_ROUNDING = 1 << 16, 1e-6
log = logging.getLogger("zskl.serve")


class Refusal(Exception):
    """An answer with an error status: the value found, what was expected, what to do."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers or {}


def unknown_class(name: str, names: Collection[str], status: int = 422) -> Refusal:
    near = suggest(name, names) if len(names) <= MAX_COMPARED_NAMES and len(name) <= MAX_COMPARED_LETTERS else ""
    return Refusal(status, f"no class is called {quote(name)}{near}: GET /classes lists all classes")


def quote(value: object, longest: int = 60) -> str:
    """A value as part of a sentence: one line of printable text, cut where it is long. What is cut is not looked at."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()  # as in JSON
    whole = not isinstance(value, str) or len(value) <= longest
    try:
        written = repr(value[:longest]) if isinstance(value, str) else reprlib.repr(value)
    except ValueError:  # a number with thousands of digits
        written = "a number too long to be shown"
    return written if whole and len(written) <= longest else written[:longest] + "…"


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
    stall: float = 5.0  # for a large body to bring more: while it is read, others wait for its place


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


class WrongTokens:
    """Counts the wrong tokens of each address, so that answers to them come later and later."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: dict[str, tuple[int, float]] = {}  # how many, and when the last one came; the oldest first

    def add(self, address: str) -> float:
        """Count and log a wrong token → the seconds that its answer waits."""
        now = self._clock()
        count, last = self._counts.pop(address, (0, now))
        count = 1 if now - last > FORGET_TOKENS_SECONDS else count + 1
        self._counts[address] = count, now
        if len(self._counts) > MAX_TOKEN_ADDRESSES:
            del self._counts[next(iter(self._counts))]
        if count & (count - 1) == 0:  # the 1st, 2nd, 4th, 8th …: a line for each could fill the disk
            log.warning("a wrong token from %s: %d so far", quote(address), count)
        return min(MAX_TOKEN_WAIT, FIRST_TOKEN_WAIT * 2.0 ** min(count - 1, 30))


class RateLimit:
    """So many requests a minute of each address, at once or spread. All processes count together that were forked after
    this was made."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._step, self._clock = 60.0 / per_minute, clock
        # when an address will have used up nothing; two addresses seldom share a place
        self._free = memoryview(mmap.mmap(-1, 8 * RATE_PLACES)).cast("d")
        # to lock among processes: the system frees the lock of one that dies
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)

    def check(self, address: str) -> None:
        """Count a request, or refuse it."""
        place = hash(address) % RATE_PLACES
        with self._lock():
            now = self._clock()
            free = max(self._free[place], now) + self._step
            wait = free - now - 60.0
            if wait <= RATE_ROUNDING:
                self._free[place] = free
                return
        most = round(60.0 / self._step)
        why = f"more than {most} requests in a minute: try again in {math.ceil(wait)} seconds"
        raise Refusal(429, why, {"retry-after": str(math.ceil(wait))})

    @contextmanager
    def _lock(self) -> Iterator[None]:
        if sys.platform == "win32":  # where one process answers, in one thread
            yield
            return
        import fcntl

        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


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
