"""Accuracy against the number of examples: unseen classes with their description, and known by examples alone.

Run: python benchmarks/examples_figure.py [--data CUB:efficientnet_lite2] [--draws 5] [--root DIR ...]
     [--figure docs/figures/class-means-examples.svg]; needs the data. Settings are chosen on validation classes, before
     a test row is looked at. Writes the figure and benchmarks/results/examples.json.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from class_means import load
from machine import keep
from zskl import ClassMeansClassifier, datasets, methods, metrics, selection
from zskl.plots import _style
from zskl.protocols import draw_examples

SHOTS = (0, 1, 2, 5, 10, 20)
CURVES = ("description and examples", "examples alone")
HEIGHT = 290


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="CUB:efficientnet_lite2", metavar="DATASET:FEATURES")
    parser.add_argument("--root", nargs="+", type=Path, default=[None], help="folders of the benchmarks, tried in turn")
    parser.add_argument("--draws", type=int, default=5, help="draws of examples")
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/class-means-examples.svg"))
    parser.add_argument("--engine", help="where the search runs; this process by default")
    chosen = parser.parse_args()
    data = load(chosen.data, chosen.root)
    model, setting = trained(data, chosen.engine)
    found = {name: np.full((len(SHOTS), chosen.draws), np.nan) for name in CURVES}
    for place, shots in enumerate(SHOTS):
        for seed in range(chosen.draws):
            found[CURVES[0]][place, seed] = accuracy(model, data, shots, seed, described=True)
            if shots:
                found[CURVES[1]][place, seed] = accuracy(model, data, shots, seed, described=False)
    table = Table(title=f"{chosen.data}: zero-shot accuracy in per cent, mean and standard deviation of draws")
    for name in ("examples of each class", *CURVES):
        table.add_column(name, justify="right")
    for place, shots in enumerate(SHOTS):
        table.add_row(str(shots), *(cell(found[name][place]) for name in CURVES))
    Console(width=100).print(table)
    curves = {name: [None if np.isnan(row).any() else row.tolist() for row in found[name]] for name in CURVES}
    keep("examples", {"data": chosen.data, "setting": setting, "shots": SHOTS, "accuracies": curves})
    chosen.figure.write_text(figure(found, data, chosen.data), encoding="utf-8")


def trained(data: datasets.Dataset, engine: str | None) -> tuple[ClassMeansClassifier, dict[str, Any]]:
    """A model of the seen classes alone; unseen ones come later, with a description or without."""
    X, y = data.samples("trainval")
    known = data.signatures.loc[data.signatures.index.isin(np.unique(y))]
    method = methods.find("class-means")
    estimator, folds = methods.build("class-means"), selection.folds(data)
    tuned = selection.tune(estimator, X, y, known, method.grid, folds, engine=engine, extend=method.bounds)
    assert isinstance(tuned.model, ClassMeansClassifier)
    return tuned.model, dict(tuned.best)


def accuracy(model: ClassMeansClassifier, data: datasets.Dataset, shots: int, seed: int, described: bool) -> float:
    """Zero-shot accuracy on the rows of unseen classes that were not drawn as examples."""
    drawn, rows = draw_examples(data, shots, seed), data.parts["test_unseen"]
    left = np.setdiff1d(rows, drawn)
    table = data.signatures.loc[data.signatures.index.isin(data.unseen_classes)]
    if shots:
        model = model.add_examples(data.X[drawn], data.y[drawn], table if described else None)
        answers = model.predict(data.X[left], candidates=data.unseen_classes)
    else:
        answers = model.predict(data.X[left], signatures=table)
    return float(metrics.mean_per_class_accuracy(data.y[left], answers))


def cell(values: NDArray[np.float64]) -> str:
    return "–" if np.isnan(values).any() else f"{100 * values.mean():.1f} ± {100 * values.std(ddof=1):.1f}"


def figure(found: dict[str, NDArray[np.float64]], data: datasets.Dataset, source: str) -> str:
    """Two lines with their spread, as SVG."""
    places, said = np.arange(len(SHOTS)), []
    with _style.open_panels(1, HEIGHT) as (ax,):
        for name, colour, dash in zip(CURVES, _style.COLOURS, _style.DASHES, strict=False):
            middle, spread = 100 * found[name].mean(axis=1), 100 * found[name].std(axis=1, ddof=1)
            ax.plot(places, middle, marker="o", color=colour, linestyle=dash, label=name, clip_on=False)
            ax.fill_between(places, middle - spread, middle + spread, color=colour, alpha=0.2, linewidth=0)
            points = [f"{value:.1f} with {k}" for k, value in zip(SHOTS, middle, strict=True) if np.isfinite(value)]
            said.append(f"{name}: {', '.join(points)}")
        _style.set_tick_names(ax.xaxis, places, [str(shots) for shots in SHOTS])
        ax.set_xlim(0, len(SHOTS) - 1)
        ax.set_ylim(10 * np.floor(10 * np.nanmin([found[name].min(axis=1) for name in CURVES])), 100)
        ax.set_title(f"{source.replace(':', ', ')}: {len(data.unseen_classes)} unseen classes")
        ax.set_xlabel("examples of each unseen class")
        ax.set_ylabel("zero-shot accuracy, %")
        _style.draw_legend(ax, 2)
    return _style.to_svg(ax.figure, "Accuracy against the number of examples", "; ".join(said))


if __name__ == "__main__":
    main()
