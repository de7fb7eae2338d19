"""What does it cost to prefer a steady setting? Choose on all folds but one, judge on that one, with and without.

Run: python benchmarks/steadiness.py [--dataset CUB AWA1] [--method eszsl ...] [--seeds 1] [--device cuda] [--root DIR];
     needs the data. It looks at validation folds of the training rows alone. The grids are not extended.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

from zskl import datasets, methods, selection
from zskl.experiments.unit import unit_seed
from zskl.metrics import Margins, harmonic_mean
from zskl.selection.class_folds import prepare_fold_data
from zskl.selection.grid_search import choose_engine, examine_settings, plan_search
from zskl.selection.search_results import SCORINGS, is_wide_result, judge_settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", nargs="+", default=["CUB", "AWA1"])
    parser.add_argument("--method", nargs="+", default=["eszsl", "sae", "conse", "class-means"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--root")
    parser.add_argument("--device")
    chosen = parser.parse_args()
    table = Table(title="what a steady choice changes on the fold that took no part in it, in points")
    for name in ("dataset", "method", "seed", "by", "wide settings", "best is wide", "changed", "zero-shot", "H"):
        table.add_column(name)
    for name in chosen.dataset:
        data = datasets.load(name, chosen.root)
        for method in chosen.method:
            for seed in range(chosen.seeds):
                for row in compared(data, method, seed, chosen.device):
                    table.add_row(data.name, method, str(seed), *row)
                Console(width=120).print(f"{data.name} {method} seed {seed} done", style="dim")
    Console(width=120).print(table)


def compared(data: datasets.Dataset, method: str, seed: int, device: str | None) -> list[list[str]]:
    """For each scoring: how many settings are wide, and what giving way changes, on how many of the folds."""
    X, y = data.samples("trainval")
    state = {"random_state": unit_seed(data.name, method, seed), "device": device}
    estimator = methods.build(method, {k: v for k, v in state.items() if k in methods.build(method).get_params()})
    shared = prepare_fold_data(estimator, X, y, data.signatures, selection.folds(data))
    planned = plan_search(shared, methods.find(method).grid)
    found = examine_settings(planned, choose_engine("auto", estimator, X))
    folds, settings = list(shared.folds), planned.settings
    whole = judge_settings(settings, folds, found)
    unsteady = is_wide_result(whole.seen) | is_wide_result(whole.gzsl)
    rows = []
    for scoring in SCORINGS:
        changes = []
        for fold in range(len(folds)):
            others = [k for k in range(len(folds)) if k != fold]
            part = {(place, n): found[place, k] for place in range(len(settings)) for n, k in enumerate(others)}
            search = judge_settings(settings, [folds[k] for k in others], part)
            best = int(np.argmax(search.scores(scoring).mean(axis=1).round(9)))
            pair = [(place, search.constants[place]) for place in (int(search.ranking(scoring)[0]), best)]
            if pair[0] != pair[1]:
                new, old = (figures(found[place, fold], constant) for place, constant in pair)
                changes.append([new[0] - old[0], new[1] - old[1]])
        mean = 100 * np.sum(changes, axis=0) / len(folds) if changes else np.zeros(2)
        first = int(np.argmax(whole.scores(scoring).mean(axis=1).round(9)))
        counts = [f"{unsteady.sum()} of {len(settings)}", "yes" if unsteady[first] else "no"]
        rows.append([scoring, *counts, f"{len(changes)} of {len(folds)}", *(f"{value:+.2f}" for value in mean)])
    return rows


def figures(answer: Margins | int, constant: float) -> tuple[float, float]:
    """Zero-shot accuracy, and H with the constant of the other folds; 0 where training diverged."""
    return (0.0, 0.0) if isinstance(answer, int) else (answer.zsl, harmonic_mean(*answer.at(constant)))


if __name__ == "__main__":
    main()
