"""Centring and unit length, fitted on training rows only.

A scaling is named by its steps in order, joined by dashes:

    center-l2        subtracts the mean of the training rows, then gives each row unit length
    sqrt-center-l2   first takes sign(x)·√|x|
    l2-center-l2     first gives each row unit length
    standardize-l2   also divides each column by its standard deviation, for columns in different units
    none             does nothing
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import overload

import numpy as np

from zskl._arrays import (
    Array,
    DType,
    NumPyArray,
    convert_like,
    is_sparse_rows,
    is_symbol,
    is_torch,
    namespace,
    runs_on_gpu,
    to_numpy,
)
from zskl._validation import suggest

STEPS = ("sqrt", "l2", "center", "standardize")
FITTED = ("center", "standardize")  # the steps that learn from training rows; a scaling has at most one
BLOCK_VALUES = 1 << 16  # scaled together on a CPU: what stays in its cache
GPU_VALUES = 1 << 20  # the same on a GPU, where many small steps would wait for each other
ROUNDING = 4  # units in the last place
SCALINGS = ("none", "center-l2", "sqrt-center-l2", "l2-center-l2", "standardize-l2")


def parse_scaling(scaling: str, parameter: str) -> tuple[str, ...]:
    steps = tuple(str(scaling).split("-")) if scaling != "none" else ()
    known = isinstance(scaling, str) and all(step in STEPS for step in steps)
    if not known or sum(step in FITTED for step in steps) > 1:
        raise ValueError(
            f"{parameter} is {scaling!r}: expected one of {', '.join(SCALINGS)}, or other steps of {', '.join(STEPS)} "
            f"joined by dashes with at most one 'center' or 'standardize'{suggest(scaling, SCALINGS)}"
        )
    return steps


@dataclass(frozen=True)
class Scaling:
    """Steps, and `mean` (d,) and standard `deviation` (d,) of the training rows, in float64, where one needs them."""

    steps: tuple[str, ...]
    mean: NumPyArray | None = None
    deviation: NumPyArray | None = None

    @overload
    def apply(self, rows: NumPyArray) -> NumPyArray: ...
    @overload
    def apply(self, rows: Array) -> Array: ...
    def apply(self, rows: Array) -> Array:
        """(n, d) → (n, d), in blocks, which need little memory. Zeros stay zero, and sparse rows sparse."""
        height = max(1, (GPU_VALUES if runs_on_gpu(rows, None) else BLOCK_VALUES) // max(1, rows.shape[-1]))
        if not self.steps or is_symbol(rows) or is_sparse_rows(rows) or rows.shape[0] <= height:
            return self._apply_steps(rows)
        scaled = namespace(rows).empty_like(rows)
        for start in range(0, rows.shape[0], height):
            scaled[start : start + height] = self._apply_steps(rows[start : start + height])
        return scaled

    def _apply_steps(self, rows: Array) -> Array:
        for step in self.steps:
            if step in FITTED:
                assert self.mean is not None
                rows = _center(rows, convert_like(self.mean, rows))
            else:
                rows = _apply_step(step, rows)
            if step == "standardize":
                assert self.deviation is not None
                rows = rows / convert_like(self.deviation, rows)
        return rows


def fit_scaling(scaling: str, rows: Array, parameter: str = "scaling", weights: NumPyArray | None = None) -> Scaling:
    """The scaling of that name, fitted to training `rows` (n, d) that count as often as their `weights` (n,) say."""
    if weights is not None and not is_sparse_rows(rows):
        height = max(1, BLOCK_VALUES // max(1, rows.shape[-1]))
        starts = range(0, rows.shape[0], height)
        return fit_scaling_in_blocks(scaling, lambda: (rows[k : k + height] for k in starts), parameter, weights)
    steps = parse_scaling(scaling, parameter)
    fitted = [step for step in steps if step in FITTED]
    if not fitted:
        return Scaling(steps)
    for step in steps[: steps.index(fitted[0])]:
        rows = _apply_step(step, rows)
    xp = namespace(rows)
    mean: Array = rows.mean(weights=weights) if is_sparse_rows(rows) else xp.mean(rows, axis=0, dtype=xp.float64)
    deviation = _to_host(_standard_deviation(rows, mean, weights)) if fitted == ["standardize"] else None
    return Scaling(steps, _to_host(mean), deviation)


def fit_scaling_in_blocks(
    scaling: str, blocks: Callable[[], Iterator[Array]], parameter: str = "scaling", weights: NumPyArray | None = None
) -> Scaling:
    """`fit_scaling` from one pass over blocks of rows for the mean, and one for the deviation. Sums are in float64."""
    steps = parse_scaling(scaling, parameter)
    fitted = [step for step in steps if step in FITTED]
    if not fitted:
        return Scaling(steps)

    def prepared() -> Iterator[Array]:
        for rows in blocks():
            for step in steps[: steps.index(fitted[0])]:
                rows = _apply_step(step, rows)
            yield rows

    def weighed(values: Array, start: int) -> Array:
        if weights is None:
            return values
        return values * convert_like(weights[start : start + values.shape[0], None], values, "float64")

    total, count = None, 0
    for rows in prepared():
        xp = namespace(rows)
        part = xp.sum(weighed(rows, count), axis=0, dtype=xp.float64)
        total, count = part if total is None else total + part, count + rows.shape[0]
    assert total is not None  # there are training rows
    mass = count if weights is None else float(weights.sum())
    mean = total / mass
    if fitted != ["standardize"]:
        return Scaling(steps, _to_host(mean))
    squares, count = xp.zeros_like(mean), 0
    for rows in prepared():
        squares = squares + xp.sum(weighed((rows - mean) ** 2, count), axis=0)
        count += rows.shape[0]
    return Scaling(steps, _to_host(mean), _to_host(_deviation_from_variance(squares / mass, mean, rows)))


def float_type(X: Array) -> DType:
    """Theirs if it is float32 or float64; float32 for half precision and tensors of whole numbers; else float64."""
    xp = namespace(X)
    if X.dtype in (xp.float32, xp.float64):
        return X.dtype
    single = is_torch(X) or is_half(X.dtype)
    return np.dtype(np.float64) if not single else xp.float32 if is_torch(X) else np.dtype(np.float32)


def is_half(dtype: DType) -> bool:
    """Whether a type of NumPy has half precision: float16, or bfloat16 as the package ml_dtypes has it."""
    return str(dtype) in ("float16", "bfloat16")


def to_float_type(rows: Array) -> Array:
    wanted = float_type(rows)
    return rows if rows.dtype == wanted else namespace(rows).astype(rows, wanted)


def _to_host(array: Array) -> NumPyArray:
    return convert_like(array, np.empty(0))


def _standard_deviation(rows: Array, mean: Array, weights: NumPyArray | None = None) -> Array:
    """The standard deviation of each column, 1 for a column that is constant up to rounding."""
    if is_sparse_rows(rows):
        return _deviation_from_variance(rows.variances(to_numpy(mean), weights), mean, rows)
    xp = namespace(rows)
    height = max(1, BLOCK_VALUES // max(1, rows.shape[-1]))
    squares = xp.zeros_like(mean)
    for start in range(0, rows.shape[0], height):
        squares += xp.sum((rows[start : start + height] - mean) ** 2, axis=0)
    return _deviation_from_variance(squares / rows.shape[0], mean, rows)


def _deviation_from_variance(variance: Array, mean: Array, rows: Array) -> Array:
    xp = namespace(rows)
    deviation = xp.sqrt(variance)
    noise = ROUNDING * xp.finfo(rows.dtype).eps * xp.abs(mean)
    return xp.where(deviation > noise, deviation, xp.ones_like(deviation))


def _apply_step(step: str, rows: Array) -> Array:
    if is_sparse_rows(rows):
        found: Array = rows.take_square_roots() if step == "sqrt" else rows.to_unit_length()
        return found
    xp = namespace(rows)
    if step == "sqrt":
        return xp.sign(rows) * xp.sqrt(xp.abs(rows))
    rows, _, length = scale_and_length(rows)
    return rows / length


def scale_and_length(rows: Array) -> tuple[Array, Array, Array]:
    """Rows over their largest |entry|, so that no square overflows, that entry and the length left (n, 1), 1 for 0."""
    xp = namespace(rows)
    largest = xp.max(xp.abs(rows), axis=-1, keepdims=True)
    largest = xp.where(largest > 0, largest, xp.ones_like(largest))
    rows = rows / largest
    length = xp.sqrt(xp.sum(rows * rows, axis=-1, keepdims=True))
    return rows, largest, xp.where(length > 0, length, xp.ones_like(length))


def _center(rows: Array, mean: Array) -> Array:
    """rows − mean. A row that equals the mean up to rounding becomes exactly 0: unit length would blow up the noise."""
    centred: Array = rows - mean
    if is_sparse_rows(rows):
        return centred
    xp = namespace(rows)
    return xp.where(differs_from_mean(rows, centred, mean), centred, xp.zeros_like(centred))


def differs_from_mean(rows: Array, centred: Array, mean: Array) -> Array:
    """(n, 1) whether what is left of rows without the mean is more than rounding."""
    xp = namespace(rows)
    noise = ROUNDING * xp.finfo(rows.dtype).eps
    size = xp.max(xp.abs(rows), axis=-1, keepdims=True) + xp.max(xp.abs(mean))
    left: Array = xp.max(xp.abs(centred), axis=-1, keepdims=True) > noise * size
    return left
