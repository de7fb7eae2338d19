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
from zskl.datasets.xlsa17.splits import read_splits

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
    """Load one of the five benchmarks.

    Parameters
    ----------
    name : str
        "AWA1", "AWA2", "SUN", "CUB" or "APY", in upper or lower case.
    root : path-like, default=None
        The folder that holds the dataset folders, or the unpacked package, or the folder that the package is in. None
        looks in $ZSKL_DATA, then in the user's cache.
    features : str, default=None
        The name of the feature file, without ".mat". None takes res101, else the only feature file there.
    signatures : str or path-like, default=None
        Where the class signatures come from: "att" (the default), "original_att", FILE.mat, FILE.mat:VARIABLE or
        FILE.csv.
    folds : {"file"}, default=None
        Which validation folds to use. None takes the class lists of the package, else three seeded folds. "file" takes
        the fold of train_loc and val_loc.

    Returns
    -------
    Dataset
        The benchmark, with its published parts.

    Raises
    ------
    FileNotFoundError
        If the benchmark is not on this machine.
    ValueError
        If a file is damaged, or if labels and splits contradict each other.

    Examples
    --------
    A small dataset takes the place of the real files here:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from zskl import datasets
    >>> from zskl.datasets.xlsa17 import writer
    >>> with TemporaryDirectory() as root:
    ...     folder = Path(root) / "CUB"
    ...     folder.mkdir()
    ...     writer.write(datasets.make_synthetic(), folder)
    ...     datasets.xlsa17.load("cub", root)
    Dataset('CUB', 750 rows × 64 features, 20 seen and 5 unseen classes, 16 attributes)
    """
    key = name.upper()
    if key not in BENCHMARKS:
        raise ValueError(f"name is {name!r}: expected one of the benchmarks {', '.join(BENCHMARKS)}")
    return read_folder(benchmark_folder(key, root), key, features, signatures, folds)


def read_folder(
    folder: Path,
    name: str,
    features: str | None = None,
    signatures: str | os.PathLike[str] | None = None,
    folds: str | None = None,
) -> Dataset:
    """Load the dataset in any folder of the xlsa17 layout.

    `zskl data make --format xlsa17` writes such folders.

    Parameters
    ----------
    folder : Path
        The folder with att_splits.mat and at least one feature file.
    name : str
        The name that the dataset gets.
    features : str, default=None
        The name of the feature file; see `load`.
    signatures : str or path-like, default=None
        Where the class signatures come from; see `load`.
    folds : {"file"}, default=None
        Which validation folds to use; see `load`.

    Returns
    -------
    Dataset
        The dataset in the folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from zskl import datasets
    >>> from zskl.datasets.xlsa17 import writer
    >>> with TemporaryDirectory() as folder:
    ...     writer.write(datasets.make_synthetic(), Path(folder))
    ...     datasets.xlsa17.read_folder(Path(folder), "mine").parts["trainval"].shape
    (480,)
    """
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


def has_feature_files(name: str) -> bool:
    """Whether `root` and `features` apply to the dataset: it is a benchmark, or a folder in their layout."""
    return name.upper() in BENCHMARKS or (Path(name) / SPLITS).is_file()


def folder_of(name: str, root: str | os.PathLike[str] | None = None) -> Path:
    """The folder of a benchmark, or the folder of that layout that `name` itself is."""
    return benchmark_folder(name.upper(), root) if name.upper() in BENCHMARKS else Path(name)
