"""The feature files of a benchmark: which one to read, and what is in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.datasets import matfile
from zskl.datasets.xlsa17 import feature_cache
from zskl.datasets.xlsa17.locations import SPLITS
from zskl.datasets.xlsa17.splits import from_one

DEFAULT_FEATURES = "res101"  # the ResNet-101 features, which published figures were measured on


@dataclass(frozen=True, eq=False)
class Features:
    """X (n, d) float32 and finite; labels (n,) class numbers from 0; the folder of each image, where given."""

    source: Path
    X: NDArray[np.float32]
    labels: NDArray[np.int64]
    folders: list[str] | None


def choose(folder: Path, name: str | None = None) -> Path:
    """The file `name`.mat of the folder; by default res101.mat, else the only other feature file there."""
    files = sorted(file for file in folder.glob("*.mat") if file.name.lower() != SPLITS)
    wanted = (name or DEFAULT_FEATURES).removesuffix(".mat")
    for file in files:
        if file.stem.lower() == wanted.lower():
            return file
    if name is None:
        likely = files if len(files) == 1 else [file for file in files if _has_features(file)]
        if len(likely) == 1:
            return likely[0]
        files = likely
    there = ", ".join(file.stem for file in files)
    if there:
        raise ValueError(f"{folder} has no {wanted}.mat: choose with features= (--features) one of {there}")
    raise ValueError(
        f"{folder} has no feature file, neither {wanted}.mat nor another: get the package with zskl data fetch xlsa17, "
        f"or put a file with features and labels beside {SPLITS}"
    )


def read(path: Path) -> Features:
    """Features, labels and image folders of a file, from the cache if it holds them."""
    found = feature_cache.load(path, _matrix)
    labels = np.array(found.notes["labels"], dtype=np.int64)
    names, codes = found.notes["folders"], found.notes["folder_codes"]
    return Features(path, found.X, labels, [names[code] for code in codes] if names else None)


def _has_features(path: Path) -> bool:
    try:
        return {"features", "labels"} <= set(matfile.variables(path))
    except (ValueError, OSError):
        return False


def _matrix(path: Path) -> tuple[NDArray[np.generic], dict[str, Any]]:
    """(n, d) features; the labels from 0 and the folders of `image_files`, each once, with each row's number."""
    found = matfile.read(path, ("features", "labels"), optional=("image_files",))
    labels = from_one(found["labels"], path, "labels")
    images = found.get("image_files")
    folders: dict[str, int] = {}
    codes: list[int] = []
    if isinstance(images, list) and len(images) == len(labels):
        parents = [str(image).replace("\\", "/").rpartition("/")[0] for image in images]
        codes = [folders.setdefault(parent, len(folders)) for parent in parents]
    notes = {"labels": labels.tolist(), "folders": list(folders), "folder_codes": codes}
    return _by_row(found["features"], len(labels), path), notes


def _by_row(matrix: Any, n: int, path: Path) -> NDArray[np.generic]:
    """(n, d) from d × n, the package's layout, or n × d; a square matrix is taken for the package's layout."""
    array = np.asarray(matrix)
    if array.dtype.kind not in "iufb" or array.ndim != 2 or n not in array.shape or not array.size:
        raise ValueError(
            f"{path}: features is {array.dtype} of shape {array.shape} and labels has {n} values: expected numbers, "
            "one column for each label"
        )
    return array.T if array.shape[1] == n else array
