"""Unlabelled rows of few, some or all candidates, in small and large batches: what adapting brings, and when it does.

Run: python benchmarks/unlabelled_grid.py --zoo FOLDER [--data esc50 clinc150:identity ...] [--batches 20]
     python benchmarks/unlabelled_grid.py --root FOLDER --data CUB AWA1 --candidates all

The folder of --zoo holds files NAME.npz with features X (n, d), classes y (n,) as numbers and signatures S (c, p).
Other names are those of `zskl.datasets.load`, with --root. A prior follows the name after a colon. Per split a quarter
of the classes is unseen, and a fifth of the rows of the others is held back. A class-means model is fitted and
calibrated on the rest, then adapted to each batch alone. The grid is that of StatA (CVPR 2025): 1 to 4, 5 to 25, 25 to
50 or all of the unseen classes are present; a batch has 64 rows, 1000 or all; each present class has as many (even) or
shares from a Dirichlet distribution. With --candidates all each batch has as many rows of seen classes, and H is
measured.

Each line of the table is a cell: accuracy on the rows of a batch without adapting, what adapting in any case adds, how
often the model agrees to adapt, and what these add. --stream hands the rows of a cell over in ten pieces instead.
"""

from __future__ import annotations

import argparse
import json
import logging
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console

from zskl import ClassMeansClassifier, datasets, metrics, selection
from zskl.estimators._class_means_adapt import NoClearGain

PRESENT = {"1–4": (1, 4), "5–25": (5, 25), "25–50": (25, 50), "all": (10**6, 10**6)}
SIZES = {"64": 64, "1000": 1000, "all": 10**9}
STREAMS = ("even", "dirichlet")
UNEVEN = 0.5
MOST = 3000  # rows of unseen classes
GAIN, LOSS = 2.0, -1.0  # points


@dataclass(frozen=True)
class Problem:
    name: str
    model: ClassMeansClassifier
    X: NDArray[Any]  # rows that were never trained on, in one array
    y: NDArray[Any]
    unseen: NDArray[np.bool_]  # (n,) which rows are of unseen classes


def read(name: str, zoo: Path | None, root: str | None) -> tuple[NDArray[Any], NDArray[Any], pd.DataFrame]:
    path = None if zoo is None else zoo / f"{name}.npz"
    if path is not None and path.exists():
        with np.load(path) as stored:
            X, y, S = stored["X"], stored["y"], stored["S"]
        names = [f"c{place:05d}" for place in range(len(S))]
        return X.astype(np.float32), np.array(names)[y], pd.DataFrame(S, index=names)
    data = datasets.load(name, root)
    return data.X, np.asarray(data.y), data.signatures


