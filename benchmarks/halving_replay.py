"""Would halving have chosen the same? Whole searches of a grid are recorded, then halved again from the record.

Run: python benchmarks/halving_replay.py [--data AWA1:handcrafted_pca512] [--root DIR ...] [--share 4] [--seeds 10]
     [--first 10] [--method gaussian-softmax gaussian-ort] [--workers 2 | --device cuda] [--keep]; needs the data. Each
seed draws a share of the training rows (1 takes all of them, with the dataset's own folds), its folds, and the fits.
The rule of halving was chosen on seeds 0 to 9 of the default data, so that others judge it. Test rows take no part. A
search of a quarter of AWA1 takes 40 processor seconds. --keep writes benchmarks/results/halving_replay.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from class_means import load
from machine import keep
from zskl import methods, selection
from zskl.datasets import Dataset
from zskl.engines import Engine
from zskl.selection import grid_search
from zskl.selection.class_folds import prepare_fold_data
from zskl.selection.grid_search import examine_settings, group_settings, plan_search
from zskl.selection.search_results import SCORINGS, Search, judge_settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="AWA1:handcrafted_pca512", metavar="DATASET:FEATURES")
    parser.add_argument("--root", nargs="+", type=Path, default=[None], help="folders of the benchmarks, tried in turn")
    parser.add_argument("--method", nargs="+", default=["gaussian-softmax", "gaussian-ort"])
    parser.add_argument("--share", type=int, default=4, help="one row of so many")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=10, help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device")
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    data, found, engine = load(chosen.data, chosen.root), [], Engine(workers=chosen.workers)
    for method in chosen.method:
        for seed in range(chosen.first, chosen.first + chosen.seeds):
            one = replayed(data, method, seed, chosen.share, chosen.device, engine)
            found.append({"method": method, "seed": seed, **one})
            if chosen.keep:
                keep("halving_replay", {"data": chosen.data, "share": chosen.share, "searches": found})
    table = Table(title=f"{chosen.data}, one row of {chosen.share}: choices after halving")
    for name in ("method", "scoring", "same", "within the spread", "mean loss", "largest loss", "epochs made"):
        table.add_column(name, justify="left" if name in ("method", "scoring") else "right")
    for method in chosen.method:
        mine = [one for one in found if one["method"] == method]
        for scoring in SCORINGS:
            loss = np.array([one[scoring]["loss"] for one in mine])
            inside = sum(one[scoring]["loss"] <= one[scoring]["spread"] for one in mine)
            same = sum(one[scoring]["same"] for one in mine)
            runs = f"{100 * np.mean([one['made'] for one in mine]):.0f} %"
            counts = f"{same} of {len(mine)}", f"{inside} of {len(mine)}"
            table.add_row(method, scoring, *counts, f"{100 * loss.mean():.2f}", f"{100 * loss.max():.2f}", runs)
    Console(width=120).print(table)


def replayed(data: Dataset, method: str, seed: int, share: int, device: str | None, engine: Engine) -> dict[str, Any]:
    """What a whole search chose, and what it would have chosen with halving."""
    X, y = data.samples("trainval")
    folds = selection.folds(data)
    if share > 1:
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[: len(y) // share])
        X, y = X[rows], y[rows]
        folds = selection.folds(y, seed=seed)
    estimator = methods.build(method, {"random_state": seed, "device": device})
    planned = plan_search(prepare_fold_data(estimator, X, y, data.signatures, folds), methods.find(method).grid)
    found, epochs = examine_settings(planned, engine), []

    def run(some: Sequence[int], places: Sequence[int]) -> grid_search.Found:
        for members in group_settings([planned.settings[place] for place in places], ["epochs"]):
            epochs.append(len(some) * max(planned.settings[places[k]]["epochs"] for k in members))
        return {(place, fold): found[place, fold] for place in places for fold in some}

    few = grid_search.search_by_halving(planned.settings, ["epochs"], len(folds), run)
    made, every = sum(epochs), range(len(planned.settings))
    whole, halved = (
        judge_settings(planned.settings, folds, run(range(len(folds)), every)),
        judge_settings(planned.settings, folds, few),
    )
    return {"made": made / (sum(epochs) - made), **{scoring: compared(whole, halved, scoring) for scoring in SCORINGS}}


def compared(whole: Search, halved: Search, scoring: str) -> dict[str, Any]:
    best, other = whole.pick(scoring), halved.pick(scoring)
    return {"same": best.place == other.place, "loss": best.score - other.score, "spread": best.spread}


if __name__ == "__main__":
    main()
