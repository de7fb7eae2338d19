"""`make bench`: one table of ratios, records in benchmarks/results/; the GPU part where CUDA is.

Run: python benchmarks/bench.py [--part before] [--part cpu] [--part growth] [--part left]
[--part gpu] [--rounds 15]
Needs PyTorch (extra `torch`), for the version with automatic differentiation; numba (extra `fast`) for the floor.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import before_after
import growth
import profile_left
import step_cpu
from machine import RESULTS, keep
from shapes import BATCH, FEATURES, ROWS, SHAPES, Problem, problem, times

STEPS = ROWS // BATCH  # one epoch
PARTS = ("before", "cpu", "growth", "left", "gpu")


def on_cpu(console: Console, rounds: int) -> None:
    """Seconds a step at each shape, on one thread and on all cores, the same for all versions."""
    cores = len(os.sched_getaffinity(0))
    found = []
    for threads in sorted({1, cores}):
        torch.set_num_threads(threads)
        with threadpool_limits(threads):
            for name, (C, p) in SHAPES.items():
                console.print(f"{name}: d {FEATURES}, C {C}, p {p}, batch {BATCH}, {threads} thread(s)")
                data = problem(C, p)
                ways = {
                    "ours": step_cpu.ours(data),
                    "floor": step_cpu.floor(data),
                    "floor by columns": step_cpu.floor(data, by_columns=True),
                    "autograd": step_cpu.autograd(data),
                    "plain": step_cpu.ours(data, plain=True),
                }
                seconds = times(ways, STEPS, rounds)
                seconds["floor"] = min(seconds["floor"], seconds.pop("floor by columns"))
                seconds |= scikit_learn(data) if threads == cores else {}
                found.append({"shape": name, "C": C, "p": p, "d": FEATURES, "threads": threads, "seconds": seconds})
    keep("cpu", found)
    table = Table(title="One training step on the CPU")
    for column in ("shape", "threads", "ours, ms", "floor, ms", "× floor", "autograd, ms"):
        table.add_column(column, justify="right")
    for column in ("autograd / ours", "plain / ours", "MLP epoch / ours", "KernelRidge fit / our epoch"):
        table.add_column(column, justify="right")
    for one in found:
        s, mine = one["seconds"], one["seconds"]["ours"]
        orientation = [f"{s[k] / mine:.1f}" if k in s else "" for k in ("mlp", "kernel_ridge")]
        table.add_row(
            *(one["shape"], str(one["threads"])),
            *(f"{1e3 * mine:.2f}", f"{1e3 * s['floor']:.2f}", f"{mine / s['floor']:.2f}", f"{1e3 * s['autograd']:.2f}"),
            *(f"{s['autograd'] / mine:.1f}", f"{s['plain'] / mine:.2f}", *orientation),
        )
    console.print(table)


def scikit_learn(data: Problem) -> dict[str, float]:
    """For orientation: one epoch of a perceptron with p hidden units, and a kernel ridge fit, per step of our epoch."""
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.neural_network import MLPClassifier

    p = data.Y.shape[1]
    network = MLPClassifier((p,), batch_size=BATCH, max_iter=1, random_state=0)
    ridge = KernelRidge(kernel="rbf", alpha=1.0)
    seconds = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one epoch does not converge, as asked
        for name, model, target in (("mlp", network, data.codes), ("kernel_ridge", ridge, data.Y[data.codes])):
            began = time.perf_counter()
            model.fit(data.X, target)
            seconds[name] = (time.perf_counter() - began) / STEPS
    return seconds


def growing(console: Console) -> None:
    with threadpool_limits(1):
        curves = {**growth.steps(), "classes": growth.prediction()}
        means = growth.class_means()
    keep("growth", curves)
    keep("growth_means", means)
    columns = "time against", "from", "to", "µs at the ends", "fitted exponent", "of the products"
    table = Table(*columns, title="Growth, one thread")
    for name, curve in {**curves, **means}.items():
        sizes, ends = curve["sizes"], [1e6 * curve["seconds"][k] for k in (0, -1)]
        expected = f"{curve['arithmetic']:.2f}" if "arithmetic" in curve else growth.EXPECTED[name]
        table.add_row(
            *(name, str(sizes[0]), str(sizes[-1]), f"{ends[0]:.1f} … {ends[1]:.1f}"),
            *(f"{curve['exponent']:.2f}", expected),
        )
    console.print(table)


def on_gpu(console: Console, rounds: int) -> None:
    if not torch.cuda.is_available():
        console.print("no CUDA GPU here: the GPU part is left out")
        return
    import step_gpu

    found: list[dict[str, Any]] = []
    for name, (C, p) in SHAPES.items():
        data = problem(C, p)
        ways = {
            "autograd": step_gpu.autograd(data),
            **{f"{K}": step_gpu.ours(data, K) for K in (1, 64)},
            **{f"{K} plain": step_gpu.ours(data, K, whole=False) for K in (1, 64)},
        }
        seconds = times(ways, 4 * STEPS, max(3, rounds // 4))
        torch.set_float32_matmul_precision("high")
        seconds |= times({f"{K} TF32": step_gpu.ours(data, K) for K in (1, 64)}, 4 * STEPS, max(3, rounds // 4))
        torch.set_float32_matmul_precision("highest")
        found.append({"shape": name, "C": C, "p": p, "d": FEATURES, "seconds": seconds})
    keep("gpu", found)
    table = Table(title=f"One training step on a GPU ({torch.cuda.get_device_name()})")
    for column in ("shape", "settings", "µs a step", "µs a setting", "plain kernels, µs", "TF32, µs", "autograd, µs"):
        table.add_column(column, justify="right")
    table.add_column("autograd / ours, per setting", justify="right")
    for one in found:
        s = {name: 1e6 * value for name, value in one["seconds"].items()}
        for K in (1, 64):
            mine = s[f"{K}"]
            table.add_row(
                *(one["shape"], str(K), f"{mine:.0f}", f"{mine / K:.1f}", f"{s[f'{K} plain']:.0f}"),
                *(f"{s[f'{K} TF32']:.0f}", f"{s['autograd']:.0f}", f"{K * s['autograd'] / mine:.0f}"),
            )
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS, help="repeatable; default: all")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    console = Console(width=max(140, Console().width))
    np.seterr(all="ignore")
    for part in options.part or PARTS:
        if part == "before":
            before_after.main()
        elif part == "growth":
            growing(console)
        elif part == "left":
            profile_left.measure(kept=True)
        else:
            (on_cpu if part == "cpu" else on_gpu)(console, options.rounds)
    console.print(f"records: {RESULTS}/*.json; the page made of them: python benchmarks/performance.py")


if __name__ == "__main__":
    main()
