"""Arrays without a header line: .npy (memory-mapped), .npz and MATLAB files, whose arrays have names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.datasets import matfile
from zskl.datasets.tables.feature_file import (
    Block,
    Cells,
    FeatureFile,
    Head,
    Wanted,
    as_float32,
    check_finite,
    rows_per_block,
)
from zskl.datasets.tables.source import Source
from zskl.mapped_rows import give_back
from zskl.parameters import listed

SUFFIXES = (".npy", ".npz", ".mat")
FEATURES = ("features", "x")
IDS = ("ids", "id", "files", "paths", "image_files")


def look(path: Source) -> Head:
    """Read the names of the arrays."""
    names = _names(path)
    return Head(names, lambda wanted: _open(path, names, wanted))


def _open(path: Source, names: list[str], wanted: Wanted) -> FeatureFile:
    """A MATLAB file has a sample per row or per column: the number of labels, rows or features tells which."""
    labels = wanted.labels
    arrays = _read(path, names, FEATURES, (*IDS, *([labels] if labels else [])))
    X = pick(path, arrays, FEATURES, dimensions=2)
    if X.dtype.kind not in "iufb":
        raise ValueError(f"{path} holds features of type {X.dtype}: expected a matrix of numbers")
    texts = None if labels is None else as_texts(path, labels, arrays[labels])
    rows = wanted.rows if texts is None else len(texts)
    width = wanted.width if wanted.columns is None else len(wanted.columns)
    if path.suffix == ".mat" and _has_sample_per_column(X, rows, width):
        X = X.T
    if not X.size:
        raise ValueError(f"{path} holds features of shape {X.shape}: expected at least one row and one column")
    if texts is not None and len(texts) != len(X):
        raise ValueError(f"{path} has {len(X)} rows of features and {len(texts)} {labels!r}: expected as many of both")
    if wanted.columns is not None and len(wanted.columns) != X.shape[1]:
        raise ValueError(f"{path} has {X.shape[1]} features, the model takes {len(wanted.columns)}")
    key = next((name for name in arrays if name.lower() in IDS and name != labels), None)
    ids = None if key is None else as_texts(path, key, arrays[key])
    if ids is not None and len(ids) != len(X):
        ids = None
    return FeatureFile(path, X.shape[1], None, lambda: _blocks(path, X, ids, texts), lambda: _cells(X, ids, texts), key)


def backbone_of(path: Source) -> str | None:
    """The network that made the features, which `zskl data embed` names beside them."""
    if path.suffix != ".npz" or "backbone" not in _names(path):
        return None
    with _opened(path) as archive:
        name = archive["backbone"]
    return str(name) if name.ndim == 0 and name.dtype.kind == "U" else None


def read(path: Source, main: Sequence[str], further: Sequence[str] = ()) -> dict[str, Any]:
    """name → array, or list of strings: the `main` and `further` ones, or all if there is none of the main ones."""
    return _read(path, _names(path), main, further)


def _read(path: Source, names: Sequence[str], main: Sequence[str], further: Sequence[str]) -> dict[str, Any]:
    """Upper and lower case make no difference in the names."""
    kind = path.suffix
    if kind == ".npy":
        return {"": _opened(path)}
    chosen = [name for name in names if name.lower() in main or name.lower() in further or name in further]
    if not any(name.lower() in main for name in chosen):
        chosen = list(names)
    if kind == ".mat":
        return matfile.read(path.path, chosen)
    try:
        with _opened(path) as archive:
            return {name: archive[name] for name in chosen}
    except ValueError:
        raise _pickled(path) from None


def _names(path: Source) -> list[str]:
    """The names of the arrays in the file; the one in a .npy file has no name."""
    kind = path.suffix
    if kind == ".npy":
        return []
    if kind == ".mat":
        return matfile.variables(path.path)
    with _opened(path) as archive:
        return list(archive)


def pick(path: Source, arrays: Mapping[str, Any], names: Sequence[str], dimensions: int) -> NDArray[np.generic]:
    """The array of one of these names, else the only one of that many dimensions."""
    matrices = {name: np.asarray(array) for name, array in arrays.items() if np.ndim(array) == dimensions}
    named = [name for name in matrices if name.lower() in names]
    found = named or list(matrices)
    if len(found) != 1:
        holds = ", ".join(f"{name!r} {np.shape(array)}" for name, array in arrays.items()) or "nothing"
        raise ValueError(
            f"{path} holds {holds}: expected one {dimensions}-D array, named {names[0]!r} if there are more"
        )
    return arrays[found[0]] if isinstance(arrays[found[0]], np.memmap) else matrices[found[0]]


def is_vector(values: Any) -> bool:
    """Whether there are values, and all of them along one axis."""
    return np.ndim(values) > 0 and 0 < np.size(values) == max(np.shape(values))


def as_texts(path: Source, name: str, values: Any) -> list[str]:
    """A vector of strings or whole numbers as strings; MATLAB's whole numbers are doubles, in a matrix n × 1."""
    array = np.asarray(values)
    if array.ndim > 2 or (array.ndim == 2 and 1 not in array.shape):
        raise ValueError(
            f"{path}: {name or 'the array'} has shape {array.shape}: expected a vector with one value per row"
        )
    array = array.ravel()
    if array.dtype.kind == "f":
        if not (np.isfinite(array).all() and (array == np.round(array)).all()):
            wrong = array[~np.isfinite(array) | (array != np.round(array))]
            raise ValueError(f"{path}: {name or 'the array'} holds {listed(wrong)}, expected whole numbers or strings")
        array = array.astype(np.int64)
    if array.dtype.kind not in "iuUS":
        raise ValueError(f"{path}: {name or 'the array'} holds {array.dtype} values, expected strings or whole numbers")
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    return [str(value) for value in array.tolist()]


def _has_sample_per_column(X: NDArray[np.generic], rows: int | None, width: int | None) -> bool:
    if rows is not None:
        return len(X) != rows and X.shape[1] == rows
    return width is not None and X.shape[1] != width and len(X) == width


def _blocks(path: Source, X: NDArray[np.generic], ids: list[str] | None, labels: list[str] | None) -> Iterator[Block]:
    height = rows_per_block(X.shape[1])
    for start in range(0, len(X), height):
        rows = slice(start, start + height)
        block = as_float32(X[rows])
        check_finite(path, block, start, None, partial(_stored, X, start))
        yield Block(block, None if ids is None else ids[rows], None if labels is None else labels[rows])
        give_back(X)


def _cells(X: NDArray[np.generic], ids: list[str] | None, labels: list[str] | None) -> Iterator[Cells]:
    height = rows_per_block(X.shape[1])
    for start in range(0, len(X), height):
        rows = slice(start, start + height)
        columns = [np.asarray(column, dtype=np.float64) for column in X[rows].T]
        where = range(start, min(start + height, len(X)))
        yield Cells(columns, where, None if ids is None else ids[rows], None if labels is None else labels[rows])


def _stored(X: NDArray[Any], first_row: int, row: int, column: int) -> float:
    return float(X[first_row + row, column])


def _opened(path: Source) -> Any:
    try:
        opened = np.load(path.path, mmap_mode="r" if path.suffix == ".npy" else None, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        if "Python objects" in str(error):
            raise _pickled(path) from None
        raise ValueError(f"{path} is not a NumPy file that can be read ({error}): write it again") from None
    return opened


def _pickled(path: Source) -> ValueError:
    return ValueError(
        f"{path} holds Python objects, which zskl does not load, because they can run code: save strings as "
        "np.array(names, dtype=str)"
    )
