"""A Dask cluster: the one at an address, or one on this machine."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from zskl.engines import engine as kinds
from zskl.engines.engine import Engine, EngineError, LostError, Results, Started, Task, call, tell

SLOW = {"distributed.deploy.lost-worker-timeout": "1 hour"}  # the default, 15 s, is too short for a busy machine


@contextmanager
def started_here(engine: Engine) -> Iterator[Engine]:
    """A scheduler and worker processes that only this machine can reach, and their address. Dask ends these processes
    when this one ends, in any way."""
    distributed = _distributed()
    import dask

    with dask.config.set(SLOW), kinds.deaf_to_interrupts():
        cluster = distributed.LocalCluster(
            n_workers=engine.processes,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # the address of its HTTP server, which runs even without a dashboard
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        )
    with dask.config.set(SLOW), cluster:
        yield replace(engine, address=cluster.scheduler_address, workers=None)


def slots(engine: Engine) -> int:
    with _client(engine) as client:
        return sum(client.nthreads().values())


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise kinds.not_installed("distributed", "dask") from None
    return distributed


def _check_listening(address: str | None) -> None:
    """Refuse an address where nobody listens at once: Dask would keep trying."""
    scheme, _, target = (address or "").rpartition("://")
    if scheme in ("", "tcp"):
        host, _, port = target.rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), kinds.PATIENCE).close()


@contextmanager
def _client(engine: Engine) -> Iterator[Any]:
    distributed = _distributed()
    try:
        _check_listening(engine.address)
        client = distributed.Client(engine.address, timeout=kinds.PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {engine.address!r} ({type(error).__name__}): "
            "expected an address such as tcp://host:8786; start one with: dask scheduler"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=kinds.FIRST_WORKER)
        except TimeoutError:
            raise ConnectionError(
                f"the Dask scheduler at {engine.address!r} has no workers: start one with: dask worker {engine.address}"
            ) from None
        yield client


def run(function: Task, tasks: dict[int, Any], shared: Any, engine: Engine, started: Started) -> Results:
    distributed = _distributed()
    with _client(engine) as client:
        try:
            data = None if shared is None else client.scatter([shared], broadcast=True, hash=False)[0]
        except OSError as error:  # a worker died while the data was sent
            raise LostError from error
        futures = {client.submit(call, function, data, task, pure=False): position for position, task in tasks.items()}
        handed = HandedOut(tasks, sum(client.nthreads().values()), started)
        try:
            for future in distributed.as_completed(list(futures), loop=client.loop):
                position = futures[future]
                try:
                    value = future.result()
                except distributed.scheduler.KilledWorker as error:
                    raise EngineError(
                        f"task {position} ran on {error.allowed_failures + 1} Dask workers when they died: give "
                        "each more memory, or read their logs"
                    ) from None
                except distributed.client.FutureCancelledError as error:  # the shared data, or the scheduler, is gone
                    raise LostError from error
                del futures[future]
                future.release()
                handed.done(position)
                yield position, value
        finally:
            client.cancel(list(futures), force=True)


class HandedOut:
    """Tells which tasks have started, as far as one can know: the first `slots` now, and another when one is done.

    A cluster takes tasks in order, or nearly so: one that is done has started, whatever its place.
    """

    def __init__(self, tasks: Iterable[int], slots: int, started: Started) -> None:
        self._waiting = dict.fromkeys(tasks)
        self._started = started
        for position in list(self._waiting)[:slots]:
            self._tell(position)

    def done(self, position: int) -> None:
        if position in self._waiting:
            self._tell(position)
        elif self._waiting:
            self._tell(next(iter(self._waiting)))

    def _tell(self, position: int) -> None:
        del self._waiting[position]
        tell(self._started, position)
