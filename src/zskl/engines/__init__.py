"""Many calls of one function at once: processes of this machine (joblib on loky) or a Dask cluster.

What all calls share travels once per worker. Each result is delivered exactly once, whatever becomes of a worker. No
scheduler of our own: joblib and Dask decide where a call runs. Dask is driven by its own client, since joblib's backend
for it waits for ever for a call whose worker has died for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from zskl.engines import dask_cluster, processes
from zskl.engines import engine as kinds
from zskl.engines.engine import Engine, EngineError, LostError, Results, Started, Task, can_be_mended, tell

__all__ = ["Engine", "can_be_mended", "each", "opened", "slots"]


def slots(engine: Engine) -> int:
    """How many tasks the engine runs at once; asks the cluster where it has an address."""
    if engine.address is None:
        return engine.processes
    return dask_cluster.slots(engine)


@contextmanager
def opened(engine: Engine) -> Iterator[Engine]:
    """The engine with its cluster running, for several calls of `each`; what was started here ends with the block."""
    if engine.name == "dask" and engine.address is None:
        with dask_cluster.started_here(engine) as ready:
            yield ready
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
            tell(started, place)
            yield place, function(shared, task)
        return
    run = {"loky": processes.run, "dask": dask_cluster.run}[engine.name]
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
            except LostError as error:
                deaths += 1
                if deaths > kinds.DEATHS:
                    last = f" (the last: {error})" if str(error) else ""
                    raise EngineError(
                        f"{deaths} workers of engine {engine.name!r} died in a row without finishing a task{last}: "
                        "give each more memory, or take fewer workers"
                    ) from None
