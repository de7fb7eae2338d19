"""Datasets by name. A new one is a file with a `load` and a line in a registry."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path

from zskl.datasets import digits, xlsa17
from zskl.datasets.dataset import Dataset
from zskl.datasets.health import Health, check
from zskl.datasets.own import folder
from zskl.datasets.own.make import make
from zskl.datasets.row_names import row_names
from zskl.datasets.synthetic import make_synthetic
from zskl.datasets.xlsa17.locations import SPLITS
from zskl.parameters import did_you_mean

__all__ = ["Dataset", "Health", "check", "load", "make", "make_synthetic", "names", "row_names", "xlsa17"]

BUNDLED: dict[str, tuple[Callable[[], Dataset], str]] = {
    "digits": (
        digits.load,
        "hand-written digits described by seven display segments (ships with scikit-learn)",
    ),
    "synthetic": (make_synthetic, "random classes whose features are a linear map of their signatures"),
}


def load(
    name: str | PathLike[str],
    root: str | PathLike[str] | None = None,
    features: str | None = None,
    signatures: str | PathLike[str] | None = None,
    folds: str | None = None,
) -> Dataset:
    """The dataset of this name, whatever its case: bundled ("digits", "synthetic"), a benchmark ("CUB"), or the
    folder of one that `make` wrote.

    root, features, signatures and folds choose among the files of a benchmark: see `xlsa17.load`.
    """
    name = fspath(name)
    if folder.is_dataset(name):
        if any(choice is not None for choice in (root, features, signatures, folds)):
            raise ValueError(
                f"{name} is a dataset folder, with nothing to choose: leave out root, features and the like"
            )
        return folder.load(name)
    if name.upper() in xlsa17.BENCHMARKS:
        return xlsa17.load(name, root, features, signatures, folds)
    if (Path(name) / SPLITS).is_file():
        if root is not None:
            raise ValueError(f"{name} is a folder itself, so it takes no root: leave it out")
        return xlsa17.read_folder(Path(name), Path(name).resolve().name, features, signatures, folds)
    if name != Path(name).name and Path(name).exists():
        folder.read_manifest(Path(name))  # says what is missing there
    key = name.lower()
    if key not in BUNDLED:
        known = [known for known, _ in names()]
        raise ValueError(
            f"no dataset is called {name!r}{did_you_mean(key, known)}, and no dataset folder is there: the known "
            f"ones are {', '.join(known)}"
        )
    for argument, value in (("root", root), ("features", features), ("signatures", signatures), ("folds", folds)):
        if value is not None:
            raise ValueError(
                f"{argument} is {str(value)!r}, but dataset {key!r} is bundled and takes none; leave it out"
            )
    return BUNDLED[key][0]()


def names() -> list[tuple[str, str]]:
    """(name, one-line description) of every known dataset."""
    return [(name, description) for name, (_, description) in BUNDLED.items()] + list(xlsa17.BENCHMARKS.items())
