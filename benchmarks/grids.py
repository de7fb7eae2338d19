"""The wide searches behind the default grids of `docs/baselines.md`, on validation folds only; no test row is read.

Run: python benchmarks/grids.py METHOD … [--dataset CUB] [--root DIR] [--features NAME] [--processes 2] [--out FILE];
needs the data. Prints the best settings by both scorings, and for each value of each setting the best that it reached.
With --out, each finished group of settings is appended to FILE as JSON lines.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console

from descent_grids import DESCENT
from zskl import datasets, methods, selection
from zskl.datasets import Dataset

Grid = Mapping[str, Sequence[Any]]

USUAL = {"feature_scaling": ("l2-center-l2", "sqrt-center-l2", "center-l2")}
OTHER = {"feature_scaling": ("standardize-l2", "l2", "none")}
DESCRIBED = {
    "feature_scaling": (*USUAL["feature_scaling"], "standardize-l2"),
    "signature_scaling": ("l2", "standardize-l2"),
}
RIDGES = {"gamma": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0), "lam": (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)}
ESZSL = {**RIDGES, "targets": ("zero-one", "signs")}
ENCODER = {"lam": (1e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6)}
SAE = {**ENCODER, "direction": ("to-features", "to-signatures")}
SIGMA = (0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
SYNC = {"sigma": SIGMA, "lam": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2), "loss": ("one-vs-other", "structured")}
CONSE = {"T": (1, 2, 5, 10, 20, 50, 100), "C": (0.3, 1.0, 3.0, 10.0, 30.0)}
THRESHOLDS = ("mean", "median", "matrix-mean")
SSE = {"gamma": (0.3, 1.0), "epochs": (6, 12)}

CLOSED: dict[str, list[Grid]] = {
    "eszsl": [{**ESZSL, **USUAL}, {**ESZSL, **DESCRIBED}, {**ESZSL, **OTHER}],
    "sae": [{**SAE, **USUAL}, {**SAE, **DESCRIBED}, {**SAE, **OTHER}],
    "sync": [
        {**SYNC, "feature_scaling": USUAL["feature_scaling"][:2]},
        {**SYNC, "feature_scaling": ("center-l2", "standardize-l2")},
        {**SYNC, "feature_scaling": USUAL["feature_scaling"][:2], "signature_scaling": ("l2", "standardize-l2")},
        {**SYNC, "lam": (1e-6, 1e-5, 3e-2), "loss": ("one-vs-other",), "feature_scaling": USUAL["feature_scaling"][:2]},
        {**SYNC, "lam": (1e-5,), "loss": ("structured",), "feature_scaling": USUAL["feature_scaling"][:2]},
    ],
    "conse": [{**CONSE, **USUAL}, {**CONSE, **DESCRIBED, "C": (1.0, 3.0, 10.0)}, {**CONSE, **OTHER}],
    "dap": [{"C": (0.3, 1.0, 3.0, 10.0, 30.0), "threshold": (threshold,), **USUAL} for threshold in THRESHOLDS],
    "iap": [{"C": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0), "threshold": THRESHOLDS, **USUAL}],
    "sse": [
        {"gamma": (0.1, 0.3, 1.0, 3.0), "epochs": (3, 6, 12), "feature_scaling": ("l2", "sqrt-l2")},
        {**SSE, "learning_rate": (0.03, 0.3), "feature_scaling": ("l2", "sqrt-l2")},
        {**SSE, "signature_scaling": ("l2", "standardize-l2"), "feature_scaling": ("l2", "sqrt-l2")},
        {**SSE, "feature_scaling": ("center-l2", "sqrt-center-l2")},
        {**SSE, "embedding": ("relu",), "feature_scaling": ("l2", "sqrt-l2")},
        {**SSE, "alignment": (0.0, 10.0, 100.0), "feature_scaling": ("sqrt-l2",)},
    ],
}
WIDE: dict[str, list[Grid]] = {**CLOSED, **DESCENT}


def groups(method: str, grids: Sequence[Grid] | None = None) -> list[dict[str, list[Any]]]:
    """The wide grid in pieces that one fit for each fold serves."""
    free = methods.build(method)._free_settings(np.empty((0, 0)))
    found = []
    for grid in grids or WIDE[method]:
        ride = {name: list(values) for name, values in grid.items() if name in free}
        fixed = [name for name in grid if name not in free]
        found += [
            {**{name: [value] for name, value in zip(fixed, values, strict=True)}, **ride}
            for values in product(*(grid[name] for name in fixed))
        ]
    return found


def examine(
    method: str, grid: Grid, X: Any, y: Any, table: Any, folds: Any, settings: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Lines with the figures of every setting of a grid on the folds."""
    found = selection.search(methods.build(method, settings), X, y, table, grid, folds, None)
    return [
        {"method": method, "setting": dict(setting), "zsl": zsl.tolist(), "gzsl": gzsl.tolist()}
        for setting, zsl, gzsl in zip(found.settings, found.zsl, found.gzsl, strict=True)
        if np.isfinite(zsl).all()
    ]


def search(
    method: str, data: Dataset, processes: int = 1, settings: Mapping[str, Any] | None = None
) -> Iterator[list[dict[str, Any]]]:
    """The lines of one group of settings after the other, as they finish."""
    X, y = data.samples("trainval")
    folds = selection.folds(data)
    settings = {"random_state": 0, **(settings or {})}
    tasks = (delayed(examine)(method, grid, X, y, data.signatures, folds, settings) for grid in groups(method))
    named = {"dataset": data.name, "features": data.features}
    for lines in Parallel(n_jobs=processes, return_as="generator_unordered")(tasks):
        yield [{**named, **line} for line in lines]


def summary(lines: Sequence[Mapping[str, Any]], best: int = 5) -> str:
    """The best settings by both scorings; behind each value the best figures that settings with it reached."""
    figures = {name: [100 * float(np.mean(line[name])) for line in lines] for name in ("zsl", "gzsl")}
    text = []
    for name in figures:
        order = np.argsort(figures[name])[::-1][:best]
        text += [f"{name} {figures[name][k]:.2f}  {lines[k]['setting']}" for k in order]
    for setting in dict.fromkeys(name for line in lines for name in line["setting"]):
        values = sorted({line["setting"][setting] for line in lines if setting in line["setting"]})
        reached = []
        for value in values:
            places = [k for k, line in enumerate(lines) if line["setting"].get(setting) == value]
            reached.append(
                f"{value}: " + " / ".join(f"{max(figures[name][k] for k in places):.1f}" for name in figures)
            )
        text.append(f"{setting}  {', '.join(reached)}")
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method", nargs="+", choices=WIDE)
    parser.add_argument("--dataset", default="CUB")
    parser.add_argument("--root")
    parser.add_argument("--features")
    parser.add_argument("--device")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    data = datasets.load(chosen.dataset, chosen.root, chosen.features)
    for method in chosen.method:
        lines = []
        for part in search(method, data, chosen.processes, {"device": chosen.device} if chosen.device else None):
            lines += part
            if chosen.out:
                with chosen.out.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(line) + "\n" for line in part)
        Console().print(f"{data.name}, {data.features}, {method}: {len(lines)} settings", soft_wrap=True)
        Console().print(summary(lines), soft_wrap=True, highlight=False, markup=False)


if __name__ == "__main__":
    main()
