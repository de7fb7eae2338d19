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
DEATHS = 3  # workers that may die in a row without finishing a task
PATIENCE = 60.0  # seconds for a scheduler to answer, on a busy machine; if nobody listens, we do not wait
FIRST_WORKER = 60.0  # seconds for a scheduler to have a worker

Task: TypeAlias = Callable[[Any, Any], Any]
Started: TypeAlias = Callable[[int], object] | None
Results: TypeAlias = Generator[tuple[int, Any], None, None]


@dataclass(frozen=True)
class Engine:
    """Where tasks run.

    Parameters
    ----------
    name : {"loky", "dask"}, default="loky"
        Processes of this machine, or a Dask cluster.
    address : str, default=None
        The address of a Dask scheduler. None starts one on this machine for as long as it is needed.
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
        one_of("engine", self.name, ENGINES)
        if self.workers is not None:
            count("workers", self.workers)
        if self.address is not None and self.name == "loky":
            raise ValueError(f"address is {self.address!r} with engine 'loky': expected engine 'dask', or no address")
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


def can_be_mended(error: BaseException) -> bool:
    """Whether the user can mend it: input or settings that are refused, training that diverged, files, memory, workers.

    Whatever else is raised, such as a TypeError or a KeyError, is a mistake of ours.
    """
    known = ValueError | ArithmeticError | OSError | MemoryError | EngineError
    return isinstance(error, known) or type(error).__name__ == "OutOfMemoryError"  # PyTorch's, of a GPU


class LostError(Exception):
    """Workers have died during tasks that the engine does not repeat by itself."""


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
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


def tell(started: Started, position: int) -> None:
    if started is not None:
        started(position)


def call(function: Task, shared: Any, task: Any) -> Any:
    """Run a task on a worker of a cluster. As many tasks as cores run there, so each gets one thread."""
    with threadpool_limits(limits=1):
        return function(shared, task)


def not_installed(name: str, extra: str) -> ValueError:
    return ValueError(f"engine is {extra!r}, which needs the package {name!r}: pip install 'zskl[{extra}]'")
