"""Class means of 10 million rows in a folder of shards, by Dask workers; and what 100 machines would take, on paper.

Run: python benchmarks/million_rows.py FOLDER [--kind parquet], then
python benchmarks/million_fit.py FOLDER [--workers 2] [--keep]

The kind of shards is that of the folder. Counts from the start of the workers to the fitted model. A worker's memory is
the largest that the operating system has seen of it (VmHWM), libraries included. The first --same shards are also
fitted at once from memory, and the sums of both compared. "On paper" takes the rate of a core from this run. It assumes
that a machine reads its shards as quickly as it adds them up, and one network card of 10 Gbit/s where the sums arrive.
With --keep the figures go to benchmarks/results/million_fit.json, where those of the other kind stay.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core per worker

import argparse
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from machine import describe, keep
from million_rows import LABEL, classes
from page_tables import load
from zskl import ClassMeansClassifier, engines, fit_shards
from zskl.engines import Engine
from zskl.estimators._class_means_fit import KEPT, Sums

MACHINES, CORES, NETWORK = 100, 16, 10e9 / 8  # bytes a second
BIG = 10_000_000_000  # rows


def state() -> tuple[int, float]:
    """Of this process: the most memory it has held, in bytes, and its processor seconds."""
    text = Path("/proc/self/status").read_text("utf-8")
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", text)[1]), time.process_time()  # type: ignore[index]


def kind_of(folder: Path) -> str:
    """npy or parquet."""
    (kind,) = {path.suffix[1:] for path in (folder / "rows").iterdir()}
    return kind


def labels_of(folder: Path) -> Path | str:
    """As `fit_shards` takes them."""
    return folder / "labels" if kind_of(folder) == "npy" else LABEL


def in_memory(folder: Path, names: list[str]) -> tuple[Any, Any]:
    """All rows of some shards, and their labels; of Parquet by pyarrow alone."""
    if kind_of(folder) == "npy":
        X, y = (np.concatenate([np.load(folder / part / name) for name in names]) for part in ("rows", "labels"))
        return X, y
    from pyarrow import parquet

    read = [parquet.read_table(folder / "rows" / name) for name in names]
    y = np.concatenate([table[LABEL].to_numpy() for table in read])
    features = [name for name in read[0].column_names if name != LABEL]
    X = np.empty((len(y), len(features)), np.float32)
    for k, name in enumerate(features):
        X[:, k] = np.concatenate([table[name].to_numpy() for table in read])
    return X, y


def fitted(folder: Path, workers: int) -> tuple[ClassMeansClassifier, dict[str, Any]]:
    """The model, and what it took."""
    from distributed import Client

    began = time.perf_counter()
    with engines.opened(Engine("dask", workers=workers)) as engine:
        ready = time.perf_counter()
        model = fit_shards(folder / "rows", labels_of(folder), folder / "classes.csv", engine=engine)
        seconds = time.perf_counter()
        with Client(engine.address, set_as_default=False) as client:
            states = client.run(state).values()
    return model, {
        "seconds": seconds - began,
        "start": ready - began,
        "worker_bytes": max(memory for memory, _ in states),
        "worker_seconds": sum(busy for _, busy in states),
        "rows": float(model._sums.rows.sum()),
    }


def apart(folder: Path, shards: int) -> dict[str, Any]:
    """The largest relative difference of the sums of some shards from those of one fit in memory."""
    names = sorted(path.name for path in (folder / "rows").iterdir())[:shards]
    with tempfile.TemporaryDirectory(dir=folder) as some:
        for part in ("rows", "labels") if kind_of(folder) == "npy" else ("rows",):
            Path(some, part).mkdir()
            for name in names:
                os.link(folder / part / name, Path(some, part, name))
        shutil.copy(folder / "classes.csv", some)
        in_shards = fit_shards(Path(some, "rows"), labels_of(Path(some)), Path(some, "classes.csv"))
    vars(in_shards).pop("feature_names_in_", None)  # rows without names are compared
    X, y = in_memory(folder, names)
    whole = ClassMeansClassifier().fit(X, y, classes())
    found = {name: largest(getattr(in_shards._sums, name), getattr(whole._sums, name)) for name in SUMMED}
    same = np.mean(in_shards.predict(X[:2000]) == whole.predict(X[:2000]))
    return {"rows": len(y), "apart": found, "same_predictions": float(same)}


SUMMED = ("rows", "totals", "products")


def largest(one: Any, other: Any) -> float:
    """Relative to the largest entry: sums of numbers of both signs may be next to 0."""
    return float(np.abs(one - other).max() / np.abs(other).max())


def sent_bytes(d: int, C: int) -> int:
    """The sums of one shard: d² + C·d + C numbers in float64, and kept rows in float32, with two numbers each."""
    kept = max(C, KEPT)
    return 8 * (d * d + C * d + C) + kept * (4 * d + 16)


def on_paper(rows: float, shards: int, d: int, C: int, rate: float, merge: float, row_bytes: float) -> dict[str, float]:
    """Seconds and bytes for `rows` in `shards` on many machines: `rate` rows a second of a core, `merge` s a sum."""
    moved = shards * sent_bytes(d, C)
    return {
        "rows": rows,
        "shards": shards,
        "read_bytes": row_bytes * rows,
        "add_seconds": -(-shards // (MACHINES * CORES)) * (rows / shards) / rate,
        "moved_bytes": moved,
        "move_seconds": moved / NETWORK,
        "merge_seconds": shards * merge,
    }


def merge_seconds(sums: Sums) -> float:
    began = time.process_time()
    for _ in range(5):
        sums + sums
    return (time.process_time() - began) / 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--same", type=int, default=3)
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    model, found = fitted(chosen.folder, chosen.workers)
    C, d = model._sums.totals.shape
    merge = merge_seconds(model._sums)
    rate = found["rows"] / found["worker_seconds"]
    paths = list((chosen.folder / "rows").iterdir())
    size = sum(path.stat().st_size for path in paths)
    further = (d, C, rate, merge, size / found["rows"])
    figures = {
        **found,
        "workers": chosen.workers,
        "shards": len(paths),
        "bytes": size,
        "features": d,
        "classes": C,
        "sent_bytes": sent_bytes(d, C),
        "merge": merge,
        "same": apart(chosen.folder, chosen.same),
        "paper": [on_paper(found["rows"], 1600, *further), on_paper(BIG, 8000, *further)],
        "machines": MACHINES,
        "cores": CORES,
    }
    print(figures)
    if chosen.keep:
        known = load("million_fit") or {"figures": {}}
        keep("million_fit", {**known["figures"], kind_of(chosen.folder): {**figures, "machine": describe()}})
    model.save(chosen.folder / "model.zskl")


if __name__ == "__main__":
    main()
