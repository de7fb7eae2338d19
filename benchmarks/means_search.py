"""Processor time of a search of class means: 256 settings × 3 folds, and the default grid with its bounds.

Run: python benchmarks/means_search.py [--data CUB:efficientnet_lite2 ...] [--root DIR ...] [--only-256]
[--device cuda] [--cores]; needs the data. One process and one thread, or with --cores a process for each core, among
which folds and scalings are shared out: then the clock counts what processes need to start. Test rows take no part.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from class_means import DATA, load
from machine import keep, processor
from page_tables import load as load_record
from zskl import methods, selection
from zskl.engines import Engine

GRID = {
    "kernel": ("gaussian",),
    "bandwidth": (1.0, 4.0),
    "noise": (0.03, 0.1),
    "shrinkage": (0.1, 0.2, 0.45, 0.75),
    "crowding": (0.0, 0.1, 0.2, 0.3),
    "description_weight": (5.0, 50.0),
    "feature_scaling": ("sqrt-l2", "l2"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=DATA, metavar="DATASET:FEATURES")
    parser.add_argument("--root", nargs="+", type=Path, default=[None], help="folders of the benchmarks, tried in turn")
    parser.add_argument("--only-256", action="store_true", help="leave the default grid out")
    parser.add_argument(
        "--device", help="such as cuda; everything then runs in one process, and the clock is what counts"
    )
    parser.add_argument("--cores", action="store_true", help="use all cores; only the clock is then measured")
    chosen = parser.parse_args()
    figures: list[dict[str, Any]] = []
    table = Table("data", "grid", "settings", "processor s", "s on the clock", "zsl, chosen", "gzsl, chosen")
    entry = methods.find("class-means")
    grids: dict[str, tuple[Any, Any]] = {"256": (GRID, None)}
    if not chosen.only_256:
        grids["default"] = entry.grid, entry.bounds
    for source in chosen.data:
        data = load(source, chosen.root)
        X, y = data.samples("trainval")
        if chosen.device:  # PyTorch is loaded before
            methods.build("eszsl", {"device": chosen.device}).fit(X, y, data.signatures)
        for name, (grid, bounds) in grids.items():
            model = methods.build("class-means", {"random_state": 0, "device": chosen.device})
            clocks = []
            for _ in range(2 if chosen.device else 1):  # the first search on a device waits for its kernels
                with threadpool_limits(limits=None if chosen.device else 1):
                    began, clock = time.process_time(), time.perf_counter()
                    found = selection.search(
                        *(model, X, y, data.signatures, grid, selection.folds(data)),
                        engine=Engine() if chosen.cores else None,
                        extend=bounds,
                    )
                    took = time.process_time() - began
                    clocks.append(time.perf_counter() - clock)
            passed = clocks[-1]
            best = [f"{100 * found.pick(scoring).score:.2f}" for scoring in ("zsl", "gzsl")]
            table.add_row(source, name, f"{len(found.settings)}", f"{took:.1f}", f"{passed:.1f}", *best)
            tried = {"settings": len(found.settings), "cpu": took, "clock": passed, "first": clocks[0]}
            figures.append({"data": source, "grid": name, **tried})
    Console(width=110).print(table)
    name = f"means_search{'_device' if chosen.device else '_cores' if chosen.cores else ''}"
    new = {(one["data"], one["grid"]) for one in figures}
    known = load_record(name)
    same = known is not None and known["machine"]["processor"] == processor()  # figures of one machine alone
    before = known["figures"]["searches"] if known is not None and same else []
    others = [one for one in before if (one["data"], one["grid"]) not in new]
    keep(name, {"folds": 3, "searches": [*others, *figures]})


if __name__ == "__main__":
    main()
