"""How many predictions a second `zskl serve` answers, how long each takes, and whether its memory stays where it is.

A model of 2048 features and 312 attributes is served with 200 classes; clients on the same machine (`load_clients`)
each send the next request when the last is answered. Then one request of 10 000 rows. The same load is
put on the service once more without what makes one-row requests fast: rows scored one at a time, and then all requests
by FastAPI's own route.

Run: python benchmarks/serve_load.py --workers 2            (--seconds 20 --clients 8 32 64)
"""

from __future__ import annotations

import argparse
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from load_clients import load
from machine import keep
from zskl import ZeroShotKernelClassifier
from zskl.datasets import make_synthetic

FEATURES, ATTRIBUTES, CLASSES, BATCH = 2048, 312, 200, 10_000
TICKS = os.sysconf("SC_CLK_TCK")
ROWS = 64  # different rows that take turns
ALONE = "from zskl.serve import predictions; predictions._batch_size = lambda listed, cost: 1"
ROUTED = f"{ALONE}; from zskl.serve import app; app.PREDICT_REQUEST = None"
VERSIONS = {"as it is": "", "rows one at a time": ALONE, "one at a time, by FastAPI's route": ROUTED}
COLUMNS = (
    ("a second", "per_second", 0),
    ("p50, ms", "p50_ms", 1),
    ("p99, ms", "p99_ms", 1),
    ("worst, ms", "worst_ms", 0),
    ("CPU ms", "service_ms", 3),
    ("cores", "service_cores", 2),
    ("client", "client_cores", 2),
)


def model_file(folder: Path) -> Path:
    data = make_synthetic(
        n_seen=CLASSES - 50, n_unseen=50, samples_per_class=4, n_features=FEATURES, n_attributes=ATTRIBUTES
    )
    rows = data.parts["trainval"]
    model = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(data.X[rows], data.y[rows], data.signatures)
    model.save(folder / "model.zskl")
    return folder / "model.zskl"


@contextmanager
def started(model: Path, workers: int, change: str = "") -> Iterator[tuple[int, int]]:
    """A service: its process and its port. `change` is a line of Python that it runs first; workers are copies
    of that process."""
    with tempfile.TemporaryDirectory() as folder:
        start = f"{change}\nfrom zskl.cli import main\nmain()"
        classes = ("--classes", f"{folder}/classes.jsonl")  # of its own: only one service uses a file
        command = [sys.executable, "-c", start, "serve", str(model), "--port", "0", *classes]
        service = subprocess.Popen(
            [*command, *(["--workers", str(workers)] if workers > 1 else [])], stdout=subprocess.PIPE, text=True
        )
        try:
            assert service.stdout is not None
            line = service.stdout.readline()
            yield service.pid, int(line.rsplit(":", 1)[1])
        finally:
            service.terminate()
            service.wait(30)


def family(process: int) -> list[int]:
    """A process and all that it started."""
    children = Path(f"/proc/{process}/task").glob("*/children")
    found = [int(child) for file in children for child in file.read_text(encoding="utf-8").split()]
    return [process, *(other for child in found for other in family(child))]


def cpu_seconds(process: int | str) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def requests(kind: str) -> list[bytes]:
    """Whole HTTP requests of one row each."""
    rng = np.random.default_rng(0)
    found = []
    for row in rng.standard_normal((ROWS, FEATURES)).astype(np.float32):
        if kind == "JSON":
            body, media = json.dumps({"rows": [[float(f"{value:.7g}") for value in row]]}).encode(), "application/json"
        else:
            body, media = npy(row[None]), "application/x-npy"
        found.append(request(body, media))
    return found


def npy(rows: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, rows)
    return file.getvalue()


