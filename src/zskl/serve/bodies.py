"""The body of a request → rows of features. Nothing in it is trusted: sizes are checked before memory is used."""

from __future__ import annotations

import io
import math
from typing import Any, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.parameters import did_you_mean
from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal, shown

Body: TypeAlias = bytes | bytearray
Features: TypeAlias = NDArray[np.float32]  # (n, d)

_HEADER = 1000  # bytes at the beginning of a .npy file that may describe it; numpy.save needs 128
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def from_npy(body: Body, model: ZeroShotClassifier, limits: Limits) -> Features:
    """Features from a .npy file: its header says what follows, and exactly that must follow."""
    head = io.BytesIO(body[:_HEADER])
    try:
        shape, by_column, dtype = _HEADERS[npy.read_magic(head)](head)
    except Exception:  # NumPy fails in many ways on a header that was made to do harm
        raise Refusal(
            422, "the body is not a .npy file: expected what numpy.save writes for an array of numbers (rows, features)"
        ) from None
    if dtype.kind not in "fiub" or dtype.itemsize > 8:  # so no objects either, which would be unpickled
        raise Refusal(422, f"the array holds {shown(str(dtype))}: expected numbers such as float32")
    if len(shape) == 1:
        shape = (1, *shape)
    check_shape(shape, model, limits)
    expected, found = math.prod(shape) * dtype.itemsize, len(body) - head.tell()
    if expected != found:
        raise Refusal(422, f"the .npy file announces {expected} bytes, {found} follow: send the whole file")
    flat = np.frombuffer(body, dtype, offset=head.tell())
    return as_float32(flat.reshape(shape, order="F" if by_column else "C"))


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
