"""Many calls of one function at once: in processes of this machine (joblib on loky), on a Dask or on a Ray cluster.
What all calls share is sent to each worker once, and you get each result exactly once, even if a worker dies. Dask runs
through its own client, because joblib's backend for it waits for ever for a call whose worker has died for good."""

import logging
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from zskl._files import replace_file
from zskl._validation import check_count, check_option
from zskl.scorer import Scorer

__all__ = ["Engine", "each", "opened", "score_file", "slots"]

log = logging.getLogger(__name__)
ENGINES = ("loky", "dask", "ray")
DEATHS = 3  # workers that may die in a row without finishing a task
MAPPED = 10_000  # bytes above which an array is shared with the processes through a file
IDLE = 3600  # seconds until an idle process ends; the default, 300, is less than some fits between two searches
LOOK_EVERY = 0.5  # seconds between two looks at the process that started a worker
PATIENCE = 60.0  # seconds for a scheduler to answer, on a busy machine; if nobody listens, we do not wait
FIRST_WORKER = 60.0  # seconds for a scheduler to have a worker
SLOW = {"distributed.deploy.lost-worker-timeout": "1 hour"}  # the default, 15 s, is too short for a busy machine
BATCH = 1 << 14  # rows of a file that are scored together
LIBRARY = "zskl"  # the logger above all of ours
_LOCK = threading.Lock()
_LISTENERS: list[Any] = []  # whether the logger passed on what it said before, then all who listen now

Task: TypeAlias = Callable[[Any, Any], Any]
Started: TypeAlias = Callable[[int], object]
Results: TypeAlias = Generator[tuple[int, Any], None, None]


@dataclass(frozen=True)
class Engine:
    """Where tasks run.

    Parameters
    ----------
    name : {"loky", "dask", "ray"}, default="loky"
        Processes of this machine, a Dask or a Ray cluster.
    address : str, default=None
        The address of a Dask scheduler, or that of a Ray cluster, such as "auto" for the one of this machine. None
        starts one on this machine for as long as it is needed, or takes the one that `ray.init` has started.
    workers : int, default=None
        The number of processes on this machine. None takes one for each core that this process may use.

    Attributes
    ----------
    processes : int
        How many processes there are on this machine.

    Examples
    --------
    >>> from zskl.engines import Engine
    >>> Engine("dask", "tcp://10.0.0.5:8786").address
    'tcp://10.0.0.5:8786'
    >>> Engine(workers=4).processes
    4
    """

    name: str = "loky"
    address: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        check_option("engine", self.name, ENGINES)
        if self.workers is not None:
            check_count("workers", self.workers)
        if self.address is not None and self.name == "loky":
            expected = "expected engine 'dask' or 'ray', or no address"
            raise ValueError(f"address is {self.address!r} with engine 'loky': {expected}")
        if self.address is not None and self.workers is not None:
            raise ValueError(
                f"workers is {self.workers} and address is {self.address!r}: a cluster at an address has its own "
                "workers; leave one of the two out"
            )

    @property
    def processes(self) -> int:
        """How many processes there are on this machine, if there is no address."""
        return self.workers or int(joblib.cpu_count())


class EngineError(RuntimeError):
    """Workers died for good: a matter of memory or machines, which the user can mend."""


def is_user_error(error: BaseException) -> bool:
    """Whether the user can mend it: refused input or settings, diverged training, files, memory, workers. Whatever else
    is raised, such as a TypeError or a KeyError, is a mistake of ours."""
    known = ValueError | ArithmeticError | OSError | MemoryError | EngineError
    return isinstance(error, known) or type(error).__name__ == "OutOfMemoryError"  # PyTorch's, of a GPU


class LostError(Exception):
    """Workers have died during tasks that the engine does not repeat by itself."""


def slots(engine: Engine) -> int:
    """Tell how many tasks an engine runs at once.

    Parameters
    ----------
    engine : Engine
        The engine. If it has an address, the cluster there is asked.

    Returns
    -------
    int
        The number of tasks.

    Examples
    --------
    >>> from zskl import engines
    >>> engines.slots(engines.Engine(workers=3))
    3
    """
    if engine.address is None:
        return engine.processes
    if engine.name == "ray":
        with _connect_to_ray(engine) as ray:
            return _count_ray_slots(ray)
    with _connect(engine) as client:
        return sum(client.nthreads().values())


@contextmanager
def opened(engine: Engine) -> Iterator[Engine]:
    """Keep a cluster running for several calls of `each`.

    Parameters
    ----------
    engine : Engine
        The engine. One of Dask or Ray without an address gets a cluster on this machine, which ends with the block.

    Yields
    ------
    Engine
        The engine to give to `each`.

    Examples
    --------
    >>> from operator import mul
    >>> from zskl import engines
    >>> with engines.opened(engines.Engine(workers=1)) as ready:
    ...     [list(engines.each(mul, [factor], 7, ready)) for factor in (2, 3)]
    [[(0, 14)], [(0, 21)]]
    """
    start = {"dask": start_local_cluster, "ray": start_local_ray}.get(engine.name)
    if start is not None and engine.address is None:
        with start(engine) as ready:
            yield ready
    else:
        yield engine


