"""What the files of a dataset call its rows: the ids of your own data, the image files of a benchmark."""

from __future__ import annotations

import os
from pathlib import Path

from zskl.datasets import matfile
from zskl.datasets.own import folder
from zskl.datasets.xlsa17 import benchmarks
from zskl.datasets.xlsa17 import features as feature_files


def row_names(
    name: str | os.PathLike[str], root: str | os.PathLike[str] | None = None, features: str | None = None
) -> list[str] | None:
    """Give the name of each row of a dataset.

    Parameters
    ----------
    name : str or path-like
        The dataset, as for `load`.
    root : path-like, default=None
        Where a benchmark is; see `load`.
    features : str, default=None
        Which feature file of a benchmark; see `load`.

    Returns
    -------
    list of str or None
        One name per row of `load(name, root, features)`, in its order: the ids of your own data, the image files of a
        benchmark. None if the rows have no names.

    Examples
    --------
    >>> from zskl import datasets
    >>> datasets.row_names("digits") is None
    True
    """
    name = os.fspath(name)
    if folder.is_dataset(name):
        return folder.row_names(Path(name))
    if not benchmarks.has_feature_files(name):
        return None
    file = feature_files.choose(benchmarks.folder_of(name, root), features)
    images = matfile.read(file, (), optional=("image_files",)).get("image_files")
    return [str(image).replace("\\", "/") for image in images] if isinstance(images, list) else None
