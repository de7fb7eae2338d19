"""Does the closed-form start change where training ends? Zero-shot accuracy on validation classes, never on test rows.

Run: python benchmarks/initialisation.py [--dataset CUB] [--features NAME] [--root DIR] [--fold 1]; needs the data
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from zskl import datasets, methods
from zskl.training.solver import INITIALISATIONS

METHODS = ("gaussian-ort", "cauchy-ort", "polynomial-2", "gaussian-softmax")
EPOCHS = (2, 6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="CUB")
    parser.add_argument("--features")
    parser.add_argument("--root")
    parser.add_argument("--fold", type=int, default=1)
    chosen = parser.parse_args()
    data = datasets.load(chosen.dataset, chosen.root, chosen.features)
    train, val = data.parts[f"fold{chosen.fold}_train"], data.parts[f"fold{chosen.fold}_val"]
    table = Table(
        "method",
        *(f"{init}, after {epochs} epochs" for init in INITIALISATIONS for epochs in EPOCHS),
        title=f"{data.name} {data.features}: accuracy on {len(np.unique(data.y[val]))} validation classes, per cent",
    )
    for name in track(METHODS, description="methods", transient=True):
        cells = []
        for init in INITIALISATIONS:
            model = methods.build(name, {"init": init, "epochs": max(EPOCHS), "random_state": 0})
            per_epoch = len(train) // model.batch_size
            model.fit(
                data.X[train],
                data.y[train],
                data.signatures,
                monitor={"val": (data.X[val], data.y[val])},
                monitor_every=per_epoch,
            )
            accuracies = model.history_.accuracy["val"][1]
            cells += [f"{100 * accuracies[epochs - 1]:.1f}" for epochs in EPOCHS]
        table.add_row(name, *cells)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
