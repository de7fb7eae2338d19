"""Accuracy against the number of labels: rows chosen by `label_next`, and rows drawn at random.

Run: python benchmarks/label_next.py [--data CUB:efficientnet_lite2] [--splits 10] [--root DIR ...] [--folds-only]
     [--figure docs/figures/label-next.svg]; needs the data. Strategies and diversity are compared on validation folds:
     training classes that a model of the others has not seen. Then, unless --folds-only, the test rows of unseen
     classes are looked at, once. Writes the figure and benchmarks/results/label_next.json.

Rows of the classes in question are split into a pool, whose labels can be asked for, and rows that are scored. The model
is taught after every 25 labels, or fewer where accuracy is measured before. Each split has another pool; all ways to
choose rows get the same splits, so that differences are paired.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from class_means import load
from machine import keep
from zskl import ClassMeansClassifier, datasets, methods, metrics, selection
from zskl.arrays import generator
from zskl.plots import canvas, image

LABELS = (0, 10, 25, 50, 100, 200, 400)
ROUND = 25
STRATEGIES = ("margin", "change")
DIVERSITIES = (0.0, 1.0, 3.0)
RANDOM = "at random"
HEIGHT = 290
Rows = NDArray[np.int64]
Asked = Callable[[ClassMeansClassifier, NDArray[np.floating[Any]], int, np.random.Generator], Rows]


@dataclass(frozen=True)
class Study:
    """A model that knows `classes` by their descriptions alone, and rows X with labels y of these classes."""

    model: ClassMeansClassifier
    X: NDArray[np.floating[Any]]
    y: NDArray[Any]

    @property
    def classes(self) -> list[Any]:
        return sorted(set(self.y.tolist()))

    def split(self, seed: int) -> tuple[Rows, Rows]:
        """The pool and the rows that are scored: half of the rows of each class, drawn by a seed."""
        draw = generator(seed, 0)
        order = draw.permutation(len(self.y))
        halves: list[list[Rows]] = [[], []]
        for label in self.classes:
            mine = order[self.y[order] == label]
            halves[0].append(mine[: len(mine) // 2])
            halves[1].append(mine[len(mine) // 2 :])
        pool, scored = (np.concatenate(half) for half in halves)
        return draw.permutation(pool), scored

    def curve(self, asked: Asked, seed: int) -> list[float]:
        """Accuracy, averaged over classes, after each number of labels."""
        pool, scored = self.split(seed)
        model, draw, found, known = self.model, generator(seed, 1), [], 0
        for wanted in LABELS:
            while known < wanted:
                n = min(ROUND, wanted - known)
                rows = pool[asked(model, self.X[pool], n, draw)]
                model = model.add_examples(self.X[rows], self.y[rows])
                pool, known = pool[~np.isin(pool, rows)], known + n
            answers = model.predict(self.X[scored], candidates=self.classes)
            found.append(float(metrics.mean_per_class_accuracy(self.y[scored], answers)))
        return found


def chosen(strategy: str, diversity: float, classes: Sequence[Any]) -> Asked:
    def asked(model: ClassMeansClassifier, X: NDArray[Any], n: int, draw: np.random.Generator) -> Rows:
        found: Rows = model.label_next(X, n, strategy, candidates=classes, diversity=diversity)
        return found

    return asked


def at_random(model: ClassMeansClassifier, X: NDArray[Any], n: int, draw: np.random.Generator) -> Rows:
    return draw.choice(len(X), n, replace=False)


def curves(studies: Sequence[Study], ways: dict[str, tuple[str, float] | None], splits: int) -> dict[str, Any]:
    """name → (studies × splits, labels) accuracies; a way without a strategy draws at random."""
    found: dict[str, Any] = {}
    for name, way in ways.items():
        rows = []
        for study in studies:
            asked = at_random if way is None else chosen(*way, study.classes)
            rows += [study.curve(asked, seed) for seed in range(splits)]
        found[name] = np.array(rows)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="CUB:efficientnet_lite2", metavar="DATASET:FEATURES")
    parser.add_argument("--root", nargs="+", type=Path, default=[None], help="folders of the benchmarks, tried in turn")
    parser.add_argument("--splits", type=int, default=10, help="splits into pool and scored rows, on test rows")
    parser.add_argument("--folds-only", action="store_true", help="compare on validation folds alone, write nothing")
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/label-next.svg"))
    options = parser.parse_args()
    data = load(options.data, options.root)
    X, y = data.samples("trainval")
    method, folds = methods.find("class-means"), selection.folds(data)
    tuned = selection.tune(
        *(methods.build("class-means"), X, y, data.signatures, method.grid, folds), extend=method.bounds
    )
    setting = dict(tuned.best)
    ways: dict[str, tuple[str, float] | None] = {
        f"{strategy}, diversity {diversity:g}": (strategy, diversity)
        for strategy in STRATEGIES
        for diversity in DIVERSITIES
    }
    studies = [held_out(X, y, data, setting, fold) for fold in folds]
    on_folds = curves(studies, {**ways, RANDOM: None}, splits=2)
    show(on_folds, f"{options.data}, validation folds")
    best = {s: max((n for n, w in ways.items() if w and w[0] == s), key=lambda n: mean_gain(on_folds, n)) for s in STRATEGIES}
    Console().print("best of each strategy there:", best)
    if options.folds_only:
        return
    assert isinstance(tuned.model, ClassMeansClassifier)
    study = Study(tuned.model, *data.samples("test_unseen"))
    found = curves([study], {**{s: ways[name] for s, name in best.items()}, RANDOM: None}, options.splits)
    show(found, f"{options.data}, test rows of unseen classes")
    keep(
        "label_next",
        {
            "data": options.data,
            "setting": setting,
            "labels": LABELS,
            "round": ROUND,
            "validation": {name: rounded(values.mean(axis=0)) for name, values in on_folds.items()},
            "validation gain over random": {name: mean_gain(on_folds, name) for name in ways},
            "chosen on validation folds": best,
            "test": {name: [rounded(row) for row in values] for name, values in found.items()},
        },
    )
    options.figure.write_text(figure(found, study, options.data), encoding="utf-8")


def held_out(
    X: NDArray[Any], y: NDArray[Any], data: datasets.Dataset, setting: dict[str, Any], fold: selection.Fold
) -> Study:
    """A model of the other training classes, calibrated on folds of these; and the rows of the held-out classes."""
    model = methods.build("class-means", setting)
    assert isinstance(model, ClassMeansClassifier)
    table = data.signatures.loc[data.signatures.index.isin(np.unique(y))]
    mine = np.unique(y[fold.train])
    model.fit(X[fold.train], y[fold.train], table)
    selection.calibrate(model, X[fold.train], y[fold.train], data.signatures.loc[data.signatures.index.isin(mine)])
    return Study(model, X[fold.val_unseen], y[fold.val_unseen])


def mean_gain(found: dict[str, Any], name: str) -> float:
    """Mean over splits and numbers of labels above 0 of the accuracy above that of rows drawn at random."""
    return round(float((found[name] - found[RANDOM])[:, 1:].mean()), 5)


def rounded(values: NDArray[np.float64]) -> list[float]:
    return [round(float(value), 5) for value in values]


def show(found: dict[str, Any], title: str) -> None:
    table = Table(title=f"{title}: accuracy in per cent ± standard deviation of splits, by number of labels")
    for name in ("rows", *map(str, LABELS), "gain over random"):
        table.add_column(name, justify="left" if name == "rows" else "right")
    for name, values in found.items():
        cells = [f"{100 * middle:.1f} ± {100 * spread:.1f}" for middle, spread in zip(*moments(values), strict=True)]
        table.add_row(name, *cells, f"{100 * mean_gain(found, name):+.2f}")
    Console(width=150).print(table)


def moments(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return values.mean(axis=0), values.std(axis=0, ddof=1)


def figure(found: dict[str, Any], study: Study, source: str) -> str:
    """A line for each way to choose rows, with its spread, as SVG."""
    places, said = np.arange(len(LABELS)), []
    with canvas.panels(1, HEIGHT) as (ax,):
        for (name, values), colour, dash in zip(found.items(), canvas.COLOURS, canvas.DASHES, strict=False):
            middle, spread = (100 * one for one in moments(values))
            ax.plot(places, middle, marker="o", color=colour, linestyle=dash, label=name, clip_on=False)
            ax.fill_between(places, middle - spread, middle + spread, color=colour, alpha=0.2, linewidth=0)
            points = [f"{value:.1f} with {k}" for k, value in zip(LABELS, middle, strict=True)]
            said.append(f"{name}: {', '.join(points)}")
        canvas.tick_names(ax.xaxis, places, [str(count) for count in LABELS])
        ax.set_xlim(0, len(LABELS) - 1)
        ax.set_title(f"{source.replace(':', ', ')}: {len(study.classes)} unseen classes")
        ax.set_xlabel("labels")
        ax.set_ylabel("zero-shot accuracy, %")
        canvas.legend(ax, 3)
    return image.svg(ax.figure, "Accuracy against the number of labels", "; ".join(said))


if __name__ == "__main__":
    main()
