"""Accuracy on unseen classes after somebody has marked photos as right, or as wrong, as `zskl serve` learns from them.

Run: python benchmarks/taught.py MODEL [--data CUB] [--root DIR] [--features efficientnet_lite2] [--splits 5]
The model is one of class means, such as zskl fit CUB --method class-means -o MODEL. Of each unseen class five rows are
drawn and marked; all others are scored. The same splits are used for all numbers of marks. A wrong mark goes to the
class that the model takes a row for, where that is not its own.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl import datasets, methods
from zskl._arrays import make_generator
from zskl.datasets import Dataset
from zskl.serve.classes import ClassSnapshot, name_classes_by_text
from zskl.serve.predictions import predict_rows
from zskl.serve.requests import Features
from zskl.serve.schemas import PredictionOptions
from zskl.serve.store import MarkedExample, TeachingState

MARKS = (0, 1, 3, 5)


def answers(snapshot: ClassSnapshot, X: Features, candidates: list[str] | None) -> list[str]:
    """The class of each row, among these or among all classes."""
    told = predict_rows(snapshot, X, PredictionOptions(top=1, candidates=candidates))
    return [one["class"] for one in told["predictions"]]


def accuracy(found: list[str], true: list[str]) -> float:
    """The mean over classes of the share that is right."""
    right, own = np.array(found) == np.array(true), np.array(true)
    return float(np.mean([right[own == name].mean() for name in sorted(set(true))]))


def drawn(labels: list[str], seed: int) -> dict[str, NDArray[Any]]:
    """Class → the places of its rows, in the order in which they are marked."""
    rng, own = make_generator(seed), np.array(labels)
    return {name: rng.permutation(np.flatnonzero(own == name)) for name in sorted(set(labels))}


def measured(model: Any, data: Dataset, seed: int) -> list[tuple[float, float, float]]:
    """For each number of marks: accuracy among unseen classes, and among all; and among unseen classes with as many
    wrong marks besides."""
    rows = data.parts["test_unseen"]
    X, y = np.asarray(data.X[rows], np.float32), [str(label) for label in data.y[rows].tolist()]
    order, most = drawn(y, seed), max(MARKS)
    rest = np.sort(np.concatenate([places[most:] for places in order.values()]))
    unseen, true, before = sorted(order), [y[k] for k in rest], ClassSnapshot(model, {}, 0)
    marked = [k for places in order.values() for k in places[:most].tolist()]
    guesses = dict(zip(marked, answers(before, X[marked], unseen), strict=True))
    found = []
    for count in MARKS:
        chosen = [k for places in order.values() for k in places[:count].tolist()]
        right = [MarkedExample(f"r{k}", y[k], True, X[k]) for k in chosen]
        wrong = [MarkedExample(f"w{k}", guesses[k], False, X[k]) for k in chosen if guesses[k] != y[k]]
        taught, both = (ClassSnapshot(model, {}, 0, TeachingState(tuple(marks))) for marks in (right, [*right, *wrong]))
        found.append(
            (
                accuracy(answers(taught, X[rest], unseen), true),
                accuracy(answers(taught, X[rest], None), true),
                accuracy(answers(both, X[rest], unseen), true),
            )
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", default="CUB")
    parser.add_argument("--root", type=Path)
    parser.add_argument("--features", default="efficientnet_lite2")
    parser.add_argument("--splits", type=int, default=5)
    given = parser.parse_args()
    model = name_classes_by_text(methods.load(given.model))
    data = datasets.load(given.data, root=given.root, features=given.features)
    found = np.array([measured(model, data, seed) for seed in range(given.splits)])
    middle, spread = 100 * found.mean(axis=0), 100 * found.std(axis=0, ddof=1)
    print(f"{data.name}, rows of unseen classes that were not marked, {given.splits} splits; % ± over splits")
    print("right marks per class | among unseen | among all | among unseen, with wrong marks")
    for count, one, by in zip(MARKS, middle, spread, strict=True):
        print(f"{count:>21} | " + " | ".join(f"{value:.1f} ± {off:.1f}" for value, off in zip(one, by, strict=True)))


if __name__ == "__main__":
    main()
