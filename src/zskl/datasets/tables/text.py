"""CSV and TSV. A features file is opened twice: for its first lines, and for its rows, which pandas reads in blocks. If
something is wrong, a slow reading finds the line to blame. Rows with words and holes are read so at once."""

import csv
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TextIO, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.datasets.tables.features import (
    Block,
    Cells,
    Columns,
    FeatureFile,
    Head,
    Wanted,
    block_rows,
    choose_feature_columns,
)
from zskl.datasets.tables.source import Source
from zskl.signatures.cells import COMMAS, TRUTH, cell_error, is_number, parse_number, to_point

SUFFIXES = (".csv", ".tsv")
_FRACTION = re.compile(r"[+-]?\d+,\d+")
Record: TypeAlias = tuple[int, list[str]]  # the number of its last line, and its cells


def read_text_header(path: Source) -> Head:
    """Read the first line, and the second if the first has column names. A first line of numbers alone is data."""
    records = read_text_lines(path)
    first = next(records, None)
    if first is None:
        raise ValueError(f"{path} is empty: expected a line of column names and a line per row")
    header = [cell.strip() for cell in first[1]]
    numbers = [is_number(cell, path.decimal) for cell in header]
    counted = [str(k) for k in range(len(header))], [str(k) for k in range(1, len(header) + 1)]
    named = not all(numbers) or header in counted
    data = [cell for cell, number in zip(header, numbers, strict=True) if number and not cell.strip("+-").isdigit()]
    if named and data:
        fault = f"looks like data ({data[0]!r} is not a column name): put a line of column names first"
        raise ValueError(f"{path}, line {first[0]} {fault}{_hint_decimal_commas(path)}")
    header = header if named else counted[0]
    row = next(records, None) if named else first
    records.close()
    return Head(header, lambda wanted: _open_text_features(path, header, named, row, wanted))


def _open_text_features(
    path: Source, header: list[str], named: bool, row: Record | None, wanted: Wanted
) -> FeatureFile:
    """`row` is the first line of data. Pandas would let pass one that is longer than the line of names."""
    if not named and wanted.columns is not None:
        if len(wanted.columns) != len(header):
            expected = f"the {len(wanted.columns)} features of the model"
            raise ValueError(f"{path} has {len(header)} columns without names: expected {expected}")
        wanted = Wanted(wanted.labels, None, loose=wanted.loose)
    first = [] if row is None else row[1]
    words = [name for name, cell in zip(header, first, strict=False) if parse_number(cell, path.decimal) is None]
    columns = choose_feature_columns(path, header, wanted, words)
    if row is None:
        raise ValueError(f"{path} has a line of column names and no rows: expected a line per row")
    check_text_width(path, row, len(header))
    return FeatureFile(
        path,
        len(columns.features),
        columns.names if named else None,
        lambda: _text_blocks(path, columns, len(header), named),
        lambda: _text_cells(path, columns, len(header), named),
        columns.named_by,
        columns.left_out,
    )


def read_text_lines(path: Source) -> Generator[Record]:
    """Each record that is not empty, read slowly and exactly."""
    with _open_text(path) as (file, delimiter):
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True, strict=True)
        try:
            for cells in reader:
                if len(cells) > 1 or any(cells):
                    yield reader.line_num, cells
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num} is not CSV ({error}): look for a stray quote") from None


def check_text_width(path: Source, record: Record, width: int) -> None:
    if len(record[1]) != width:
        raise ValueError(
            f"{path}, line {record[0]} has {len(record[1])} cells: expected {width}, as in the first line"
            f"{_hint_decimal_commas(path)}"
        )


def _hint_decimal_commas(path: Source) -> str:
    """What to do, at the end of a sentence, if the first lines have decimal commas between semicolons or tabs."""
    if path.decimal == ",":
        return ""
    with path.text() as file:
        lines = [line for line in islice(file, 20) if line.strip()][:2]
    cells = [cell.strip() for line in lines for cell in re.split("[;\t]", line)]
    found = next((cell for cell in cells if _FRACTION.fullmatch(cell)), None) if len(cells) > len(lines) else None
    return "" if found is None else f"; {found} has a decimal comma: if so in the whole file, {COMMAS}"


def _text_cells(path: Source, columns: Columns, width: int, named: bool) -> Iterator[Cells]:
    """Rows as they stand in the file; a line of another length, or without a label, is refused."""
    records = read_text_lines(path)
    if named:
        next(records)
    while some := list(islice(records, block_rows(width))):
        for record in some:
            _check_text_line(path, columns, width, record)
        table = list(zip(*(cells for _, cells in some), strict=True))
        ids, labels = (_strip_texts(None if k is None else table[k]) for k in (columns.ids, columns.labels))
        where = [number for number, _ in some]
        parts = [
            to_points(path, where, table[k], name) for k, name in zip(columns.features, columns.names, strict=True)
        ]
        yield Cells(parts, where, ids, labels)


