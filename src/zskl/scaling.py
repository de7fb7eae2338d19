"""Centring and unit length, fitted on training rows only.

A scaling is named by its steps in order, joined by dashes:

    center-l2        subtracts the mean of the training rows, then gives each row unit length
    sqrt-center-l2   first takes sign(x)·√|x|
    l2-center-l2     first gives each row unit length
    standardize-l2   also divides each column by its standard deviation, for columns in different units
    unit-center-l2   first divides each column by its size: like standardize-l2, but what is seldom there stays small
    log-unit-center-l2   before, takes logarithms of columns that range over several orders of magnitude
    none             does nothing
    auto             one of these, by a look at some training rows: see `choose_scaling`
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

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

STEPS = ("sqrt", "log", "unit", "l2", "center", "standardize")
LOOKED_UP = ("log", "unit")  # those that `choose_scaling` learns from some rows; always in front
FITTED = ("center", "standardize")  # the steps that learn from training rows; a scaling has at most one
BLOCK_VALUES = 1 << 16  # scaled together on a CPU: what stays in its cache
GPU_VALUES = 1 << 20  # the same on a GPU, where many small steps would wait for each other
ROUNDING = 4  # units in the last place
SCALINGS = (
    "none",
    "center-l2",
    "sqrt-center-l2",
    "l2-center-l2",
    "standardize-l2",
    "unit-center-l2",
    "log-unit-center-l2",
)
AUTO = "auto"
COLUMNS = 64  # looked at together
ROWS, VALUES = 1024, 1 << 21  # that decide: at most so many rows with so many numbers
UNEVEN = 300.0  # the largest column over small ones, beyond which columns are in different units
HEAVY = 300.0  # the large entries of a column over its small ones, beyond which it needs logarithms
FEW = 0.1  # of the columns, or of the entries of one, on each side: these may be as they like
NEGATIVE = 0.01  # of all that entries sum up to, without signs: less is noise in features that are not negative
LEAST = 20  # rows, below which a wider difference may be chance
NOISE = 1e-13  # of the largest column: what varies less is rounding, not a unit


def parse_scaling(scaling: str, parameter: str) -> tuple[str, ...]:
    steps = tuple(str(scaling).split("-")) if scaling != "none" else ()
    known = isinstance(scaling, str) and all(step in STEPS for step in steps)
    front = tuple(step for step in LOOKED_UP if step in steps)
    misplaced = sum(step in LOOKED_UP for step in steps) != len(front) or steps[: len(front)] != front
    if not known or misplaced or sum(step in FITTED for step in steps) > 1:
        raise ValueError(
            f"{parameter} is {scaling!r}: expected one of {', '.join(SCALINGS)}, {AUTO}, or other steps of "
            f"{', '.join(STEPS)} joined by dashes with at most one 'center' or 'standardize', 'log' and 'unit' in front"
            f"{suggest(scaling, (*SCALINGS, AUTO))}"
        )
    return steps


@dataclass(frozen=True)
class Scaling:
    """Steps, and `mean` (d,) and standard `deviation` (d,) of the training rows, in float64, where one needs them.
    `units` (d,) are what entries are divided by before a logarithm, 0 for a column that stays as it is; `sizes` (d,)
    those of columns. `reason` says why "auto" chose these."""

    steps: tuple[str, ...]
    mean: NumPyArray | None = None
    deviation: NumPyArray | None = None
    units: NumPyArray | None = None
    sizes: NumPyArray | None = None
    reason: str = ""

    @property
    def name(self) -> str:
        return "-".join(self.steps) or "none"

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
            elif step == "log":
                assert self.units is not None
                rows = take_logarithms(rows, self.units)
            elif step == "unit":
                assert self.sizes is not None
                rows = rows / convert_like(self.sizes, rows)
            else:
                rows = _apply_step(step, rows)
            if step == "standardize":
                assert self.deviation is not None
                rows = rows / convert_like(self.deviation, rows)
        return rows


def fit_scaling(scaling: str, rows: Array, parameter: str = "scaling", weights: NumPyArray | None = None) -> Scaling:
    """The scaling of that name, fitted to training `rows` (n, d) that count as often as their `weights` (n,) say."""
    chosen = choose_scaling(scaling, rows, parameter)
    if weights is not None and not is_sparse_rows(rows):
        height = max(1, BLOCK_VALUES // max(1, rows.shape[-1]))
        starts = range(0, rows.shape[0], height)
        return fit_scaling_in_blocks(chosen, lambda: (rows[k : k + height] for k in starts), weights)
    before, fitted = _split_steps(chosen)
    if not fitted:
        return chosen
    rows = before.apply(rows)
    xp = namespace(rows)
    mean: Array = rows.mean(weights=weights) if is_sparse_rows(rows) else xp.mean(rows, axis=0, dtype=xp.float64)
    deviation = _to_host(_standard_deviation(rows, mean, weights)) if fitted == "standardize" else None
    return replace(chosen, mean=_to_host(mean), deviation=deviation)


def fit_scaling_in_blocks(
    chosen: Scaling, blocks: Callable[[], Iterator[Array]], weights: NumPyArray | None = None
) -> Scaling:
    """What `choose_scaling` gave, fitted: one pass over blocks of rows for the mean, one for the deviation, in
    float64."""
    before, fitted = _split_steps(chosen)
    if not fitted:
        return chosen

    def weighed(values: Array, start: int) -> Array:
        if weights is None:
            return values
        return values * convert_like(weights[start : start + values.shape[0], None], values, "float64")

    total, count = None, 0
    for rows in map(before.apply, blocks()):
        xp = namespace(rows)
        part = xp.sum(weighed(rows, count), axis=0, dtype=xp.float64)
        total, count = part if total is None else total + part, count + rows.shape[0]
    assert total is not None  # there are training rows
    mass = count if weights is None else float(weights.sum())
    mean = total / mass
    if fitted != "standardize":
        return replace(chosen, mean=_to_host(mean))
    squares, count = xp.zeros_like(mean), 0
    for rows in map(before.apply, blocks()):
        squares = squares + xp.sum(weighed((rows - mean) ** 2, count), axis=0)
        count += rows.shape[0]
    deviation = _deviation_from_variance(squares / mass, mean, rows)
    return replace(chosen, mean=_to_host(mean), deviation=_to_host(deviation))


def _split_steps(scaling: Scaling) -> tuple[Scaling, str | None]:
    """The steps before the one that learns means, and that one."""
    for place, step in enumerate(scaling.steps):
        if step in FITTED:
            return replace(scaling, steps=scaling.steps[:place]), step
    return scaling, None


# What "auto" stands for
#
# The size of a column is the root mean square of its distances from its median, where they are not 0: so a pixel that
# is seldom on, or a count that is mostly 0, has the size of the others. Columns are in different units if the largest
# size is more than UNEVEN times that of small columns (the lowest tenth). A column needs logarithms if its large
# entries are more than HEAVY times its small ones (highest and lowest tenth, without signs, and without
# those that are the median).


def choose_scaling(scaling: str, rows: Array, parameter: str = "scaling", alone: bool = False) -> Scaling:
    """The steps that a name stands for, and what is learned from some of the training rows (n, d); no means yet.

    "auto" is unit-center-l2 where columns are in different units, log-unit-center-l2 if some of them range over orders
    of magnitude; else sqrt-l2 for features without negative values, l2 for others, and center-l2 for signatures. All
    rows decide up to `ROWS`, or evenly spaced ones. `alone`, only signs count: for rows that come in pieces.
    """
    steps: tuple[str, ...] = ()
    reason = ""
    if scaling != AUTO:
        steps = parse_scaling(scaling, parameter)
        if not set(steps) & set(LOOKED_UP):
            return Scaling(steps)
    if is_sparse_rows(rows):
        if steps:
            raise ValueError(f"{parameter} is {scaling!r} and rows are sparse: expected dense ones; use 'sqrt-l2'")
        return Scaling(_choose_by_signs(to_numpy(rows.values.data), parameter))
    some = _take_some(rows)
    units = np.zeros(some.shape[1]) if steps and "log" not in steps else _by_columns(_log_units, some)
    if not steps:
        reason = "" if alone else _find_uneven_columns(some, units)
        if not reason:
            return Scaling(_choose_by_signs(some, parameter))
        steps = (("log",) if units.any() else ()) + ("unit", "center", "l2")
    sizes = _fill_sizes(column_sizes(some, units), some) if "unit" in steps else None
    return Scaling(steps, units=units if "log" in steps else None, sizes=sizes, reason=reason)


def _choose_by_signs(values: NumPyArray, parameter: str) -> tuple[str, ...]:
    if parameter.startswith("signature"):
        return "center", "l2"
    total, size = (float(np.sum(one, dtype=np.float64)) for one in (values, np.abs(values)))
    return ("l2",) if size - total > 2 * NEGATIVE * size else ("sqrt", "l2")


def _find_uneven_columns(rows: NumPyArray, units: NumPyArray) -> str:
    """Why columns of these rows (n, d) are to be made alike; empty if there is no reason."""
    sizes = column_sizes(rows, np.zeros(rows.shape[1]))
    sizes = sizes[sizes > 0]
    spread = float(sizes.max() / np.exp(np.quantile(np.log(sizes), FEW))) if len(sizes) > 1 else 1.0
    if spread > UNEVEN * max(1.0, LEAST / max(len(rows), 1)) ** 2:  # few rows must differ more
        shown = f"{spread:.0f}" if spread < 1e4 else f"{spread:.0e}".replace("e+0", "e").replace("e+", "e")
        return f"columns differ in spread by a factor of {shown}"
    many = len(rows) >= LEAST and np.count_nonzero(units) > FEW * rows.shape[1]
    return "columns range over orders of magnitude" if many else ""


def _take_some(rows: Array) -> NumPyArray:
    """At most so many rows as decide, evenly spaced, as float32 or float64."""
    n, d = rows.shape
    most = max(2, min(ROWS, VALUES // max(1, d)))
    if n > most:
        places = np.linspace(0, n - 1, most).round().astype(np.int64)
        rows = rows[convert_like(places, rows, "int64") if is_torch(rows) else places]
    found = to_numpy(to_float_type(rows))
    finite = np.isfinite(found).all(axis=1)  # whoever reads all rows refuses the others
    return found if finite.all() else found[finite]


def _by_columns(function: Callable[..., NumPyArray], rows: NumPyArray, *values: NumPyArray) -> NumPyArray:
    """(d,) a function of rows (n, d) in float64, and of values (d,), some columns at a time, which saves memory. A
    column that is constant up to rounding is 0."""
    found = np.zeros(rows.shape[1])
    for start in range(0, rows.shape[1] if len(rows) else 0, COLUMNS):
        part = slice(start, start + COLUMNS)
        some = rows[:, part].astype(np.float64)
        noise = ROUNDING * np.finfo(rows.dtype).eps * np.abs(some).max(axis=0)
        some[:, np.ptp(some, axis=0) <= noise] = 0.0
        found[part] = function(some, *(one[part] for one in values))
    return found


def column_sizes(rows: NumPyArray, units: NumPyArray) -> NumPyArray:
    """(d,) of rows (n, d) after logarithms; 0 for a column that is constant, up to rounding next to the others."""
    sizes = _by_columns(_sizes, rows, units)
    return np.where(sizes > NOISE * sizes.max(initial=0.0), sizes, 0.0)


def _sizes(rows: NumPyArray, units: NumPyArray) -> NumPyArray:
    rows = to_numpy(take_logarithms(rows, units)) if units.any() else rows
    apart = np.abs(rows - np.median(rows, axis=0))
    largest = apart.max(axis=0)
    # Over the largest, so that no square leaves the range.
    squares = ((apart / np.where(largest > 0, largest, 1.0)) ** 2).sum(axis=0)
    return np.asarray(largest * np.sqrt(squares / np.maximum(np.count_nonzero(apart, axis=0), 1)))


def _fill_sizes(sizes: NumPyArray, rows: NumPyArray) -> NumPyArray:
    """Sizes (d,) to divide by: those of columns without one keep what only rounding makes vary small."""
    large = np.maximum(np.maximum(sizes.max(initial=0.0), np.abs(rows).max(axis=0, initial=0.0)), 1.0)
    return np.where(sizes > 0, sizes, large).astype(np.float64)


def _log_units(rows: NumPyArray) -> NumPyArray:
    """(d,) the small entries of columns of rows (n, d) that range over orders of magnitude, 0 for other columns."""
    n, d = rows.shape
    # What most rows have, such as 0 or 1, says nothing about how far the others range.
    values = np.sort(np.where(rows == np.median(rows, axis=0), 0.0, np.abs(rows)), axis=0)
    active = np.count_nonzero(values, axis=0)
    cut, columns = (FEW * active).astype(np.int64), np.arange(d)
    low, high = values[np.minimum(n - active + cut, n - 1), columns], values[n - 1 - cut, columns]
    return np.where(high > HEAVY * low, low, 0.0)


def take_logarithms(rows: Array, units: NumPyArray) -> Array:
    """sign(x)·log(1 + |x|/u) in columns with a unit u above 0; others stay."""
    if is_sparse_rows(rows):
        return rows.map_values(lambda values, columns: take_logarithms(values, units[columns]))
    xp = namespace(rows)
    u = convert_like(np.where(units > 0, units, 1.0), rows)
    logarithms = xp.sign(rows) * xp.log1p(xp.abs(rows) / u)
    return xp.where(convert_like((units > 0).astype(np.float64), rows) > 0, logarithms, rows)


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
    """The standard deviation of each column; for one that is constant up to rounding something large."""
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
    varies = (deviation > noise) & (deviation > NOISE * xp.max(deviation))
    # What only rounding makes vary must stay small beside the others.
    small = xp.maximum(xp.ones_like(deviation), xp.maximum(xp.abs(mean), xp.max(deviation)))
    return xp.where(varies, deviation, small)


def _apply_step(step: str, rows: Array) -> Array:
    if is_sparse_rows(rows):
        return rows.take_square_roots() if step == "sqrt" else rows.to_unit_length()
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
    return xp.max(xp.abs(centred), axis=-1, keepdims=True) > noise * size