def make(spec: str, split: int, zoo: Path | None, root: str | None) -> Problem:
    name, _, prior = spec.partition(":")
    X, y, table = read(name, zoo, root)
    draw = np.random.default_rng(split)
    classes = draw.permutation(np.unique(y))
    unseen = np.isin(y, classes[: max(5, len(classes) // 4)])
    held = ~unseen & (draw.random(len(y)) < 0.2)
    scaling = "l2" if X.min() < 0 else "sqrt-l2"
    model = ClassMeansClassifier(prior=prior or "zero", feature_scaling=scaling, shrinkage=0.7, crowding=0.15)
    train = ~unseen & ~held
    table = table.loc[np.unique(y)]
    model.fit(X[train], y[train], table)
    selection.calibrate(model, X[train], y[train], table)
    new = np.flatnonzero(unseen)
    rows = np.concatenate([draw.permutation(new)[:MOST], np.flatnonzero(held)])
    return Problem(name, model, X[rows], y[rows], unseen[rows])


def draw_batch(
    problem: Problem, present: str, size: str, stream: str, draw: np.random.Generator, both: bool
) -> NDArray[np.int64]:
    """Places of the rows; with `both`, as many rows of seen classes follow."""
    new = np.flatnonzero(problem.unseen)
    classes = np.unique(problem.y[new])
    low, high = PRESENT[present]
    chosen = draw.permutation(classes)[: int(draw.integers(low, high + 1))]
    rows = [draw.permutation(new[problem.y[new] == label]) for label in chosen]
    counts = np.array([len(one) for one in rows])
    even = stream == "even"
    shares = np.full(len(rows), 1 / len(rows)) if even else draw.dirichlet(np.full(len(rows), UNEVEN))
    if SIZES[size] > len(new):
        take = counts if even else np.maximum(1, counts * shares / shares.max()).astype(int)
    else:
        take = np.minimum(draw.multinomial(SIZES[size], shares), counts)
    found = np.concatenate([one[:count] for one, count in zip(rows, take, strict=True)])
    seen = draw.permutation(np.flatnonzero(~problem.unseen))[: len(found)] if both else found[:0]
    return np.concatenate([found, seen])


def measure(model: ClassMeansClassifier, X: NDArray[Any], y: NDArray[Any], both: bool) -> float:
    """Percent: accuracy of rows of unseen classes among these, or H among all classes at the model's constant."""
    seen = np.isin(model.candidates_, model.seen_classes_)
    names = model.candidates_ if both else model.candidates_[~seen]
    scores = model.compatibility(X, candidates=list(names))
    right = names[np.argmax(scores - model.calibration_ * np.isin(names, model.seen_classes_), axis=1)] == y
    if not both:
        return 100 * float(right.mean())
    old = np.isin(y, model.seen_classes_)
    parts = [np.mean([right[y == label].mean() for label in np.unique(y[side])]) for side in (old, ~old) if side.any()]
    return 100 * float(metrics.harmonic_mean(*parts)) if len(parts) == 2 else 100 * float(parts[0])


def try_batch(problem: Problem, rows: NDArray[np.int64], both: bool) -> dict[str, float]:
    X, y, mode = problem.X[rows], problem.y[rows], "all" if both else "unseen"
    accepted = True
    try:
        adapted = problem.model.adapt(X, mode)
    except NoClearGain:
        accepted, adapted = False, problem.model.adapt(X, mode, force=True)
    before, after = measure(problem.model, X, y, both), measure(adapted, X, y, both)
    return {"none": before, "forced": after - before, "accepted": float(accepted)}


def stream(problem: Problem, rows: NDArray[np.int64], both: bool, draw: np.random.Generator) -> dict[str, float]:
    """All rows at once, against the same rows in ten pieces, each adapted to what has come so far."""
    mode, order = "all" if both else "unseen", draw.permutation(rows)
    whole = problem.model.adapt(problem.X[order], mode, force=True)
    right, so_far = [], problem.model
    for piece in np.array_split(np.arange(len(order)), 10):
        so_far = so_far.adapt(problem.X[order[: piece[-1] + 1]], mode, force=True)
        right.append(measure(so_far, problem.X[order[piece]], problem.y[order[piece]], both))
    X, y = problem.X[order], problem.y[order]
    before = measure(problem.model, X, y, both)
    return {"none": before, "forced": measure(whole, X, y, both) - before, "pieces": float(np.mean(right)) - before}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoo", type=Path)
    parser.add_argument("--root")
    parser.add_argument("--data", nargs="+", default=["letters"])
    parser.add_argument("--candidates", choices=("unseen", "all"), default="unseen")
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--output", type=Path, help="write all figures to this JSON file")
    chosen = parser.parse_args()
    logging.disable(logging.WARNING)
    both, console, found = chosen.candidates == "all", Console(width=160), []
    for spec, split in product(chosen.data, range(chosen.splits)):
        problem = make(spec, split, chosen.zoo, chosen.root)
        for cell in product(PRESENT, SIZES, STREAMS):
            for number in range(chosen.batches):
                draw = np.random.default_rng([number, split, list(product(PRESENT, SIZES, STREAMS)).index(cell)])
                rows = draw_batch(problem, *cell, draw, both)
                if len(rows) < 10:
                    continue
                measured = stream(problem, rows, both, draw) if chosen.stream else try_batch(problem, rows, both)
                found.append({"data": problem.name, "split": split, "cell": " ".join(cell), "n": len(rows), **measured})
    if chosen.output:
        chosen.output.write_text(json.dumps(found))
    print_tables(console, pd.DataFrame(found))


def print_tables(console: Console, table: pd.DataFrame) -> None:
    figures = [name for name in ("none", "forced", "pieces", "accepted") if name in table]
    console.print(table.groupby(["data", "cell"], sort=False)[figures].mean().round(2).to_string())
    if "accepted" not in table:
        return
    agreed = table["accepted"] > 0
    rows = []
    for name, part in [*table.groupby("data", sort=False), ("together", table)]:
        mine, gains = part[agreed[part.index]]["forced"], part["forced"] > GAIN
        cells = part.groupby(["data", "cell"])["forced"].mean()
        kept = (part["forced"] * agreed[part.index]).groupby([part["data"], part["cell"]]).mean()
        rows.append(
            {
                "data": name,
                "none": part["none"].mean(),
                "forced": part["forced"].mean(),
                "worst cell": cells.min(),
                "accepted %": 100 * agreed[part.index].mean(),
                "of these": mine.mean(),
                "worst": mine.min(),
                "lose %": 100 * (mine < LOSS).mean(),
                "gains accepted %": 100 * (agreed[part.index] & gains).sum() / max(1, gains.sum()),
                "cells, as accepted": kept.mean(),
                "worst of them": kept.min(),
            }
        )
    console.print(pd.DataFrame(rows).set_index("data").round(1).to_string())


if __name__ == "__main__":
    main()
