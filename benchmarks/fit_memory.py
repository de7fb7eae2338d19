"""How much memory a fit holds, from a CSV file, a data frame or arrays: the peak that the operating system reports.

Run: python benchmarks/fit_memory.py [--rows 40_000 200_000] [--features 512] [--folder DIR] [--keep]

Each figure is of a process of its own, which first fits a few rows, so that everything is imported. It is the largest
resident memory (VmHWM) less what it was before the rows were there, over the size of the matrix: 1.0 is the matrix and
nothing else. The peak of reading, what the process holds after it, and the peak of the fit, with the rows that it was
handed, are apart. Mapped files count. The matrix of a dataset folder is float32 and holds test rows too; that of a data
frame is float64, as pandas reads it. Linux only. With --keep the figures go to benchmarks/results/fit_memory.json.
"""

from __future__ import annotations

import argparse
import json
import os
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
DIFFERENT = 8_000  # rows, at most: CSV takes long to write
WAYS = ("float64", "float32", "float16", "bfloat16", "CSV, zskl data make", "CSV, pandas")
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
    some = draw.standard_normal((min(rows, DIFFERENT), width), dtype=np.float32)
    X = np.resize(some, (rows, width))  # repeated
    for kind in (np.float64, np.float32, np.float16):
        np.save(folder / f"{np.dtype(kind)}.npy", X.astype(kind))
    np.save(folder / "bfloat16.npy", (X.view(np.uint32) >> 16).astype(np.int16))  # the first half of the bits
    frame = pd.DataFrame(some, columns=[f"x{k}" for k in range(width)])
    frame.assign(species=labels(len(some))).to_csv(folder / "some.csv", index=False, float_format="%.5f")
    head, *lines = (folder / "some.csv").read_text("utf-8").splitlines(keepends=True)
    with (folder / "rows.csv").open("w", encoding="utf-8") as file:
        file.write(head)
        file.writelines(lines[k % len(lines)] for k in range(rows))
    (folder / "few.csv").write_text("".join([head, *lines[:200]]), "utf-8")


def read(folder: Path, way: str, few: bool) -> tuple[Any, Any, Any, float]:
    """Rows, labels, signatures and the bytes of the matrix."""
    source = folder / ("few.csv" if few else "rows.csv")
    if way == "CSV, zskl data make":
        data = datasets.make(folder / f"made-{few}", source, "species", folder / "classes.csv", force=True)
        return *data.samples("trainval"), data.signatures, float(data.X.size * 4)
    if way == "CSV, pandas":
        frame = pd.read_csv(source)
        y = frame.pop("species")
        return frame, y, table(), float(frame.size * 8)
    X: Any = np.load(folder / f"{way}.npy")
    X = X[:200].copy() if few else X
    if way == "bfloat16":
        import torch

        torch.set_num_threads(1)  # a child that is forked beside PyTorch's own threads would wait for them for ever
        X = torch.from_numpy(X).view(torch.bfloat16)  # no copy: the figures are of the fit, not of making the tensor
    return X, labels(len(X)), table(), float(X.nbytes)


def measure(folder: Path, way: str, method: str) -> None:
    """In a process of its own: peaks over the matrix, while it is read and while it is fitted."""
    warnings.simplefilter("ignore")
    X, y, signatures, _ = read(folder, way, few=True)
    build(method).fit(X, y, signatures)
    before, few = memory("VmRSS"), memory_of_a_fit(method, X, y, signatures)
    X, y, signatures, size = read(folder, way, few=False)
    reading = memory("VmHWM") - before
    held, fitting = (now - then for now, then in zip(memory_of_a_fit(method, X, y, signatures), few, strict=True))
    print(json.dumps({"reading": reading / size, "held": held / size, "fitting": fitting / size, "mb": size / 1e6}))


def memory_of_a_fit(method: str, X: Any, y: Any, signatures: Any) -> list[int]:
    """VmRSS before, and VmHWM after a fit in a child, which begins with the memory of this process.

    It lacks the pages of libraries, so it is compared with that of another child alone.
    """
    given, out = os.pipe()
    child = os.fork()
    if not child:
        begun = memory("VmRSS")
        build(method).fit(X, y, signatures)
        os.write(out, f"{begun} {memory('VmHWM')}".encode())
        os._exit(0)
    os.close(out)
    with os.fdopen(given) as answer:
        found = [int(number) for number in answer.read().split()]
    os.waitpid(child, 0)
    return found


def build(method: str) -> Any:
    return methods.build(method, METHODS[method] | {"random_state": 0})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[40_000, 200_000])
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--folder", help="where the temporary files go")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--name", default="fit_memory", help="of the record, for another version of zskl on PYTHONPATH")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(Path(chosen.measure[0]), *chosen.measure[1:])
        return
    shown = Table("rows", "from", "matrix, MB", "reading", "after it", *METHODS)
    found: dict[str, Any] = {}
    for rows in chosen.rows:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            write(Path(folder), rows, chosen.features)
            found[str(rows)] = {way: {method: fresh(folder, way, method) for method in METHODS} for way in WAYS}
        for way, figures in found[str(rows)].items():
            one = next(iter(figures.values()))
            fits = (f"{value['fitting']:.2f}" for value in figures.values())
            shown.add_row(str(rows), way, f"{one['mb']:.0f}", f"{one['reading']:.2f}", f"{one['held']:.2f}", *fits)
    Console().print(shown)
    if chosen.keep:
        keep(chosen.name, {"features": chosen.features, "sizes": found})


def fresh(folder: str, way: str, method: str) -> dict[str, float]:
    """`measure` in a process of its own."""
    command = [sys.executable, __file__, "--measure", folder, way, method]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


if __name__ == "__main__":
    main()
