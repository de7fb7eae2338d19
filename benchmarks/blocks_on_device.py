"""Class means with blocks on a device: everything they do with tensors there, against the same with NumPy arrays.

Run: python benchmarks/blocks_on_device.py [--device cuda] [--wide]

Prints, for each thing and each type of numbers, the largest difference of scores as a share of the largest score, and
how many of the answers are equal. Ends with status 1 where a difference is beyond rounding. --wide takes rows of
1280 + 2048 features, as of two networks, in place of 160 + 96.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import zskl
from zskl import ClassMeansClassifier, Committee, ZeroShotKernelClassifier, datasets, selection
from zskl._arrays import to_numpy
from zskl.datasets import Dataset

LIMITS = {"float64": 1e-3, "float32": 3e-3, "float16": 2e-2}  # kept rows are in half precision, sums in single


def make_data(wide: bool) -> tuple[Dataset, list[int]]:
    classes, widths, attributes = ((150, 50), [1280, 2048], 300) if wide else ((60, 15), [160, 96], 68)
    return datasets.make_synthetic(*classes, n_features=sum(widths), n_attributes=attributes, noise=0.6), widths


def halves(width: int) -> list[int]:
    return [width // 2, width - width // 2]


def steps(
    data: Dataset, widths: list[int], convert: Callable[[Any], Any], device: str | None
) -> Iterator[tuple[str, Any]]:
    """Name → scores, of models that saw the rows as `convert` gives them."""
    X, y = data.samples("trainval")
    new, labels = data.samples("test_unseen")
    tables = halves(data.signatures.shape[1])
    settings = {"blocks": widths, "signature_blocks": tables, "feature_scaling": "l2", "device": device}
    X, new = convert(X), convert(new)
    model = ClassMeansClassifier(**settings).fit(X, y, data.signatures)
    yield "fit, compatibility", model.compatibility(new)
    for name, other in {
        "weights of blocks and tables": {"block_weights": [3, 1], "signature_weights": [1, 4]},
        "linear kernel, no crowding": {"kernel": "linear", "crowding": 0.0},
    }.items():
        yield name, ClassMeansClassifier(**settings, **other).fit(X, y, data.signatures).compatibility(new)
    taught = model.add_examples(new[::5], labels[::5])
    yield "examples", taught.compatibility(new)
    yield "examples taken back", taught.remove_examples().compatibility(new)
    yield "unlabelled rows", model.adapt(new, force=True).compatibility(new)
    pieces = ClassMeansClassifier(**settings)
    order = np.random.default_rng(0).permutation(len(y))
    for part in np.array_split(order, 3):
        pieces.partial_fit(X[part.tolist()], y[part], data.signatures)
    yield "partial_fit in three pieces", pieces.compatibility(new)
    sums = [ClassMeansClassifier(**settings).sums(X[part.tolist()], y[part]) for part in np.array_split(order, 2)]
    yield "sums of two shards", ClassMeansClassifier(**settings).fit_sums(sum(sums), data.signatures).compatibility(new)
    with tempfile.TemporaryDirectory() as folder:
        taught.save(Path(folder) / "model.zskl")
        yield "saved and loaded, with examples", zskl.load(Path(folder) / "model.zskl").compatibility(new)
    first = model.explain(new[:20], by="classes")
    yield "what blocks add, in explanations", np.array([list(one.blocks.values()) for one in first])
    kernel = ZeroShotKernelClassifier(epochs=1, random_state=0, device=device)
    committee = Committee([("means", ClassMeansClassifier(**settings)), ("kernel", kernel)])
    yield "committee with a kernel", committee.fit(X, y, data.signatures).compatibility(new)
    grid = {"shrinkage": [0.3, 0.7], "bandwidth": [0.5, 1.0]}
    found = selection.tune(ClassMeansClassifier(**settings), X, y, data.signatures, grid)
    yield "search, scores of the chosen", found.model.compatibility(new)
    yield "search, accuracies", found.search.zsl


def compare(name: str, found: Any, expected: Any, limit: float) -> bool:
    """Print the largest difference; whether it is rounding."""
    ours, theirs = (np.asarray(to_numpy(one), np.float64) for one in (found, expected))
    difference = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    equal = float((ours.argmax(axis=-1) == theirs.argmax(axis=-1)).mean())
    good = difference <= limit
    print(f"  {name:<34} {difference:9.1e}   {equal:6.1%} of answers equal{'' if good else '   TOO LARGE'}", flush=True)
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--wide", action="store_true")
    chosen = parser.parse_args()
    data, widths = make_data(chosen.wide)
    name = torch.cuda.get_device_name() if chosen.device == "cuda" else chosen.device
    print(f"{data!r} in blocks of {widths}, on {name}")
    expected = {kind: dict(steps(data, widths, lambda X, kind=kind: X.astype(kind), None)) for kind in LIMITS}
    ways: dict[str, tuple[str, Callable[[Any], Any], str | None]] = {
        f"tensors of {kind}": (kind, lambda X, kind=kind: torch.as_tensor(X.astype(kind), device=chosen.device), None)
        for kind in LIMITS
    }
    ways["NumPy arrays, device="] = "float32", lambda X: X.astype("float32"), chosen.device
    good = True
    for title, (kind, convert, device) in ways.items():
        print(title)
        for step, scores in steps(data, widths, convert, device):
            good &= compare(step, scores, expected[kind][step], LIMITS[kind])
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
