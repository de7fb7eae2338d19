"""The five benchmarks in the layout of the public xlsa17 package: NAME/res101.mat and NAME/att_splits.mat."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from zskl.datasets.dataset import Dataset
from zskl.datasets.xlsa17 import features as feature_files
from zskl.datasets.xlsa17 import fold_lists, label_checks
from zskl.datasets.xlsa17.class_table import class_table
from zskl.datasets.xlsa17.locations import SPLITS, benchmark_folder, check_fetched
from zskl.datasets.xlsa17.splits import Splits, read_splits

__all__ = ["BENCHMARKS", "Splits", "load", "read_folder", "read_splits"]

BENCHMARKS = {
    "AWA1": "animals, 50 classes, 85 attributes (xlsa17)",
    "AWA2": "animals, 50 classes, 85 attributes, with public images (xlsa17)",
    "SUN": "scenes, 717 classes, 102 attributes (xlsa17)",
    "CUB": "birds, 200 classes, 312 attributes (xlsa17)",
    "APY": "Pascal and Yahoo objects, 32 classes, 64 attributes (xlsa17)",
}


def load(
    name: str,
    root: str | os.PathLike[str] | None = None,
    features: str | None = None,
    signatures: str | os.PathLike[str] | None = None,
    folds: str | None = None,
) -> Dataset:
    """A benchmark: AWA1, AWA2, SUN, CUB or APY, whatever the case.

    root        the folder that holds the dataset folders, the unpacked package or its parent; by default $ZSKL_DATA,
                then the user's cache
    features    which NAME.mat; by default res101, else the only feature file there
    signatures  "att" (default), "original_att", FILE.mat, FILE.mat:VARIABLE or FILE.csv
    folds       None: the package's class lists, else three seeded folds; "file": train_loc and val_loc
    """
    key = name.upper()
    if key not in BENCHMARKS:
        raise ValueError(f"no benchmark is called {name!r}; the known ones are: {', '.join(BENCHMARKS)}")
    return read_folder(benchmark_folder(key, root), key, features, signatures, folds)


def read_folder(
    folder: Path,
    name: str,
    features: str | None = None,
    signatures: str | os.PathLike[str] | None = None,
    folds: str | None = None,
) -> Dataset:
    """The dataset in any folder of that layout, such as `zskl data make --format xlsa17` writes; choices as above."""
    file = feature_files.choose(folder, features)
    check_fetched(folder / SPLITS)
    splits = read_splits(folder / SPLITS)
    table = class_table(splits, signatures if signatures is not None else "att")
    found = feature_files.read(file)
    label_checks.check(splits, found)
    return Dataset(
        name,
        found.X,
        np.array(splits.class_names)[found.labels],
        table,
        splits.parts | fold_lists.folds(splits, found.labels, folds),
        source=f"{folder / SPLITS} with {file.name}",
        features=file.stem,
        checked=True,
    )