def each(
    function: Task,
    tasks: Sequence[Any],
    shared: Any = None,
    engine: Engine | None = None,
    started: Started | None = None,
) -> Results:
    """Call a function with every task, and give the results as they finish.

    An exception in a task ends the iteration with its own type and message. If a worker dies, its task goes to another
    one. If more than three workers in a row die without a result, the iteration ends with a RuntimeError. What a task
    logs or warns of on a worker is said again in this process.

    Parameters
    ----------
    function : callable
        Called as function(shared, task). Workers find it by its name in its module.
    tasks : sequence
        The tasks.
    shared : object, default=None
        What all tasks read, such as arrays and data frames. Each worker gets it once, read-only.
    engine : Engine, default=None
        Where the tasks run. None, or an engine with one process, runs them here, in order.
    started : callable, default=None
        Called with the position of each task when it is handed out, for a display.

    Yields
    ------
    position : int
        The position of a task in `tasks`; each comes once.
    result : object
        What the function returned for it.

    Examples
    --------
    >>> from operator import add
    >>> from zskl import engines
    >>> dict(engines.each(add, [1, 2, 3], shared=10))
    {0: 11, 1: 12, 2: 13}
    """
    started = started or (lambda position: None)
    if engine is None or (engine.address is None and (len(tasks) < 2 or slots(engine) == 1)):
        for position, task in enumerate(tasks):
            started(position)
            yield position, function(shared, task)
        return
    log.info("%d tasks go to %s", len(tasks), engine)
    run = {"loky": run_in_processes, "dask": run_on_dask, "ray": run_on_ray}[engine.name]
    call = partial(call_and_capture, function)
    pending, deaths = dict(enumerate(tasks)), 0
    with opened(engine) as ready:
        while pending:
            try:
                with closing(run(call, dict(pending), shared, ready, started)) as results:
                    for position, (value, remarks) in results:
                        del pending[position]
                        deaths = 0
                        repeat_remarks(remarks)
                        yield position, value
            except LostError as error:
                deaths += 1
                if deaths > DEATHS:
                    last = f" (the last: {error})" if str(error) else ""
                    raise EngineError(
                        f"{deaths} workers of engine {engine.name!r} died in a row without finishing a task{last}: "
                        "give each more memory, or use fewer workers"
                    ) from None


