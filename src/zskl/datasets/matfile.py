"""Read MATLAB files of both kinds, v5 and v7.3 (HDF5), in the same way: MATLAB's orientation, text as strings."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from zskl.parameters import listed

HDF5 = b"\x89HDF\r\n\x1a\n"
USER_BLOCK = 512  # MATLAB writes its own header before that of HDF5


class _Unsuitable(ValueError):
    """The file is sound, but contains something else than expected."""


def variables(path: Path) -> list[str]:
    """The names of the variables in the file."""
    if _is_hdf5(path):
        with _hdf5(path) as file:
            return [name for name in file if not name.startswith("#")]
    import scipy.io

    with _refusing(path):
        return [name for name, _, _ in scipy.io.whosmat(path)]


def read(path: Path, wanted: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """The wanted variables, and the optional ones that are there; no other is read.

    A matrix keeps MATLAB's orientation, in memory column by column. A cell array of strings or a character matrix
    becomes a list of strings, a sparse matrix a dense one.
    """
    wanted, optional = list(wanted), list(optional)
    found = (_read_hdf5 if _is_hdf5(path) else _read_v5)(path, [*wanted, *optional])
    missing = [name for name in wanted if name not in found]
    if missing:
        raise ValueError(f"{path} has no variable {listed(missing)}: it has {listed(variables(path)) or 'nothing'}")
    return found


def _is_hdf5(path: Path) -> bool:
    if not path.is_file():
        raise FileNotFoundError(f"no file at {path}: check the path")
    with path.open("rb") as file:
        start = file.read(USER_BLOCK + len(HDF5))
    return start.startswith(HDF5) or start[USER_BLOCK:] == HDF5


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
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


def _read_v5(path: Path, names: list[str]) -> dict[str, Any]:
    import scipy.io
    import scipy.sparse

    with _refusing(path):
        _check_whole(path)
        found = scipy.io.loadmat(path, variable_names=names, spmatrix=False)
    values = {name: found[name] for name in names if name in found}
    for name, value in values.items():
        if scipy.sparse.issparse(value):
            values[name] = value.toarray()
        elif value.dtype.kind == "U":
            values[name] = [str(text).rstrip() for text in value.ravel()]
        elif value.dtype == object:
            values[name] = [_text(cell, path, name) for cell in value.ravel(order="F")]
    return values


def _check_whole(path: Path) -> None:
    """In a v5 file each variable follows its length, one after the other. The last must end with the file."""
    with path.open("rb") as file:
        header = file.read(128)
        size = file.seek(0, 2)
        order = {b"IM": "<", b"MI": ">"}.get(header[126:])
        if order is None:
            return  # a v4 file, or not a MATLAB file: the reader decides
        at = len(header)
        while at < size:
            file.seek(at)
            _, length = struct.unpack(f"{order}II", file.read(8))
            at += 8 + length
            if at > size:
                raise ValueError(f"it has {size} bytes and a variable that should end at {at}")


def _text(cell: Any, path: Path, name: str) -> str:
    array = np.asarray(cell)
    if array.dtype.kind == "U" and array.size <= 1:
        return str(array.item()) if array.size else ""
    if array.dtype.kind == "O" and array.size == 1:  # a cell in a cell
        return _text(array.item(), path, name)
    if array.size == 0:
        return ""
    raise _Unsuitable(f"{path}: {name} is a cell array with {array.dtype} values: expected strings")


@contextmanager
def _hdf5(path: Path) -> Iterator[Any]:
    try:
        import h5py
    except ModuleNotFoundError:
        raise ValueError(
            f"{path} is a MATLAB v7.3 file, which needs h5py: pip install 'zskl[matlab]', or save it in MATLAB with -v7"
        ) from None
    with _refusing(path):
        file = h5py.File(path, "r")
    with file:
        yield file


def _read_hdf5(path: Path, names: list[str]) -> dict[str, Any]:
    with _hdf5(path) as file, _refusing(path):
        return {name: _value(file, file[name], f"{path}: {name}") for name in names if name in file}


def _value(file: Any, item: Any, where: str) -> Any:
    """HDF5 keeps a matrix by rows, MATLAB by columns: this is the transpose, without a copy."""
    if not hasattr(item, "dtype"):
        raise _Unsuitable(f"{where} is a structure or a sparse matrix: expected a full matrix or cells with strings")
    kind = item.attrs.get("MATLAB_class", b"")
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if kind == "cell" or item.dtype.kind == "O":
        cells = item[()].ravel()  # of the transpose, which is MATLAB's order
        return [_cell(file, cell, where) for cell in cells]
    if kind == "char":
        return _characters(item)
    if "MATLAB_empty" in item.attrs:  # stored as its shape
        return np.empty(item[()].astype(int).ravel())
    return item[()].T


def _cell(file: Any, cell: Any, where: str) -> str:
    if isinstance(cell, bytes | str):  # written by another program than MATLAB
        return cell.decode() if isinstance(cell, bytes) else cell
    target = file[cell]
    if target.dtype.kind == "O":
        return _cell(file, target[()].ravel()[0], where)
    if target.dtype.kind not in "ui":
        raise _Unsuitable(f"{where} is a cell array with {target.dtype} values: expected strings")
    return "".join(_characters(target))


def _characters(item: Any) -> list[str]:
    """A character matrix, one string per row of MATLAB's orientation."""
    if "MATLAB_empty" in item.attrs:
        return []
    codes = np.atleast_2d(item[()].T).astype(np.uint16)
    return [row.tobytes().decode("utf-16-le" if np.little_endian else "utf-16-be").rstrip() for row in codes]
