"""Features as one column of vectors, as embedding pipelines write them: a list of d numbers in each row of Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.tables.feature_file import Columns, as_float32, check_finite, rows_per_block
from zskl.datasets.tables.parquet_rows import ParquetRows
from zskl.datasets.tables.source import Source
from zskl.parameters import listed


def is_vector(kind: Any) -> bool:
    """Whether a column of that Arrow type holds lists of numbers."""
    from pyarrow import types

    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(lists and (types.is_integer(kind.value_type) or types.is_floating(kind.value_type)))


def chosen(path: Source, schema: Any, columns: Columns) -> tuple[str | None, Columns]:
    """The column of vectors, if there is one; it has all features then, and other columns are left out."""
    vectors = [name for name in columns.names if is_vector(schema.field(name).type)]
    if not vectors:
        return None, columns
    if len(vectors) > 1:
        raise ValueError(
            f"{path} has several columns of vectors, {listed(vectors)}: expected one, which has the features; drop the "
            "others"
        )
    others = tuple(name for name in columns.names if name not in vectors)
    return vectors[0], replace(columns, names=(vectors[0],), left_out=(*columns.left_out, *others))


def width(path: Source, file: Any, name: str) -> int:
    """How many numbers each row has, as the head of the file says."""
    about = file.metadata
    leaves = [file.schema.column(k) for k in range(about.num_columns)]
    (at,) = (k for k, leaf in enumerate(leaves) if leaf.max_repetition_level and leaf.path.startswith(f"{name}."))
    values = sum(about.row_group(k).column(at).num_values for k in range(about.num_row_groups))
    if values % max(1, about.num_rows):
        raise ValueError(
            f"{path}: column {name!r} holds vectors of different lengths: expected as many numbers in each row"
        )
    return int(values // max(1, about.num_rows))


def blocks(
    path: Source, rows: ParquetRows, name: str, others: Sequence[str], width: int, loose: bool = False
) -> Iterator[tuple[NDArray[np.floating[Any]], int, Any]]:
    """Blocks X (k, d), float32 and finite unless `loose`, how many rows come before, and a batch of all columns."""
    for done, batch in rows.batches([name, *others], 0, len(rows), rows_per_block(width)):
        column = batch.column(name)
        values = _values(path, column, name, done, width)
        if loose:
            yield values.astype(np.float64), done, batch
            continue
        X = as_float32(values)
        check_finite(path, X, done, None, partial(_stored, column))
        yield X, done, batch


def _values(path: Source, column: Any, name: str, done: int, width: int) -> NDArray[Any]:
    """(k, d) the vectors of a batch, not copied if none of their numbers is missing."""
    from pyarrow import compute

    lengths = compute.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(lengths != width)
    if len(wrong):
        row = int(wrong[0])
        found = f"{lengths[row]} numbers" if column[row].is_valid else "nothing"
        raise ValueError(
            f"{path}, row {done + row} (counted from 0), column {name!r}: found {found}, expected {width}, which is "
            "the mean of all rows; repair or leave out the row"
        )
    values: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    return values


def _stored(column: Any, row: int, at: int) -> Any:
    return column[row].as_py()[at]
