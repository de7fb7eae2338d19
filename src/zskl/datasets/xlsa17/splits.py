"""att_splits.mat: the classes of a benchmark, their signatures and the published division of its rows.

MATLAB counts from 1. Only `from_one` turns the numbers of a file into numbers that count from 0.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.datasets import matfile
from zskl.datasets.dataset_checks import REQUIRED_PARTS
from zskl.parameters import listed


@dataclass(frozen=True, eq=False)
class Splits:
    """The classes of a benchmark and the published division of its rows; rows and classes count from 0.

    Parameters
    ----------
    source : Path
        The file that this was read from.
    class_names : tuple of str
        The C names, in the order of the labels.
    att : array of shape (C, p)
        The signatures as published.
    original_att : array of shape (C, p) or None
        The signatures before they were normalised, if the file has them.
    trainval : array
        Row numbers of the training part.
    test_seen : array
        Row numbers of the test part with seen classes.
    test_unseen : array
        Row numbers of the test part with unseen classes. No row is in two parts.
    train_loc : array, default=None
        Training rows of one validation fold, if given, as in the file: not always inside trainval.
    val_loc : array, default=None
        Validation rows of that fold.

    Attributes
    ----------
    parts : dict of str to array
        The three parts by name.
    rows : int
        How many rows the three parts have together.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from zskl.datasets.xlsa17 import Splits
    >>> rows = np.arange(6)
    >>> splits = Splits(Path("att_splits.mat"), ("owl", "cat"), np.eye(2), None, rows[:2], rows[2:3], rows[3:])
    >>> {part: len(numbers) for part, numbers in splits.parts.items()}
    {'trainval': 2, 'test_seen': 1, 'test_unseen': 3}
    """

    source: Path
    class_names: tuple[str, ...]
    att: NDArray[np.float64]
    original_att: NDArray[np.float64] | None
    trainval: NDArray[np.int64]
    test_seen: NDArray[np.int64]
    test_unseen: NDArray[np.int64]
    train_loc: NDArray[np.int64] | None = None
    val_loc: NDArray[np.int64] | None = None

    @property
    def parts(self) -> dict[str, NDArray[np.int64]]:
        """The three parts by name."""
        return {"trainval": self.trainval, "test_seen": self.test_seen, "test_unseen": self.test_unseen}

    @property
    def rows(self) -> int:
        """How many rows the three parts have in all."""
        return sum(map(len, self.parts.values()))


def read_splits(path: str | os.PathLike[str]) -> Splits:
    """Read an att_splits.mat and check it as far as possible without the labels.

    Parameters
    ----------
    path : path-like
        The file, in the format of MATLAB v5 or v7.3.

    Returns
    -------
    Splits
        Classes, signatures and parts.

    Raises
    ------
    ValueError
        If the file is damaged, or parts share rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from zskl import datasets
    >>> from zskl.datasets.xlsa17 import writer
    >>> with TemporaryDirectory() as folder:
    ...     writer.write(datasets.make_synthetic(), Path(folder))
    ...     splits = datasets.xlsa17.read_splits(Path(folder) / "att_splits.mat")
    >>> splits.rows, splits.att.shape
    (750, (25, 16))
    """
    path = Path(path)
    wanted = ["allclasses_names", "att", *(f"{part}_loc" for part in REQUIRED_PARTS)]
    found = matfile.read(path, wanted, optional=("original_att", "train_loc", "val_loc"))
    names = found["allclasses_names"]
    if not isinstance(names, list) or not names or not all(names):
        raise ValueError(f"{path}: allclasses_names is not a list of class names: expected a cell array of strings")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: allclasses_names repeats {listed(twice)}; give each class one name of its own")
    parts = {part: _rows(found[f"{part}_loc"], path, f"{part}_loc") for part in REQUIRED_PARTS}
    for one, other in combinations(REQUIRED_PARTS, 2):
        shared = np.intersect1d(parts[one], parts[other])
        if shared.size:
            raise ValueError(
                f"{path}: {one}_loc and {other}_loc share rows {listed(shared)} (counted from 0); a row belongs to one"
            )
    return Splits(
        path,
        tuple(names),
        by_class(found["att"], len(names), path, "att"),
        by_class(found["original_att"], len(names), path, "original_att") if "original_att" in found else None,
        **parts,
        **{name: from_one(found[name], path, name) for name in ("train_loc", "val_loc") if name in found},
    )


def from_one(values: Any, path: Path, field: str) -> NDArray[np.int64]:
    """A vector of numbers counted from 1, as MATLAB does, as integers counted from 0."""
    array = np.asarray(values)
    if array.dtype.kind not in "iufb" or (array.size and array.size != max(array.shape)):
        raise ValueError(f"{path}: {field} is {array.dtype} of shape {array.shape}: expected a vector of numbers")
    array = array.ravel()
    if array.dtype.kind == "f" and (array != np.floor(array)).any():  # NaN too
        where = np.flatnonzero(array != np.floor(array))
        raise ValueError(
            f"{path}: {field} holds {listed(array[where])} at rows {listed(where)} (counted from 0): expected "
            "whole numbers"
        )
    below = np.flatnonzero(array < 1)
    if below.size:
        found = np.unique(array[below]).astype(np.int64)
        raise ValueError(
            f"{path}: {field} holds {listed(found)} at rows {listed(below)} (counted from 0); the file's numbers "
            "count from 1: if they were written counting from 0, add 1 to all of them"
        )
    return array.astype(np.int64) - 1


def by_class(matrix: Any, classes: int, path: Path, field: str) -> NDArray[np.float64]:
    """(C, p) from p × C, the package's layout, or C × p; a square matrix is read in the package's layout."""
    array = np.asarray(matrix)
    if array.dtype.kind not in "iufb" or array.ndim != 2 or classes not in array.shape:
        raise ValueError(
            f"{path}: {field} is {array.dtype} of shape {array.shape}: expected numbers, one column for each of the "
            f"{classes} classes"
        )
    array = array.T if array.shape[1] == classes else array
    return np.ascontiguousarray(array, dtype=np.float64)


def class_list(path: Path) -> set[str]:
    """The classes of a text file, one per line."""
    return {line.strip() for line in path.read_text(encoding="utf-8").splitlines()} - {""}


def _rows(values: Any, path: Path, field: str) -> NDArray[np.int64]:
    rows = from_one(values, path, field)
    unique, times = np.unique(rows, return_counts=True)
    if not rows.size:
        raise ValueError(f"{path}: {field} is empty: expected row numbers")
    if len(unique) < len(rows):
        raise ValueError(f"{path}: {field} repeats rows {listed(unique[times > 1])} (counted from 0); name each once")
    return rows
