"""Parquet, read by row batches through pyarrow (extra `parquet`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.datasets.tables import parquet_vectors
from zskl.datasets.tables.cells import DATES, advice
from zskl.datasets.tables.feature_file import (
    Block,
    Cells,
    Columns,
    FeatureFile,
    Head,
    Wanted,
    check_finite,
    choose,
)
from zskl.datasets.tables.parquet_rows import BUFFER, ParquetRows
from zskl.datasets.tables.source import Source
from zskl.parameters import SHOWN, listed

SUFFIXES = (".parquet", ".pq")


def look(path: Source) -> Head:
    """Read the names and types of the columns, and how many rows there are."""
    file = _opened(path)
    return Head(list(file.schema_arrow.names), lambda wanted: _open(path, file, wanted))


def _open(path: Source, file: Any, wanted: Wanted) -> FeatureFile:
    schema = file.schema_arrow
    words = [field.name for field in schema if not is_numeric(field.type)]
    columns = choose(path, schema.names, wanted, words)
    texts = [schema.names[at] for at in (columns.ids, columns.labels) if at is not None]
    nested = [name for name in texts if is_nested(schema.field(name).type)]
    if nested:
        raise ValueError(f"{path}: column {_kinds(schema, nested)}, expected one text or number per row; name another")
    vector, columns = parquet_vectors.chosen(path, schema, columns)
    dates = [name for name in columns.names if is_date(schema.field(name).type)]
    if dates:
        raise ValueError(f"{path}: column {_kinds(schema, dates)}, expected numbers; {DATES}")
    text = [name for name in columns.names if name in words and vector is None]
    if text and not wanted.loose:
        raise ValueError(f"{path}: column {_kinds(schema, text)}, expected numbers{advice('a word')}")
    width = len(columns.names) if vector is None else parquet_vectors.width(path, file, vector)
    if not file.metadata.num_rows:
        raise ValueError(f"{path} has columns and no rows: expected a row per sample")
    return FeatureFile(
        path,
        width,
        columns.names if vector is None else None,
        (lambda: _blocks(path, columns)) if vector is None else (lambda: _vectors(path, columns, width)),
        (lambda: _cells(path, columns)) if vector is None else (lambda: _vector_cells(path, columns, width)),
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


def is_nested(kind: Any) -> bool:
    """Whether a column of that Arrow type holds lists, or other things made of several values."""
    from pyarrow import types

    return bool(types.is_nested(kind))


def is_date(kind: Any) -> bool:
    """Whether a column of that Arrow type holds dates, times or durations."""
    from pyarrow import types

    return bool(types.is_temporal(kind))


def _blocks(path: Source, columns: Columns) -> Iterator[Block]:
    rows, ids, labels, others = _opened_rows(path, columns)
    done = 0
    for X, batch in rows.blocks(columns.names, others):
        check_finite(path, X, done, columns.names, partial(_stored, rows, columns.names, done))
        yield Block(X, _texts(path, batch, ids, done), _texts(path, batch, labels, done))
        done += len(X)


def _opened_rows(path: Source, columns: Columns) -> tuple[ParquetRows, str | None, str | None, list[str]]:
    """The rows; the columns that name them, and their classes; both of these, as far as there are any."""
    file = _opened(path)
    names = file.schema_arrow.names
    ids, labels = (None if at is None else names[at] for at in (columns.ids, columns.labels))
    others = list(dict.fromkeys(name for name in (ids, labels) if name is not None))
    return ParquetRows(path, file), ids, labels, others


def _stored(rows: ParquetRows, names: Sequence[str], done: int, row: int, column: int) -> Any:
    """A value as the file has it."""
    _, batch = next(rows.batches([names[column]], done + row, done + row + 1))
    return batch.column(0)[0].as_py()


def _cells(path: Source, columns: Columns) -> Iterator[Cells]:
    rows, ids, labels, others = _opened_rows(path, columns)
    read = list(dict.fromkeys([*columns.names, *others]))
    for done, batch in rows.batches(read, 0, len(rows)):
        found = [_column(batch.column(name)) for name in columns.names]
        where = range(done, done + batch.num_rows)
        yield Cells(found, where, _texts(path, batch, ids, done), _texts(path, batch, labels, done))


def _vectors(path: Source, columns: Columns, width: int) -> Iterator[Block]:
    rows, ids, labels, others = _opened_rows(path, columns)
    for X, done, batch in parquet_vectors.blocks(path, rows, columns.names[0], others, width):
        yield Block(X, _texts(path, batch, ids, done), _texts(path, batch, labels, done))


def _vector_cells(path: Source, columns: Columns, width: int) -> Iterator[Cells]:
    rows, ids, labels, others = _opened_rows(path, columns)
    for X, done, batch in parquet_vectors.blocks(path, rows, columns.names[0], others, width, loose=True):
        where = range(done, done + len(X))
        yield Cells(list(X.T), where, _texts(path, batch, ids, done), _texts(path, batch, labels, done))


def _column(column: Any) -> list[str] | NDArray[np.float64]:
    if is_numeric(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _texts(path: Source, batch: Any, name: str | None, first_row: int) -> list[str] | None:
    if name is None:
        return None
    coded = batch.column(name).dictionary_encode()
    values = coded.dictionary.to_pylist()
    codes = coded.indices.to_pylist()
    empty = {None, *(code for code, value in enumerate(values) if value in (None, "") or value != value)}  # NaN
    missing = [first_row + k for k, code in enumerate(codes) if code in empty]
    if missing:
        raise ValueError(f"{path}, column {name!r} is empty in rows {listed(missing)} (counted from 0): fill them in")
    texts = [str(value) for value in values]
    return [texts[code] for code in codes]


def _opened(path: Source) -> Any:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ValueError(
            f"{path} is a Parquet file, and reading those needs pyarrow: pip install 'zskl[parquet]', or save a CSV"
        ) from None
    try:
        return parquet.ParquetFile(path.path, buffer_size=BUFFER, pre_buffer=False)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file that can be read ({error}): write it again") from None
