"""Config → dataset → fit → both protocols → record. The only conductor."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from zskl import methods, protocols, records
from zskl.datasets import Dataset
from zskl.kernels import Kernel
from zskl.solver import Progress


@dataclass(frozen=True)
class Unit:
    """One run: a method with its settings, on one dataset, from one seed."""

    method: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None


def run(unit: Unit, data: Dataset, callback: Callable[[Progress], object] | None = None) -> dict[str, Any]:
    """Fit on the trainval rows, evaluate both protocols, and return the record."""
    model = methods.make(unit.method, {**unit.settings, "random_state": unit.seed, "device": unit.device})
    rows = data.parts["trainval"]
    X, y = data.X[rows], data.y[rows]
    began = time.perf_counter()
    model.fit(X, y, data.signatures, callback=callback)
    fitted = time.perf_counter()
    zsl, gzsl = protocols.zsl(model, data), protocols.gzsl(model, data)
    evaluated = time.perf_counter()
    return {
        "dataset": data.name,
        "features": data.features,
        "method": unit.method,
        "seed": unit.seed,
        "config": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "zsl": zsl.as_dict(),
        "gzsl": gzsl.as_dict(),
        "seconds": {"fit": fitted - began, "evaluate": evaluated - fitted},
        "rows": {name: len(part) for name, part in data.parts.items()},
        "fingerprint": data.fingerprint,
        "versions": records.versions(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _plain(value: Any) -> Any:
    return {"name": value.name, **value.parameters()} if isinstance(value, Kernel) else value
