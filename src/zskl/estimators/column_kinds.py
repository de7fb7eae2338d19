"""Columns of a data frame that are not numbers: dates and words are refused by name, with what to do about them."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from zskl.parameters import listed


def refuse_columns(X: Any) -> None:
    """Refuse dates, which would pass as numbers, and words, by the names of their columns."""
    if isinstance(X, np.ndarray):
        if X.dtype.kind in "mM":
            raise ValueError(f"X holds dates ({X.dtype}): expected numbers; {_DATES}")
        return
    table = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        return
    dates = [name for name, kind in table.schema.items() if kind.is_temporal()]
    if dates:
        raise ValueError(f"X holds dates in column {listed(dates)}: expected numbers; {_DATES}")
    for name, kind in table.schema.items():
        word = None if kind.is_numeric() or kind == nw.Boolean else _first_word(table[name].to_list())
        if word is not None:
            raise ValueError(
                f"X holds {word!r} in column {name!r}: expected numbers; if the column holds categories, put a "
                "OneHotEncoder before the model, in a Pipeline, else drop it"
            )


_DATES = (
    "put what matters of a date into columns of numbers, such as the month or the days since a first day, and drop the "
    "date"
)


def _first_word(values: list[Any]) -> str | None:
    for value in values:
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return value
    return None
