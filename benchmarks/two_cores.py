"""How long the paper's table would take on two cores, from one method of each family.

Run: python benchmarks/two_cores.py FOLDER [--dataset AWA1] [--root DIR]

FOLDER holds the records of `zskl paper`. For each family and device there, one method searches a part of its grid
here, in one thread, where its processor time counts, and is scaled to the number of settings that the record tried.
The records say how long the other units of the family took in comparison. Two processes run at once. Writes
FOLDER/two_cores.json, which the page shows.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from rich.console import Console
from threadpoolctl import threadpool_limits

from machine import processor
from zskl import datasets, methods, selection
from zskl._files import write_atomically
from zskl.datasets import Dataset
from zskl.experiments.record import Record
from zskl.paper import results
from zskl.paper.pages import EXTRAPOLATED
from zskl.paper.results import family_of, published_grid

ONE = {  # family → the method that is run, for those that ran on the CPU and for the others
    "the paper's baselines": ("ale", "conse"),
    "later baselines": ("exem", "cnzsl"),
    "the paper's kernels": ("gaussian", "gaussian"),
    "ours": ("class-means", "gaussian-softmax"),
}
WHOLE = ("class-means", "exem")  # closed forms, which share work between settings: the whole grid is quick


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dataset", default="AWA1")
    parser.add_argument("--root")
    chosen = parser.parse_args()
    data = datasets.load(chosen.dataset, chosen.root)
    groups: dict[tuple[str, str], list[tuple[object, float]]] = {}
    for record in results.read_paper_records(chosen.folder):
        if isinstance(record, Record):
            spent = sum(value for value in vars(record.seconds).values() if value is not None)
            device = record.device
        else:
            spent, device = sum(record.seconds.values()), record.device or "cpu"
        groups.setdefault((family_of(record.method), device), []).append((record, spent))
    rows, missing = [], []
    for (name, device), found in groups.items():
        method = ONE[name][device != "cpu"]
        mine = [
            (record, spent)
            for record, spent in found
            if isinstance(record, Record) and record.method == method and record.features_digest == data.features_digest
            if record.seconds.search
        ]
        if not mine:
            Console().print(f"{name} on {device}: no record of {method} on {chosen.dataset}, left out")
            missing.append(f"{name} on {device}")
            continue
        record = mine[0][0]
        there = record.seconds.search or 0.0  # what is timed here, without fit and evaluation
        here = seconds(method, data, record.tune.settings or 1)
        hours = here / there * sum(spent for _, spent in found) / 2 / 3600
        rows.append({"family": name, "recorded on": device, "method": method, "units": len(found)})
        rows[-1] |= {"seconds of a search there": round(there, 1), "seconds of a search here": round(here, 1)}
        rows[-1]["hours on two cores"] = round(hours, 2)
        Console().print(rows[-1])
    made = {"processor": processor(), "dataset": chosen.dataset, "rows": rows, "missing": missing}
    write_atomically(chosen.folder / EXTRAPOLATED, (json.dumps(made, indent=1) + "\n").encode())
    Console().print(f"all of it: {sum(row['hours on two cores'] for row in rows):.1f} hours on two cores")


def seconds(method: str, data: Dataset, settings: int) -> float:
    """Processor time that a search of so many settings takes in one thread."""
    free = methods.find(method).estimator.FREE
    part = {
        name: list(values) if method in WHOLE or name in free else [values[0]]
        for name, values in published_grid(method).items()
    }
    rows = data.parts["trainval"]
    estimator = methods.build(method, {"random_state": 0})
    began = time.process_time()  # what other programs take does not count
    with threadpool_limits(limits=1):
        search = selection.search(
            estimator, data.X[rows], data.y[rows], data.signatures, part, selection.folds(data), None
        )
    return (time.process_time() - began) * settings / len(search.settings)


if __name__ == "__main__":
    main()
