"""Datasets by name. A new one is a file with a `load` and a line in the registry."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from zskl.datasets import digits, folder
from zskl.datasets.dataset import Dataset
from zskl.datasets.health import Health, check
from zskl.datasets.making import make
from zskl.datasets.synthetic import make_synthetic

__all__ = ["Dataset", "Health", "check", "load", "make", "make_synthetic", "names"]

BUNDLED: dict[str, tuple[Callable[[], Dataset], str]] = {
    "digits": (
        digits.load,
        "hand-written digits described by seven display segments (ships with scikit-learn)",
    ),
    "synthetic": (make_synthetic, "random classes whose features are a linear map of their signatures"),
}


def load(name: str | PathLike[str], root: str | PathLike[str] | None = None, features: str | None = None) -> Dataset:
    """The dataset of this name, whatever its case, or in this folder; `root` and `features` are for the benchmarks."""
    if folder.is_dataset(name):
        if root is not None or features is not None:
            raise ValueError(f"{name} is a dataset folder, which takes neither root nor features: leave them out")
        return folder.load(name)
    if Path(name).is_dir() and Path(name).name != str(name):
        folder.read_manifest(Path(name))
    key = str(name).lower()
    if key not in BUNDLED:
        near = difflib.get_close_matches(key, BUNDLED, n=1, cutoff=0.0)[0]
        known = ", ".join(BUNDLED)
        raise ValueError(f"no dataset is called {name!r}; did you mean {near!r}? The known ones are: {known}")
    for argument, value in (("root", root), ("features", features)):
        if value is not None:
            raise ValueError(
                f"{argument} is {str(value)!r}, but dataset {key!r} is bundled and takes none; leave it out"
            )
    return BUNDLED[key][0]()


def names() -> list[tuple[str, str]]:
    """(name, one-line description) of every known dataset."""
    return [(name, description) for name, (_, description) in BUNDLED.items()]
