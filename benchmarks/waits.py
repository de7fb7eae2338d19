"""What users wait for, one thing in a process of its own: python benchmarks/waits.py NAME

Prints the seconds and processor seconds of it as JSON, by the zskl that Python finds: `before_after.py` runs this file
with two versions. So it uses only what both have. What is imported and compiled on the way is not counted: each first
does a little of the same. Rows are made up.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shapes import BATCH, FEATURES, SHAPES, problem

REQUESTS = 200


def fit(method: str, n: int = 7000, d: int = FEATURES, C: int = 150, p: int = 312) -> tuple[float, float]:
    """One fit on rows of CUB's size."""
    from zskl import methods

    def run(rows: int) -> None:
        methods.build(method, {"random_state": 0}).fit(*labelled(rows, d, C, p))

    run(2 * C)
    return taken(lambda: run(n))


def labelled(n: int, d: int, C: int, p: int) -> tuple[Any, Any, dict[int, Any]]:
    data = problem(C, p, d, n)
    return data.X, np.arange(n) % C, dict(enumerate(data.Y))


def epochs(shape: str) -> tuple[float, float]:
    """Five epochs of 200 batches of 10 rows, with the start that a fit needs."""
    from zskl import methods

    C, p = SHAPES[shape]
    X, y, signatures = labelled(2000, FEATURES, C, p)
    model = methods.build("gaussian-ort", {"random_state": 0, "epochs": 5, "batch_size": BATCH})
    methods.build("gaussian-ort", {"random_state": 0, "epochs": 1}).fit(X[: 2 * C], y[: 2 * C], signatures)
    return taken(lambda: model.fit(X, y, signatures))


def search() -> tuple[float, float]:
    """gaussian-ort: 3 radii × 2 repulsions × 3 folds, 3 epochs, on one core."""
    from zskl import methods, selection

    X, y, signatures = labelled(1500, 256, 50, 64)
    model = methods.build("gaussian-ort", {"random_state": 0, "epochs": 3})
    grid = {"sigma": (0.5, 1.0, 2.0), "repulsion": (0.5, 1.0)}
    return taken(lambda: selection.search(model, X, y, signatures, grid, 3))


def predict() -> tuple[float, float]:
    """100 000 rows of 512 features among 200 classes, gaussian-ort."""
    from zskl import methods

    X, y, signatures = labelled(1000, 512, 200, 64)
    model = methods.build("gaussian-ort", {"random_state": 0, "epochs": 1}).fit(X, y, signatures)
    many = np.tile(X, (100, 1))
    return taken(lambda: model.predict(many))


def request(method: str = "gaussian-ort", **options: object) -> tuple[float, float]:
    """One row of 2048 features as JSON, of 200 classes: the median of requests one after the other; the service's own
    processor seconds.
    """
    from zskl import methods

    X, y, signatures = labelled(400, FEATURES, 200, 312)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.zskl")
        np.save(path.with_name("rows.npy"), X[:50])
        settings = {"random_state": 0, "epochs": 1} if method == "gaussian-ort" else {}
        methods.build(method, settings).fit(X, y, signatures).save(path)
        return asked([sys.executable, "-m", "zskl", "serve", str(path), "--port", "0"], Path(folder), options)


def asked(command: list[str], folder: Path, options: dict[str, object]) -> tuple[float, float]:
    """Wall seconds of one-row requests to the service that the command starts, and its processor seconds for each."""
    some = np.load(folder / "rows.npy")[:50].round(7)
    rows = [json.dumps({"rows": [row.tolist()], **options}).encode() for row in some]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as service:
        try:
            assert service.stdout is not None
            port = int(re.search(r":(\d+)", service.stdout.readline())[1])  # type: ignore[index]
            line = http.client.HTTPConnection("127.0.0.1", port)
            seconds = []
            for number in range(20 + REQUESTS):
                if number == 20:
                    before = spent(service.pid)
                began = time.perf_counter()
                line.request("POST", "/predict", rows[number % 50], {"Content-Type": "application/json"})
                answer = line.getresponse()
                answer.read()
                assert answer.status == 200, answer.status
                seconds.append(time.perf_counter() - began)
            return float(np.median(seconds[20:])), (spent(service.pid) - before) / REQUESTS
        finally:
            service.terminate()


def spent(process: int) -> float:
    """Processor seconds so far."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(method: str) -> tuple[float, float]:
    """The most that the system saw this process hold in a fit of 40 000 × 512 float64 rows, over the matrix."""
    from zskl import methods

    def peak() -> int:
        return 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text("utf-8"))[1])  # type: ignore[index]

    model = methods.build(method, {"random_state": 0})
    signatures = labelled(200, 512, 50, 20)[2]
    model.fit(np.random.default_rng(0).standard_normal((200, 512)), np.arange(200) % 50, signatures)
    before = peak()
    X = np.random.default_rng(0).standard_normal((40_000, 512))
    model.fit(X, np.arange(40_000) % 50, signatures)
    share = (peak() - before) / X.nbytes
    return share, share


def taken(run: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds."""
    began, spent_before = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - began, time.process_time() - spent_before


WAITS: dict[str, Callable[[], tuple[float, float]]] = {
    "fit of class-means, 7000 × 2048, 150 classes": lambda: fit("class-means"),
    "fit of eszsl, the same": lambda: fit("eszsl"),
    **{f"fit of gaussian-ort, 5 epochs, {shape}'s shape": lambda shape=shape: epochs(shape) for shape in SHAPES},  # type: ignore[misc]
    "search of gaussian-ort, 6 settings × 3 folds": search,
    "predict, 100 000 × 512, 200 classes": predict,
    "request of one row to the service": request,
    "request of one row with reasons, gaussian-ort": lambda: request(explain=True),
    "request of one row with reasons, class-means": lambda: request("class-means", explain=True),
    "memory of a fit of class-means, over the matrix": lambda: memory("class-means"),
    "memory of a fit of eszsl, over the matrix": lambda: memory("eszsl"),
}


def main() -> None:
    warnings.simplefilter("ignore")
    import zskl
    from zskl import methods

    name = sys.argv[1]
    found: dict[str, Any] = {"version": zskl.__version__, "from": str(Path(zskl.__file__).parent)}
    if "class-means" in name and "class-means" not in methods.METHODS:
        print(json.dumps({**found, "missing": True}))
        return
    seconds, processor = WAITS[name]()
    print(json.dumps({**found, "seconds": seconds, "processor_seconds": processor}))


if __name__ == "__main__":
    main()
