"""The body of a request → rows of features. Nothing in it is trusted: sizes are checked before memory is used."""

from __future__ import annotations

import ast
import math
import re
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.parameters import did_you_mean
from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal, shown

Body: TypeAlias = bytes | bytearray
Features: TypeAlias = NDArray[np.float32]  # (n, d)

_NUMBERS = re.compile(r"[<>|=]?(f[248]|[iu][1248]|b1)")  # types of numbers as a .npy file writes them
_MAGIC = b"\x93NUMPY"
_HEADER = 1000  # bytes of the description at the beginning of a .npy file


def from_npy(body: Body, model: ZeroShotClassifier, limits: Limits) -> Features:
    """Features from a .npy file: its header says what follows, and exactly that must follow."""
    try:
        start, dtype, by_column, shape = _npy_header(bytes(body[: _HEADER + 12]))
    except (ValueError, KeyError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise Refusal(
            422, "the body is not a .npy file: expected what numpy.save writes for an array of numbers (rows, features)"
        ) from None
    if len(shape) == 1:
        shape = (1, *shape)
    check_shape(shape, model, limits)
    expected, found = math.prod(shape) * dtype.itemsize, len(body) - start
    if expected != found:
        raise Refusal(422, f"the .npy file announces {expected} bytes, {found} follow: send the whole file")
    flat = np.frombuffer(body, dtype, offset=start)
    return as_float32(flat.reshape(shape, order="F" if by_column else "C"))


def _npy_header(head: bytes) -> tuple[int, np.dtype[Any], bool, tuple[int, ...]]:
    """Where the numbers begin, their type, whether they come by column, the shape. NumPy's own reader is not used: it
    warns, and fails in many ways, if a header was made to do harm."""
    if head[:6] != _MAGIC or len(head) < 12 or head[6:8] not in (b"\1\0", b"\2\0"):
        raise ValueError("another file")
    first = 10 if head[6] == 1 else 12
    start = first + int.from_bytes(head[8:first], "little")
    if start > len(head):
        raise ValueError("a long header")
    about = ast.literal_eval(head[first:start].decode("latin-1").strip())
    kind, by_column, shape = about["descr"], about["fortran_order"], about["shape"]
    if (
        len(about) != 3
        or not isinstance(by_column, bool)
        or not isinstance(shape, tuple)
        or not all(type(n) is int for n in shape)
    ):
        raise ValueError("an odd header")
    if not isinstance(kind, str) or not _NUMBERS.fullmatch(kind):
        raise Refusal(422, f"the array holds {shown(kind)}: expected numbers such as '<f4', which is float32")
    return start, np.dtype(kind), by_column, shape


def from_lists(
    rows: list[list[float]], columns: list[str] | None, model: ZeroShotClassifier, limits: Limits
) -> Features:
    """Features from rows of numbers, in the order of the model's features or of the named `columns`."""
    places = None if columns is None else places_of(columns, model)
    width = int(model.n_features_in_) if columns is None else len(columns)
    wrong = next((k for k, row in enumerate(rows) if len(row) != width), None)
    if wrong is not None:
        expected = f"the model takes {width} features" if columns is None else f"columns names {width}"
        raise Refusal(422, f"row {wrong} has {len(rows[wrong])} numbers: {expected}")
    check_shape((len(rows), int(model.n_features_in_)), model, limits)
    X = np.array(rows, dtype=np.float64)
    return as_float32(X if places is None else X[:, places])


def places_of(columns: list[str], model: ZeroShotClassifier) -> list[int]:
    """The place of each feature of the model among named columns; other columns are ignored."""
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if not names:
        raise Refusal(422, "the model has no names for its features: leave out columns, and keep their order")
    place = {name: k for k, name in enumerate(columns)}
    if len(place) < len(columns):
        raise Refusal(422, "columns names a column twice: name each once")
    missing = next((name for name in names if name not in place), None)
    if missing is not None:
        near = did_you_mean(missing, columns)
        raise Refusal(422, f"columns lacks the feature {shown(missing)}{near}: see feature_names of GET /model")
    return [place[name] for name in names]


def check_shape(shape: tuple[int, ...], model: ZeroShotClassifier, limits: Limits) -> None:
    """Refuse features whose shape is not (n, d), or more of them than a request may have."""
    width = int(model.n_features_in_)
    if len(shape) != 2 or shape[1] != width:
        raise Refusal(
            422, f"the features have shape {shown(shape)}: the model takes rows of {width} numbers, (n, {width})"
        )
    if not 1 <= shape[0] <= limits.rows:
        status = 413 if shape[0] > limits.rows else 422
        raise Refusal(
            status, f"the request has {shown(shape[0])} rows: expected 1 to {limits.rows}; send more rows in parts"
        )
    if shape[0] * width > limits.values:
        raise Refusal(
            413, f"{shape[0]} rows of {width} features are more than {limits.values} numbers: send rows in parts"
        )


def as_float32(X: NDArray[Any]) -> Features:
    """The same in single precision. Values that are not finite, or too large for it, are refused."""
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
