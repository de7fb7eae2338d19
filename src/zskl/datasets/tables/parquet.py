"""Rows of a Parquet file as float32, in bounded memory however the file was written.

A row group lies in its file column by column. To read all columns side by side, pyarrow holds a page of each and its
dictionary: 1 GB for 512 columns, at worst. So a *slab* of rows is read a few columns after the other, each value goes
to its place at once, and blocks of whole rows are cut from the slab. That is also the quickest way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl._validation import SHOWN, list_values
from zskl.datasets.tables.features import (
    DATES,
    Block,
    Cells,
    Columns,
    FeatureFile,
    Head,
    Source,
    Wanted,
    advise,
    block_rows,
    check_finite,
    choose_columns,
    to_float32,
)

# Parquet rows ---------------------------------------------------------------------------------------------------------

SLAB_VALUES = 1 << 26  # held together: 256 MB
SIDE_BY_SIDE = 16  # columns read together
BUFFER = 1 << 16  # bytes of a column read together
APART = 16  # values between two columns, so that a row's values do not compete for one place of the cache


class ParquetRows:
    """The rows of a `ParquetFile`, which was opened without `pre_buffer`."""

    def __init__(self, path: Source, file: Any) -> None:
        self._path, self._file = path, file
        about = file.metadata
        self._ends = list(accumulate(about.row_group(k).num_rows for k in range(about.num_row_groups)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def blocks(self, features: Sequence[str], others: Sequence[str]) -> Iterator[tuple[NDArray[np.float32], Any]]:
        """Blocks X (k, d) of features, NaN where a value is missing, and a batch of the other columns, if any."""
        height, d = block_rows(len(features) + len(others)), len(features)
        room = np.empty((d, 0), np.float32)
        for start, stop in self._slabs(max(height, SLAB_VALUES // d)):
            if room.shape[1] < stop - start:
                room = np.empty((d, stop - start + APART), np.float32)
            for first in range(0, d, SIDE_BY_SIDE):
                for at, batch in self.batches(features[first : first + SIDE_BY_SIDE], start, stop):
                    here = at - start
                    _fill(room[first : first + SIDE_BY_SIDE, here : here + batch.num_rows], batch.columns)
            for at, end, beside in self._beside(others, start, stop, height):
                yield np.ascontiguousarray(room[:, at - start : end - start].T), beside

    def batches(
        self, names: Sequence[str], start: int, stop: int, height: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Batches of these columns of the rows from `start` to `stop`, each with the number of its first row."""
        firsts = [0, *self._ends]
        groups = [k for k, end in enumerate(self._ends) if end > start and firsts[k] < stop]
        at = firsts[groups[0]]
        for batch in self._read(names, groups, height or block_rows(len(names))):
            low, high = max(start, at), min(stop, at + batch.num_rows)
            if high > low:
                yield low, batch.slice(low - at, high - low).select(list(names))
            at += batch.num_rows
            if at >= stop:
                return

    def _read(self, names: Sequence[str], groups: list[int], height: int) -> Iterator[Any]:
        """Batches of these row groups. Without threads: to hand out small pieces takes longer than to read them."""
        from pyarrow import ArrowException

        try:
            yield from self._file.iter_batches(height, row_groups=groups, columns=list(names), use_threads=False)
        except (ArrowException, OSError) as error:
            said = " ".join(str(error).split())
            raise ValueError(
                f"{self._path}, column {list_values(names)} cannot be read ({said}): write it again"
            ) from None

    def _slabs(self, most: int) -> Iterator[tuple[int, int]]:
        """First row and end of each slab: whole row groups if they fit, so that none is read twice."""
        start = 0
        while start < len(self):
            stop = max((end for end in self._ends if start < end <= start + most), default=start + most)
            yield start, stop
            start = stop

    def _beside(self, names: Sequence[str], start: int, stop: int, height: int) -> Iterator[tuple[int, int, Any]]:
        """First row and end of each block, and its batch of these columns; None if there are none."""
        if names:
            yield from ((at, at + one.num_rows, one) for at, one in self.batches(names, start, stop, height))
        else:
            yield from ((at, min(at + height, stop), None) for at in range(start, stop, height))


