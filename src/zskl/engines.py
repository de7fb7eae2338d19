"""Many calls of one function at once: processes of this machine (joblib on loky), a Dask cluster or a Ray cluster.

What all calls share travels once per worker. Each result is delivered exactly once, whatever becomes of a worker. No
scheduler of our own: joblib, Dask and Ray decide where a call runs. Dask and Ray are driven by their own clients, since
their joblib backends lose what was asked for here: Ray's hands results over only when all are there, and Dask's waits
for ever for a call whose worker has died for good.
"""

from __future__ import annotations

import importlib
import logging
import socket
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import joblib
from threadpoolctl import threadpool_limits

from zskl.parameters import count, one_of

ENGINES = ("loky", "dask", "ray")
DEATHS = 3  # workers that may die in a row, none of them having finished a task
PATIENCE = 5.0  # seconds for an address to answer
MAPPED = 10_000  # bytes above which an array is shared with loky's workers through a file

Task: TypeAlias = Callable[[Any, Any], Any]
Started: TypeAlias = Callable[[int], object] | None
Results: TypeAlias = Generator[tuple[int, Any], None, None]


@dataclass(frozen=True)
class Engine:
    """Where tasks run. `address` is that of a Dask scheduler or a Ray cluster, by default one is started on this
    machine for as long as it is needed; `workers` is the number of processes on this machine, by default one for each
    core that this process may use."""

    name: str = "loky"
    address: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        one_of("engine", self.name, ENGINES)
        if self.workers is not None:
            count("workers", self.workers)
        if self.address is not None and self.name == "loky":
            raise ValueError(f"address {self.address!r} was given for engine 'loky': expected engine 'dask' or 'ray'")
        if self.address is not None and self.workers is not None:
            raise ValueError(
                f"workers={self.workers} and address {self.address!r} were both given: the cluster at an address has "
                "the workers it has; leave one of them out"
            )


def slots(engine: Engine) -> int:
    """How many tasks the engine runs at once; asks the cluster where it has an address."""
    if engine.address is None:
        return engine.workers or joblib.cpu_count()
    if engine.name == "dask":
        with _dask_client(engine) as client:
            return sum(client.nthreads().values())
    with opened(engine):
        return _ray_slots(_package("ray"))


