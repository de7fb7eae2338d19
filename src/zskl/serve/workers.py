"""Several processes that answer at one address, and the one that looks after them.

It forks them, starts another when one dies, and ends them all. It runs no thread and computes nothing, so that a copy
of it is as good as new; and a worker ends by itself when its parent is gone.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from threadpoolctl import threadpool_limits

from zskl.serve import server

DEATHS, SECONDS = 5, 60.0  # workers that may die in so many seconds; with one more, the service ends
GRACE = 5.0  # more seconds than a worker needs to end
Over = Callable[[], bool]
Tell = Callable[[Sequence[str]], object]
Work = Callable[[int, Tell, Over], None]  # in a place, serves until it is over; tells what to say once it answers
log = logging.getLogger("zskl.serve")


def check(count: int, device: str | None) -> None:
    """Refuse workers where they cannot be."""
    if count > 1 and (not hasattr(os, "fork") or sys.platform == "darwin"):  # Apple's libraries do not bear a fork
        raise ValueError(
            f"--workers is {count}: on this system a service is one process, because a running process cannot be "
            "copied safely; leave out --workers"
        )
    if count > 1 and device not in (None, "cpu"):
        raise ValueError(f"--workers is {count} with --device {device}: one process uses a GPU; leave out one of them")


@dataclass
class Told:
    """What signals have said: stop, and stop at once."""

    should_exit: bool = False
    force_exit: bool = False


class Worker:
    """A process in one of the places. `said` is what it has to say once it answers, `error` why it cannot."""

    def __init__(self, place: int, work: Work) -> None:
        reading, writing = os.pipe()
        parent = os.getpid()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # or both processes would write what is left
        held = signal.pthread_sigmask(signal.SIG_BLOCK, _signals())  # until the copy has handlers of its own
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: those of OpenBLAS end before a fork
            self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _live(place, work, writing, parent, held)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        os.close(writing)
        os.set_blocking(reading, False)
        self._pipe, self._heard = reading, b""
        self.said: list[str] | None = None
        self.error: str | None = None

    def listen(self) -> None:
        """Take up what it has written."""
        with suppress(BlockingIOError):
            while part := os.read(self._pipe, 1 << 16):
                self._heard += part
        whole, _, self._heard = self._heard.rpartition(b"\n")
        for line in whole.splitlines():
            told = json.loads(line)
            self.said, self.error = told.get("said", self.said), told.get("error", self.error)

    def ended(self) -> str | None:
        """How it ended; None while it lives."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            return None
        self.listen()
        os.close(self._pipe)
        code = os.waitstatus_to_exitcode(status)
        return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"

    def send(self, number: int) -> None:
        """Send a signal."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Deaths:
    """When workers died lately."""

    def __init__(self, most: int = DEATHS, seconds: float = SECONDS) -> None:
        self._most, self._seconds = most, seconds
        self._times: deque[float] = deque()

    def too_many(self, now: float) -> bool:
        """Whether this one is one too many."""
        self._times.append(now)
        while self._times[0] < now - self._seconds:
            self._times.popleft()
        return len(self._times) > self._most


def run(
    count: int, work: Work, say: Callable[[str], object], tend: Callable[[], object], close: Callable[[], object]
) -> None:
    """Have so many processes do the work until a signal ends them. What they have to say is said once all answer.
    `tend` is called again and again meanwhile; `close` closes what this process holds of the address."""
    logging.basicConfig(format=server.LOGGED)
    told = Told()
    crew: list[Worker] = []
    with server.stopped_by_signals(told):
        try:
            for place in range(count):
                crew.append(Worker(place, work))
            _await(crew, told)
            if not told.should_exit:
                for line in [*(crew[0].said or ()), f"worker processes: {', '.join(str(one.pid) for one in crew)}"]:
                    say(line)
            deaths = Deaths()
            while not told.should_exit:
                _replace_dead(crew, deaths, work)
                tend()
                time.sleep(server.TICK)
        finally:
            close()
            _end(crew, told)


def _await(crew: list[Worker], told: Told) -> None:
    """Until all answer, or are told to stop. If one cannot start, none does."""
    while not told.should_exit:
        for one in crew:
            one.listen()
            how = one.ended()
            if how is not None:
                crew.remove(one)
                raise ChildProcessError(one.error or f"a worker process ended while it started ({how})")
        if all(one.said is not None for one in crew):
            return
        time.sleep(server.TICK)


def _replace_dead(crew: list[Worker], deaths: Deaths, work: Work) -> None:
    """Start another worker for each that has died. If they die again and again, that does not help."""
    for place, one in enumerate(crew):
        one.listen()
        how = one.ended()
        if how is None:
            continue
        why = f"{how}: {one.error}" if one.error else how
        if deaths.too_many(time.monotonic()):
            del crew[place]
            raise ChildProcessError(
                f"worker processes ended {DEATHS + 1} times in {SECONDS:g} seconds, the last one by {why}; the service "
                "has stopped: look for what they have logged"
            )
        crew[place] = Worker(place, work)
        log.warning("worker process %d ended (%s); %d takes its place", one.pid, why, crew[place].pid)


def _end(crew: list[Worker], told: Told) -> None:
    """Stop all, and wait: running requests get their time."""
    for one in crew:
        one.send(signal.SIGTERM)
    forced, last = False, time.monotonic() + server.WAIT + GRACE
    while crew:
        crew[:] = [one for one in crew if one.ended() is None]
        if told.force_exit and not forced:
            forced = True
            for one in crew:
                one.send(signal.SIGINT)
                one.send(signal.SIGINT)
        if time.monotonic() > last:
            for one in crew:
                one.send(signal.SIGKILL)
        time.sleep(server.TICK)


def _signals() -> list[signal.Signals]:
    return [getattr(signal, name) for name in server.SIGNALS if hasattr(signal, name)]


def _live(place: int, work: Work, writing: int, parent: int, held: set[signal.Signals] | set[int]) -> NoReturn:
    """The life of a worker, which never returns: nothing that its parent has begun is its own to end."""

    def tell(**what: object) -> None:
        with suppress(OSError):
            os.write(writing, json.dumps(what).encode() + b"\n")

    code = 1
    try:
        for number in _signals():
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        with threadpool_limits(1):
            work(place, lambda said: tell(said=list(said)), lambda: os.getppid() != parent)
        code = 0
    except (ValueError, ArithmeticError, OSError, MemoryError) as error:  # what a user can mend
        tell(error=str(error) or type(error).__name__)
        code = 2
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
