"""What tuning does with few training classes: default settings, the highest mean over folds, and what `tune` chooses.

Run: python benchmarks/few_classes.py [--splits 10] [--method class-means …]

The data have 7 or 8 training classes: synthetic ones whose columns are in different units, scikit-learn's digits with
other unseen digits in each split, and the same digits with a unit of its own for each column. "highest mean" is what
`zskl run --tune` did before: the grid without standardised features, and the default setting only if the grid has it.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from rich.console import Console

from zskl import datasets, methods, protocols, selection
from zskl.datasets import Dataset, toy
from zskl.paper.results import published_grid as grid_without_standardised

UNITS = 1.5  # columns are multiplied by ten to the power of a number between −1.5 and 1.5


def in_units(data: Dataset, split: int) -> Dataset:
    """The same rows with a unit of its own for each column."""
    factors = 10 ** np.random.default_rng(split).uniform(-UNITS, UNITS, data.X.shape[1])
    return replace(data, X=(data.X * factors).astype(np.float32))


def synthetic(split: int) -> Dataset:
    return in_units(datasets.make_synthetic(8, 3, 30, 20, 8, noise=1.0, seed=split), split)


def some_digits(split: int) -> Dataset:
    return toy.load_digits(unseen=np.random.default_rng(split).permutation(10)[:3].tolist())


DATA: dict[str, Callable[[int], Dataset]] = {
    "synthetic, in units": synthetic,
    "digits": some_digits,
    "digits, in units": lambda split: in_units(some_digits(split), split),
}


def figures(method: str, data: Dataset) -> dict[str, list[float]]:
    """Zero-shot accuracy and H at the chosen constant, in per cent, for each way to choose; and whether it was kept."""
    estimator, (X, y) = methods.build(method, {"random_state": 0}), data.samples("trainval")
    folds, known = selection.folds(data), methods.find(method)
    plain = selection.calibrate(estimator.fit(X, y, data.signatures), X, y, data.signatures, folds)
    grid = grid_without_standardised(method)
    search = selection.search(estimator, X, y, data.signatures, grid, folds, extend=known.bounds)
    highest = selection.refit(estimator, search, "zsl", X, y, data.signatures)[0]
    tuned = selection.tune(estimator, X, y, data.signatures, folds=folds, engine=None)
    assert tuned.against_default is not None
    models = {"default": plain, "highest mean": highest, "tune": tuned.model}
    found = {name: list(measured(model, data)) for name, model in models.items()}
    return {**found, "kept": [float(tuned.against_default.kept)]}


def measured(model: object, data: Dataset) -> tuple[float, float]:
    zero_shot, both = protocols.zsl(model, data), protocols.gzsl(model, data, calibration="model")
    return 100 * zero_shot.accuracy, 100 * both.harmonic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--method", nargs="+", default=["class-means", "eszsl"])
    chosen = parser.parse_args()
    logging.disable(logging.WARNING)  # that validation is weak is the point
    console = Console()
    console.print("| data | method | default | highest mean | tune | default kept |\n|---|---|---:|---:|---:|---:|")
    for name, make in DATA.items():
        for method in chosen.method:
            found = [figures(method, make(split)) for split in range(chosen.splits)]
            cells = []
            for how in ("default", "highest mean", "tune"):
                zero_shot, harmonic = np.array([one[how] for one in found]).T
                lost = min(a[how][0] - a["default"][0] for a in found)
                worst = f" ({lost:+.1f})" if how != "default" else ""
                cells.append(f"{zero_shot.mean():.1f}{worst} / {harmonic.mean():.1f}")
            kept = sum(one["kept"][0] for one in found)
            console.print(f"| {name} | {method} | {' | '.join(cells)} | {kept:.0f} of {len(found)} |", soft_wrap=True)


if __name__ == "__main__":
    main()