def to_points(path: Source, where: Sequence[int], cells: Sequence[str], name: str) -> Sequence[str]:
    """The cells of a column with decimal points, whatever the file has; `where` are their lines."""
    if path.decimal == ".":
        return cells
    try:
        return [to_point(cell.strip(), path.decimal) for cell in cells]
    except ValueError:
        wrong = next(k for k, cell in enumerate(cells) if is_number(cell) and "." in cell)
        raise cell_error(f"{path}, line {where[wrong]}, column {name!r}", cells[wrong].strip()) from None


def _text_blocks(path: Source, columns: Columns, width: int, named: bool) -> Iterator[Block]:
    texts = {k: str for k in {columns.ids, columns.labels, width - 1} - set(columns.features) if k is not None}
    # An empty last cell may mean a line that is too short.
    look_at_ends = width - 1 in texts
    with _open_text(path) as (file, delimiter):
        if named:
            next(cells for cells in csv.reader(file, delimiter=delimiter, skipinitialspace=True) if any(cells))
        try:
            frames = pd.read_csv(
                file,
                sep=delimiter,
                decimal=path.decimal,
                header=None,
                names=list(range(width)),
                index_col=False,
                dtype=texts,
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,
                chunksize=block_rows(width),
            )
            for frame in frames:
                X = _parse_text_numbers(frame, columns, path.decimal)
                if X is None or not np.isfinite(X).all() or _has_empty_cell(frame, columns.labels):
                    explain_text_error(path, columns, width, named)
                    advice = "write it as plain CSV, without quotes"
                    raise ValueError(f"{path} has cells that two readers read differently: {advice}")
                if look_at_ends and _has_empty_cell(frame, width - 1):
                    explain_text_error(path, columns, width, named)
                    look_at_ends = False
                ids, labels = (_strip_texts(None if k is None else frame[k]) for k in (columns.ids, columns.labels))
                yield Block(X, ids, labels)
        except pd.errors.ParserError as error:
            explain_text_error(path, columns, width, named)
            raise ValueError(f"{path} is not CSV that can be read ({error}): look for a stray quote") from None


def explain_text_error(path: Source, columns: Columns, width: int, named: bool) -> None:
    """Raise an error with the line, the column and the value of the first fault; return if there is none."""
    records = read_text_lines(path)
    if named:
        next(records)
    names = dict(zip(columns.features, columns.names, strict=True))
    for number, cells in records:
        _check_text_line(path, columns, width, (number, cells))
        for position, name in names.items():
            value = parse_number(cells[position], path.decimal)
            if value is None or value != value:
                raise cell_error(f"{path}, line {number}, column {name!r}", cells[position])


def _check_text_line(path: Source, columns: Columns, width: int, record: Record) -> None:
    check_text_width(path, record, width)
    if columns.labels is not None and not record[1][columns.labels].strip():
        raise ValueError(f"{path}, line {record[0]} has no label: give each row a class, or leave the row out")


def _parse_text_numbers(frame: pd.DataFrame, columns: Columns, decimal: str) -> NDArray[np.float32] | None:
    """(k, d), or None if a cell is not a number; True is 1 and False 0."""
    X = np.empty((len(frame), len(columns.features)), dtype=np.float32)
    # What overflows is infinite, and reported as such.
    with np.errstate(over="ignore"):
        for k, position in enumerate(columns.features):
            column = frame[position]
            # Integers beyond 64 bits, truth beside numbers, or words.
            if column.dtype.kind not in "iufb":
                texts = column.astype(str).str.strip()
                if not texts.map(lambda text: text.lower() in TRUTH or is_number(text, decimal)).all():
                    return None
                column = texts.map(
                    lambda text: TRUTH[text.lower()] if text.lower() in TRUTH else float(to_point(text, decimal))
                )
            X[:, k] = column.to_numpy()
    return X


def _has_empty_cell(frame: pd.DataFrame, position: int | None) -> bool:
    return position is not None and any(not text.strip() for text in frame[position].tolist())


def _strip_texts(texts: Iterable[str] | None) -> list[str] | None:
    return None if texts is None else [text.strip() for text in texts]


@contextmanager
def _open_text(path: Source) -> Iterator[tuple[TextIO, str]]:
    """The open file and the separator of its cells: commas, or, if the first line has none, semicolons or tabs; where
    fractions have commas, these come first."""
    with path.text() as file:
        first = next((line for line in file if line.strip()), "")
        kinds = ",;\t" if path.decimal == "." else ";\t,"
        separators = [separator for separator in kinds if separator in first]
        delimiter = "\t" if path.suffix == ".tsv" else separators[0] if separators else ","
        if file.seekable():
            file.seek(0)
            yield file, delimiter
            return
    with path.text() as file:
        yield file, delimiter
