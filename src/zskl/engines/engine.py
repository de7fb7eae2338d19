"""What an engine is, and what its kinds share."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import joblib
from threadpoolctl import threadpool_limits

from zskl.parameters import count, one_of

ENGINES = ("loky", "dask")
DEATHS = 3  # workers that may die in a row, none of them having finished a task
PATIENCE = 60.0  # seconds for a scheduler to answer: a busy machine takes its time; where nobody listens, none pass
FIRST_WORKER = 60.0  # seconds for a scheduler to have a worker

Task: TypeAlias = Callable[[Any, Any], Any]
Started: TypeAlias = Callable[[int], object] | None
Results: TypeAlias = Generator[tuple[int, Any], None, None]


@dataclass(frozen=True)
class Engine:
    """Where tasks run. `address` is that of a Dask scheduler, by default one is started on this machine for as long as
    it is needed; `workers` is the number of processes on this machine, by default one for each core that this process
    may use."""

    name: str = "loky"
    address: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        one_of("engine", self.name, ENGINES)
        if self.workers is not None:
            count("workers", self.workers)
        if self.address is not None and self.name == "loky":
            raise ValueError(f"address {self.address!r} was given for engine 'loky': expected engine 'dask'")
        if self.address is not None and self.workers is not None:
            raise ValueError(
                f"workers={self.workers} and address {self.address!r} were both given: the cluster at an address has "
                "the workers it has; leave one of them out"
            )

    @property
    def processes(self) -> int:
        """How many there are on this machine, where there is no address."""
        return self.workers or int(joblib.cpu_count())


class EngineError(RuntimeError):
    """Workers died for good: a matter of memory or machines, which the user can mend."""


def can_be_mended(error: BaseException) -> bool:
    """Whether the user can mend it: input or settings that are refused, training that diverged, files, memory, workers.

    Whatever else is raised, such as a TypeError or a KeyError, is a mistake of ours.
    """
    known = ValueError | ArithmeticError | OSError | MemoryError | EngineError
    return isinstance(error, known) or type(error).__name__ == "OutOfMemoryError"  # PyTorch's, of a GPU


class LostError(Exception):
    """Workers have died, and with them tasks that the engine does not repeat by itself."""


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Processes and threads that are started meanwhile leave Ctrl-C to this one, which ends them. It is held back here
    as well, and comes when the block ends."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)


def tell(started: Started, place: int) -> None:
    if started is not None:
        started(place)


def call(function: Task, shared: Any, task: Any) -> Any:
    """On a worker of a cluster: as many tasks as cores run there, so each has one thread."""
    with threadpool_limits(limits=1):
        return function(shared, task)


def not_installed(name: str, extra: str) -> ValueError:
    return ValueError(f"engine {extra!r} needs the package {name!r}, which is not here: pip install 'zskl[{extra}]'")
