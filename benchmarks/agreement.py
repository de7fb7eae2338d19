"""NumPy, PyTorch on the CPU and, where there is one, on the GPU: how far apart are fits from the same seed and batches?

Run: python benchmarks/agreement.py
"""

from __future__ import annotations

import time

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from zskl import ZeroShotKernelClassifier, methods, protocols
from zskl.datasets import make_synthetic


def main() -> None:
    data = make_synthetic(n_seen=40, n_unseen=10, samples_per_class=60, n_features=512, n_attributes=85, noise=0.6)
    rows = data.parts["trainval"]
    places = ["numpy", "torch cpu", *(["torch cuda"] if torch.cuda.is_available() else [])]
    table = Table(
        "method",
        *(f"{place}: max |ΔW| / max |W|, accuracy, s" for place in places),
        title=f"fit of {len(rows)} × 512 rows, 6 epochs; PyTorch {torch.__version__}",
    )
    kernel_methods = [name for name, one in methods.METHODS.items() if one.estimator is ZeroShotKernelClassifier]
    for name in kernel_methods:
        reference = None
        cells = []
        for place in places:
            X = torch.from_numpy(data.X[rows]).to(place.split()[1]) if place != "numpy" else data.X[rows]
            began = time.perf_counter()
            model = methods.build(name, {"random_state": 0}).fit(X, data.y[rows], data.signatures)
            seconds = time.perf_counter() - began
            W = model.projection_
            reference = W if reference is None else reference
            apart = np.abs(W - reference).max() / np.abs(reference).max()
            cells.append(f"{apart:.1e}, {100 * protocols.zsl(model, data).accuracy:.1f}, {seconds:.2f}")
        table.add_row(name, *cells)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
