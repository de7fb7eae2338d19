"""The rows of a features file as a search index: their vectors in `ranking_map`, and their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from zskl.arrays import to_numpy
from zskl.batch.predict_file import PathLike, opened, rows_of
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.export import index


def index_file(model: ZeroShotClassifier, features: PathLike, path: PathLike, kind: str) -> int:
    """Write the index and count its rows. The file is read in blocks; what is held of it are its vectors."""
    maps = index.searchable(model, rows=True)
    vectors: list[Any] = []
    names: list[str | int] = []
    for block in opened(model, features).blocks():
        X: Any = rows_of(model, block)
        vectors.append(to_numpy(maps.samples(X)).astype(np.float32))
        names += block.ids or range(len(names), len(names) + len(block.X))
    index.write(path, kind, np.concatenate(vectors), names, "rows")
    return len(names)
