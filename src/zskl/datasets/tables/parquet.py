"""Features in Parquet, as float32 and in bounded memory however the file was written (extra `parquet`).

A row group lies in its file column by column. To read all columns side by side, pyarrow holds a page of each and its
dictionary: 1 GB for 512 columns, at worst. So a *slab* of rows is read a few columns after the other, each value goes
to its place at once, and blocks of whole rows are cut from the slab. That is also the quickest way.

Features may also be one column of vectors, as embedding pipelines write them: a list of d numbers in each row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl._validation import SHOWN, list_values
from zskl.datasets.tables.features import (
    Block,
    Cells,
    Columns,
    FeatureFile,
    Head,
    Wanted,
    block_rows,
    check_finite_features,
    choose_feature_columns,
    to_float32,
)
from zskl.datasets.tables.source import Source
from zskl.signatures.cells import DATES, advise_on_cell

SUFFIXES = (".parquet", ".pq")
SLAB_VALUES = 1 << 26  # held together: 256 MB
SIDE_BY_SIDE = 16  # columns read together
BUFFER = 1 << 16  # bytes of a column read together
APART = 16  # values between two columns, so that a row's values do not compete for one place of the cache


def read_parquet_schema(path: Source) -> Head:
    file = _open_parquet(path)
    return Head(list(file.schema_arrow.names), lambda wanted: _open_parquet_features(path, file, wanted))


def read_parquet_columns(path: Source) -> dict[str, Any]:
    """A small table: column name → values, text as a list of strings and numbers as an array, NaN where missing."""
    from pyarrow import types

    table = _open_parquet(path).read()
    return {  # whole numbers may be labels, so they stay text
        name: _read_parquet_texts(column) if types.is_integer(column.type) else _read_parquet_column(column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


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


def _open_parquet_features(path: Source, file: Any, wanted: Wanted) -> FeatureFile:
    from pyarrow import types

    schema = file.schema_arrow
    words = [field.name for field in schema if not _is_numeric(field.type)]
    columns = choose_feature_columns(path, schema.names, wanted, words)
    texts = [schema.names[at] for at in (columns.ids, columns.labels) if at is not None]
    nested = [name for name in texts if types.is_nested(schema.field(name).type)]
    if nested:
        raise ValueError(
            f"{path}: column {_list_parquet_kinds(schema, nested)}, expected one text or number per row; name another"
        )
    vectors = [name for name in columns.names if _is_vector(schema.field(name).type)]
    if len(vectors) > 1:
        expected = "one, which has the features; drop the others"
        raise ValueError(f"{path} has several columns of vectors, {list_values(vectors)}: expected {expected}")
    if vectors:
        others = tuple(name for name in columns.names if name not in vectors)
        columns = replace(columns, names=tuple(vectors), left_out=(*columns.left_out, *others))
    dates = [name for name in columns.names if types.is_temporal(schema.field(name).type)]
    if dates:
        raise ValueError(f"{path}: column {_list_parquet_kinds(schema, dates)}, expected numbers; {DATES}")
    text = [name for name in columns.names if name in words and not vectors]
    if text and not wanted.loose:
        raise ValueError(
            f"{path}: column {_list_parquet_kinds(schema, text)}, expected numbers{advise_on_cell('a word')}"
        )
    width = _vector_width(path, file, vectors[0]) if vectors else None
    if not file.metadata.num_rows:
        raise ValueError(f"{path} has columns and no rows: expected a row per sample")
    return FeatureFile(
        path,
        len(columns.names) if width is None else width,
        columns.names if width is None else None,
        lambda: _read_parquet_blocks(path, columns, width),
        lambda: _read_parquet_cells(path, columns, width),
        columns.named_by,
        columns.left_out,
    )


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _is_vector(kind: Any) -> bool:
    from pyarrow import types

    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(lists and (types.is_integer(kind.value_type) or types.is_floating(kind.value_type)))


def _list_parquet_kinds(schema: Any, names: list[str]) -> str:
    return ", ".join(f"{name!r} holds {schema.field(name).type}" for name in names[:SHOWN])


def _vector_width(path: Source, file: Any, name: str) -> int:
    """How many numbers each row has, as the head of the file says."""
    about = file.metadata
    leaves = [file.schema.column(k) for k in range(about.num_columns)]
    (at,) = (k for k, leaf in enumerate(leaves) if leaf.max_repetition_level and leaf.path.startswith(f"{name}."))
    values = sum(about.row_group(k).column(at).num_values for k in range(about.num_row_groups))
    if values % max(1, about.num_rows):
        where = f"{path}: column {name!r}"
        raise ValueError(f"{where} holds vectors of different lengths: expected as many numbers in each row")
    return int(values // max(1, about.num_rows))


def _read_parquet_blocks(path: Source, columns: Columns, width: int | None) -> Iterator[Block]:
    """Finite features; `width` is the length of vectors, None for a column per feature."""
    rows, names = ParquetRows(path, columns), columns.names
    found = rows.blocks() if width is None else rows.vectors(width)
    for at, values, batch in found:
        X = to_float32(values)
        if width is None:
            check_finite_features(path, X, at, names, lambda row, column: rows.value(names[column], row))
        else:
            check_finite_features(path, X, at, None, lambda row, place: rows.value(names[0], row)[place])
        yield Block(X, *rows.names(batch, at))


def _read_parquet_cells(path: Source, columns: Columns, width: int | None) -> Iterator[Cells]:
    rows = ParquetRows(path, columns)
    if width is not None:
        for at, X, batch in rows.vectors(width):
            yield Cells(list(X.astype(np.float64).T), range(at, at + len(X)), *rows.names(batch, at))
        return
    for at, batch in rows.batches(list(dict.fromkeys([*columns.names, *rows.others])), 0, len(rows)):
        cells = [_read_parquet_column(batch.column(name)) for name in columns.names]
        yield Cells(cells, range(at, at + batch.num_rows), *rows.names(batch, at))


def _read_parquet_column(column: Any) -> list[str] | NDArray[np.float64]:
    if not _is_numeric(column.type):
        return _read_parquet_texts(column)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _read_parquet_texts(column: Any) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]


class ParquetRows:
    """The rows of a file: features in `columns`, and beside them in `others` the names and classes of rows, if any."""

    def __init__(self, path: Source, columns: Columns) -> None:
        self._path, self._file, self._features = path, _open_parquet(path), columns.names
        named = self._file.schema_arrow.names
        self._ids, self._labels = (None if at is None else named[at] for at in (columns.ids, columns.labels))
        self.others = list(dict.fromkeys(name for name in (self._ids, self._labels) if name is not None))
        about = self._file.metadata
        self._ends = list(accumulate(about.row_group(k).num_rows for k in range(about.num_row_groups)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32], Any]]:
        """The number of the first row, X (k, d), NaN where a value is missing, and a batch of the other columns."""
        features, d = self._features, len(self._features)
        height = block_rows(d + len(self.others))
        room = np.empty((d, 0), np.float32)
        for start, stop in self._slabs(max(height, SLAB_VALUES // d)):
            if room.shape[1] < stop - start:
                room = np.empty((d, stop - start + APART), np.float32)
            for first in range(0, d, SIDE_BY_SIDE):
                for at, batch in self.batches(features[first : first + SIDE_BY_SIDE], start, stop):
                    here = at - start
                    _fill_from_parquet(room[first : first + SIDE_BY_SIDE, here : here + batch.num_rows], batch.columns)
            for at, end, beside in self._batches_beside(start, stop, height):
                yield at, np.ascontiguousarray(room[:, at - start : end - start].T), beside

    def vectors(self, width: int) -> Iterator[tuple[int, NDArray[Any], Any]]:
        """The same of one column of vectors; not copied if none of their numbers is missing."""
        from pyarrow import compute

        (name,) = self._features
        for at, batch in self.batches([name, *self.others], 0, len(self), block_rows(width)):
            column = batch.column(name)
            lengths = compute.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
            wrong = np.flatnonzero(lengths != width)
            if len(wrong):
                row = int(wrong[0])
                found = f"{lengths[row]} numbers" if column[row].is_valid else "nothing"
                raise ValueError(
                    f"{self._path}, row {at + row} (counted from 0), column {name!r}: found {found}, expected {width}, "
                    "which is the mean of all rows; repair or leave out the row"
                )
            yield at, column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width), batch

    def value(self, name: str, row: int) -> Any:
        _, batch = next(self.batches([name], row, row + 1))
        return batch.column(0)[0].as_py()

    def names(self, batch: Any, first_row: int) -> tuple[list[str] | None, list[str] | None]:
        """The names and the classes of the rows of a batch."""
        return self._texts(batch, self._ids, first_row), self._texts(batch, self._labels, first_row)

    def batches(self, names: Sequence[str], start: int, stop: int, height: int = 0) -> Iterator[tuple[int, Any]]:
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
            where, reason = f"{self._path}, column {list_values(names)}", " ".join(str(error).split())
            raise ValueError(f"{where} cannot be read ({reason}): write it again") from None

    def _slabs(self, most: int) -> Iterator[tuple[int, int]]:
        """First row and end of each slab: whole row groups if they fit, so that none is read twice."""
        start = 0
        while start < len(self):
            stop = max((end for end in self._ends if start < end <= start + most), default=start + most)
            yield start, stop
            start = stop

    def _batches_beside(self, start: int, stop: int, height: int) -> Iterator[tuple[int, int, Any]]:
        """First row and end of each block, and its batch of the other columns; None if there are none."""
        if self.others:
            yield from ((at, at + one.num_rows, one) for at, one in self.batches(self.others, start, stop, height))
        else:
            yield from ((at, min(at + height, stop), None) for at in range(start, stop, height))

    def _texts(self, batch: Any, name: str | None, first_row: int) -> list[str] | None:
        if name is None:
            return None
        coded = batch.column(name).dictionary_encode()
        values = coded.dictionary.to_pylist()
        codes = coded.indices.to_pylist()
        empty = {None, *(code for code, value in enumerate(values) if value in (None, "") or value != value)}  # NaN
        missing = [first_row + k for k, code in enumerate(codes) if code in empty]
        if missing:
            where = f"{self._path}, column {name!r}"
            raise ValueError(f"{where} is empty in rows {list_values(missing)} (counted from 0): fill them in")
        texts = [str(value) for value in values]
        return [texts[code] for code in codes]


def _fill_from_parquet(room: NDArray[np.float32], columns: Sequence[Any]) -> None:
    """Let the rows of `room` be these columns. Too large numbers become infinite, which the caller reports."""
    from pyarrow import types

    with np.errstate(over="ignore", invalid="ignore"):
        for place, column in zip(room, columns, strict=True):
            numbers = column.cast("int8") if types.is_boolean(column.type) else column  # NumPy has no missing truth
            place[:] = numbers.to_numpy(zero_copy_only=False)
