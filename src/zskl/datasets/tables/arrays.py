"""Arrays without a header line: .npy (memory-mapped), .npz and MATLAB files, whose arrays have names. MATLAB files of
both kinds, v5 and v7.3 (HDF5), are read in the same way: MATLAB's orientation, text as strings."""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import release_pages
from zskl._validation import list_values
from zskl.datasets.tables.features import (
    Block,
    Cells,
    FeatureFile,
    Head,
    Wanted,
    block_rows,
    check_finite_features,
    to_float32,
)
from zskl.datasets.tables.source import Source

SUFFIXES = (".npy", ".npz", ".mat")
FEATURES = ("features", "x")
IDS = ("ids", "id", "files", "paths", "image_files")
HDF5 = b"\x89HDF\r\n\x1a\n"
USER_BLOCK = 512  # MATLAB writes its own header before that of HDF5


class _Unsuitable(ValueError):
    """The file is sound, but contains something else than expected."""


def list_variables(path: Path) -> list[str]:
    if _is_hdf5(path):
        with _open_hdf5(path) as file:
            return [name for name in file if not name.startswith("#")]
    import scipy.io

    with _explain_damage(path):
        return [name for name, _, _ in scipy.io.whosmat(path)]


def read_mat(path: Path, wanted: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """The wanted variables, and the optional ones there are, in MATLAB's orientation; text as lists, all dense."""
    wanted = list(wanted)
    names = [*wanted, *optional]
    if _is_hdf5(path):
        with _open_hdf5(path) as file, _explain_damage(path):
            found = {name: _read_value(file, file[name], f"{path}: {name}") for name in names if name in file}
    else:
        import scipy.io
        import scipy.sparse

        with _explain_damage(path):
            _check_whole_mat(path)
            content = scipy.io.loadmat(path, variable_names=names, spmatrix=False)
        found = {name: content[name] for name in names if name in content}
        for name, value in found.items():
            if scipy.sparse.issparse(value):
                found[name] = value.toarray()
            elif value.dtype.kind == "U":
                found[name] = [str(text).rstrip() for text in value.ravel()]
            elif value.dtype == object:
                found[name] = [_cell_text(cell, path, name) for cell in value.ravel(order="F")]
    missing = [name for name in wanted if name not in found]
    if missing:
        there = list_values(list_variables(path)) or "nothing"
        raise ValueError(f"{path} has no variable {list_values(missing)}: it has {there}")
    return found


def _is_hdf5(path: Path) -> bool:
    if not path.is_file():
        raise FileNotFoundError(f"no file at {path}: check the path")
    with path.open("rb") as file:
        start = file.read(USER_BLOCK + len(HDF5))
    return start.startswith(HDF5) or start[USER_BLOCK:] == HDF5


@contextmanager
def _explain_damage(path: Path) -> Iterator[None]:
    """Turn whatever a reader raises for damaged bytes, such as zlib or key errors, into one sentence."""
    try:
        yield
    except (MemoryError, PermissionError, _Unsuitable):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ValueError(
            f"{path} is not a readable MATLAB file ({reason}): it may be truncated or of another kind; copy or "
            "download it again"
        ) from None


def _check_whole_mat(path: Path) -> None:
    """In a v5 file each variable follows its length, one after the other. The last must end with the file."""
    with path.open("rb") as file:
        header = file.read(128)
        size = file.seek(0, 2)
        order = {b"IM": "<", b"MI": ">"}.get(header[126:])
        if order is None:
            # A v4 file, or not a MATLAB file: the reader decides.
            return
        at = len(header)
        while at < size:
            file.seek(at)
            _, length = struct.unpack(f"{order}II", file.read(8))
            at += 8 + length
            if at > size:
                raise ValueError(f"it has {size} bytes and a variable that should end at {at}")


def _cell_text(cell: Any, path: Path, name: str) -> str:
    array = np.asarray(cell)
    if array.dtype.kind == "U" and array.size <= 1:
        return str(array.item()) if array.size else ""
    if array.dtype.kind == "O" and array.size == 1:  # a cell in a cell
        return _cell_text(array.item(), path, name)
    if array.size == 0:
        return ""
    raise _Unsuitable(f"{path}: {name} is a cell array with {array.dtype} values: expected strings")


@contextmanager
def _open_hdf5(path: Path) -> Iterator[Any]:
    try:
        import h5py
    except ModuleNotFoundError:
        raise ValueError(
            f"{path} is a MATLAB v7.3 file, which needs h5py: pip install 'zskl[matlab]', or save it in MATLAB with -v7"
        ) from None
    with _explain_damage(path):
        file = h5py.File(path, "r")
    with file:
        yield file


def _read_value(file: Any, item: Any, where: str) -> Any:
    """HDF5 keeps a matrix by rows, MATLAB by columns: this is the transpose, without a copy."""
    if not hasattr(item, "dtype"):
        raise _Unsuitable(f"{where} is a structure or a sparse matrix: expected a full matrix or cells with strings")
    kind = item.attrs.get("MATLAB_class", b"")
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if kind == "cell" or item.dtype.kind == "O":
        cells = item[()].ravel()  # of the transpose, which is MATLAB's order
        return [_read_cell(file, cell, where) for cell in cells]
    if kind == "char":
        return _read_characters(item)
    # An empty matrix is stored as its shape.
    return np.empty(item[()].astype(int).ravel()) if "MATLAB_empty" in item.attrs else item[()].T


def _read_cell(file: Any, cell: Any, where: str) -> str:
    if isinstance(cell, bytes | str):  # written by another program than MATLAB
        return cell.decode() if isinstance(cell, bytes) else cell
    target = file[cell]
    if target.dtype.kind == "O":
        return _read_cell(file, target[()].ravel()[0], where)
    if target.dtype.kind not in "ui":
        raise _Unsuitable(f"{where} is a cell array with {target.dtype} values: expected strings")
    return "".join(_read_characters(target))


def _read_characters(item: Any) -> list[str]:
    if "MATLAB_empty" in item.attrs:
        return []
    codes = np.atleast_2d(item[()].T).astype(np.uint16)
    return [row.tobytes().decode("utf-16-le" if np.little_endian else "utf-16-be").rstrip() for row in codes]


def read_array_names(path: Source) -> Head:
    names = _array_names(path)
    return Head(names, lambda wanted: _open_array_features(path, names, wanted))


def _open_array_features(path: Source, names: list[str], wanted: Wanted) -> FeatureFile:
    """A MATLAB file has a sample per row or per column: the number of labels, rows or features tells which."""
    labels = wanted.labels
    arrays = read_arrays(path, FEATURES, (*IDS, *([labels] if labels else [])), names)
    X = pick_array(path, arrays, FEATURES)
    if X.dtype.kind not in "iufb":
        raise ValueError(f"{path} holds features of type {X.dtype}: expected a matrix of numbers")
    texts = None if labels is None else to_texts(path, labels, arrays[labels])
    rows = wanted.rows if texts is None else len(texts)
    width = wanted.width if wanted.columns is None else len(wanted.columns)
    if path.suffix == ".mat":
        n, d = X.shape
        has_sample_per_column = n != rows == d if rows is not None else d != width == n
        X = X.T if has_sample_per_column else X
    if not X.size:
        raise ValueError(f"{path} holds features of shape {X.shape}: expected at least one row and one column")
    if texts is not None and len(texts) != len(X):
        raise ValueError(f"{path} has {len(X)} rows of features and {len(texts)} {labels!r}: expected as many of both")
    if wanted.columns is not None and len(wanted.columns) != X.shape[1]:
        raise ValueError(f"{path} has {X.shape[1]} features, the model takes {len(wanted.columns)}")
    key = next((name for name in arrays if name.lower() in IDS and name != labels), None)
    ids = None if key is None else to_texts(path, key, arrays[key])
    if ids is not None and len(ids) != len(X):
        ids = None

    def pieces() -> Iterator[tuple[int, NDArray[np.generic], list[str] | None, list[str] | None]]:
        height = block_rows(X.shape[1])
        for start in range(0, len(X), height):
            rows = slice(start, start + height)
            yield start, X[rows], None if ids is None else ids[rows], None if texts is None else texts[rows]

    def blocks() -> Iterator[Block]:
        for start, values, *names in pieces():
            block = to_float32(values)
            check_finite_features(path, block, start, None, lambda row, column: float(X[row, column]))
            yield Block(block, *names)
            release_pages(X)

    def cells() -> Iterator[Cells]:
        for start, values, *names in pieces():
            columns = [np.asarray(column, dtype=np.float64) for column in values.T]
            yield Cells(columns, range(start, start + len(values)), *names)

    return FeatureFile(path, X.shape[1], None, blocks, cells, key)


def read_networks(path: Source) -> tuple[str | None, dict[str, int]]:
    """The network that made the features in an .npz file; of several, network → how many columns are its own."""
    with _open_arrays(path) as archive:
        name = archive["backbone"] if "backbone" in archive else np.empty(0)
        pairs = [archive[part].tolist() for part in ("block_names", "block_widths") if part in archive]
    named = name.ndim == 0 and name.dtype.kind == "U"
    return str(name) if named else None, dict(zip(*pairs, strict=True)) if pairs else {}


def read_arrays(
    path: Source, main: Sequence[str], further: Sequence[str] = (), names: Sequence[str] | None = None
) -> dict[str, Any]:
    """name → array, or list of strings: the `main` and `further` ones in any case, or all if no main one is there."""
    if path.suffix == ".npy":
        return {"": _open_arrays(path)}
    names = _array_names(path) if names is None else names
    chosen = [name for name in names if name.lower() in main or name.lower() in further or name in further]
    if not any(name.lower() in main for name in chosen):
        chosen = list(names)
    if path.suffix == ".mat":
        return read_mat(path.path, chosen)
    try:
        with _open_arrays(path) as archive:
            return {name: archive[name] for name in chosen}
    except ValueError:
        raise _pickle_error(path) from None


def _array_names(path: Source) -> list[str]:
    if path.suffix == ".npy":
        return []
    if path.suffix == ".mat":
        return list_variables(path.path)
    with _open_arrays(path) as archive:
        return list(archive)


def pick_array(path: Source, arrays: Mapping[str, Any], names: Sequence[str]) -> NDArray[np.generic]:
    """The matrix of one of these names, else the only one."""
    matrices = {name: np.asarray(array) for name, array in arrays.items() if np.ndim(array) == 2}
    named = [name for name in matrices if name.lower() in names]
    found = named or list(matrices)
    if len(found) != 1:
        has = ", ".join(f"{name!r} {np.shape(array)}" for name, array in arrays.items()) or "nothing"
        raise ValueError(f"{path} holds {has}: expected one 2-D array, named {names[0]!r} if there are more")
    return arrays[found[0]] if isinstance(arrays[found[0]], np.memmap) else matrices[found[0]]


def is_vector(values: Any) -> bool:
    return np.ndim(values) > 0 and 0 < np.size(values) == max(np.shape(values))


def to_texts(path: Source, name: str, values: Any) -> list[str]:
    """A vector of strings or whole numbers as strings; MATLAB's whole numbers are doubles, in a matrix n × 1."""
    array, where = np.asarray(values), f"{path}: {name or 'the array'}"
    if array.ndim > 2 or (array.ndim == 2 and 1 not in array.shape):
        raise ValueError(f"{where} has shape {array.shape}: expected a vector with one value per row")
    array = array.ravel()
    if array.dtype.kind == "f":
        wrong = array[~np.isfinite(array) | (array != np.round(array))]
        if wrong.size:
            raise ValueError(f"{where} holds {list_values(wrong)}, expected whole numbers or strings")
        array = array.astype(np.int64)
    if array.dtype.kind not in "iuUS":
        raise ValueError(f"{where} holds {array.dtype} values, expected strings or whole numbers")
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    return [str(value) for value in array.tolist()]


def _open_arrays(path: Source) -> Any:
    try:
        return np.load(path.path, mmap_mode="r" if path.suffix == ".npy" else None, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        if "Python objects" in str(error):
            raise _pickle_error(path) from None
        raise ValueError(f"{path} is not a NumPy file that can be read ({error}): write it again") from None


def _pickle_error(path: Source) -> ValueError:
    advice = "save strings as an array of text (dtype=str)"
    return ValueError(f"{path} holds Python objects, which zskl does not load, because they can run code: {advice}")
