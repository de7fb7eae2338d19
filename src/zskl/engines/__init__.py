"""Many calls of one function at once, in processes of this machine (joblib on loky) or on a Dask cluster.

What all calls share is sent to each worker once. You get each result exactly once, even if a worker dies. joblib and
Dask decide where a call runs. Dask runs through its own client, because joblib's backend for it waits for ever for a
call whose worker has died for good.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from zskl.engines import dask_cluster, processes
from zskl.engines import engine as kinds
from zskl.engines.engine import Engine, EngineError, LostError, Results, Started, Task, tell
from zskl.engines.remarks import heard, repeat

log = logging.getLogger(__name__)

__all__ = ["Engine", "each", "opened", "slots"]


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
    return dask_cluster.slots(engine)


@contextmanager
def opened(engine: Engine) -> Iterator[Engine]:
    """Keep a cluster running for several calls of `each`.

    Parameters
    ----------
    engine : Engine
        The engine. A Dask engine without an address gets a cluster on this machine, which ends with the block.

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
    if engine.name == "dask" and engine.address is None:
        with dask_cluster.started_here(engine) as ready:
            yield ready
    else:
        yield engine


def each(
    function: Task, tasks: Sequence[Any], shared: Any = None, engine: Engine | None = None, started: Started = None
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
    if engine is None or (engine.address is None and (len(tasks) < 2 or slots(engine) == 1)):
        for position, task in enumerate(tasks):
            tell(started, position)
            yield position, function(shared, task)
        return
    log.info("%d tasks go to %s", len(tasks), engine)
    run = {"loky": processes.run, "dask": dask_cluster.run}[engine.name]
    pending = dict(enumerate(tasks))
    deaths = 0
    with opened(engine) as ready:
        while pending:
            try:
                with closing(run(partial(heard, function), dict(pending), shared, ready, started)) as results:
                    for position, (value, remarks) in results:
                        del pending[position]
                        deaths = 0
                        repeat(remarks)
                        yield position, value
            except LostError as error:
                deaths += 1
                if deaths > kinds.DEATHS:
                    last = f" (the last: {error})" if str(error) else ""
                    raise EngineError(
                        f"{deaths} workers of engine {engine.name!r} died in a row without finishing a task{last}: "
                        "give each more memory, or use fewer workers"
                    ) from None
