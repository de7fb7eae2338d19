"""Where the time of a one-row JSON prediction goes, inside a process without a socket: the least processor time of many
runs of each step, which other work on the machine disturbs least.

Run: python benchmarks/serve_profile.py            (--keep)
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from starlette.types import Message, Scope
from threadpoolctl import threadpool_limits

import zskl
from machine import keep
from serve_load import model_file, requests
from zskl.serve import app, predictions, responses
from zskl.serve import requests as bodies
from zskl.serve.app import GuardMiddleware
from zskl.serve.limits import Limits
from zskl.serve.schemas import PredictionOptions, PredictionRequest
from zskl.serve.service import Service

TIMES, TOGETHER = 1000, (1, 2, 4, 8, 16, 28)


def quickest(run: Callable[[int], object], times: int = TIMES) -> float:
    """Microseconds."""
    found = []
    for k in range(times):
        began = time.thread_time()
        run(k)
        found.append(time.thread_time() - began)
    return 1e6 * min(found)


async def answered(guarded: GuardMiddleware, sent: list[bytes], together: int) -> float:
    """Microseconds of each of so many requests that arrive at once."""

    async def one(body: bytes) -> None:
        headers = (b"host", b"localhost"), (b"content-type", b"application/json")
        scope: Scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b"", "headers": headers}
        statuses = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            statuses.append(message.get("status", 200))

        await guarded(scope, receive, send)
        assert set(statuses) == {200}

    found = []
    for k in range(TIMES // together + 20):
        some = [one(sent[(k + j) % len(sent)]) for j in range(together)]
        began = time.thread_time()
        await asyncio.gather(*some)
        found.append((time.thread_time() - began) / together)
    return 1e6 * min(found)


def measured(service: Service) -> dict[str, Any]:
    sent = [one.split(b"\r\n\r\n", 1)[1] for one in requests("JSON")]
    model, limits, snapshot, options = service.classes.model, service.limits, service.snapshot, PredictionOptions()
    guarded = GuardMiddleware(app.build_app(service), None, ["localhost"], limits)
    read = [bodies.parse_body(PredictionRequest, body, limits).rows or [] for body in sent]
    X = np.concatenate([bodies.rows_from_lists(rows, None, model, limits) for rows in read])
    answer = predictions.predict_rows(snapshot, X[:1], options)
    steps = {
        "JSON → lists": quickest(lambda k: bodies.parse_body(PredictionRequest, sent[k % len(sent)], limits)),
        "lists → checked float32": quickest(lambda k: bodies.rows_from_lists(read[k % len(sent)], None, model, limits)),
        "answer → JSON": quickest(lambda k: responses.json_response(answer)),
    }
    scoring = {n: quickest(lambda k, n=n: predictions.predict_rows(snapshot, X[:n], options)) / n for n in TOGETHER}
    whole = {n: asyncio.run(answered(guarded, sent, n)) for n in TOGETHER}
    batch_size, route = predictions._batch_size, app.PREDICT_REQUEST
    predictions._batch_size, app.PREDICT_REQUEST = lambda listed, cost: 1, ("", "", b"")
    try:
        before = asyncio.run(answered(guarded, sent, 8))
    finally:
        predictions._batch_size, app.PREDICT_REQUEST = batch_size, route
    return {"steps": steps, "scoring": scoring, "whole": whole, "before": before}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="write results/serve_profile.json")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        found = measured(Service(zskl.load(model_file(Path(folder))), "model.zskl", Limits()))
    table = Table("step", "µs a request")
    for name, value in found["steps"].items():
        table.add_row(name, f"{value:.0f}")
    for n in TOGETHER:
        table.add_row(f"scoring, {n} together", f"{found['scoring'][n]:.0f}")
    for n in TOGETHER:
        table.add_row(f"all, {n} together", f"{found['whole'][n]:.0f}")
    table.add_row("all, one at a time, by FastAPI's route", f"{found['before']:.0f}")
    Console().print(table)
    if chosen.keep:
        keep("serve_profile", found)


if __name__ == "__main__":
    main()