def _fill(room: NDArray[np.float32], columns: Sequence[Any]) -> None:
    """Let the rows of `room` be these columns. Too large numbers become infinite, which the caller reports."""
    from pyarrow import types

    with np.errstate(over="ignore", invalid="ignore"):
        for place, column in zip(room, columns, strict=True):
            numbers = column.cast("int8") if types.is_boolean(column.type) else column  # NumPy has no missing truth
            place[:] = numbers.to_numpy(zero_copy_only=False)


# Parquet vectors ------------------------------------------------------------------------------------------------------
# Features as one column of vectors, as embedding pipelines write them: a list of d numbers in each row of Parquet.


def is_vector(kind: Any) -> bool:
    """Whether a column of that Arrow type holds lists of numbers."""
    from pyarrow import types

    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(lists and (types.is_integer(kind.value_type) or types.is_floating(kind.value_type)))


def find_vector_column(path: Source, schema: Any, columns: Columns) -> tuple[str | None, Columns]:
    """The column of vectors, if there is one; it has all features then, and other columns are left out."""
    vectors = [name for name in columns.names if is_vector(schema.field(name).type)]
    if not vectors:
        return None, columns
    if len(vectors) > 1:
        raise ValueError(
            f"{path} has several columns of vectors, {list_values(vectors)}: expected one, which has the features; drop the "
            "others"
        )
    others = tuple(name for name in columns.names if name not in vectors)
    return vectors[0], replace(columns, names=(vectors[0],), left_out=(*columns.left_out, *others))


def vector_width(path: Source, file: Any, name: str) -> int:
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


def read_vector_blocks(
    path: Source, rows: ParquetRows, name: str, others: Sequence[str], width: int, loose: bool = False
) -> Iterator[tuple[NDArray[np.floating[Any]], int, Any]]:
    """Blocks X (k, d), float32 and finite unless `loose`, how many rows come before, and a batch of all columns."""
    for done, batch in rows.batches([name, *others], 0, len(rows), block_rows(width)):
        column = batch.column(name)
        values = _vector_values(path, column, name, done, width)
        if loose:
            yield values.astype(np.float64), done, batch
            continue
        X = to_float32(values)
        check_finite(path, X, done, None, partial(_stored_component, column))
        yield X, done, batch


def _vector_values(path: Source, column: Any, name: str, done: int, width: int) -> NDArray[Any]:
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


def _stored_component(column: Any, row: int, at: int) -> Any:
    return column[row].as_py()[at]


# Parquet files --------------------------------------------------------------------------------------------------------
# Parquet, read by row batches through pyarrow (extra `parquet`).

SUFFIXES = (".parquet", ".pq")


def read_schema(path: Source) -> Head:
    """Read the names and types of the columns, and how many rows there are."""
    file = _open_parquet(path)
    return Head(list(file.schema_arrow.names), lambda wanted: _open_features(path, file, wanted))


def _open_features(path: Source, file: Any, wanted: Wanted) -> FeatureFile:
    schema = file.schema_arrow
    words = [field.name for field in schema if not is_numeric(field.type)]
    columns = choose_columns(path, schema.names, wanted, words)
    texts = [schema.names[at] for at in (columns.ids, columns.labels) if at is not None]
    nested = [name for name in texts if is_nested(schema.field(name).type)]
    if nested:
        raise ValueError(
            f"{path}: column {_column_kinds(schema, nested)}, expected one text or number per row; name another"
        )
    vector, columns = find_vector_column(path, schema, columns)
    dates = [name for name in columns.names if is_date(schema.field(name).type)]
    if dates:
        raise ValueError(f"{path}: column {_column_kinds(schema, dates)}, expected numbers; {DATES}")
    text = [name for name in columns.names if name in words and vector is None]
    if text and not wanted.loose:
        raise ValueError(f"{path}: column {_column_kinds(schema, text)}, expected numbers{advise('a word')}")
    width = len(columns.names) if vector is None else vector_width(path, file, vector)
    if not file.metadata.num_rows:
        raise ValueError(f"{path} has columns and no rows: expected a row per sample")
    return FeatureFile(
        path,
        width,
        columns.names if vector is None else None,
        (lambda: _row_blocks(path, columns)) if vector is None else (lambda: _vector_blocks(path, columns, width)),
        (lambda: _row_cells(path, columns)) if vector is None else (lambda: _vector_cells(path, columns, width)),
        columns.named_by,
        columns.left_out,
    )


