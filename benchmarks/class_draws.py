"""What draws of held-out classes are worth: how well they rank settings, what the rule reaches, and how much they leak.

Run: python benchmarks/class_draws.py FOLDER [--draws 2] [--subproblems 6] [--only NAME ...] [--rules]

FOLDER holds problems as for benchmarks/zoo.py. Besides whole problems, random sub-problems are drawn: 12 to 60 classes
with 4 to 40 rows each. Every setting of the default grid is fitted on all training rows and scored on the unseen
classes. Printed are the correlation of validation and test accuracy over settings, and the test accuracy of three
choices less that of the default: the best by validation, what `tune` takes, and the best on test rows. The leak is the
accuracy that draws promise less that of fits without the held-out classes, for several shrinkages.

With --rules other rules of the search are compared with today's: the test accuracy of what each chooses.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.base import clone

from zoo import Draw, accuracy
from zskl import ClassMeansClassifier, methods, selection
from zskl.selection import draw_search

GRID = methods.find("class-means").grid
MEAN = draw_search._mean_of_known
# What each rule changes: constants or functions of the search, and values of its grid.
RULES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "now": ({}, {}),
    "any shrinkage": ({"ROWS_PER_FEATURE": 0}, {}),
    # Of two kinds of draws those apart come last; the mean of the four apart is as before.
    "draws apart alone": ({"_mean_of_known": lambda parts: MEAN(parts[-1:] if len(parts) == 2 else parts)}, {}),
    "bandwidth 0.25": ({}, {"bandwidth": (0.25, 0.5, 1.0, 2.0)}),
    "z less 0.5": ({"DOUBT": 0.5}, {}),
    "z less 1": ({"DOUBT": 0.0}, {}),
    "no linear kernel": ({}, {"kernel": ("gaussian",)}),
    "farther edges": (
        {},
        {"bandwidth": (0.5, 1, 2, 4), "noise": (0.01, 0.03, 0.1, 0.3), "crowding": (0, 0.15, 0.3, 0.45)},
    ),
}

SHRINKAGES = (0.1, 0.3, 0.5, 0.7, 0.9)


def reduce(draw: Draw, seed: int) -> None:
    """Fewer classes and rows for training; the unseen classes stay."""
    rng = np.random.default_rng(seed)
    classes = np.unique(draw.train_labels)
    count = min(len(classes), int(np.exp(rng.uniform(np.log(12), np.log(60)))))
    rows = int(np.exp(rng.uniform(np.log(4), np.log(40))))
    kept = [
        rng.permutation(np.flatnonzero(draw.train_labels == one))[:rows] for one in rng.permutation(classes)[:count]
    ]
    chosen = np.concatenate(kept)
    draw.train, draw.train_labels = draw.train[chosen], draw.train_labels[chosen]


def rank(draw: Draw) -> dict[str, float]:
    model = ClassMeansClassifier()
    training = draw.train, draw.train_labels, draw.table
    found = selection.search(model, *training, GRID, with_default=True)
    tested = np.zeros(len(found.settings))

    def visit(place: int, fitted: Any) -> None:
        tested[group[place]] = accuracy(draw.y, fitted.predict(draw.X, candidates=draw.unseen))

    scalings = sorted({str(one["signature_scaling"]) for one in found.settings})
    for scaling in scalings:
        group = [k for k, one in enumerate(found.settings) if one["signature_scaling"] == scaling]
        settings = [found.settings[k] for k in group]
        clone(model).set_params(signature_scaling=scaling)._fit_together(settings, *training, visit)
    assert found.default is not None
    validated, default = found.zsl.mean(axis=1), tested[found.default]
    return {
        "classes": len(np.unique(draw.train_labels)),
        "correlation": float(np.corrcoef(validated, tested)[0, 1]),
        "best by validation": float(tested[validated.argmax()] - default),
        "tune": float(tested[found.pick("zsl").place] - default),
        "best on test rows": float(tested.max() - default),
    }


def leak(draw: Draw) -> dict[str, float]:
    y = draw.train_labels
    folds = selection.draws(y, 4)
    found = {}
    for shrinkage in SHRINKAGES:
        model = ClassMeansClassifier(shrinkage=shrinkage)
        promised = selection.search(model, draw.train, y, draw.table, {"shrinkage": [shrinkage]}, folds).zsl[0]
        refitted = []
        for fold in folds:
            held = np.unique(y[fold.val_unseen])
            alone = clone(model).fit(draw.train[fold.train], y[fold.train], draw.table)
            refitted.append(accuracy(y[fold.val_unseen], alone.predict(draw.train[fold.val_unseen], candidates=held)))
        found[f"leak at {shrinkage}"] = float(100 * promised.mean() - np.mean(refitted))
    return found


def compare_rules(draw: Draw) -> dict[str, float]:
    """Test accuracy of what each rule chooses, less that of the default."""
    model, training = ClassMeansClassifier(), (draw.train, draw.train_labels, draw.table)

    def test(setting: dict[str, Any]) -> float:
        fitted = clone(model).set_params(**setting).fit(*training)
        return accuracy(draw.y, fitted.predict(draw.X, candidates=draw.unseen))

    found, default = {}, test({})
    for name, (changes, values) in RULES.items():
        with ExitStack() as stack:
            for attribute, value in changes.items():
                stack.enter_context(patch.object(draw_search, attribute, value))
            search = selection.search(model, *training, {**GRID, **values}, with_default=True)
        found[name] = test(search.pick("zsl").setting) - default
    return found


def show_rules(frame: pd.DataFrame) -> None:
    print(frame.groupby(["kind", "problem"]).mean(numeric_only=True).round(2).T.to_string())
    for name in RULES:
        gains, change = frame[name], frame[name] - frame["now"]
        error = change.std() / np.sqrt(len(change))
        print(
            f"{name}: less now {change.mean():+.2f} ± {error:.2f}, better {(change > 0).sum()}, worse "
            f"{(change < 0).sum()} of {len(change)}; less default {gains.mean():+.2f}, 5th percentile "
            f"{np.percentile(gains, 5):+.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--subproblems", type=int, default=6)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--rules", action="store_true", help="compare rules of the search instead")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    records = []
    for path in sorted(chosen.folder.glob("*.npz")):
        if "S" not in np.load(path).files or (chosen.only and path.stem not in chosen.only):
            continue
        for seed in range(chosen.draws + chosen.subproblems):
            draw, whole = Draw(path, seed), seed < chosen.draws
            if not whole:
                reduce(draw, seed)
            figures = compare_rules(draw) if chosen.rules else rank(draw) | (leak(draw) if whole else {})
            records.append({"problem": path.stem, "kind": "whole" if whole else "sub-problem", **figures})
    frame = pd.DataFrame(records)
    if chosen.rules:
        return show_rules(frame)
    print(frame.groupby(["kind", "problem"]).mean(numeric_only=True).round(2).to_string())
    for kind, some in frame.groupby("kind"):
        for name in ("best by validation", "tune"):
            gains = some[name]
            low, worse = np.percentile(gains, 5), (gains < -1).mean()
            figures = f"mean {gains.mean():+.1f}, 5th percentile {low:+.1f}, below −1 in {worse:.0%}"
            print(f"{kind}, {name} − default: {figures}")


if __name__ == "__main__":
    main()
