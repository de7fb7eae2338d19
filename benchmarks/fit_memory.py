"""How much memory a fit holds, from a CSV file, a data frame or arrays: the peak that the operating system reports.

Run: python benchmarks/fit_memory.py [--rows 40_000] [--features 512] [--folder DIR] [--keep]

Each line is a process of its own, which first fits a few rows, so that everything is imported. "holds" is the largest
resident memory of the process (VmHWM) less what it was before the rows were there, over the size of the matrix as it
was handed in: 1.0 is the matrix and nothing else. Pages of mapped files count. A CSV file has no size in memory: its
matrix is counted in float32, and that of a data frame in float64, which is what pandas reads. Linux only. With --keep
the figures go to benchmarks/results/fit_memory.json.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from machine import keep
from zskl import datasets, methods

CLASSES, ATTRIBUTES = 50, 20
WAYS = ("CSV, zskl data make", "CSV, zskl fit", "CSV, pandas", "float64", "float32", "float16", "bfloat16")
METHODS = {"class-means": {}, "gaussian-ort": {"epochs": 1, "batch_size": 100}, "eszsl": {}}


def memory(name: str) -> int:
    """VmHWM, the most that this process has held so far, or VmRSS, what it holds now; in bytes."""
    return 1024 * int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text("utf-8"))[1])  # type: ignore[index]


def table() -> pd.DataFrame:
    drawn = np.random.default_rng(1).standard_normal((CLASSES, ATTRIBUTES))
    return pd.DataFrame(drawn, index=pd.Index([f"c{k}" for k in range(CLASSES)], name="class")).add_prefix("a")


def labels(rows: int) -> Any:
    return np.array([f"c{k}" for k in np.arange(rows) % CLASSES])


def write(folder: Path, rows: int, width: int) -> None:
    """The same rows as CSV and as .npy."""
    draw = np.random.default_rng(0)
    table().to_csv(folder / "classes.csv")
    X = draw.standard_normal((rows, width), dtype=np.float32)
    for kind in (np.float64, np.float32, np.float16):
        np.save(folder / f"{np.dtype(kind)}.npy", X.astype(kind))
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(width)])
    frame.assign(species=labels(rows)).to_csv(folder / "rows.csv", index=False, float_format="%.5f")


def fit(folder: Path, way: str, method: str, few: bool) -> float:
    """One fit, of a few rows or all; the bytes of its matrix."""
    model = methods.build(method, METHODS[method] | {"random_state": 0})
    if way == "CSV, zskl data make":
        source = folder / ("few.csv" if few else "rows.csv")
        made = datasets.make(folder / f"made-{few}", source, "species", folder / "classes.csv", force=True)
        return float(made.X.size * 4)
    if way == "CSV, zskl fit":
        data = datasets.load(folder / f"made-{few}")
        X, y = data.samples("trainval")
        model.fit(X, y, data.signatures)
        return float(data.X.size * 4)
    if way == "CSV, pandas":
        frame = pd.read_csv(folder / ("few.csv" if few else "rows.csv"))
        model.fit(frame.drop(columns="species"), frame["species"], table())
        return float(len(frame) * (frame.shape[1] - 1) * 8)
    X = np.load(folder / f"{'float32' if way == 'bfloat16' else way}.npy", mmap_mode="r")
    X = np.array(X[:200] if few else X)
    if way == "bfloat16":
        import torch

        X = torch.from_numpy(X).bfloat16()
    model.fit(X, labels(len(X)), table())
    return float(X.nbytes)


def measure(folder: Path, way: str, method: str) -> None:
    """In a process of its own: peak over matrix."""
    warnings.simplefilter("ignore")
    fit(folder, way, method, few=True)
    before = memory("VmRSS")
    size = fit(folder, way, method, few=False)
    print(json.dumps({"holds": (memory("VmHWM") - before) / size, "mb": size / 1e6}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--folder", help="where the temporary files go")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(Path(chosen.measure[0]), *chosen.measure[1:])
        return
    shown = Table("rows from", "matrix, MB", *METHODS)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        write(Path(folder), chosen.rows, chosen.features)
        lines = (Path(folder) / "rows.csv").open(encoding="utf-8")
        with lines, (Path(folder) / "few.csv").open("w", encoding="utf-8") as few:
            few.writelines(line for line, _ in zip(lines, range(201), strict=False))
        for way in WAYS:
            found[way] = {}
            for method in METHODS if way != WAYS[0] else list(METHODS)[:1]:
                command = [sys.executable, __file__, "--measure", folder, way, method]
                answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                found[way][method] = json.loads(answer.stdout)
            one = next(iter(found[way].values()))
            shown.add_row(way, f"{one['mb']:.0f}", *(f"{value['holds']:.2f}" for value in found[way].values()))
    Console().print(shown)
    if chosen.keep:
        keep("fit_memory", {"rows": chosen.rows, "features": chosen.features, "ways": found})


if __name__ == "__main__":
    main()
