"""The numbers of signatures: read from what a caller gives, dense or sparse, and checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import to_numpy
from zskl.parameters import plain
from zskl.sparse_rows import SparseRows, are_sparse, is_sparse


def numeric(values: Any, where: str) -> NDArray[np.float64]:
    """Dense values in float64."""
    try:
        return to_numpy(values).astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{where} is not made of numbers in rows of equal length: {str(values)[:60]}") from None


def matrix(values: Any, where: str) -> Any:
    """At least 2-D, in float64; sparse if the values are."""
    return SparseRows.of(values).astype(np.float64) if is_sparse(values) else np.atleast_2d(numeric(values, where))


def check(labels: NDArray[np.generic], rows: Any, names: tuple[str, ...] | None) -> None:
    """Refuse signatures (rows, p) that are empty or not finite; `names` are those of the columns."""
    if rows.size == 0:
        raise ValueError(f"signatures is empty (shape {rows.shape}): expected at least one class and one attribute")
    bad = rows.not_finite() if are_sparse(rows) else np.argwhere(~np.isfinite(rows))
    if len(bad):
        row, column = bad[0]
        name = repr(names[column]) if names else str(column)
        value = "NaN" if np.isnan(rows[row, column]) else "infinity"
        raise ValueError(
            f"signatures contains {value} at class {plain(labels[row])!r}, attribute {name} "
            f"({len(bad)} such value(s) in all): fill in or drop them"
        )