@contextmanager
def opened(engine: Engine) -> Iterator[Engine]:
    """The engine with its cluster running, for several calls of `each`; what was started here ends with the block."""
    if engine.name == "dask" and engine.address is None:
        distributed = _package("distributed", "dask")
        with distributed.LocalCluster(
            n_workers=slots(engine),
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster:
            yield replace(engine, address=cluster.scheduler_address, workers=None)
    elif engine.name == "ray" and not _package("ray").is_initialized():
        ray = _package("ray")
        _start_ray(ray, engine)
        try:
            yield engine
        finally:
            ray.shutdown()
    else:
        yield engine


def each(
    function: Task, tasks: Sequence[Any], shared: Any = None, engine: Engine | None = None, started: Started = None
) -> Results:
    """(place, function(shared, task)) of every task exactly once, as they finish.

    function    found by its name in a module, also on the workers
    shared      what all tasks read: arrays, data frames. It travels once per worker and is read-only there
    engine      None, or one process: the tasks run here, in order
    started     called with the place of a task when it is handed out, for a display

    An exception in a task ends the iteration with its own type and message. A task whose worker has died is given to
    another; after more than `DEATHS` deaths in a row without a result the iteration ends with an error.
    """
    if engine is None or (engine.address is None and (len(tasks) < 2 or slots(engine) == 1)):
        for place, task in enumerate(tasks):
            _tell(started, place)
            yield place, function(shared, task)
        return
    run = {"loky": _loky, "dask": _dask, "ray": _ray}[engine.name]
    pending = dict(enumerate(tasks))
    deaths = 0
    with opened(engine) as ready:
        while pending:
            try:
                with closing(run(function, dict(pending), shared, ready, started)) as results:
                    for place, value in results:
                        del pending[place]
                        deaths = 0
                        yield place, value
            except _Lost:
                deaths += 1
                if deaths > DEATHS:
                    raise RuntimeError(
                        f"{deaths} workers of engine {engine.name!r} died in a row without finishing a task: give "
                        "each more memory, or take fewer workers"
                    ) from None


class _Lost(Exception):
    """Workers have died, and with them tasks that the engine does not repeat by itself."""


def _tell(started: Started, place: int) -> None:
    if started is not None:
        started(place)


def _call(function: Task, shared: Any, task: Any) -> Any:
    """On a worker of a cluster: as many tasks as cores run there, so each has one thread."""
    with threadpool_limits(limits=1):
        return function(shared, task)


def _package(name: str, extra: str | None = None) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        extra = extra or name
        raise ValueError(
            f"engine {extra!r} needs the package {name!r}, which is not here: pip install 'zskl[{extra}]'"
        ) from None


# Processes of this machine -------------------------------------------------------------------------------------------


def _numbered(place: int, function: Task, shared: Any, task: Any) -> tuple[int, Any]:
    return place, function(shared, task)


def _loky(function: Task, tasks: dict[int, Any], shared: Any, engine: Engine, started: Started) -> Results:
    """joblib writes large arrays of `shared` to a file once, and each process maps it."""
    workers = max(2, min(slots(engine), len(tasks)))  # one would be this process, which a task must not bring down
    threads = max(1, joblib.cpu_count() // workers)

    def calls() -> Iterator[Any]:
        for place, task in tasks.items():
            _tell(started, place)
            yield joblib.delayed(_numbered)(place, function, shared, task)

    with joblib.parallel_config(backend="loky", inner_max_num_threads=threads):
        parallel = joblib.Parallel(
            workers, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs", max_nbytes=MAPPED
        )
    try:
        with closing(parallel(calls())) as results:
            yield from results
    except BrokenProcessPool as error:
        raise _Lost from error


# Dask ----------------------------------------------------------------------------------------------------------------


@contextmanager
def _dask_client(engine: Engine) -> Iterator[Any]:
    distributed = _package("distributed", "dask")
    try:
        client = distributed.Client(engine.address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {engine.address!r} within {PATIENCE:g} s ({type(error).__name__}): "
            "expected an address such as tcp://host:8786; start one with: dask scheduler"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise ConnectionError(
                f"the Dask scheduler at {engine.address!r} has no workers: start one with: dask worker {engine.address}"
            ) from None
        yield client


def _dask(function: Task, tasks: dict[int, Any], shared: Any, engine: Engine, started: Started) -> Results:
    distributed = _package("distributed", "dask")
    with _dask_client(engine) as client:
        data = None if shared is None else client.scatter([shared], broadcast=True, hash=False)[0]
        futures = {client.submit(_call, function, data, task, pure=False): place for place, task in tasks.items()}
        handed = _handed_out(tasks, sum(client.nthreads().values()), started)
        try:
            for future in distributed.as_completed(list(futures), loop=client.loop):
                place = futures[future]
                try:
                    value = future.result()
                except distributed.scheduler.KilledWorker as error:
                    raise RuntimeError(
                        f"task {place} was on {error.allowed_failures + 1} Dask workers when they died: give each more "
                        "memory, or look into their logs"
                    ) from None
                except distributed.client.FutureCancelledError as error:  # the shared data, or the scheduler, is gone
                    raise _Lost from error
                del futures[future]
                future.release()
                next(handed, None)
                yield place, value
        finally:
            client.cancel(list(futures), force=True)


# Ray -----------------------------------------------------------------------------------------------------------------


def _start_ray(ray: Any, engine: Engine) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if engine.address is None:
        ray.init(num_cpus=slots(engine), include_dashboard=False, _node_ip_address="127.0.0.1", **quiet)
        return
    advice = "expected auto, host:6379 or ray://host:10001; start one with: ray start --head"
    if engine.address != "auto":
        host, _, port = engine.address.rpartition("://")[2].rpartition(":")
        try:
            socket.create_connection((host, int(port)), PATIENCE).close()
        except (OSError, ValueError, OverflowError) as error:
            raise ConnectionError(
                f"no Ray cluster answers at {engine.address!r} within {PATIENCE:g} s ({type(error).__name__}): {advice}"
            ) from None
    try:
        ray.init(address=engine.address, **quiet)
    except (OSError, ValueError, RuntimeError) as error:
        raise ConnectionError(f"no Ray cluster is at {engine.address!r} ({error}): {advice}") from None


def _ray_slots(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _ray(function: Task, tasks: dict[int, Any], shared: Any, engine: Engine, started: Started) -> Results:
    ray = _package("ray")
    data = ray.put(shared)
    remote = ray.remote(num_cpus=1, max_retries=DEATHS)(_call)
    waiting = {remote.remote(function, data, task): place for place, task in tasks.items()}
    handed = _handed_out(tasks, _ray_slots(ray), started)
    try:
        while waiting:
            for ready in ray.wait(list(waiting), num_returns=1)[0]:
                try:
                    value = ray.get(ready)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause if isinstance(error.cause, Exception) else error from None
                except ray.exceptions.RayError as error:  # its retries are used up
                    raise _Lost from error
                place = waiting.pop(ready)
                next(handed, None)
                yield place, value
    finally:
        for ready in waiting:
            ray.cancel(ready, force=True)


def _handed_out(tasks: dict[int, Any], slots: int, started: Started) -> Iterator[None]:
    """A cluster takes tasks in order: the first `slots` start now, one more whenever one is done and this is moved."""

    def rest() -> Iterator[None]:
        for place in places:
            _tell(started, place)
            yield

    places = iter(list(tasks))
    moves = rest()
    for _ in range(slots):
        next(moves, None)
    return moves
