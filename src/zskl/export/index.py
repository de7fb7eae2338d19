"""The vectors of `ranking_map` as an index that usearch or faiss searches by inner products, their names beside it.

The file NAME is the index as its library writes it. NAME.json has the name of each vector in order: vector 0 is the
first. It also has the checksum of the index, so that one is never read with the names of another.

A graph that is searched by inner products misses much where vectors differ in length. So each vector v gets one more
column, √(M² − ‖v‖²), with which all are as long as the longest, M. A query gets a 0 there, and its products stay.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from zskl import files
from zskl.arrays import to_numpy
from zskl.estimators.class_means.classifier import ClassMeansClassifier
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier
from zskl.estimators.ranking_map import Map
from zskl.parameters import listed, one_of, plain
from zskl.version import __version__

KINDS = ("usearch", "faiss")


def to_index(
    model: ZeroShotClassifier,
    path: str | os.PathLike[str],
    kind: str = "usearch",
    *,
    X: Any = None,
    names: Sequence[Any] | None = None,
) -> None:
    """Write the class vectors, or the vectors of rows, of `model.ranking_map` as a search index.

    Ask an index of classes with `model.ranking_map().samples(rows)`: the best classes of each row come first. Ask an
    index of rows with `model.ranking_map().classes(signatures)`, for a kernel model `model.ranking_map(rows=True)`: the
    best rows of each class come first. Add a 0 at the end of each query: the index has one more column, which makes its
    vectors equally long. Beside the index, at `path` with ".json" added, are the names of its vectors.

    Parameters
    ----------
    model : ZeroShotKernelClassifier or ClassMeansClassifier
        The fitted model.
    path : str or path-like
        The index file to write.
    kind : {"usearch", "faiss"}, default="usearch"
        The library that reads it. For usearch a graph (HNSW), which does not look at every vector; for faiss all
        vectors, searched one by one (`IndexFlatIP`).
    X : array-like of shape (n_samples, n_features), default=None
        Rows to search. None writes the classes of the model.
    names : sequence, default=None
        The name of each row of `X`. None numbers them from 0.

    Raises
    ------
    ValueError
        If the model has no such vectors, or the library is not installed.

    Examples
    --------
    >>> import json, pathlib, tempfile, zskl
    >>> data = zskl.datasets.make_synthetic()
    >>> model = zskl.ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     zskl.export.to_index(model, f"{folder}/classes.usearch")
    ...     len(json.loads(pathlib.Path(folder, "classes.usearch.json").read_text())["names"])
    25
    """
    maps = searchable(model, rows=X is not None)
    if X is None:
        if names is not None:
            raise ValueError("names were given without X: they are names of rows; leave them out, or pass the rows")
        write(path, kind, maps.classes(), maps.labels(), "classes")
    else:
        vectors = to_numpy(maps.samples(X))
        write(path, kind, vectors, range(len(vectors)) if names is None else names, "rows")


def searchable(model: ZeroShotClassifier, rows: bool) -> Map:
    """The maps of a model whose inner products order its classes, and with `rows` the rows of a class too."""
    if isinstance(model, ZeroShotKernelClassifier):
        return model.ranking_map(rows=rows)
    if isinstance(model, ClassMeansClassifier):
        return model.ranking_map()
    if not isinstance(model, ZeroShotClassifier):
        raise ValueError(f"model is a {type(model).__name__}: expected a fitted estimator of zskl, without a pipeline")
    check_is_fitted(model)
    raise ValueError(
        f"a model of the method {model.kind!r} has no vectors to search: expected class means or a kernel model; rank "
        "with compatibility or top_k instead"
    )


def names_file(path: str | os.PathLike[str]) -> Path:
    """Where the names of an index are."""
    return Path(f"{os.fspath(path)}.json")


def write(
    path: str | os.PathLike[str], kind: str, vectors: NDArray[Any], names: Sequence[Any] | NDArray[Any], what: str
) -> None:
    """Write vectors (n, m) as an index, and their names beside it; `what` they are: classes or rows."""
    one_of("kind", kind, KINDS)
    for target in (path, names_file(path)):
        files.check_target(target)
    listing = [plain(name) for name in names]
    if len(listing) != len(vectors):
        raise ValueError(f"names has {len(listing)} entries for {len(vectors)} rows: expected a name for each row")
    with np.errstate(over="ignore"):
        ready = np.ascontiguousarray(vectors, dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(ready).all(axis=1))
    if len(bad):
        raise ValueError(
            f"vectors of {what} exceed the range of float32, the first {listed([listing[bad[0]]])}: rescale features "
            "and signatures, and fit again"
        )
    squares = (ready.astype(np.float64) ** 2).sum(axis=1)
    ready = np.column_stack([ready, np.sqrt(squares.max() - squares).astype(np.float32)])
    content = _packed(kind, ready)
    described = {
        "version": __version__,
        "index": kind,
        "vectors": what,
        "metric": "inner product",
        "columns": ready.shape[1],
        "query": "a vector of ranking_map, and a 0 at its end",
        "sha256": hashlib.sha256(content).hexdigest(),
        "names": listing,
    }
    files.write_atomically(path, content)
    files.write_atomically(names_file(path), f"{json.dumps(described, ensure_ascii=False)}\n".encode())


def _packed(kind: str, vectors: NDArray[np.float32]) -> bytes:
    """The content of an index file."""
    try:
        library = import_module("usearch.index" if kind == "usearch" else kind)
    except ImportError as error:
        raise ValueError(
            f"an index for {kind} needs the package {error.name or kind}, which is not installed: pip install "
            f"'zskl[{kind}]'"
        ) from error
    if kind == "faiss":
        index = library.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        return bytes(library.serialize_index(index).tobytes())
    index = library.Index(ndim=vectors.shape[1], metric="ip", dtype="f32")
    index.add(np.arange(len(vectors), dtype=np.uint64), vectors)
    return bytes(index.save())
