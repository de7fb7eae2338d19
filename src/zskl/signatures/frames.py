"""Data frames of any library that narwhals knows, such as pandas and polars: rows of numbers under named columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time, timedelta
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from zskl.arrays import is_torch

DATES = (
    "put what matters of a date into columns of numbers, such as the month or the days since a first day, and drop the "
    "date"
)


def opened(given: Any, where: str) -> nw.DataFrame[Any] | None:
    """The frame through narwhals; None for anything else. One that holds a plan in place of rows is refused."""
    if isinstance(given, np.ndarray | list | tuple) or is_torch(given):
        return None
    frame = nw.from_native(given, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise ValueError(
            f"{where} is a {type(given).__name__}, which holds no rows yet: expected a data frame; call its .collect() "
            "first"
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def in_order(X: Any, fitted: Sequence[str] | None) -> Any:
    """A frame with just the columns of `fit`, in their order; anything else as it is.

    scikit-learn refuses columns in another order. Those that are missing or new are left to it.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise ValueError(f"X holds dates ({X.dtype}): expected numbers; {DATES}")
    if isinstance(X, np.ndarray) and X.dtype == object and any(isinstance(one, date | np.datetime64) for one in X.flat):
        raise ValueError(f"X holds dates: expected numbers; {DATES}")
    frame = opened(X, "X")
    if frame is None or len(set(frame.columns)) < len(frame.columns):
        return X
    check_numbers(frame, "X")
    names = frame.columns if fitted is None else list(fitted)
    return X if frame.columns == names or set(frame.columns) != set(names) else frame.select(names).to_native()


def by_name(X: Any, fitted: Sequence[str] | None) -> Any:
    """A sparse pandas frame with the columns of `fit` in their order; anything else as it is."""
    if fitted is None or not hasattr(X, "columns") or set(X.columns) != set(fitted) or len(X.columns) != len(fitted):
        return X
    return X[list(fitted)]


def check_numbers(frame: nw.DataFrame[Any], where: str) -> None:
    """Refuse dates and words, by the names of their columns. A number may be written as text; it may be missing."""
    for column in frame.iter_columns():  # names need not be text
        name, kind = column.name, column.dtype
        if kind.is_numeric() or kind == nw.Boolean:
            continue
        if kind.is_temporal():
            raise ValueError(f"{where} holds dates in column {name!r}: expected numbers; {DATES}")
        for value in column.to_list():
            if isinstance(value, date | time | timedelta):
                raise ValueError(f"{where} holds dates in column {name!r}: expected numbers; {DATES}")
            if not _is_number(value):
                raise ValueError(
                    f"{where} holds {value!r} in column {name!r}: expected numbers; if it holds categories, put a "
                    "OneHotEncoder before the model, in a Pipeline, else drop it"
                )


def _is_number(value: Any) -> bool:
    try:
        float("nan" if value is None or value is pd.NA else value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
