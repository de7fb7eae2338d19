"""The process that drives Ray for another one: python -m zskl.engines.ray_driver, orders on stdin, answers on stdout.

Ray ends the process that drives it on faults of its own and of its cluster, without an exception. Here that costs a
process that has nothing else to lose. Orders and answers are pickles between a process and the one that started it.

    orders    an engine, then (function, tasks, shared) any number of times; their end is the order to go
    answers   ("ready", slots); for each task ("value", place, value), unless ("error", exception) or ("lost", sentence)
              ends it all
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import queue
import sys
import threading
from typing import Any, BinaryIO

from zskl.engines import engine as kinds
from zskl.engines.engine import Engine, Task, call

ADVICE = "expected auto, host:6379 or ray://host:10001; start one with: ray start --head"
GLANCE = 0.2  # seconds between looks at whether the other process is still there


class Gone(Exception):
    """The process that gave the orders has left."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what others print goes elsewhere
    orders: queue.Queue[Any] = queue.Queue()
    leaving = threading.Event()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, orders, leaving), daemon=True).start()
    with contextlib.suppress(Gone, BrokenPipeError):
        import ray

        engine = _next(orders)
        try:
            start(ray, engine)
        except ConnectionError as error:
            _answer(answers, "error", error)
            return
        _answer(answers, "ready", max(1, int(ray.cluster_resources().get("CPU", 1))))
        while True:
            try:
                _work(ray, _next(orders), answers, leaving)
            except (Gone, BrokenPipeError):
                raise
            except Exception as error:
                _answer(answers, "error", _portable(error))
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


def start(ray: Any, engine: Engine) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if engine.address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        local = {"address": "local", "num_cpus": engine.processes, "_node_ip_address": "127.0.0.1"}
        ray.init(include_dashboard=False, **local, **quiet)
        return
    try:
        ray.init(address=engine.address, **quiet)
    except (OSError, ValueError, RuntimeError) as error:
        raise ConnectionError(f"no Ray cluster is at {engine.address!r} ({error}): {ADVICE}") from None


def _listen(stream: BinaryIO, orders: queue.Queue[Any], leaving: threading.Event) -> None:
    """The end of the stream is seen at once, also while tasks run."""
    try:
        while True:
            orders.put(pickle.load(stream))
    except EOFError:
        pass
    except Exception as error:  # what cannot be read here, such as a function of a module that is not found
        orders.put(error)
    leaving.set()
    orders.put(Gone())


def _next(orders: queue.Queue[Any]) -> Any:
    order = orders.get()
    if isinstance(order, Exception):
        raise order
    return order


def _answer(stream: BinaryIO, *answer: Any) -> None:
    import cloudpickle

    stream.write(cloudpickle.dumps(answer))
    stream.flush()


def _work(ray: Any, order: tuple[Task, dict[int, Any], Any], stream: BinaryIO, leaving: threading.Event) -> None:
    """Every task handed to Ray at once. None is ever cancelled: Ray 2.60 aborts a driver to which a worker reports a
    task as done just after its cancellation ("Tried to complete task that was not pending"), forced or not."""
    function, tasks, shared = order
    data = ray.put(shared)
    remote = ray.remote(num_cpus=1, max_retries=kinds.DEATHS)(call)
    waiting = {remote.remote(function, data, task): place for place, task in tasks.items()}
    while waiting:
        ready, _ = ray.wait(list(waiting), num_returns=1, timeout=GLANCE)
        if leaving.is_set():
            raise Gone
        for reference in ready:
            try:
                value = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                _answer(stream, "error", _portable(error.cause if isinstance(error.cause, Exception) else error))
                return
            except ray.exceptions.RayError as error:  # its retries are used up
                _answer(stream, "lost", str(error).partition("\n")[0])
                return
            _answer(stream, "value", waiting.pop(reference), value)


def _portable(error: Exception) -> Exception:
    import cloudpickle

    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


if __name__ == "__main__":
    main()
