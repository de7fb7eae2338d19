"""The default search of a kernel, and what it was: every setting on every fold, in batches of 10 or of 32.

Run: python benchmarks/halved_search.py [--method gaussian-softmax ...] [--data CUB:efficientnet_lite2] [--root DIR ...]
     [--ways default whole before] [--workers 2 | --device cuda] [--seed 0] [--keep]; needs the data. On CUB and two
cores a method takes 2 minutes for `default`, 5 for `whole`, 15 for `before`; --workers 0 uses one core. Processor
seconds are those of all processes. Test rows are only scored. --keep adds what was measured to
benchmarks/results/halved_search.json, and what a device did to halved_search_device.json. The choices do not depend on
where they are made, but for rounding: a GPU tries many seeds in minutes.
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
from machine import RESULTS, keep
from machine import processor as machine_processor
from zskl import datasets, methods, protocols, selection
from zskl.engines import Engine

WAYS = {"default": (32, True), "whole": (32, False), "before": (10, False)}
NAME = "halved_search"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", nargs="+", default=["gaussian-softmax", "gaussian-ort"])
    parser.add_argument("--data", default="CUB:efficientnet_lite2", metavar="DATASET:FEATURES")
    parser.add_argument("--root", nargs="+", type=Path, default=[None], help="folders of the benchmarks, tried in turn")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=["default"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    data = load(chosen.data, chosen.root)
    table = Table(title=f"{chosen.data}, seed {chosen.seed}: a search with the default grid and its bounds")
    for name in ("method", "way", "settings", "seconds", "processor s", "zero-shot", "calibrated H"):
        table.add_column(name, justify="left" if name in ("method", "way") else "right")
    for method in chosen.method:
        for way in chosen.ways:
            one = measure(data, method, way, chosen.seed, chosen.workers, chosen.device)
            cells = f"{one['settings']}", f"{one['search s']:.0f}", f"{one['processor s']:.0f}"
            table.add_row(method, way, *cells, f"{100 * one['zsl']:.1f}", f"{100 * one['harmonic']:.1f}")
            if chosen.keep:
                where = chosen.device or ("1 core" if chosen.workers < 2 else f"{chosen.workers} cores")
                name = f"{NAME}_device" if chosen.device else NAME
                keep(name, {**known(name), f"{chosen.data}, {method}, {way}, seed {chosen.seed}, {where}": one})
    Console(width=120).print(table)


def known(name: str) -> dict[str, Any]:
    """What was measured before on this machine."""
    path = RESULTS / f"{name}.json"
    record: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    same = bool(record) and record["machine"]["processor"] == machine_processor()
    return dict(record["figures"]) if same else {}


def measure(
    data: datasets.Dataset, method: str, way: str, seed: int, workers: int, device: str | None
) -> dict[str, Any]:
    """One search; then the model chosen by zero-shot accuracy and the one chosen by H, on test rows."""
    X, y = data.samples("trainval")
    batch, halving = WAYS[way]
    estimator = methods.build(method, {"random_state": seed, "device": device})
    entry, folds, engine = methods.find(method), selection.folds(data), Engine(workers=workers) if workers else None
    parts = methods.split_grid(entry.grid)
    if batch == 10:  # half the rates
        parts = tuple(methods.use_default_batches(part) for part in parts)
    grid = [{**part, "batch_size": [batch]} for part in parts]
    wall, used = time.perf_counter(), processor()
    search = selection.search(
        *(estimator, X, y, data.signatures, grid, folds, engine),
        extend=entry.bounds,
        with_default=True,
        halving=halving,
    )
    took = time.perf_counter() - wall
    if workers:
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
