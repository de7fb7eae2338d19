"""A Ray cluster: the one at an address, the one this process is connected to, or one on this machine."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zskl.engines import engine as kinds
from zskl.engines.engine import Engine, LostError, Results, Started, Task, call, handed_out


@contextmanager
def connected(engine: Engine) -> Iterator[Engine]:
    """Connected to Ray, for as long as the block runs unless this process was so before."""
    ray = _ray()
    if ray.is_initialized():
        yield engine
        return
    _start(ray, engine)
    try:
        yield engine
    finally:
        ray.shutdown()


def slots(engine: Engine) -> int:
    with connected(engine):
        return _slots(_ray())


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise kinds.not_installed("ray", "ray") from None
    return ray


def _start(ray: Any, engine: Engine) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if engine.address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(
            address="local",
            num_cpus=engine.processes,
            include_dashboard=False,
            _node_ip_address="127.0.0.1",
            **quiet,
        )
        return
    advice = "expected auto, host:6379 or ray://host:10001; start one with: ray start --head"
    if engine.address != "auto":
        host, _, port = engine.address.rpartition("://")[2].rpartition(":")
        try:
            socket.create_connection((host, int(port)), kinds.PATIENCE).close()
        except (OSError, ValueError, OverflowError) as error:
            raise ConnectionError(
                f"no Ray cluster answers at {engine.address!r} within {kinds.PATIENCE:g} s ({type(error).__name__}): "
                f"{advice}"
            ) from None
    try:
        ray.init(address=engine.address, **quiet)
    except (OSError, ValueError, RuntimeError) as error:
        raise ConnectionError(f"no Ray cluster is at {engine.address!r} ({error}): {advice}") from None


def _slots(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def run(function: Task, tasks: dict[int, Any], shared: Any, engine: Engine, started: Started) -> Results:
    ray = _ray()
    data = ray.put(shared)
    remote = ray.remote(num_cpus=1, max_retries=kinds.DEATHS)(call)
    waiting = {remote.remote(function, data, task): place for place, task in tasks.items()}
    handed = handed_out(tasks, _slots(ray), started)
    try:
        while waiting:
            for ready in ray.wait(list(waiting), num_returns=1)[0]:
                try:
                    value = ray.get(ready)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause if isinstance(error.cause, Exception) else error from None
                except ray.exceptions.RayError as error:  # its retries are used up
                    raise LostError from error
                place = waiting.pop(ready)
                next(handed, None)
                yield place, value
    finally:
        for ready in waiting:
            ray.cancel(ready)  # force would take workers down, and a driver with them at times
