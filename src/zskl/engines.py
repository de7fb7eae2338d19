from __future__ import annotations
from dataclasses import dataclass
from typing import Any
import joblib
@dataclass(frozen=True)
class Engine:
    name: str = "loky"
    address: str | None = None
    workers: int | None = None
def _one(function, shared, place, task):
    return place, function(shared, task)
def each(function, tasks, shared=None, engine=None, started=None):
    if engine is None:
        for place, task in enumerate(tasks):
            yield place, function(shared, task)
        return
    with joblib.parallel_config("loky", n_jobs=engine.workers or 2, inner_max_num_threads=1):
        yield from joblib.Parallel(return_as="generator_unordered", batch_size=1)(joblib.delayed(_one)(function, shared, i, t) for i, t in enumerate(tasks))
