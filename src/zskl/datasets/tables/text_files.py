"""CSV and TSV: pandas reads blocks fast; where something is wrong, a second slow reading finds the line to blame."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.datasets.tables.source import Block, Columns, Source, choose, comma_hint, rows_per_block

SUFFIXES = (".csv", ".tsv")


def open_source(path: Path, labels: str | None, wanted: Sequence[str] | None) -> Source:
    """The features of a text table; a first line made of numbers alone is data, and the columns then have no names."""
    header, named = read_header(path)
    if not named and wanted is not None:
        if len(wanted) != len(header):
            raise ValueError(f"{path} has {len(header)} columns without names, the model takes {len(wanted)} features")
        wanted = None
    columns = choose(path, header, labels, wanted)
    names = columns.names if named else None
    return Source(
        path, len(columns.features), names, lambda: _blocks(path, columns, len(header), named), columns.named_by
    )


def read_header(path: Path) -> tuple[list[str], bool]:
    """The column names, and whether the file has any: if its first line is data they are "0", "1", …"""
    first = next(lines(path), None)
    if first is None:
        raise ValueError(f"{path} is empty: expected a line of column names and a line per row")
    cells = [cell.strip() for cell in first[1]]
    numbers = [is_number(cell) for cell in cells]
    counted = [str(k) for k in range(len(cells))], [str(k) for k in range(1, len(cells) + 1)]
    if all(numbers) and cells not in counted:
        return counted[0], False
    data = [cell for cell, number in zip(cells, numbers, strict=True) if number and not cell.strip("+-").isdigit()]
    if data:
        raise ValueError(
            f"{path}, line {first[0]} looks like data ({data[0]!r} is no column name): put a line of column names first"
        )
    return cells, True


def lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(number of its last line, cells) of each record, empty lines left out: slow, exact."""
    with _opened(path) as (file, delimiter):
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True, strict=True)
        try:
            for cells in reader:
                if len(cells) > 1 or any(cells):
                    yield reader.line_num, cells
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num} is not CSV ({error}): look for a stray quote") from None


def is_number(cell: str) -> bool:
    """Whether the text is a finite number as people write them: Python's 1_000 is none."""
    try:
        return math.isfinite(float(cell)) and "_" not in cell
    except ValueError:
        return False


def _blocks(path: Path, columns: Columns, width: int, named: bool) -> Iterator[Block]:
    _check_first_lines(path, width, named)
    texts = {k: str for k in {columns.ids, columns.labels, width - 1} - set(columns.features) if k is not None}
    look_at_ends = width - 1 in texts  # an empty last cell is a short line, or just empty
    with _opened(path) as (file, delimiter):
        if named:
            next(cells for cells in csv.reader(file, delimiter=delimiter, skipinitialspace=True) if any(cells))
        try:
            frames = pd.read_csv(
                file,
                sep=delimiter,
                header=None,
                names=list(range(width)),
                index_col=False,
                dtype=texts,
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,
                chunksize=rows_per_block(width),
            )
            for frame in frames:
                X = _numbers(frame, columns)
                if X is None or not np.isfinite(X).all() or _has_empty(frame, columns.labels):
                    explain(path, columns, width, named)
                    raise ValueError(
                        f"{path} holds cells that are read in two ways: write it as plain CSV, without quotes"
                    )
                if look_at_ends and _has_empty(frame, width - 1):
                    explain(path, columns, width, named)
                    look_at_ends = False
                yield Block(X, _texts(frame, columns.ids), _texts(frame, columns.labels))
        except pd.errors.ParserError as error:
            explain(path, columns, width, named)
            raise ValueError(f"{path} is not CSV that can be read ({error}): look for a stray quote") from None


def explain(path: Path, columns: Columns, width: int, named: bool) -> None:
    """Raise with the line, the column and the value of the first fault; return if there is none."""
    records = lines(path)
    if named:
        next(records)
    names = dict(zip(columns.features, columns.names, strict=True))
    for number, cells in records:
        if len(cells) != width:
            raise ValueError(
                f"{path}, line {number} has {len(cells)} cells, the first line has {width}: every line needs as many"
            )
        if columns.labels is not None and not cells[columns.labels].strip():
            raise ValueError(f"{path}, line {number} has no label: give each row a class, or leave the row out")
        for position, name in names.items():
            with np.errstate(over="ignore"):
                if is_number(cells[position]) and np.isfinite(np.float32(cells[position])):
                    continue
            found = repr(cells[position]) if cells[position] else "nothing"
            raise ValueError(
                f"{path}, line {number}, column {name!r}: found {found}, expected a finite number"
                f"{comma_hint(cells[position])}; if the column holds the labels, name it as such, if it names the "
                "rows, call it 'id', else repair or drop it"
            )


def _check_first_lines(path: Path, width: int, named: bool) -> None:
    """There are rows, and the first is no longer than the line of names, which pandas would let pass."""
    records = lines(path)
    first = next(records, None)
    if named:
        first = next(records, None)
    if first is None:
        raise ValueError(f"{path} has a line of column names and no rows: expected a line per row")
    if len(first[1]) != width:
        raise ValueError(f"{path}, line {first[0]} has {len(first[1])} cells, the first line has {width}")


def _numbers(frame: pd.DataFrame, columns: Columns) -> NDArray[np.float32] | None:
    """(k, d), or None if a cell is no number."""
    X = np.empty((len(frame), len(columns.features)), dtype=np.float32)
    with np.errstate(over="ignore"):  # what overflows is infinite, and reported as such
        for k, position in enumerate(columns.features):
            column = frame[position]
            if column.dtype.kind not in "iuf":  # integers beyond 64 bits, or no numbers
                if not column.astype(str).map(is_number).all():
                    return None
                column = column.map(float)
            X[:, k] = column.to_numpy()
    return X


def _has_empty(frame: pd.DataFrame, position: int | None) -> bool:
    return position is not None and any(not text.strip() for text in frame[position].tolist())


def _texts(frame: pd.DataFrame, position: int | None) -> list[str] | None:
    return None if position is None else [text.strip() for text in frame[position].tolist()]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[TextIO, str]]:
    """The open file and what separates its cells: commas, or, if the first line has none, semicolons or tabs."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = next((line for line in file if line.strip()), "")
            file.seek(0)
            separators = [separator for separator in ",;\t" if separator in first]
            yield file, "\t" if path.suffix.lower() == ".tsv" else separators[0] if separators else ","
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error}): save it as CSV in UTF-8") from None
