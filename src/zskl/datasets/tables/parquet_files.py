"""Parquet, read by row batches through pyarrow (extra `parquet`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from zskl.datasets.tables.feature_file import (
    Block,
    Columns,
    FeatureFile,
    Head,
    Wanted,
    as_float32,
    check_finite,
    choose,
    rows_per_block,
)
from zskl.parameters import listed

SUFFIXES = (".parquet", ".pq")


def look(path: Path) -> Head:
    """Read the names and types of the columns, and how many rows there are."""
    file = _opened(path)
    schema, rows = file.schema_arrow, file.metadata.num_rows
    return Head(list(schema.names), lambda wanted: _open(path, schema, rows, wanted))


def _open(path: Path, schema: Any, rows: int, wanted: Wanted) -> FeatureFile:
    columns = choose(path, schema.names, wanted.labels, wanted.columns)
    text = [name for name in columns.names if not is_numeric(schema.field(name).type)]
    if text:
        kinds = ", ".join(f"{name!r} holds {schema.field(name).type}" for name in text[:5])
        raise ValueError(
            f"{path}: column {kinds}, expected numbers; if it holds the labels, say so with labels= (--labels), if it "
            "names the rows, call it 'id', else drop it"
        )
    if not rows:
        raise ValueError(f"{path} has columns and no rows: expected a row per sample")
    return FeatureFile(path, len(columns.names), columns.names, lambda: _blocks(path, columns), columns.named_by)


def read(path: Path) -> dict[str, Any]:
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


def _blocks(path: Path, columns: Columns) -> Iterator[Block]:
    file = _opened(path)
    names = file.schema_arrow.names
    ids = None if columns.ids is None else names[columns.ids]
    labels = None if columns.labels is None else names[columns.labels]
    read = list(dict.fromkeys([*columns.names, *(name for name in (ids, labels) if name is not None)]))
    done = 0
    for batch in file.iter_batches(batch_size=rows_per_block(len(read)), columns=read):
        X = np.empty((batch.num_rows, len(columns.names)), dtype=np.float32)
        for k, name in enumerate(columns.names):
            X[:, k] = as_float32(batch.column(name).to_numpy(zero_copy_only=False))
        check_finite(path, X, done, columns.names, lambda row, k, of=batch: of.column(columns.names[k])[row].as_py())
        yield Block(X, _texts(path, batch, ids, done), _texts(path, batch, labels, done))
        done += batch.num_rows


def _texts(path: Path, batch: Any, name: str | None, first_row: int) -> list[str] | None:
    if name is None:
        return None
    values = batch.column(name).to_pylist()
    missing = [first_row + k for k, value in enumerate(values) if value is None or value == ""]
    if missing:
        raise ValueError(f"{path}, column {name!r} is empty in rows {listed(missing)} (counted from 0): fill them in")
    return [str(value) for value in values]


def _opened(path: Path) -> Any:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ValueError(
            f"{path} is a Parquet file, and reading those needs pyarrow: pip install 'zskl[parquet]', or save a CSV"
        ) from None
    try:
        return parquet.ParquetFile(path)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file that can be read ({error}): write it again") from None
