"""Parquet, read by row batches through pyarrow (extra `parquet`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.tables.cells import DATES, advice
from zskl.datasets.tables.feature_file import (
    Block,
    Cells,
    Columns,
    FeatureFile,
    Head,
    Wanted,
    as_float32,
    check_finite,
    choose,
    rows_per_block,
)
from zskl.datasets.tables.source import Source
from zskl.parameters import SHOWN, listed

SUFFIXES = (".parquet", ".pq")


def look(path: Source) -> Head:
    """Read the names and types of the columns, and how many rows there are."""
    file = _opened(path)
    schema, rows = file.schema_arrow, file.metadata.num_rows
    return Head(list(schema.names), lambda wanted: _open(path, schema, rows, wanted))


def _open(path: Source, schema: Any, rows: int, wanted: Wanted) -> FeatureFile:
    words = [name for name in schema.names if not is_numeric(schema.field(name).type)]
    columns = choose(path, schema.names, wanted, words)
    dates = [name for name in columns.names if is_date(schema.field(name).type)]
    if dates:
        raise ValueError(f"{path}: column {_kinds(schema, dates)}, expected numbers; {DATES}")
    text = [name for name in columns.names if name in words]
    if text and not wanted.loose:
        raise ValueError(f"{path}: column {_kinds(schema, text)}, expected numbers{advice('a word')}")
    if not rows:
        raise ValueError(f"{path} has columns and no rows: expected a row per sample")
    return FeatureFile(
        path,
        len(columns.names),
        columns.names,
        lambda: _blocks(path, columns),
        lambda: _cells(path, columns),
        columns.named_by,
        columns.left_out,
    )


def _kinds(schema: Any, names: list[str]) -> str:
    return ", ".join(f"{name!r} holds {schema.field(name).type}" for name in names[:SHOWN])


def read(path: Source) -> dict[str, Any]:
    """A small table: column name → values, text as a list of strings and numbers as an array, NaN where missing."""
    table = _opened(path).read()
    return {
        name: np.asarray(column.to_numpy(), dtype=np.float64)
        if is_numeric(column.type) and not is_integer(column.type)
        else ["" if value is None else str(value) for value in column.to_pylist()]
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def is_numeric(kind: Any) -> bool:
    """Whether a column of that Arrow type holds numbers, or truth values."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def is_integer(kind: Any) -> bool:
    """Whether a column of that Arrow type holds whole numbers, which may be labels."""
    from pyarrow import types

    return bool(types.is_integer(kind))


def is_date(kind: Any) -> bool:
    """Whether a column of that Arrow type holds dates, times or durations."""
    from pyarrow import types

    return bool(types.is_temporal(kind))


def _batches(path: Source, columns: Columns) -> Iterator[tuple[Any, int, list[str] | None, list[str] | None]]:
    """(batch of rows, how many were before it, their names, their labels)."""
    file = _opened(path)
    names = file.schema_arrow.names
    ids = None if columns.ids is None else names[columns.ids]
    labels = None if columns.labels is None else names[columns.labels]
    read = list(dict.fromkeys([*columns.names, *(name for name in (ids, labels) if name is not None)]))
    done = 0
    for batch in file.iter_batches(batch_size=rows_per_block(len(read)), columns=read):
        yield batch, done, _texts(path, batch, ids, done), _texts(path, batch, labels, done)
        done += batch.num_rows


def _blocks(path: Source, columns: Columns) -> Iterator[Block]:
    for batch, done, ids, labels in _batches(path, columns):
        X = np.empty((batch.num_rows, len(columns.names)), dtype=np.float32)
        for k, name in enumerate(columns.names):
            X[:, k] = as_float32(batch.column(name).to_numpy(zero_copy_only=False))
        check_finite(path, X, done, columns.names, partial(_stored, batch, columns.names))
        yield Block(X, ids, labels)


def _stored(batch: Any, names: Sequence[str], row: int, column: int) -> Any:
    return batch.column(names[column])[row].as_py()


def _cells(path: Source, columns: Columns) -> Iterator[Cells]:
    for batch, done, ids, labels in _batches(path, columns):
        found = [_column(batch.column(name)) for name in columns.names]
        yield Cells(found, range(done, done + batch.num_rows), ids, labels)


def _column(column: Any) -> list[str] | NDArray[np.float64]:
    if is_numeric(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _texts(path: Source, batch: Any, name: str | None, first_row: int) -> list[str] | None:
    if name is None:
        return None
    values = batch.column(name).to_pylist()
    missing = [first_row + k for k, value in enumerate(values) if value is None or value == ""]
    if missing:
        raise ValueError(f"{path}, column {name!r} is empty in rows {listed(missing)} (counted from 0): fill them in")
    return [str(value) for value in values]


def _opened(path: Source) -> Any:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ValueError(
            f"{path} is a Parquet file, and reading those needs pyarrow: pip install 'zskl[parquet]', or save a CSV"
        ) from None
    try:
        return parquet.ParquetFile(path.path)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file that can be read ({error}): write it again") from None
