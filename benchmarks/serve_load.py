"""How many predictions a second `zskl serve` answers, how long each takes, and whether its memory stays where it is.

A model of 2048 features and 312 attributes is served with 200 classes; clients on the same machine, in one process that
does as little as possible, each send the next request when the last is answered. Then one request of 10 000 rows.

Run: python benchmarks/serve_load.py            (--seconds 60 --clients 8)
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from machine import keep
from zskl import ZeroShotKernelClassifier
from zskl.datasets import make_synthetic

FEATURES, ATTRIBUTES, CLASSES, BATCH = 2048, 312, 200, 10_000
TICKS = os.sysconf("SC_CLK_TCK")
ROWS = 64  # different rows that take turns


def model_file(folder: Path) -> Path:
    data = make_synthetic(
        n_seen=CLASSES - 50, n_unseen=50, samples_per_class=4, n_features=FEATURES, n_attributes=ATTRIBUTES
    )
    rows = data.parts["trainval"]
    model = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(data.X[rows], data.y[rows], data.signatures)
    model.save(folder / "model.zskl")
    return folder / "model.zskl"


def started(model: Path) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-m", "zskl", "serve", str(model), "--port", "0"]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert service.stdout is not None
    line = service.stdout.readline()
    return service, int(line.rsplit(":", 1)[1])


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
            file = io.BytesIO()
            np.save(file, row[None])
            body, media = file.getvalue(), "application/x-npy"
        head = (
            f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        found.append(head.encode() + body)
    return found


async def client(port: int, bodies: list[bytes], until: float, times: list[float], errors: list[str]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    k = len(times)
    while (began := time.perf_counter()) < until:
        writer.write(bodies[k % len(bodies)])
        k += 1
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        if not head.startswith(b"HTTP/1.1 200"):
            errors.append(head.decode().splitlines()[0])
        times.append(time.perf_counter() - began)
    writer.close()


async def load(port: int, service: int, kind: str, seconds: float, clients: int) -> dict[str, Any]:
    bodies = requests(kind)
    warm: list[float] = []
    await client(port, bodies, time.perf_counter() + 1, warm, [])
    times: list[float] = []
    errors: list[str] = []
    memory: list[float] = []
    before, own, began = cpu_seconds(service), cpu_seconds("self"), time.perf_counter()
    running = [asyncio.create_task(client(port, bodies, began + seconds, times, errors)) for _ in range(clients)]
    while not all(task.done() for task in running):
        memory.append(resident_mb(service))
        await asyncio.sleep(min(1.0, seconds / 10))
    await asyncio.gather(*running)
    wall = time.perf_counter() - began
    p50, p99, worst = (1e3 * float(np.quantile(times, q)) for q in (0.5, 0.99, 1.0))
    third = max(1, len(memory) // 3)
    return {
        "kind": kind,
        "body_bytes": len(bodies[0]),
        "clients": clients,
        "seconds": wall,
        "requests": len(times),
        "errors": len(errors),
        "per_second": len(times) / wall,
        "p50_ms": p50,
        "p99_ms": p99,
        "worst_ms": worst,
        "service_cores": (cpu_seconds(service) - before) / wall,
        "client_cores": (cpu_seconds("self") - own) / wall,
        "memory_mb": [float(np.mean(memory[:third])), float(np.mean(memory[-third:]))],
    }


async def batch(port: int, service: int) -> dict[str, Any]:
    file = io.BytesIO()
    np.save(file, np.random.default_rng(1).standard_normal((BATCH, FEATURES)).astype(np.float32))
    body = file.getvalue()
    head = "POST /predict?top=1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-npy\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
    began = time.perf_counter()
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    found = json.loads(await reader.readexactly(length))
    seconds = time.perf_counter() - began
    assert len(found["predictions"]) == BATCH
    writer.close()
    return {"rows": BATCH, "body_mb": len(body) / 1e6, "seconds": seconds, "memory_mb": resident_mb(service)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/serve.json")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        service, port = started(model_file(Path(folder)))
        try:
            runs = [
                asyncio.run(load(port, service.pid, kind, chosen.seconds, chosen.clients)) for kind in ("JSON", ".npy")
            ]
            whole = asyncio.run(batch(port, service.pid))
        finally:
            service.terminate()
            service.wait(30)
    head = "body", "requests a second", "p50, ms", "p99, ms", "worst, ms", "errors", "cores: service", "client", "MB"
    table = Table(*head, title=f"1 row × {FEATURES} against {CLASSES} classes, {chosen.clients} clients")
    for one in runs:
        table.add_row(
            f"{one['kind']}, {one['body_bytes']} bytes",
            *(f"{one[name]:.1f}" for name in ("per_second", "p50_ms", "p99_ms", "worst_ms")),
            str(one["errors"]),
            *(f"{one[name]:.2f}" for name in ("service_cores", "client_cores")),
            " → ".join(f"{mb:.0f}" for mb in one["memory_mb"]),
        )
    Console().print(table)
    Console().print(f"{BATCH} rows in one request of {whole['body_mb']:.0f} MB: {whole['seconds']:.2f} s")
    if chosen.keep:
        figures = {"features": FEATURES, "attributes": ATTRIBUTES, "classes": CLASSES, "load": runs, "batch": whole}
        keep("serve", figures)


if __name__ == "__main__":
    main()
