"""What the files of a dataset call its rows: ids of one's own data, image files of a benchmark."""

from __future__ import annotations

import os
from pathlib import Path

from zskl.datasets import matfile, xlsa17
from zskl.datasets.own import folder
from zskl.datasets.xlsa17 import features as feature_files
from zskl.datasets.xlsa17.locations import SPLITS, benchmark_folder


def row_names(
    name: str | os.PathLike[str], root: str | os.PathLike[str] | None = None, features: str | None = None
) -> list[str] | None:
    """The name of each row of `datasets.load(name, root, features)`, in its order; None where they have none."""
    name = os.fspath(name)
    if folder.is_dataset(name):
        return folder.row_names(Path(name))
    if name.upper() in xlsa17.BENCHMARKS:
        place = benchmark_folder(name.upper(), root)
    elif (Path(name) / SPLITS).is_file():
        place = Path(name)
    else:
        return None
    images = matfile.read(feature_files.choose(place, features), (), optional=("image_files",)).get("image_files")
    return [str(image).replace("\\", "/") for image in images] if isinstance(images, list) else None