def request(body: bytes, media: str, path: str = "/predict") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def measured(port: int, service: int, kind: str, seconds: float, clients: int) -> dict[str, Any]:
    bodies = requests(kind)
    load(port, bodies, clients, min(1.0, seconds), lambda: None)  # warm
    processes, memory = family(service), []

    def used() -> float:
        return sum(map(cpu_seconds, processes))

    before, own, began = used(), cpu_seconds("self"), time.perf_counter()
    found = load(port, bodies, clients, seconds, lambda: memory.append(sum(map(resident_mb, processes))))
    wall, service_seconds = time.perf_counter() - began, used() - before
    memory.append(sum(map(resident_mb, processes)))
    p50, p99, worst = (1e3 * float(np.quantile(found.times, q)) for q in (0.5, 0.99, 1.0))
    third, n = max(1, len(memory) // 3), len(found.times)
    return {
        "kind": kind,
        "body_bytes": len(bodies[0].split(b"\r\n\r\n", 1)[1]),
        "clients": clients,
        "seconds": wall,
        "requests": n,
        "errors": len(found.errors),
        "per_second": n / wall,
        "p50_ms": p50,
        "p99_ms": p99,
        "worst_ms": worst,
        "service_ms": 1e3 * service_seconds / n,
        "service_cores": service_seconds / wall,
        "client_cores": (cpu_seconds("self") - own) / wall,
        "memory_mb": [float(np.mean(memory[:third])), float(np.mean(memory[-third:]))],
    }


def many_rows(port: int, service: int) -> dict[str, Any]:
    body = npy(np.random.default_rng(1).standard_normal((BATCH, FEATURES)).astype(np.float32))
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as answer:
        began = time.perf_counter()
        connection.sendall(request(body, "application/x-npy", "/predict?top=1"))
        lines = iter(answer.readline, b"\r\n")
        length = next(int(line.split()[1]) for line in list(lines) if line.lower().startswith(b"content-length:"))
        found = json.loads(answer.read(length))
        seconds = time.perf_counter() - began
    assert len(found["predictions"]) == BATCH
    memory = sum(map(resident_mb, family(service)))
    return {"rows": BATCH, "body_mb": len(body) / 1e6, "seconds": seconds, "memory_mb": memory}


def shown(runs: list[dict[str, Any]], workers: int) -> Table:
    head = "version", "body", "clients", *(name for name, _, _ in COLUMNS), "errors", "MB"
    table = Table(*head, title=f"1 row × {FEATURES} against {CLASSES} classes, {workers} worker(s)")
    for one in runs:
        figures = (f"{one[name]:.{digits}f}" for _, name, digits in COLUMNS)
        memory = " → ".join(f"{mb:.0f}" for mb in one["memory_mb"])
        table.add_row(one["version"], one["kind"], str(one["clients"]), *figures, str(one["errors"]), memory)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--clients", type=int, nargs="+", default=[8, 32, 64])
    parser.add_argument("--workers", type=int, default=1, help="processes of the service")
    parser.add_argument("--keep", action="store_true", help="write results/serve.json, or serve_WORKERS.json")
    chosen = parser.parse_args()
    runs: list[dict[str, Any]] = []
    with ExitStack() as stack:
        model = model_file(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        services = {
            version: stack.enter_context(started(model, chosen.workers, change)) for version, change in VERSIONS.items()
        }
        ours = next(iter(VERSIONS))
        for clients in chosen.clients:  # versions take turns
            for version, (process, port) in services.items():
                for kind in ("JSON", ".npy") if version == ours else ("JSON",):
                    runs.append({"version": version, **measured(port, process, kind, chosen.seconds, clients)})
        process, port = services[ours]
        whole = many_rows(port, process)
    runs.sort(key=lambda one: (list(VERSIONS).index(one["version"]), one["kind"] != "JSON"))
    Console(width=140).print(shown(runs, chosen.workers))
    Console().print(f"{BATCH} rows in one request of {whole['body_mb']:.0f} MB: {whole['seconds']:.2f} s")
    if chosen.keep:
        size = {"features": FEATURES, "attributes": ATTRIBUTES, "classes": CLASSES, "workers": chosen.workers}
        keep("serve" if chosen.workers == 1 else f"serve_{chosen.workers}", {**size, "load": runs, "batch": whole})


if __name__ == "__main__":
    main()
