"""The body of a request → rows of features. Nothing in it is trusted: sizes are checked before memory is taken."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from zskl.estimator import ZeroShotClassifier
from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal, shown
from zskl.signatures import listed

NPY = ("application/x-npy", "application/octet-stream")
PARQUET = ("application/vnd.apache.parquet", "application/x-parquet")
JSON = ("application/json",)
_HEADER = 10_000  # bytes of the description at the beginning of a .npy file


def from_npy(body: bytes, model: ZeroShotClassifier, limits: Limits) -> np.ndarray[Any, Any]:
    """(n, d) float32 from a .npy file: its header says what follows, and just that must follow."""
    file = io.BytesIO(body)
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, by_column, dtype = read(file, max_header_size=_HEADER)
    except (ValueError, KeyError, EOFError, OverflowError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise Refusal(
            422, "the body is no .npy file: expected what numpy.save writes of an array (rows, features)"
        ) from None
    if dtype.hasobject or dtype.kind not in "fiub" or dtype.itemsize > 8:
        raise Refusal(422, f"the array holds {shown(str(dtype))}: expected numbers such as float32")
    if len(shape) == 1:
        shape = (1, *shape)
    _check_shape(shape, model, limits)
    expected, found = math.prod(shape) * dtype.itemsize, len(body) - file.tell()
    if expected != found:
        raise Refusal(422, f"the header of the .npy file announces {expected} bytes, {found} follow: it is damaged")
    flat = np.frombuffer(body, dtype, offset=file.tell())
    return _as_float32(flat.reshape(shape, order="F" if by_column else "C"))


def from_parquet(body: bytes, model: ZeroShotClassifier, limits: Limits) -> np.ndarray[Any, Any]:
    """(n, d) float32 from a Parquet file: the model's feature columns by name where it knows them, else all columns."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise Refusal(
            415, "this service reads no Parquet: install pyarrow where it runs, or send .npy or JSON"
        ) from None
    try:
        file = parquet.ParquetFile(
            io.BytesIO(body), thrift_string_size_limit=1 << 24, thrift_container_size_limit=1 << 20
        )
        about = file.metadata
        columns, kinds = file.schema_arrow.names, file.schema_arrow.types
        groups = [about.row_group(k) for k in range(about.num_row_groups)]
        unpacked = sum(max(group.total_byte_size, group.num_rows) for group in groups)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError):
        raise Refusal(422, "the body is no Parquet file that can be read") from None
    if unpacked > limits.body_bytes:
        raise Refusal(413, f"the Parquet file unpacks to {unpacked} bytes: expected at most {limits.body_bytes}")
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    missing = [name for name in names if name not in columns]
    if missing:
        raise Refusal(422, f"the Parquet file lacks the feature column {listed(missing)}: it has {listed(columns)}")
    wanted = names or columns
    if len(set(wanted)) < len(wanted):
        raise Refusal(422, "the Parquet file has two columns of one name: name each once")
    _check_shape((about.num_rows, len(wanted)), model, limits)
    for name, kind in zip(columns, kinds, strict=True):
        types = pyarrow.types
        if name in wanted and not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
            raise Refusal(422, f"column {shown(name)} of the Parquet file holds {shown(str(kind))}: expected numbers")
    X = np.empty((about.num_rows, len(wanted)), np.float32)
    done = 0
    try:
        for batch in file.iter_batches(batch_size=4096, columns=wanted, use_threads=False):
            end = done + batch.num_rows
            if end > len(X):
                break
            for k, name in enumerate(wanted):
                column = batch.column(batch.schema.get_field_index(name))
                if column.null_count:
                    raise Refusal(422, f"column {shown(name)} of the Parquet file has empty cells: fill them in")
                X[done:end, k] = column.to_numpy(zero_copy_only=False)
            done = end
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError):
        raise Refusal(422, "the Parquet file is damaged: its columns cannot be read") from None
    if done != len(X):
        raise Refusal(422, f"the Parquet file announces {len(X)} rows and holds others: it is damaged")
    return _as_float32(X)


def from_lists(rows: list[list[float]], model: ZeroShotClassifier, limits: Limits) -> np.ndarray[Any, Any]:
    """(n, d) float32 from rows of numbers."""
    width = int(model.n_features_in_)
    wrong = next((k for k, row in enumerate(rows) if len(row) != width), None)
    if wrong is not None:
        raise Refusal(422, f"row {wrong} has {len(rows[wrong])} numbers: the model takes {width} features")
    _check_shape((len(rows), width), model, limits)
    return _as_float32(np.array(rows, dtype=np.float64))


def _check_shape(shape: tuple[int, ...], model: ZeroShotClassifier, limits: Limits) -> None:
    width = int(model.n_features_in_)
    if len(shape) != 2 or shape[1] != width:
        raise Refusal(
            422, f"the features have shape {shown(shape)}: the model takes rows of {width} numbers, (n, {width})"
        )
    if not 1 <= shape[0] <= limits.rows:
        status = 413 if shape[0] > limits.rows else 422
        raise Refusal(
            status, f"the request has {shape[0]} rows: expected 1 to {limits.rows}; send more of them in parts"
        )


def _as_float32(X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Refused where a value is none, or none in single precision."""
    with np.errstate(all="ignore"):
        single = np.ascontiguousarray(X, dtype=np.float32)
        if np.isfinite(np.sum(single, dtype=np.float64)):
            return single
    wrong = np.argwhere(~np.isfinite(single))
    if not len(wrong):
        return single
    row, column = wrong[0].tolist()
    raise Refusal(
        422,
        f"feature {column} of row {row} is {X[row, column]:g}: expected a finite number of at most 3.4e38 in size "
        f"({len(wrong)} such value{'s' if len(wrong) > 1 else ''} in all)",
    )
