"""A Ray cluster: the one at an address, the one this process is connected to, or one on this machine.

It is driven by a process of its own, see `ray_driver`: one that dies is started anew.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from zskl.engines import engine as kinds
from zskl.engines.engine import Engine, LostError, Results, Started, Task, handed_out
from zskl.engines.ray_driver import ADVICE

LAST_WORDS = 20_000  # bytes at the end of what a driver said that are looked through
FAREWELL = 15.0  # seconds that a driver has to end its cluster


@dataclass(frozen=True)
class Driven(Engine):
    """A Ray engine whose driver runs."""

    driver: Driver = field(kw_only=True, compare=False)


@contextmanager
def connected(engine: Engine) -> Iterator[Driven]:
    """With a driver that is connected to Ray, for as long as the block runs."""
    if isinstance(engine, Driven):
        yield engine
        return
    if importlib.util.find_spec("ray") is None:
        raise kinds.not_installed("ray", "ray")
    driver = Driver(_placed(engine))
    try:
        driver.start()
        yield Driven(engine.name, engine.address, engine.workers, driver=driver)
    finally:
        driver.stop()


def slots(engine: Engine) -> int:
    with connected(engine) as ready:
        return ready.driver.slots


def run(function: Task, tasks: dict[int, Any], shared: Any, engine: Engine, started: Started) -> Results:
    assert isinstance(engine, Driven)
    driver, left = engine.driver, len(tasks)
    try:
        driver.start()
        driver.tell((function, tasks, shared))
        handed = handed_out(tasks, driver.slots, started)
        while left:
            place, value = driver.hear("value")
            left -= 1
            next(handed, None)
            yield place, value
    finally:
        if left:  # tasks that nobody waits for any more end with their driver
            driver.stop()


class Driver:
    """A process that drives Ray; `start` does nothing while it runs."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.slots = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._words: Any = None  # the file that its stderr goes to

    def start(self) -> None:
        """Started, once more if it dies, and ready for tasks."""
        if self._process is not None and self._process.poll() is None:
            return
        try:
            self._launch()
        except LostError:
            try:
                self._launch()
            except LostError as error:
                raise RuntimeError(
                    f"Ray did not start, twice ({error}): look into the logs of Ray, by default in "
                    "/tmp/ray/session_latest/logs, or take another engine"
                ) from None

    def _launch(self) -> None:
        self.stop()
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `stop`)
        paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)  # where tasks are found by their names
        with kinds.deaf_to_interrupts():
            self._process = subprocess.Popen(
                [sys.executable, "-m", "zskl.engines.ray_driver"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                env={**os.environ, "PYTHONPATH": paths},
            )
        self.tell(self.engine)
        (self.slots,) = self.hear("ready")

    def tell(self, order: Any) -> None:
        import cloudpickle

        assert self._process is not None
        assert self._process.stdin is not None
        try:
            cloudpickle.dump(order, self._process.stdin)
            self._process.stdin.flush()
        except ConnectionError:
            raise self._lost() from None

    def hear(self, expected: str) -> list[Any]:
        """What it answers; an exception of a task is raised here."""
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            kind, *answer = pickle.load(self._process.stdout)
        except (EOFError, ConnectionError, pickle.UnpicklingError):
            raise self._lost() from None
        if kind == expected:
            return list(answer)
        raise LostError(*answer) if kind == "lost" else answer[0]

    def _lost(self) -> LostError:
        assert self._process is not None
        code = _ended(self._process)
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        self._words.seek(max(0, self._words.seek(0, os.SEEK_END) - LAST_WORDS))
        lines = [line.strip() for line in self._words.read().decode(errors="replace").splitlines() if line.strip()]
        telling = [line for line in lines if "Check failed" in line or "Error" in line] or lines
        return LostError(
            f"the process that drives Ray ended with {how}: {telling[-1][-200:] if telling else 'no word'}"
        )

    def stop(self) -> None:
        """It ends its cluster, or its part in one, and goes."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            with suppress(ConnectionError):  # what was not yet written is no loss
                if stream is not None:
                    stream.close()
        _ended(process)
        self._words.close()


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Its exit code, once it has gone or had its time."""
    try:
        return process.wait(FAREWELL)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _placed(engine: Engine) -> Engine:
    """The engine with the address that its driver is to take, which answers."""
    ray = sys.modules.get("ray")
    if engine.address is None:
        if ray is not None and ray.is_initialized():
            return replace(engine, address=ray.get_runtime_context().gcs_address, workers=None)
        return engine
    if engine.address != "auto":
        host, _, port = engine.address.rpartition("://")[2].rpartition(":")
        try:
            socket.create_connection((host, int(port)), kinds.PATIENCE).close()
        except (OSError, ValueError, OverflowError) as error:
            raise ConnectionError(
                f"no Ray cluster answers at {engine.address!r} within {kinds.PATIENCE:g} s ({type(error).__name__}): "
                f"{ADVICE}"
            ) from None
    return engine
