"""The search of a kernel with its default grid, as it was and quicker: batches of 32, and halving after the first fold.

Run: python benchmarks/halved_search.py [--method gaussian-softmax ...] [--data CUB:efficientnet_lite2] [--root DIR ...]
     [--ways before batches halving] [--seed 0] [--json FILE]; needs the data. It takes minutes: 20 for `before` on CUB
and two cores. Processor seconds are those of all processes. Test rows are only scored.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from class_means import load
from machine import describe
from zskl import datasets, methods, protocols, selection
from zskl.engines import Engine

WAYS = {"before": (10, False), "batches": (32, False), "halving": (32, True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", nargs="+", default=["gaussian-softmax", "gaussian-ort"])
    parser.add_argument("--data", default="CUB:efficientnet_lite2", metavar="DATASET:FEATURES")
    parser.add_argument("--root", nargs="+", type=Path, default=[None], help="folders of the benchmarks, tried in turn")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    data = load(chosen.data, chosen.root)
    table = Table(title=f"{chosen.data}, seed {chosen.seed}: a search with the default grid and its bounds")
    for name in ("method", "way", "settings", "seconds", "processor s", "zero-shot", "calibrated H"):
        table.add_column(name, justify="left" if name in ("method", "way") else "right")
    found = []
    for method in chosen.method:
        for way in chosen.ways:
            one = measure(data, method, way, chosen.seed)
            found.append({"data": chosen.data, "method": method, "way": way, "seed": chosen.seed, **one})
            cells = f"{one['settings']}", f"{one['search s']:.0f}", f"{one['processor s']:.0f}"
            table.add_row(method, way, *cells, f"{100 * one['zsl']:.1f}", f"{100 * one['harmonic']:.1f}")
            if chosen.json:
                chosen.json.write_text(json.dumps({"machine": describe(), "figures": found}, indent=1) + "\n")
    Console(width=120).print(table)


def measure(data: datasets.Dataset, method: str, way: str, seed: int) -> dict[str, Any]:
    """One search; then the model chosen by zero-shot accuracy and the one chosen by H, on test rows."""
    X, y = data.samples("trainval")
    batch, halving = WAYS[way]
    estimator = methods.build(method, {"random_state": seed, "batch_size": batch})
    entry, folds, engine = methods.find(method), selection.folds(data), Engine(workers=2)
    wall, used = time.perf_counter(), processor()
    search = selection.search(
        *(estimator, X, y, data.signatures, entry.grid, folds, engine), extend=entry.bounds, halving=halving
    )
    took = time.perf_counter() - wall
    close()
    figures: dict[str, Any] = {
        "settings": len(search.settings),
        "extended": search.extended,
        "dropped": len(search.dropped),
        "search s": took,
        "processor s": processor() - used,
    }
    models = {}
    for scoring in ("zsl", "gzsl"):
        models[scoring], _ = selection.refit(estimator, search, scoring, X, y, data.signatures)
    figures["chosen"] = {scoring: dict(search.pick(scoring).setting) for scoring in models}
    figures["validation"] = {scoring: search.pick(scoring).score for scoring in models}
    figures["zsl"] = protocols.zsl(models["zsl"], data).accuracy
    figures["harmonic"] = protocols.gzsl(models["gzsl"], data, "model").harmonic
    return figures


def close() -> None:
    """End the processes of the search: the operating system counts their time when they end."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


def processor() -> float:
    """Seconds of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    main()
