"""The wide searches behind the default grids of the kernel methods, on validation folds only; no test row is read.

Run: python benchmarks/kernel_grids.py SEARCH … [--dataset CUB] [--root DIR] [--features NAME] [--device cuda]; needs
the data. SEARCH is a method, or "schedule": how the step size of gaussian-ort falls. Prints the best settings by both
scorings, and for each value of each setting the best that it reached. A search takes about a minute on a GPU, and
hours on a CPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from grids import examine, summary
from zskl import datasets, selection

Grid = Mapping[str, Sequence[Any]]
ENDS = (2, 4, 6, 8, 10)
SCALINGS = ("center-l2", "sqrt-center-l2")
POLYNOMIAL: Grid = {
    "repulsion": (6.0, 15.0, 40.0, 100.0),
    "bias": (0.5, 1.0, 2.0),
    "incoherence_weight": (0.1, 0.3, 1.0, 3.0),
    "learning_rate": (3e-4, 1e-3),
    "feature_scaling": SCALINGS,
    "epochs": ENDS,
}
SQUARED: Grid = {
    "repulsion": (0.3, 1.0, 3.0, 10.0, 30.0),
    "learning_rate": (3e-4, 1e-3),
    "feature_scaling": SCALINGS,
    "epochs": ENDS,
}
SOFTMAX: Grid = {
    "temperature": (0.0125, 0.025, 0.05, 0.1, 0.2),
    "learning_rate": (1e-4, 3e-4, 1e-3),
    "feature_scaling": SCALINGS,
    "epochs": (1, *ENDS),
}
SCHEDULED: Grid = {
    "sigma": (0.7, 1.0),
    "repulsion": (1.0, 6.0),
    "learning_rate": (3e-4, 1e-3, 3e-3),
    "feature_scaling": ("sqrt-center-l2",),
    "epochs": ENDS,
}
GAUSSIAN, CAUCHY = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0), (0.1, 0.3, 1.0, 3.0, 10.0)
SEARCHES: Mapping[str, tuple[str, list[Grid]]] = {  # method and grids
    **{f"polynomial-{degree}": (f"polynomial-{degree}", [POLYNOMIAL]) for degree in (2, 4, 6)},
    **{name: (name, [{"sigma": GAUSSIAN, **SQUARED}]) for name in ("gaussian", "gaussian-ort")},
    **{name: (name, [{"sigma": CAUCHY, **SQUARED}]) for name in ("cauchy", "cauchy-ort")},
    "gaussian-softmax": ("gaussian-softmax", [{"sigma": GAUSSIAN[1:], **SOFTMAX}]),
    "cauchy-softmax": ("cauchy-softmax", [{"sigma": CAUCHY[:4], **SOFTMAX}]),
    "schedule": (
        "gaussian-ort",
        [
            {"schedule": ("constant",), **SCHEDULED},
            {"schedule": ("exponential",), "decay": (1e-4, 3e-4), **SCHEDULED},
            {"schedule": ("inverse-time",), "decay": (1e-3,), **SCHEDULED},
        ],
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("search", nargs="+", choices=SEARCHES)
    parser.add_argument("--dataset", default="CUB")
    parser.add_argument("--root")
    parser.add_argument("--features")
    parser.add_argument("--device")
    chosen = parser.parse_args()
    data = datasets.load(chosen.dataset, chosen.root, chosen.features)
    (X, y), folds = data.samples("trainval"), selection.folds(data)
    fixed = {"random_state": 0, "device": chosen.device}
    for name in chosen.search:
        method, grids = SEARCHES[name]
        if chosen.device:  # the kernels of a GPU cover no polynomial: its products take most of the time
            import torch

            torch.set_float32_matmul_precision("high" if method.startswith("polynomial") else "highest")
        lines = [line for grid in grids for line in examine(method, grid, X, y, data.signatures, folds, fixed)]
        Console().print(f"{data.name}, {data.features}, {name}: {len(lines)} settings", soft_wrap=True)
        Console().print(summary(lines), soft_wrap=True, highlight=False, markup=False)


if __name__ == "__main__":
    main()
