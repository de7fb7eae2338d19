"""Whether fast paths cost accuracy: zero-shot accuracy of the same fits by the plain step and by each faster one.

Run: python benchmarks/fast_paths.py [--dataset CUB] [--root DIR] [--features NAME] [--seeds 5]; needs the data. The
GPU's paths are measured where CUDA is. Settings are the method's defaults; nothing is chosen here.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from machine import keep
from zskl import datasets, methods, protocols
from zskl._arrays import to_numpy
from zskl.datasets import Dataset
from zskl.estimators import kernel_classifier
from zskl.training import solver

NEVER = 10**12


def fit(data: Dataset, method: str, seed: int, path: str) -> tuple[float, float, Any]:
    """Zero-shot accuracy, harmonic mean and W by one path: "CPU", "CPU plain", "GPU", "GPU plain" or "GPU TF32"."""
    model = methods.build(method, {"random_state": seed, "device": "cuda" if path.startswith("GPU") else None})
    quick, least = kernel_classifier.make_cpu_step, solver.LEAST_FUSED
    if path.startswith("GPU"):
        import torch

        torch.set_float32_matmul_precision("high" if path.endswith("TF32") else "highest")
    try:
        if path == "CPU plain":
            kernel_classifier.make_cpu_step = lambda m, training, s: kernel_classifier.make_step(
                m._objective(), training, s, False
            )
        if path == "GPU plain":
            solver.LEAST_FUSED = NEVER
        rows = data.parts["trainval"]
        model.fit(data.X[rows], data.y[rows], data.signatures)
    finally:
        kernel_classifier.make_cpu_step, solver.LEAST_FUSED = quick, least
    if path.startswith("GPU"):
        torch.set_float32_matmul_precision("highest")  # scores are compared, not their precision
    return protocols.zsl(model, data).accuracy, protocols.gzsl(model, data).harmonic, to_numpy(model.projection_)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="CUB")
    parser.add_argument("--root")
    parser.add_argument("--features")
    parser.add_argument("--method", default="gaussian-ort")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    data = datasets.load(options.dataset, options.root, options.features)
    seeds = range(options.seeds)
    found: dict[str, list[Any]] = {}
    for path in ("CPU plain", "CPU"):
        found[path] = Parallel(n_jobs=-1)(delayed(fit)(data, options.method, seed, path) for seed in seeds)
    try:
        import torch

        cuda = torch.cuda.is_available()
    except ImportError:
        cuda = False
    for path in ("GPU plain", "GPU", "GPU TF32") if cuda else ():
        found[path] = [fit(data, options.method, seed, path) for seed in seeds]
    reference = found["CPU plain"]
    table = Table(title=f"{options.dataset}, {data.features}, {options.method}, {options.seeds} seeds")
    for column in ("path", "zero-shot, %", "H, %", "largest change of one seed's zero-shot", "largest |ΔW| / max |W|"):
        table.add_column(column, justify="right")
    rows = []
    for path, ends in found.items():
        zsl, h = (100 * np.array([end[k] for end in ends]) for k in (0, 1))
        change = float(np.abs(zsl - 100 * np.array([end[0] for end in reference])).max())
        apart = max(
            float(np.abs(end[2] - first[2]).max() / np.abs(first[2]).max())
            for end, first in zip(ends, reference, strict=True)
        )
        rows.append(
            {
                "path": path,
                "zsl": zsl.tolist(),
                "harmonic": h.tolist(),
                "largest_change": change,
                "largest_apart": apart,
            }
        )
        spread = f"{zsl.mean():.2f} ± {zsl.std(ddof=1) if len(zsl) > 1 else 0:.2f}"
        table.add_row(path, spread, f"{h.mean():.2f}", f"{change:.2f}", f"{apart:.1e}")
    Console().print(table)
    keep(
        "fast_paths",
        {"dataset": options.dataset, "features": data.features, "method": options.method, "paths": rows},
    )


if __name__ == "__main__":
    main()