@contextmanager
def ignore_interrupts() -> Iterator[None]:
    """Processes and threads that start in this block do not get Ctrl-C: this process gets it, and ends them. A Ctrl-C
    during the block comes when the block ends."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)


# Scores: what a task of any engine does with one file


def score_file(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    scorer: Scorer | str | os.PathLike[str],
    *,
    vectors: bool = False,
) -> int:
    """Score one file of rows in bounded memory, and write the answers as Parquet, whole or not at all.

    Hand it to whatever runs your tasks: `each`, a Dask bag, Ray, Spark, an array of cluster jobs.

    Parameters
    ----------
    path : path-like
        A Parquet file, or an .npy file (n, d).
    out : path-like
        The Parquet file to write: other columns of `path` (of an .npy file the number `row`), then the answers.
    scorer : Scorer or path-like
        The scorer, or its file or that of a model.
    vectors : bool, default=False
        Write `Scorer.vectors` in place of answers: for SQL and for vector databases.

    Returns
    -------
    int
        How many rows there were.

    Examples
    --------
    >>> import tempfile, numpy as np, zskl
    >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
    >>> model = zskl.ClassMeansClassifier().fit([[0, 1], [1, 1]], ["ant", "bee"], table)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", np.array([[0, 1], [1, 1]], np.float16))
    ...     zskl.engines.score_file(f"{folder}/rows.npy", f"{folder}/found.parquet", zskl.Scorer(model))
    2
    """
    import pyarrow as pa
    from pyarrow import parquet

    answer = scorer if isinstance(scorer, Scorer) else Scorer(scorer)
    call = answer.vectors if vectors else answer

    def batches() -> Iterator[Any]:
        if not str(path).endswith(".npy"):
            with parquet.ParquetFile(path) as file:
                yield from (pa.Table.from_batches([batch]) for batch in file.iter_batches(BATCH))
            return
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
        for start in range(0, len(rows), BATCH):
            some = np.ascontiguousarray(rows[start : start + BATCH])
            features = pa.FixedSizeListArray.from_arrays(pa.array(some.ravel()), some.shape[1])
            yield pa.table({"row": np.arange(start, start + len(some)), "features": features})

    count, writer = 0, None
    with replace_file(out) as file:
        for batch in batches():
            found = call(batch)
            writer = writer or parquet.ParquetWriter(file, found.schema)
            writer.write_table(found)
            count += found.num_rows
        if writer is None:
            raise ValueError(f"{path} has no rows: expected at least one; leave the file out")
        writer.close()
    return count


# Processes of this machine


def run_in_processes(function: Task, tasks: dict[int, Any], shared: Any, engine: Engine, started: Started) -> Results:
    """joblib writes large arrays of `shared` to a file once, and each process maps it."""
    # One worker would mean this process, which a task must not crash.
    workers = max(2, min(engine.processes, len(tasks)))
    threads = max(1, joblib.cpu_count() // workers)

    def calls() -> Iterator[Any]:
        for position, task in tasks.items():
            started(position)
            yield joblib.delayed(_call_numbered)(position, function, shared, task)

    watched = {"initializer": watch_parent, "initargs": (os.getpid(),)}
    with joblib.parallel_config(backend="loky", inner_max_num_threads=threads, idle_worker_timeout=IDLE, **watched):
        parallel = joblib.Parallel(
            workers, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs", max_nbytes=MAPPED
        )
    with ignore_interrupts():
        results = parallel(calls())
    try:
        for result in results:  # noqa: UP028 (`yield from` would close it itself)
            yield result
    except BrokenProcessPool as error:
        raise LostError from error
    finally:
        with warnings.catch_warnings():
            # joblib warns of tasks that are abandoned, which is what we want here.
            warnings.simplefilter("ignore")
            results.close()


def _call_numbered(position: int, function: Task, shared: Any, task: Any) -> tuple[int, Any]:
    return position, function(shared, task)


def watch_parent(parent: int) -> None:
    """End a new worker at once when the process `parent` is gone; files are written whole or not at all."""

    def exit_with_parent() -> None:
        # A process whose parent ends gets another one.
        while os.getppid() == parent:
            time.sleep(LOOK_EVERY)
        os._exit(1)

    if os.name == "posix":
        threading.Thread(target=exit_with_parent, daemon=True).start()
    # Windows does not report that a parent has ended: there a worker ends when it next asks for a task. And Ctrl-C goes
    # to workers too, which must leave it to the process that started them.
    else:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


# A Dask cluster: the one at an address, or one on this machine


@contextmanager
def start_local_cluster(engine: Engine) -> Iterator[Engine]:
    """A scheduler and workers that only this machine can reach; Dask ends them when this process ends, in any way."""
    distributed = _import_distributed()
    import dask

    with dask.config.set(SLOW), ignore_interrupts():
        cluster = distributed.LocalCluster(
            n_workers=engine.processes,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # The HTTP server runs even without a dashboard.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        )
    with dask.config.set(SLOW), cluster:
        yield replace(engine, address=cluster.scheduler_address, workers=None)


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ValueError("engine is 'dask', which needs the package 'distributed': pip install 'zskl[dask]'") from None
    return distributed


@contextmanager
def _connect(engine: Engine) -> Iterator[Any]:
    distributed = _import_distributed()
    try:
        # Refuse an address where nobody listens at once: Dask would keep trying.
        scheme, _, target = (engine.address or "").rpartition("://")
        if scheme in ("", "tcp"):
            host, _, port = target.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
        client = distributed.Client(engine.address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {engine.address!r} ({type(error).__name__}): "
            "expected an address such as tcp://host:8786; start one with: dask scheduler"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=FIRST_WORKER)
        except TimeoutError:
            raise ConnectionError(
                f"the Dask scheduler at {engine.address!r} has no workers: start one with: dask worker {engine.address}"
            ) from None
        yield client


def run_on_dask(function: Task, tasks: dict[int, Any], shared: Any, engine: Engine, started: Started) -> Results:
    distributed = _import_distributed()
    with _connect(engine) as client:
        try:
            data = None if shared is None else client.scatter([shared], broadcast=True, hash=False)[0]
        except OSError as error:
            # A worker died while the data was sent.
            raise LostError from error
        futures = {
            client.submit(call_task, function, data, task, pure=False): position for position, task in tasks.items()
        }
        submitted = SubmittedTasks(tasks, sum(client.nthreads().values()), started)
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
                except distributed.client.FutureCancelledError as error:
                    # The shared data, or the scheduler, is gone.
                    raise LostError from error
                del futures[future]
                future.release()
                submitted.finish(position)
                yield position, value
        finally:
            client.cancel(list(futures), force=True)


class SubmittedTasks:
    """Tells which tasks have started, as far as one can know: the first `slots` now, and another when one is done,
    since a cluster takes tasks in order, or nearly so. One that is done has started, whatever its place."""

    def __init__(self, tasks: Iterable[int], slots: int, started: Started) -> None:
        self._waiting = dict.fromkeys(tasks)
        self._started = started
        for position in list(self._waiting)[:slots]:
            self._start(position)

    def finish(self, position: int) -> None:
        if position in self._waiting:
            self._start(position)
        elif self._waiting:
            self._start(next(iter(self._waiting)))

    def _start(self, position: int) -> None:
        del self._waiting[position]
        self._started(position)


# A Ray cluster


@contextmanager
def start_local_ray(engine: Engine) -> Iterator[Engine]:
    """One that only this process uses, or the one that it has already."""
    with _connect_to_ray(engine) as ray:
        yield replace(engine, address=ray.get_runtime_context().gcs_address, workers=None)


@contextmanager
def _connect_to_ray(engine: Engine) -> Iterator[Any]:
    try:
        import ray
    except ImportError:
        raise ValueError("engine is 'ray', which needs the package 'ray': pip install 'zskl[ray]'") from None
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # whoever starts Ray in this way has not been asked
    here: dict[str, Any] = {}
    if engine.address is None:  # workers find what this process finds
        found = {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}}
        here = {"num_cpus": engine.processes, "include_dashboard": False, "runtime_env": found}
    try:
        with ignore_interrupts():
            ray.init(engine.address, log_to_driver=False, logging_level=logging.CRITICAL, **here)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ConnectionError(
            f"no Ray cluster answers at {engine.address!r} ({type(error).__name__}): expected an address such as "
            "10.0.0.1:6379, or 'auto' on a machine of the cluster; start one with: ray start --head"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _count_ray_slots(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def run_on_ray(function: Task, tasks: dict[int, Any], shared: Any, engine: Engine, started: Started) -> Results:
    with _connect_to_ray(engine) as ray:
        call = ray.remote(num_cpus=1, max_retries=0)(call_task)
        data = ray.put(shared)
        waiting = {call.remote(function, data, task): position for position, task in tasks.items()}
        submitted = SubmittedTasks(tasks, _count_ray_slots(ray), started)
        try:
            while waiting:
                done = ray.wait(list(waiting))[0][0]
                try:
                    value = ray.get(done)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                except ray.exceptions.RayError as error:
                    raise LostError(str(error).partition("\n")[0]) from error
                position = waiting.pop(done)
                submitted.finish(position)
                yield position, value
        finally:
            for unfinished in waiting:
                ray.cancel(unfinished, force=True)


def call_task(function: Task, shared: Any, task: Any) -> Any:
    """Run a task on a worker of a cluster, with one thread, because as many tasks as cores run there."""
    with threadpool_limits(limits=1):
        return function(shared, task)


# What a task on a worker logs or warns of travels back with its result, and is said again in the asking process. A
# worker writes to nobody's log: many workers would say the same thing many times, past any display.


@dataclass(frozen=True)
class Remark:
    """A line of a log, or a warning of the given category."""

    text: str
    logger: str = LIBRARY
    level: int = logging.WARNING
    category: type[Warning] | None = None


class Listener(logging.Handler):
    """Keeps what our loggers say, from warnings upwards, and keeps it from anybody else."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.remarks: list[Remark] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        # Other tasks may run beside this one.
        if record.thread == self._thread:
            self.remarks.append(Remark(record.getMessage(), record.name, record.levelno))


