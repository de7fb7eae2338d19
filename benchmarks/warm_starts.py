"""Could a search start fits from the projection of a neighbouring setting? Accuracy and time against fits of their own.

Run: python benchmarks/warm_starts.py [--data AWA1:handcrafted_pca512] [--root DIR ...] [--share 4]; needs the data.
On validation folds of one row in `share`: one fit in the middle of a grid, then for every setting of the grid a fit of
its own in 8 epochs, and 2 or 4 epochs that go on from the middle. Test rows take no part. docs/selection.md says what
came of it.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from class_means import load
from zskl import methods, selection

EPOCHS, FURTHER = 8, (2, 4)
SIGMAS = (0.7, 1.0, 1.4)
SECOND = {"gaussian-softmax": ("temperature", (0.05, 0.1, 0.2)), "gaussian-ort": ("repulsion", (1.0, 3.0, 10.0))}
RATES = {"gaussian-softmax": 6e-4, "gaussian-ort": 2e-3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="AWA1:handcrafted_pca512", metavar="DATASET:FEATURES")
    parser.add_argument("--root", nargs="+", type=Path, default=[None], help="folders of the benchmarks, tried in turn")
    parser.add_argument("--share", type=int, default=4)
    chosen = parser.parse_args()
    data = load(chosen.data, chosen.root)
    X, y = data.samples("trainval")
    X, y = X[:: chosen.share], y[:: chosen.share]
    table = Table("method", "epochs", "fits", "processor time / own fit", "points away, mean", "largest")
    with threadpool_limits(limits=1):
        for method in SECOND:
            found = [one for fold in selection.folds(y, 3) for one in compared(method, X, y, data.signatures, fold)]
            for k, epochs in enumerate(FURTHER):
                apart = 100 * np.array([abs(one["warm"][k][0] - one["own"][0]) for one in found])
                ratio = sum(one["warm"][k][1] for one in found) / sum(one["own"][1] for one in found)
                cells = f"{epochs}", f"{len(found)}", f"{ratio:.2f}", f"{apart.mean():.1f}", f"{apart.max():.1f}"
                table.add_row(method, *cells)
    Console(width=110).print(table)


def compared(method: str, X: Any, y: Any, signatures: Any, fold: Any) -> list[dict[str, Any]]:
    """Accuracy and processor seconds of each setting: fitted on its own, and from the middle of the grid."""
    name, values = SECOND[method]
    held = np.unique(y[fold.val_unseen])

    def fitted(model: Any) -> tuple[float, float]:
        began = time.process_time()
        model.fit(X[fold.train], y[fold.train], signatures)
        took = time.process_time() - began
        answers = model.predict(X[fold.val_unseen], signatures=signatures.loc[held])
        return float(np.mean([np.mean(answers[y[fold.val_unseen] == one] == one) for one in held])), took

    def build(sigma: float, value: float, epochs: int) -> Any:
        common = {"learning_rate": RATES[method], "batch_size": 32, "random_state": 0, "warm_start": True}
        return methods.build(method, {**common, "sigma": sigma, name: value, "epochs": epochs})

    middle = build(SIGMAS[1], values[1], EPOCHS)
    middle.fit(X[fold.train], y[fold.train], signatures)
    found = []
    for sigma, value in product(SIGMAS, values):
        warm = []
        for epochs in FURTHER:
            model = build(sigma, value, epochs)
            model.projection_ = middle.projection_.copy()
            warm.append(fitted(model))
        found.append({"own": fitted(build(sigma, value, EPOCHS)), "warm": warm})
    return found


if __name__ == "__main__":
    main()
