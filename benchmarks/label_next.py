"""Accuracy against the number of labels: rows chosen by `label_next`, and rows drawn at random.

Run: python benchmarks/label_next.py [--data CUB:efficientnet_lite2] [--root DIR ...]
     python benchmarks/label_next.py --test [--splits 10] [--figure docs/figures/label-next.svg]
Both need the data. The first compares strategies and diversities on validation folds, training classes that a model of
the others has not seen, and writes benchmarks/results/label_next.json. The second looks at test rows of unseen
classes, with what the first has chosen, adds to that file and writes the figure.

Rows of the classes in question are split into a pool, whose labels can be asked for, and rows that are scored. The
model is taught after every 25 labels, or fewer where accuracy is measured before. Each split has another pool; all
ways to choose rows get the same splits, so that differences are paired.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from class_means import load
from machine import RESULTS, keep
from zskl import ClassMeansClassifier, datasets, methods, metrics, selection
from zskl._arrays import make_generator
from zskl.plots import _style

LABELS = (0, 10, 25, 50, 100, 200)
ROUND = 25
STRATEGIES = ("margin", "change")
DIVERSITIES = (0.0, 1.0, 3.0)
RANDOM = "at random"
RECORD = RESULTS / "label_next.json"
HEIGHT = 290
Rows = NDArray[np.int64]
Way = tuple[str, float] | None  # strategy and diversity; None draws at random
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
        draw = make_generator(seed, 0)
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
        model, draw, found, known = self.model, make_generator(seed, 1), [], 0
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


def curves(studies: Sequence[Study], ways: dict[str, Way], splits: int) -> dict[str, Any]:
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
    parser.add_argument("--splits", type=int, default=10, help="splits of the test rows into pool and scored rows")
    parser.add_argument("--test", action="store_true", help="look at test rows, with what the folds have chosen")
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/label-next.svg"))
    options = parser.parse_args()
    data = load(options.data, options.root)
    if options.test:
        study, found = on_test_rows(data, json.loads(RECORD.read_text("utf-8"))["figures"], options.splits)
        options.figure.write_text(figure(found, study, options.data), encoding="utf-8")
    else:
        on_folds(data, options.data)


def on_folds(data: datasets.Dataset, source: str) -> None:
    """Choose the settings of class means, and the diversity of each strategy, on validation folds."""
    X, y = data.samples("trainval")
    method, folds = methods.find("class-means"), selection.folds(data)
    estimator = methods.build("class-means")
    search = selection.search(estimator, X, y, data.signatures, method.grid, folds, extend=method.bounds)
    setting = dict(search.pick("zsl").setting)
    studies = [held_out(X, y, data, setting, fold) for fold in folds]
    ways: dict[str, Way] = {f"{s}, diversity {d:g}": (s, d) for s in STRATEGIES for d in DIVERSITIES}
    found = curves(studies, {**ways, RANDOM: None}, splits=1)
    show(found, f"{source}, validation folds")
    best = {
        s: max((name for name in ways if name.startswith(s)), key=lambda n: mean_gain(found, n)) for s in STRATEGIES
    }
    keep(
        "label_next",
        {
            "data": source,
            "setting": setting,
            "labels": LABELS,
            "round": ROUND,
            "validation": {name: rounded(values.mean(axis=0)) for name, values in found.items()},
            "validation gain over random": {name: mean_gain(found, name) for name in ways},
            "chosen on validation folds": {s: ways[name] for s, name in best.items()},
        },
    )


def on_test_rows(data: datasets.Dataset, figures: dict[str, Any], splits: int) -> tuple[Study, dict[str, Any]]:
    """The test study, with what the record of the folds says."""
    X, y = data.samples("trainval")
    model = calibrated(figures["setting"], X, y, data.signatures, selection.folds(data))
    study = Study(model, *data.samples("test_unseen"))
    found = curves([study], {**figures["chosen on validation folds"], RANDOM: None}, splits)
    show(found, f"{figures['data']}, test rows of unseen classes")
    keep("label_next", {**figures, "test": {name: [rounded(row) for row in rows] for name, rows in found.items()}})
    return study, found


def held_out(
    X: NDArray[Any], y: NDArray[Any], data: datasets.Dataset, setting: dict[str, Any], fold: selection.Fold
) -> Study:
    """A model of the other training classes, calibrated on folds of these; and the rows of the held-out classes."""
    table = data.signatures.loc[data.signatures.index.isin(np.unique(y))]
    model = calibrated(setting, X[fold.train], y[fold.train], table)
    return Study(model, X[fold.val_unseen], y[fold.val_unseen])


def calibrated(setting: dict[str, Any], X: NDArray[Any], y: NDArray[Any], table: Any, folds: Any = None) -> Any:
    """Class means fitted on these rows, with all that folds of their classes say."""
    model = methods.build("class-means", setting).fit(X, y, table)
    return selection.calibrate(model, X, y, table.loc[table.index.isin(np.unique(y))], folds)


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
    with _style.open_panels(1, HEIGHT) as (ax,):
        for (name, values), colour, dash in zip(found.items(), _style.COLOURS, _style.DASHES, strict=False):
            middle, spread = (100 * one for one in moments(values))
            ax.plot(places, middle, marker="o", color=colour, linestyle=dash, label=name, clip_on=False)
            ax.fill_between(places, middle - spread, middle + spread, color=colour, alpha=0.2, linewidth=0)
            points = [f"{value:.1f} with {k}" for k, value in zip(LABELS, middle, strict=True)]
            said.append(f"{name}: {', '.join(points)}")
        _style.set_tick_names(ax.xaxis, places, [str(count) for count in LABELS])
        ax.set_xlim(0, len(LABELS) - 1)
        ax.set_title(f"{source.replace(':', ', ')}: {len(study.classes)} unseen classes")
        ax.set_xlabel("labels")
        ax.set_ylabel("zero-shot accuracy, %")
        _style.draw_legend(ax, 3)
    return _style.to_svg(ax.figure, "Accuracy against the number of labels", "; ".join(said))


if __name__ == "__main__":
    main()