@contextmanager
def capture_logs(listener: logging.Handler) -> Iterator[None]:
    """What our loggers say in this block goes to the listener alone."""
    logger = logging.getLogger(LIBRARY)
    with _LOCK:
        if not _LISTENERS:
            _LISTENERS.append(logger.propagate)
        _LISTENERS.append(listener)
        logger.propagate = False
        logger.addHandler(listener)
    try:
        yield
    finally:
        with _LOCK:
            logger.removeHandler(listener)
            _LISTENERS.remove(listener)
            if len(_LISTENERS) == 1:
                logger.propagate = bool(_LISTENERS.pop())


def call_and_capture(function: Any, shared: Any, task: Any) -> tuple[Any, Sequence[Remark]]:
    """Call it on a worker: what it returns, and each thing it remarked once. Python cannot keep the warnings of threads
    apart, so those of a cluster's threads stay there."""
    listener = Listener()
    alone = threading.current_thread() is threading.main_thread()
    with capture_logs(listener), warnings.catch_warnings(record=True) if alone else nullcontext() as warned:
        value = function(shared, task)
    listener.remarks += [Remark(str(one.message), category=one.category) for one in warned or ()]
    return value, tuple(dict.fromkeys(listener.remarks))


def repeat_remarks(remarks: Sequence[Remark]) -> None:
    for one in remarks:
        if one.category is None:
            logging.getLogger(one.logger).log(one.level, "%s", one.text)
        else:
            warnings.warn(one.text, one.category, stacklevel=4)
