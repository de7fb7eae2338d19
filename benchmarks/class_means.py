"""What class means reach: descriptions alone, with a few examples, with unlabelled rows; and what the search costs.

Run: python benchmarks/class_means.py [--data CUB:efficientnet_lite2 ...] [--method class-means ...] [--draws 5]
     [--root DIR ...] [--json FILE]; needs the data. Validation classes decide everything. Test rows are only scored.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from machine import describe
from zskl import datasets, methods, protocols, selection
from zskl.engines import Engine

DATA = ("CUB:efficientnet_lite2", "AWA1:handcrafted_pca512", "CUB:resnet50")
SHOTS = (1, 5)
COLUMNS = {
    "zero-shot": "zsl",
    "calibrated H": "harmonic",
    "1 example": "shots 1",
    "5 examples": "shots 5",
    "unlabelled unseen": "unlabelled unseen",
    "unlabelled all, cal. H": "unlabelled all",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=DATA, metavar="DATASET:FEATURES")
    parser.add_argument("--root", nargs="+", type=Path, default=[None], help="folders of the benchmarks, tried in turn")
    parser.add_argument("--method", nargs="+", default=["class-means"], help="for example class-means means-softmax")
    parser.add_argument("--draws", type=int, default=5, help="draws of examples, whose figures are averaged")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    table = Table(title="top-1 accuracy in per cent, mean over classes; † not adapted, because no gain was promised")
    for name in ("data", "method", *COLUMNS, "search s", "fit s"):
        table.add_column(name, justify="left" if name in ("data", "method") else "right")
    found = []
    for source in chosen.data:
        data = load(source, chosen.root)
        for method in chosen.method:
            figures = measure(data, method, chosen.draws)
            found.append({"data": source, "method": method, **figures})
            cells = [cell(figures, key) for key in COLUMNS.values()]
            table.add_row(source, method, *cells, f"{figures['search s']:.0f}", f"{figures['fit s']:.1f}")
            if chosen.json:
                chosen.json.write_text(json.dumps({"machine": describe(), "figures": found}, indent=1) + "\n")
    Console(width=150).print(table)


def load(source: str, roots: list[Path | None]) -> datasets.Dataset:
    """The dataset, from the first folder that has these features."""
    name, _, features = source.partition(":")
    for number, root in enumerate(roots, start=1):
        try:
            return datasets.load(name, root, features or None)
        except (ValueError, OSError):
            if number == len(roots):
                raise
    raise AssertionError("there is at least one root")


def measure(data: datasets.Dataset, method: str, draws: int) -> dict[str, Any]:
    """All figures of one method: one search, then a model chosen by zero-shot accuracy and one chosen by H."""
    X, y = data.samples("trainval")
    estimator, entry = methods.build(method, {"random_state": 0}), methods.find(method)
    started = time.perf_counter()
    folds = selection.folds(data)
    search = selection.search(estimator, X, y, data.signatures, entry.grid, folds, Engine(), extend=entry.bounds)
    searched = time.perf_counter()
    models = {}
    for scoring in ("zsl", "gzsl"):
        models[scoring], _ = selection.refit(estimator, search, scoring, X, y, data.signatures, engine=Engine())
    fitted = time.perf_counter()
    plain, calibrated = models["zsl"], models["gzsl"]
    figures: dict[str, Any] = {
        "settings": len(search.settings),
        "search s": searched - started,
        "fit s": (fitted - searched) / 2,
        "chosen": {scoring: dict(search.pick(scoring).setting) for scoring in models},
        "zsl": protocols.zsl(plain, data).accuracy,
        "harmonic": protocols.gzsl(calibrated, data, "model").harmonic,
    }
    for shots in SHOTS:
        each = [protocols.zsl(plain, data, shots=shots, seed=seed).accuracy for seed in range(draws)]
        figures[f"shots {shots}"] = float(np.mean([one for one in each if one is not None]))
    for rows, result in (
        ("unseen", protocols.zsl(plain, data, unlabelled="unseen")),
        ("all", protocols.gzsl(calibrated, data, "model", unlabelled="all")),
    ):
        figures[f"unlabelled {rows}"] = result.accuracy if rows == "unseen" else result.harmonic
        figures[f"unlabelled {rows} declined"] = result.declined
    return figures


def cell(figures: dict[str, Any], key: str) -> str:
    return f"{100 * figures[key]:.1f}" + ("†" if figures.get(f"{key} declined") else "")


if __name__ == "__main__":
    main()
