"""Processes of this machine, run by joblib on loky."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import joblib

from zskl.engines import parent
from zskl.engines.engine import Engine, LostError, Results, Started, Task, deaf_to_interrupts, tell

MAPPED = 10_000  # bytes above which an array is shared with the processes through a file
IDLE = 3600  # seconds until an idle process ends; the default, 300, is less than some fits between two searches


def _numbered(position: int, function: Task, shared: Any, task: Any) -> tuple[int, Any]:
    return position, function(shared, task)


def run(function: Task, tasks: dict[int, Any], shared: Any, engine: Engine, started: Started) -> Results:
    """joblib writes large arrays of `shared` to a file once, and each process maps it."""
    workers = max(2, min(engine.processes, len(tasks)))  # 1 would mean this process, which a task must not crash
    threads = max(1, joblib.cpu_count() // workers)

    def calls() -> Iterator[Any]:
        for position, task in tasks.items():
            tell(started, position)
            yield joblib.delayed(_numbered)(position, function, shared, task)

    watched = {"initializer": parent.watch, "initargs": (os.getpid(),)}
    with joblib.parallel_config(backend="loky", inner_max_num_threads=threads, idle_worker_timeout=IDLE, **watched):
        parallel = joblib.Parallel(
            workers, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs", max_nbytes=MAPPED
        )
    with deaf_to_interrupts():
        results = parallel(calls())
    try:
        for result in results:  # noqa: UP028 (`yield from` would close it itself)
            yield result
    except BrokenProcessPool as error:
        raise LostError from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about tasks that are abandoned, which is what we want here
            results.close()
