"""Data frames as features: columns are matched by name, and an error names the column that cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from zskl.arrays import is_torch


def matched(X: Any, fitted: Sequence[str] | None) -> Any:
    """A data frame of numbers with the columns of `fit` in their order, if it has just these. Other input stays as it is.

    scikit-learn refuses columns in another order. Columns that are missing or new are left to it.
    """
    if isinstance(X, np.ndarray | list | tuple) or is_torch(X):
        return X
    if hasattr(X, "collect"):  # a plan for rows, as polars has it
        raise ValueError(f"X is a {type(X).__name__}, which holds no rows yet: expected rows; call its .collect() first")
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or len(set(frame.columns)) < len(frame.columns):
        return X
    check_numbers(frame, "X")
    names = None if fitted is None else list(fitted)
    if names is None or frame.columns == names or set(frame.columns) != set(names):
        return X
    return frame.select(names).to_native()


def check_numbers(frame: nw.DataFrame[Any], where: str) -> None:
    """Refuse dates and words, by the names of their columns. A number may be written as text."""
    for name, kind in frame.schema.items():
        if kind.is_numeric() or kind == nw.Boolean:
            continue
        if kind.is_temporal():
            raise ValueError(
                f"{where} holds dates in column {name!r}: expected numbers; turn them into numbers first, such as days "
                "since a day that means something, or drop the column"
            )
        for value in frame[name].to_list():
            if not _is_number(value):
                raise ValueError(
                    f"{where} holds {value!r} in column {name!r}: expected numbers; encode the column first, as "
                    "scikit-learn's OneHotEncoder does, or drop it"
                )


def _is_number(value: Any) -> bool:
    try:
        float(value if value is not None else "nan")
    except (TypeError, ValueError):
        return False
    return True
