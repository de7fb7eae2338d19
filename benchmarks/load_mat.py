"""First and later loads of a feature file of AWA2's size, 2048 × 37322 single: seconds and memory.

Run: python benchmarks/load_mat.py [--rows 37322] [--kind v5|v7.3]. The file is made in a temporary folder. Each load is
a process of its own; memory is what its peak grew by during the load, after all imports.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.io

CLASSES, SEEN, ATTRIBUTES, WIDTH = 50, 40, 85, 2048

LOAD = """
import json, resource, sys, time
import h5py, scipy.io
from zskl.datasets import xlsa17
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
before, began = peak(), time.perf_counter()
{work}
print(json.dumps([time.perf_counter() - began, peak() - before]))
"""
THROUGH_ZSKL = "data = xlsa17.load('AWA2', sys.argv[1])"
CASES = {
    "scipy.io.loadmat, to compare": "scipy.io.loadmat(sys.argv[1] + '/AWA2/res101.mat')",
    "first load": THROUGH_ZSKL,
    "second load": THROUGH_ZSKL,
    "third load, and 1000 rows of it": THROUGH_ZSKL + "; data.X[data.parts['trainval'][:1000]].sum()",
    "after a touch: hashed, not read": THROUGH_ZSKL,
    "after a change of one value": THROUGH_ZSKL,
    "the load after that": THROUGH_ZSKL,
}


def make(folder: Path, rows: int, kind: str) -> None:
    """A whole AWA2 of random features, with image paths as in the package."""
    folder.mkdir()
    draw = np.random.default_rng(0)
    codes = np.arange(rows) % CLASSES
    names = [f"animal+{k}" for k in range(CLASSES)]
    seen, held = codes < SEEN, np.arange(rows) // CLASSES % 5 == 0
    splits = {
        "allclasses_names": np.array([[name] for name in names], dtype=object),
        "att": draw.random((ATTRIBUTES, CLASSES)),
        "trainval_loc": np.flatnonzero(seen & ~held)[:, None] + 1,
        "test_seen_loc": np.flatnonzero(seen & held)[:, None] + 1,
        "test_unseen_loc": np.flatnonzero(~seen)[:, None] + 1,
    }
    scipy.io.savemat(folder / "att_splits.mat", splits)
    features = draw.standard_normal((rows, WIDTH), dtype=np.float32).T
    labels = (codes + 1.0)[:, None]
    if kind == "v7.3":
        import h5py

        with h5py.File(folder / "res101.mat", "w", userblock_size=512) as file:
            file["features"], file["labels"] = features.T, labels.T
        return
    paths = np.array([[f"JPEGImages/{names[code]}/{row}.jpg"] for row, code in enumerate(codes)], dtype=object)
    scipy.io.savemat(folder / "res101.mat", {"features": features, "labels": labels, "image_files": paths})


def change_one_value(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 3)
        file.write(b"\0\0\0\0\0\0\0\0")


def load(work: str, root: Path) -> tuple[float, float]:
    """Seconds and MB of one load in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD.format(work=work), str(root)],
        env=os.environ | {"ZSKL_CACHE": str(root / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    seconds, memory = json.loads(done.stdout)
    return seconds, memory


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=37322)
    parser.add_argument("--kind", choices=["v5", "v7.3"], default="v5")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        file = root / "AWA2" / "res101.mat"
        made = multiprocessing.get_context("spawn").Process(target=make, args=(file.parent, options.rows, options.kind))
        made.start()  # a process of its own: a child starts with the peak memory of its parent
        made.join()
        time.sleep(2.5)  # a file written a moment ago would be hashed once more
        print(f"{WIDTH} × {options.rows} single, {options.kind}, {file.stat().st_size / 1e6:.0f} MB\n")
        print(f"{'':<34}{'seconds':>9}{'memory, MB':>13}")
        for case, work in CASES.items():
            if case.startswith("scipy") and options.kind == "v7.3":
                continue
            if case.startswith("after a touch"):
                os.utime(file, ns=(0, 0))
            if case.startswith("after a change"):
                change_one_value(file)
                time.sleep(2.5)
            seconds, memory = load(work, root)
            print(f"{case:<34}{seconds:>9.2f}{memory:>13.0f}", flush=True)


if __name__ == "__main__":
    main()
