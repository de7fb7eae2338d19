"""How long a whole search takes: 64 settings × 3 folds × 10 epochs, every epoch scored on the validation rows.

Run: python benchmarks/search.py [--dataset CUB] [--root DIR] [--features NAME] [--device cuda] [--settings 64]
[--tf32]; needs the data. On the CPU the runs go through all cores; with few --settings the time per setting is
printed too.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from rich.console import Console
from rich.progress import Progress

from machine import RESULTS, keep
from zskl import datasets, methods, selection
from zskl.engines import Engine

SIGMA = (0.5, 0.65, 0.8, 1.0)
REPULSION = (0.5, 1.0, 2.0, 4.0)
RATE = (3e-4, 5e-4, 7e-4, 1e-3)
EPOCHS = 10
RECORD = RESULTS / "search.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="CUB")
    parser.add_argument("--root")
    parser.add_argument("--features")
    parser.add_argument("--device")
    parser.add_argument("--method", default="gaussian-ort")
    parser.add_argument("--settings", type=int, default=64)
    parser.add_argument("--tf32", action="store_true", help="products of lower precision, on a GPU")
    chosen = parser.parse_args()
    data = datasets.load(chosen.dataset, chosen.root, chosen.features)
    rows = data.parts["trainval"]
    folds = selection.folds(data)
    combinations = [(s, r, b) for s in SIGMA for r in REPULSION for b in RATE][: chosen.settings]
    grid = [
        {"sigma": [s], "repulsion": [r], "learning_rate": [b], "epochs": list(range(1, EPOCHS + 1))}
        for s, r, b in combinations
    ]
    estimator = methods.build(chosen.method, {"random_state": 0, "device": chosen.device})
    engine = None if chosen.device else Engine()
    X, y = data.X[rows], data.y[rows]
    if chosen.tf32:
        import torch

        torch.set_float32_matmul_precision("high")
    if chosen.device:  # a search in a process that has not used the device yet waits for PyTorch first
        methods.build("eszsl", {"device": chosen.device}).fit(X, y, data.signatures)

    def search() -> tuple[selection.Search, float]:
        with Progress(transient=True) as progress:
            task = progress.add_task("search")
            began = time.perf_counter()
            found = selection.search(
                *(estimator, X, y, data.signatures, grid, folds, engine),
                lambda done, total: progress.update(task, completed=done, total=total),
            )
            return found, time.perf_counter() - began

    found, seconds = search()
    best = found.pick("zsl")
    if chosen.device:
        again = search()[1]  # kernels are compiled and loaded now
        known = json.loads(RECORD.read_text("utf-8"))["figures"] if RECORD.exists() else {}
        times = {name: known.get(name) for name in ("seconds", "again", "high", "high_again")}
        times |= {"high": seconds, "high_again": again} if chosen.tf32 else {"seconds": seconds, "again": again}
        Console().print(f"the first search {seconds:.1f} s, the second {again:.1f} s")
        figures = {"dataset": chosen.dataset, "features": data.features, "method": chosen.method, **times}
        keep("search", {**figures, "settings": len(combinations), "folds": len(folds), "epochs": EPOCHS})
    Console().print(
        f"{chosen.dataset}, {data.features}, {chosen.method}: {len(combinations)} settings × {len(folds)} folds × "
        f"{EPOCHS} epochs on {chosen.device or 'the CPU'}: {seconds:.1f} s, {seconds / len(combinations):.2f} s a "
        f"setting; {np.isfinite(found.zsl).all(axis=1).sum()} of {len(found.settings)} points scored, the best "
        f"{100 * best.score:.1f} on validation classes",
        soft_wrap=True,
    )


if __name__ == "__main__":
    main()
