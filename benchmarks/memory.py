"""What ranking and training need beside their input and output: 1 000 000 rows × 512 features from a memory-mapped
file, 1 000 classes, 64 attributes.

Run: python benchmarks/memory.py [--rows N] [--features D] [--classes C] [--folder DIR]; it writes the features (2 GB)
and, for `compatibility(out=)`, the scores (4 GB) to a temporary folder and removes them. Each call runs in a process
of its own, after the same call on a few rows. "beyond" is the growth of anonymous memory, looked at every few
milliseconds, less what the call returns; pages of mapped files, which the system drops when it needs room, are not
counted. Rows per second of CPU tell more than those per second where other work runs beside. Prints a table and writes
benchmarks/results/memory.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from rich.console import Console
from rich.table import Table

import zskl
from zskl import ZeroShotKernelClassifier

ATTRIBUTES, SMALL = 64, 50
BATCH = 1000
TRAINING = f"fit, 1 epoch, batch {BATCH}"
RESULTS = Path(__file__).parent / "results" / "memory.json"


def write_features(path: Path, rows: int, width: int) -> None:
    draw = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, width))
    for start in range(0, rows, 50_000):
        part = X[start : start + 50_000]
        part[:] = draw.standard_normal(part.shape, dtype=np.float32)
    X.flush()


def fitted(width: int, classes: int) -> ZeroShotKernelClassifier:
    draw = np.random.default_rng(1)
    y = np.repeat(np.arange(classes), 2)
    X = draw.standard_normal((len(y), width), dtype=np.float32)
    model = ZeroShotKernelClassifier(epochs=1, batch_size=100, random_state=0)
    return model.fit(X, y, draw.standard_normal((classes, ATTRIBUTES)))


def anonymous() -> int:
    with open("/proc/self/status", encoding="utf-8") as status:
        return 1024 * int(re.search(r"RssAnon:\s+(\d+)", status.read())[1])  # type: ignore[index]


class Watch:
    """The largest anonymous memory while the block runs."""

    def __enter__(self) -> Watch:
        self.peak = self.before = anonymous()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(0.005):
            self.peak = max(self.peak, anonymous())

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def use(model: ZeroShotKernelClassifier, call: str, X: Any, folder: Path) -> int:
    """Run one call; the bytes of what it returns."""
    if call == "compatibility(out=)":
        shape = (len(X), len(model.candidates_))
        out = np.lib.format.open_memmap(folder / "scores.npy", mode="w+", dtype=np.float32, shape=shape)
        model.compatibility(X, out=out)
        return 0
    if call == "iter_compatibility":
        total = 0.0
        for _, scores in model.iter_compatibility(X):
            total += float(scores[0, 0])
        return 0
    if call == TRAINING:
        classes = len(model.candidates_)
        y = np.arange(len(X)) * classes // len(X)  # sorted by class, as files often are
        streamed = ZeroShotKernelClassifier(streaming=True, epochs=1, batch_size=BATCH, random_state=0)
        streamed.fit(X, y, np.asarray(model.signature_table_.matrix))
        return 0
    if call == "top_k(5)":
        labels, scores = model.top_k(X, 5, return_scores=True)
        return int(labels.nbytes + scores.nbytes)
    return int(model.predict(X).nbytes)


def measure(call: str, model: ZeroShotKernelClassifier, features: Path, folder: Path) -> dict[str, float]:
    """In a child: megabytes beyond input and output, and rows per second."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        X = np.load(features, mmap_mode="r")
        use(model, call, X[: SMALL if call != TRAINING else 2 * len(model.candidates_)], folder)
        began, busy = time.perf_counter(), time.process_time()
        with Watch() as watch:
            returned = use(model, call, X, folder)
        seconds, busy = time.perf_counter() - began, time.process_time() - busy
        beyond = (watch.peak - watch.before - returned) / 1e6
        rates = {"rows_per_second": round(len(X) / seconds), "rows_per_cpu_second": round(len(X) / busy)}
        os.write(write, json.dumps({"beyond_mb": round(beyond, 1), **rates}).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        found: dict[str, float] = json.loads(answer.read())
    os.waitpid(child, 0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--classes", type=int, default=1_000)
    parser.add_argument("--folder", help="where the temporary files go")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    model = fitted(chosen.features, chosen.classes)
    calls = ("predict", "top_k(5)", "compatibility(out=)", "iter_compatibility", TRAINING)
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        features = Path(folder) / "X.npy"
        write_features(features, chosen.rows, chosen.features)
        found = {call: measure(call, model, features, Path(folder)) for call in calls}
    table = Table("call", "MB beyond input and output", "rows per second", "per second of CPU")
    for call, row in found.items():
        table.add_row(
            call, f"{row['beyond_mb']:.0f}", f"{row['rows_per_second']:,.0f}", f"{row['rows_per_cpu_second']:,.0f}"
        )
    Console().print(table)
    record = {
        "rows": chosen.rows,
        "features": chosen.features,
        "classes": chosen.classes,
        "attributes": ATTRIBUTES,
        "calls": found,
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {
            "zskl": zskl.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
    }
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