def _column_kinds(schema: Any, names: list[str]) -> str:
    return ", ".join(f"{name!r} holds {schema.field(name).type}" for name in names[:SHOWN])


def read_columns(path: Source) -> dict[str, Any]:
    """A small table: column name → values, text as a list of strings and numbers as an array, NaN where missing."""
    table = _open_parquet(path).read()
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


def _row_blocks(path: Source, columns: Columns) -> Iterator[Block]:
    rows, ids, labels, others = _open_rows(path, columns)
    done = 0
    for X, batch in rows.blocks(columns.names, others):
        check_finite(path, X, done, columns.names, partial(_stored_value, rows, columns.names, done))
        yield Block(X, _read_texts(path, batch, ids, done), _read_texts(path, batch, labels, done))
        done += len(X)


def _open_rows(path: Source, columns: Columns) -> tuple[ParquetRows, str | None, str | None, list[str]]:
    """The rows; the columns that name them, and their classes; both of these, as far as there are any."""
    file = _open_parquet(path)
    names = file.schema_arrow.names
    ids, labels = (None if at is None else names[at] for at in (columns.ids, columns.labels))
    others = list(dict.fromkeys(name for name in (ids, labels) if name is not None))
    return ParquetRows(path, file), ids, labels, others


def _stored_value(rows: ParquetRows, names: Sequence[str], done: int, row: int, column: int) -> Any:
    """A value as the file has it."""
    _, batch = next(rows.batches([names[column]], done + row, done + row + 1))
    return batch.column(0)[0].as_py()


def _row_cells(path: Source, columns: Columns) -> Iterator[Cells]:
    rows, ids, labels, others = _open_rows(path, columns)
    read = list(dict.fromkeys([*columns.names, *others]))
    for done, batch in rows.batches(read, 0, len(rows)):
        found = [_read_column(batch.column(name)) for name in columns.names]
        where = range(done, done + batch.num_rows)
        yield Cells(found, where, _read_texts(path, batch, ids, done), _read_texts(path, batch, labels, done))


def _vector_blocks(path: Source, columns: Columns, width: int) -> Iterator[Block]:
    rows, ids, labels, others = _open_rows(path, columns)
    for X, done, batch in read_vector_blocks(path, rows, columns.names[0], others, width):
        yield Block(X, _read_texts(path, batch, ids, done), _read_texts(path, batch, labels, done))


def _vector_cells(path: Source, columns: Columns, width: int) -> Iterator[Cells]:
    rows, ids, labels, others = _open_rows(path, columns)
    for X, done, batch in read_vector_blocks(path, rows, columns.names[0], others, width, loose=True):
        where = range(done, done + len(X))
        yield Cells(list(X.T), where, _read_texts(path, batch, ids, done), _read_texts(path, batch, labels, done))


def _read_column(column: Any) -> list[str] | NDArray[np.float64]:
    if is_numeric(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _read_texts(path: Source, batch: Any, name: str | None, first_row: int) -> list[str] | None:
    if name is None:
        return None
    coded = batch.column(name).dictionary_encode()
    values = coded.dictionary.to_pylist()
    codes = coded.indices.to_pylist()
    empty = {None, *(code for code, value in enumerate(values) if value in (None, "") or value != value)}  # NaN
    missing = [first_row + k for k, code in enumerate(codes) if code in empty]
    if missing:
        raise ValueError(
            f"{path}, column {name!r} is empty in rows {list_values(missing)} (counted from 0): fill them in"
        )
    texts = [str(value) for value in values]
    return [texts[code] for code in codes]


def _open_parquet(path: Source) -> Any:
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
