"""How much faster a sweep is on more workers: python benchmarks/scaling.py --workers 1 --workers 2

Each line is one sweep of the same units, from the start of the workers to the last record. Efficiency is the time of
the first line over workers × time of this line: 100 % where two workers take half as long.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core per worker, also for the line that has one worker

import argparse
import time

from zskl import engines
from zskl.engines import Engine
from zskl.experiments import sweep
from zskl.experiments.sweep import DatasetSource, Failure, SweepTask
from zskl.experiments.unit import Unit


def measure(pieces: list[SweepTask], engine: Engine) -> float:
    began = time.perf_counter()
    found = dict(sweep.run_sweep(pieces, engine))
    assert len(found) == len(pieces)
    assert not any(isinstance(one, Failure) for one in found.values())
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="CUB")
    parser.add_argument("--features")
    parser.add_argument("--method", default="gaussian")
    parser.add_argument("--units", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--engine", choices=engines.ENGINES, default="loky")
    parser.add_argument("--workers", type=int, action="append", help="repeatable; default: 1 and 2")
    options = parser.parse_args()
    source = DatasetSource(options.dataset, features=options.features)
    data = source.load()
    units = [Unit(options.method, seed, {"epochs": options.epochs}) for seed in range(options.units)]
    pieces = [SweepTask(source, data, unit) for unit in units]
    print(f"{options.units} units: {data.name} {options.method}, {options.epochs} epochs, engine {options.engine}")
    print("| workers | seconds | speed-up | efficiency |\n|---:|---:|---:|---:|")
    first: tuple[int, float] | None = None
    for workers in options.workers or [1, 2]:
        seconds = measure(pieces, Engine(options.engine, workers=workers))
        first = first or (workers, seconds)
        speed = first[1] / seconds
        print(f"| {workers} | {seconds:.1f} | {speed:.2f} | {100 * speed * first[0] / workers:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
