"""What every kind of features file becomes: rows block by block, so that no file need fit in memory twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.parameters import did_you_mean
from zskl.signatures import listed

ID_COLUMNS = ("id", "__index_level_0__")  # names a row; so does a first column without a name, as pandas and R write it
BLOCK_VALUES = 1 << 19  # features read together: 4 MB as float64


@dataclass(frozen=True)
class Block:
    """Some rows: X (k, d) float32, all finite; the name and the label of each row where the file gives them."""

    X: NDArray[np.float32]
    ids: list[str] | None = None
    labels: list[str] | None = None


@dataclass(frozen=True)
class Source:
    """An opened features file: `names` of its d = `width` feature columns, if it has any, and its blocks in order."""

    path: Path
    width: int
    names: tuple[str, ...] | None
    blocks: Callable[[], Iterator[Block]]


@dataclass(frozen=True)
class Columns:
    """Positions of the features in a table, of the row names and of the labels, and the names of the features."""

    features: tuple[int, ...]
    names: tuple[str, ...]
    ids: int | None
    labels: int | None


def choose(path: Path, header: Sequence[str], labels: str | None, wanted: Sequence[str] | None) -> Columns:
    """Which columns are what: `wanted` are the features to take, in that order; None takes all that are neither."""
    twice = sorted({name for name in header if list(header).count(name) > 1}) if len(set(header)) < len(header) else []
    if twice:
        raise ValueError(
            f"{path} has several columns named {listed(twice)}: rename or drop them; a CSV file starts with a line "
            "of column names"
        )
    at = {name: position for position, name in enumerate(header)}
    if labels is not None and labels not in at:
        raise ValueError(f"{path} has no column {labels!r}{did_you_mean(labels, at)}: it has {listed(header)}")
    ids = next((k for k, name in enumerate(header) if is_id(k, name) and name != labels), None)
    label_at = None if labels is None else at[labels]
    if wanted is None:
        names = [name for k, name in enumerate(header) if k not in (ids, label_at)]
    else:
        names = list(wanted)
        missing = [name for name in names if name not in at]
        if missing:
            raise ValueError(
                f"{path} lacks the feature column(s) {listed(missing)} that the model was fitted with; it has "
                f"{listed(header)}: add them, or fit on the columns there are"
            )
    if not names:
        raise ValueError(f"{path} has no feature column: its columns are {listed(header)}")
    return Columns(tuple(at[name] for name in names), tuple(names), ids, label_at)


def is_id(position: int, name: str) -> bool:
    """Whether a column names the rows."""
    return name.lower() in ID_COLUMNS or (position == 0 and name == "")


def as_float32(values: NDArray[Any]) -> NDArray[np.float32]:
    """The same numbers as float32; what is too large becomes infinite, for the caller to report."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(values, dtype=np.float32)


def check_finite(path: Path, X: NDArray[np.float32], first_row: int, names: Sequence[str] | None) -> None:
    """Refuse missing and infinite values by row number and column, where the file has no lines to name."""
    if np.isfinite(X).all():
        return
    row, column = (int(k) for k in np.argwhere(~np.isfinite(X))[0])
    where = repr(names[column]) if names is not None else str(column)
    raise ValueError(
        f"{path}, row {first_row + row} (counted from 0), column {where}: found {X[row, column]}, expected a finite "
        "number within float32: repair or leave out the row"
    )


def rows_per_block(width: int) -> int:
    """How many rows of that many values are read together."""
    return max(1, BLOCK_VALUES // max(1, width))
