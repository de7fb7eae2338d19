"""Parquet, read by row batches through pyarrow (extra `parquet`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zskl.datasets.tables.source import Block, Columns, Source, as_float32, check_finite, choose, rows_per_block
from zskl.parameters import listed

SUFFIXES = (".parquet", ".pq")


def open_source(path: Path, labels: str | None, wanted: Sequence[str] | None) -> Source:
    """The features of a Parquet file: its columns of numbers."""
    file = _opened(path)
    columns = choose(path, file.schema_arrow.names, labels, wanted)
    text = [name for name in columns.names if not is_numeric(file.schema_arrow.field(name).type)]
    if text:
        kinds = ", ".join(f"{name!r} holds {file.schema_arrow.field(name).type}" for name in text[:5])
        raise ValueError(
            f"{path}: column {kinds}, expected numbers; if it holds the labels, name it as such, if it names the rows, "
            "call it 'id', else drop it"
        )
    if not file.metadata.num_rows:
        raise ValueError(f"{path} has columns and no rows: expected a row per sample")
    return Source(path, len(columns.names), columns.names, lambda: _blocks(path, columns), columns.named_by)


def fields(path: Path) -> list[str]:
    """The names of the columns."""
    names: list[str] = _opened(path).schema_arrow.names
    return names


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
        check_finite(path, X, done, columns.names)
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
        raise ValueError(f"{path} is not a Parquet file that can be read ({error}): write it anew") from None
