"""Would halving have chosen the same? Whole searches are recorded, then halved again from the record.

Run: python benchmarks/halving_replay.py [--data AWA1:handcrafted_pca512] [--root DIR ...] [--share 4] [--seeds 10]
     [--method gaussian-softmax gaussian-ort] [--json FILE]; needs the data. Each seed draws a share of the training
rows (1 takes all of them, with the dataset's own folds), its folds, and the fits. Test rows take no part. A search of a
quarter of AWA1 takes 40 seconds of one core.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from class_means import load
from machine import describe
from zskl import methods, selection
from zskl.datasets import Dataset
from zskl.selection import halving
from zskl.selection.grid_search import examined, plan
from zskl.selection.material import material
from zskl.selection.search_results import SCORINGS, Search, judge


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="AWA1:handcrafted_pca512", metavar="DATASET:FEATURES")
    parser.add_argument("--root", nargs="+", type=Path, default=[None], help="folders of the benchmarks, tried in turn")
    parser.add_argument("--method", nargs="+", default=["gaussian-softmax", "gaussian-ort"])
    parser.add_argument("--share", type=int, default=4, help="one row of so many")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    data, found = load(chosen.data, chosen.root), []
    for method in chosen.method:
        for seed in range(chosen.seeds):
            found.append({"method": method, "seed": seed, **replayed(data, method, seed, chosen.share)})
            if chosen.json:
                chosen.json.write_text(json.dumps({"machine": describe(), "figures": found}, indent=1) + "\n")
    table = Table(title=f"{chosen.data}, one row of {chosen.share}: choices after halving")
    for name in ("method", "scoring", "same", "within the spread", "mean loss", "largest loss", "runs"):
        table.add_column(name, justify="left" if name in ("method", "scoring") else "right")
    for method in chosen.method:
        mine = [one for one in found if one["method"] == method]
        for scoring in SCORINGS:
            loss = np.array([one[scoring]["loss"] for one in mine])
            inside = sum(one[scoring]["loss"] <= one[scoring]["spread"] for one in mine)
            same = sum(one[scoring]["same"] for one in mine)
            runs = f"{100 * np.mean([one['runs'] for one in mine]):.0f} %"
            counts = f"{same} of {len(mine)}", f"{inside} of {len(mine)}"
            table.add_row(method, scoring, *counts, f"{100 * loss.mean():.2f}", f"{100 * loss.max():.2f}", runs)
    Console(width=120).print(table)


def replayed(data: Dataset, method: str, seed: int, share: int) -> dict[str, Any]:
    """What a whole search chose, and what it would have chosen with halving."""
    X, y = data.samples("trainval")
    folds = selection.folds(data)
    if share > 1:
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[: len(y) // share])
        X, y = X[rows], y[rows]
        folds = selection.folds(y, seed=seed)
    estimator = methods.build(method, {"random_state": seed, "batch_size": 32})
    planned = plan(material(estimator, X, y, data.signatures, folds), methods.find(method).grid)
    found = examined(planned)
    left = set(halving.promising(planned.settings, ("epochs",), found))
    few = {(place, fold): one for (place, fold), one in found.items() if fold == 0 or place in left}
    whole, halved = (judge(planned.settings, folds, some) for some in (found, few))
    made = 1 / len(folds) + len(left) / len(planned.settings) * (1 - 1 / len(folds))
    return {"runs": made, **{scoring: compared(whole, halved, scoring) for scoring in SCORINGS}}


def compared(whole: Search, halved: Search, scoring: str) -> dict[str, Any]:
    best, other = whole.pick(scoring), halved.pick(scoring)
    return {"same": best.place == other.place, "loss": best.score - other.score, "spread": best.spread}


if __name__ == "__main__":
    main()
