"""From pictures to an answer: how near the features of 300 JPEGs come to those of their originals, and what a model
trained on the CUB features makes of the 150 pictures of birds that it was never trained on.

    ZSKL_DATA=... python benchmarks/pictures.py [--seeds 1] [--method gaussian-softmax --method gaussian-ort]

The pictures are copies with a shorter side of 320 pixels, compressed anew, of the photographs that gave the matrix.
"""

from __future__ import annotations

import argparse
import csv
import functools
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from zskl import datasets, methods, metrics
from zskl.datasets import images

FEATURES = "efficientnet_lite2"
print = functools.partial(print, flush=True)  # training takes a while


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--method", action="append")
    chosen = options.parse_args()
    root = Path(os.environ["ZSKL_DATA"])
    X, y, table, trainval, unseen = cub(root)
    began = time.perf_counter()
    files, pictures = embedded(root / "cub-images")
    print(f"{len(files)} pictures embedded in {time.perf_counter() - began:.0f} s")
    with (root / "cub-images" / "rows.csv").open() as file:
        listed = {row["file"]: row for row in csv.DictReader(file)}
    rows = np.array([int(listed[name]["row"]) for name in files])
    compare(pictures, X, rows)

    mine = np.array([listed[name]["part"] == "test_unseen" for name in files])
    candidates = table.loc[pd.unique(y[unseen])]
    tests = {
        f"{mine.sum()} JPEGs": (pictures[mine], y[rows[mine]]),
        "their rows": (X[rows[mine]], y[rows[mine]]),
        f"all {len(unseen)} rows": (X[unseen], y[unseen]),
    }
    print(f"\nzero-shot accuracy in per cent, mean over {len(candidates)} unseen classes, {chosen.seeds} seed(s)")
    print(f"{'method':18}" + "".join(f"{name:>16}" for name in tests) + f"{'same answer':>16}{'fit s':>8}")
    for name in chosen.method or ["gaussian-softmax", "gaussian-ort"]:
        figures = np.array(
            [run(name, seed, X[trainval], y[trainval], table, candidates, tests) for seed in range(chosen.seeds)]
        )
        print(
            f"{name:18}"
            + "".join(f"{figure:16.1f}" for figure in figures.mean(axis=0)[:4])
            + f"{figures[:, 4].mean():8.0f}"
        )


def cub(root: Path) -> tuple[np.ndarray, np.ndarray, pd.DataFrame, np.ndarray, np.ndarray]:
    """Features (n, d), labels, signatures, and the trainval and test_unseen rows."""
    data = datasets.load("CUB", root=root, features=FEATURES)
    return data.X, data.y, data.signatures, data.parts["trainval"], data.parts["test_unseen"]


def embedded(folder: Path) -> tuple[list[str], np.ndarray]:
    """The files, relative to the folder, and their features."""
    with tempfile.TemporaryDirectory() as place:
        done = images.embed(
            [folder / "test_seen", folder / "test_unseen"], Path(place, "features.npz"), "efficientnet-lite2"
        )
        assert not done.skipped
        with np.load(done.path) as saved:
            return [Path(name).relative_to(folder).as_posix() for name in saved["files"]], saved["features"]


def compare(pictures: np.ndarray, X: np.ndarray, rows: np.ndarray) -> None:
    """Cosine to the own row; and whether, of all rows, the own one is the nearest."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines = (pictures / np.linalg.norm(pictures, axis=1, keepdims=True)) @ unit.T  # (300, n)
    own = cosines[np.arange(len(rows)), rows]
    nearest = (cosines.argmax(axis=1) == rows).sum()
    print(
        f"cosine to their rows in the matrix: mean {own.mean():.4f}, 5th percentile {np.quantile(own, 0.05):.4f}, "
        f"min {own.min():.4f}; to all rows: mean {cosines.mean():.4f}; own row nearest of {len(X)}: {nearest} of "
        f"{len(rows)}"
    )


def run(name, seed, X, y, table, candidates, tests) -> list[float]:  # type: ignore[no-untyped-def]
    """Accuracy on each test, how often the first two agree, and the seconds of the fit."""
    model = methods.build(name, {"random_state": seed})
    began = time.perf_counter()
    model.fit(X, y, table)
    seconds = time.perf_counter() - began
    answers = [model.predict(features, signatures=candidates) for features, _ in tests.values()]
    truths = [truth for _, truth in tests.values()]
    right = [
        100 * metrics.mean_per_class_accuracy(truth, answer) for truth, answer in zip(truths, answers, strict=True)
    ]
    return [*right, 100 * float((answers[0] == answers[1]).mean()), seconds]


if __name__ == "__main__":
    main()
