"""Rows a second of `zskl predict` over a folder of shards, against a plain NumPy loop and scikit-learn.

Run: python benchmarks/million_rows.py FOLDER, then python benchmarks/million_fit.py FOLDER, which writes the model,
then python benchmarks/million_predict.py FOLDER [--shards 100] [--workers 2] [--compared 2] [--keep]

`zskl predict --top 1` runs over --shards shards and writes its files. The others run in this process on the first
--compared shards, on one thread, and write nothing. All choose among the same seen classes. "NumPy loop" is the formula
of the same model written by hand: blocks of rows are scaled, whitened, and multiplied by the class vectors.
`NearestCentroid` of scikit-learn gets the means of the classes, and raw rows. Linux only.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import NearestCentroid

from machine import keep
from million_rows import SEEN, means
from zskl import ClassMeansClassifier, load
from zskl.batch.predict import Predictor

BLOCK = 4096


def command(folder: Path, shards: int, workers: int) -> dict[str, float]:
    """The command itself, from its start to its end."""
    with tempfile.TemporaryDirectory(dir=folder) as some:
        rows, out = Path(some, "rows"), Path(some, "out")
        rows.mkdir()
        for path in sorted((folder / "rows").glob("*.npy"))[:shards]:
            os.link(path, rows / path.name)
        seen = [name for k in range(SEEN) for name in ("--candidates", str(k))]
        line = [sys.executable, "-m", "zskl", "predict", str(folder / "model.zskl"), str(rows), "--top", "1", *seen]
        began = time.perf_counter()
        subprocess.run([*line, "--out", str(out), "--engine", "loky", "--workers", str(workers)], check=True)
        seconds = time.perf_counter() - began
        busy = resource.getrusage(resource.RUSAGE_CHILDREN)
        count = sum(len(np.load(path, mmap_mode="r")) for path in rows.iterdir())
    return {"rows": count, "seconds": seconds, "processor_seconds": busy.ru_utime + busy.ru_stime}


def numpy_loop(model: ClassMeansClassifier) -> Callable[[Any], Any]:
    """x̂·u_c − a·r_c by hand: scores are one product of prepared arrays."""
    maps = model.ranking_map()
    seen = np.arange(SEEN)
    vectors = maps.classes(candidates=seen)
    directions, constants = np.ascontiguousarray(vectors[:, :-1].T), vectors[:, -1]
    center, whitening = model.center_.astype(np.float32), model.whitening_

    def predict(X: Any) -> Any:
        found = np.empty(len(X), np.int64)
        for start in range(0, len(X), BLOCK):
            rows = X[start : start + BLOCK].astype(np.float32)
            rows = np.sign(rows) * np.sqrt(np.abs(rows))
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            rows = (rows - center) @ whitening
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            scores = rows @ directions + constants
            found[start : start + BLOCK] = seen[scores.argmax(axis=1)]
        return found

    return predict


def nearest_centroid() -> Callable[[Any], Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one row per class: it is the mean
        model = NearestCentroid().fit(means()[:SEEN], np.arange(SEEN))

    def predict(X: Any) -> Any:
        blocks = (X[start : start + BLOCK].astype(np.float32) for start in range(0, len(X), BLOCK))
        return np.concatenate([model.predict(block) for block in blocks])

    return predict


def ours(model: ClassMeansClassifier) -> Callable[[Any], Any]:
    return lambda X: model.predict(X, candidates=np.arange(SEEN))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shards", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--compared", type=int, default=2)
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    model: Any = load(chosen.folder / "model.zskl")
    names = sorted((chosen.folder / "rows").glob("*.npy"))[: chosen.compared]
    y = np.concatenate([np.load(chosen.folder / "labels" / path.name) for path in names])
    ways = {"predict": ours(model), "NumPy loop": numpy_loop(model), "NearestCentroid": nearest_centroid()}
    found: dict[str, Any] = {}
    for way, predict in ways.items():
        busy, began = time.process_time(), time.perf_counter()
        labels = np.concatenate([predict(np.load(path, mmap_mode="r")) for path in names])
        found[way] = {
            "rows": len(y),
            "seconds": time.perf_counter() - began,
            "processor_seconds": time.process_time() - busy,
            "accuracy": float(np.mean(labels == y)),
        }
        print(way, found[way], flush=True)
    predictor = Predictor(model, candidates=[str(k) for k in range(SEEN)], top=1)
    busy, began = time.process_time(), time.perf_counter()
    for path in names:
        for _ in predictor.lines(path):
            pass
    found["lines of a table"] = {
        "rows": len(y),
        "seconds": time.perf_counter() - began,
        "processor_seconds": time.process_time() - busy,
    }
    print(found["lines of a table"], flush=True)
    found["zskl predict"] = command(chosen.folder, chosen.shards, chosen.workers)
    print(found["zskl predict"], flush=True)
    if chosen.keep:
        keep("million_predict", {"ways": found, "workers": chosen.workers, "classes": SEEN})


if __name__ == "__main__":
    main()
