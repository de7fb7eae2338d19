"""Class descriptions from a file: one row, or several, per class under named columns, or arrays with names."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from zskl._validation import list_values
from zskl.datasets.tables import arrays as arrayss
from zskl.datasets.tables import parquet
from zskl.datasets.tables import text as text_files
from zskl.datasets.tables.features import (
    TRUTH,
    Source,
    check_named,
    find_unnamed_columns,
    hint_decimal_comma,
    is_number,
    parse_number,
)
from zskl.signatures import table as tables
from zskl.signatures.table import CLASS_COLUMN

MATRICES = ("signatures", "att", "attributes")
CLASSES = ("classes", "class_names", "allclasses_names")
COLUMNS = ("attribute_names", "columns")


def read_descriptions(
    path: Source, label_column: str | None = None, keep: Collection[str] = (), known: Collection[str] | None = None
) -> pd.DataFrame:
    """The table in the file's order; index = class, as text, columns = attributes, values float64.

    The class is in the column named "class" (or named as the label column of the features), else in the only column of
    words beside a first column that counts, else in a first column without a name, else in the only column without
    numbers. A column without a name that does not give the class is dropped, and so is one that identifies the classes:
    see `read_signatures`.
    """
    if path.suffix in arrayss.SUFFIXES:
        return _from_arrays(path)
    where: Sequence[int]
    if path.suffix in parquet.SUFFIXES:
        columns = parquet.read_columns(path)
        where, unit = range(len(next(iter(columns.values()), []))), "row"
    else:
        columns, where = _text_columns(path)
        unit = "line"
    key = _class_column(path, columns, label_column)
    classes = ["" if cell != cell else str(cell) for cell in columns[key]]  # NaN: no name
    empty = [where[row] for row, text in enumerate(classes) if text == ""]
    if empty:
        raise ValueError(f"{path}, {unit} {empty[0]}, column {key!r}: the name of the class is missing")
    header = list(columns)
    dropped = {header[k] for k in find_unnamed_columns(header)}  # an index beside the class
    attributes = [name for name in header if name != key and name not in dropped]
    check_named(path, header, attributes)
    wordy = [name for name in attributes if _is_identifier(name, columns[name]) and name not in {*keep, *(known or ())}]
    attributes = [name for name in attributes if name not in wordy]
    matrix = np.empty((len(where), len(attributes)))
    for k, name in enumerate(attributes):
        for row, cell in enumerate(columns[name]):
            value = parse_number(str(cell))
            if value is None or value != value:
                raise ValueError(
                    f"{path}, {unit} {where[row]}, column {name!r}: found {cell!r}, expected a finite number"
                    f"{hint_decimal_comma(cell)}; a class table holds numbers alone (--missing and --categories are for "
                    f"features); if the column names the classes, call it {CLASS_COLUMN!r}"
                )
            matrix[row, k] = value
    table = pd.DataFrame(matrix, index=pd.Index(classes, name=CLASS_COLUMN), columns=attributes)
    table = drop_identifiers(table, path, wordy, keep, known)
    if not table.shape[1]:
        raise ValueError(f"{path} has no attribute column beside {key!r}: describe each class by numbers")
    return table


def drop_identifiers(
    table: pd.DataFrame,
    path: object,
    further: Sequence[str] = (),
    keep: Collection[str] = (),
    known: Collection[str] | None = None,
) -> pd.DataFrame:
    """The table without columns that only number or name its classes; a warning names these and the `further` ones."""
    names = [str(name) for name in table.columns]
    found = tables.find_identifiers(names, table.to_numpy(dtype=np.float64), table.index.to_numpy())
    if known is not None:
        found += [name for name in names if tables.has_identifier_name(name) and name not in found]
    found = [name for name in found if name not in {*keep, *(known or ())}]
    if found or further:
        warnings.warn(
            f"{path}: column {list_values([*further, *found])} was left out, since it numbers or names the classes and does "
            "not describe them; if it does, make the dataset with keep_columns (zskl data make --keep-column NAME)",
            stacklevel=2,
        )
    return table.drop(columns=found)


def _is_identifier(name: str, cells: Sequence[Any]) -> bool:
    """Whether a column holds another word for each row, under the name of an identifier."""
    words = any(parse_number(str(cell)) is None for cell in cells)
    return words and tables.has_identifier_name(name) and len({str(cell) for cell in cells}) == len(cells)


def _text_columns(path: Source) -> tuple[dict[str, list[str]], list[int]]:
    """name → cells, and the line number of each row."""
    records = list(text_files.read_lines(path))
    if len(records) < 2:
        raise ValueError(f"{path} has no rows: expected a line of column names and a line per class")
    header = [name.strip() for name in records[0][1]]
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise ValueError(f"{path} has several columns named {list_values(twice)}: rename or drop them")
    for number, cells in records:
        if len(cells) != len(header):
            raise ValueError(
                f"{path}, line {number} has {len(cells)} cells: expected {len(header)}, as in the first line"
            )
    rows = records[1:]
    return {name: [cells[k].strip() for _, cells in rows] for k, name in enumerate(header)}, [
        number for number, _ in rows
    ]


def _class_column(path: Source, columns: Mapping[str, Sequence[Any]], label_column: str | None) -> str:
    names = list(columns)
    for wanted in (CLASS_COLUMN, label_column):
        found = [name for name in names if wanted is not None and name.lower() == wanted.lower()]
        if found:
            return found[0]
    text = [name for name in names if not any(is_number(str(cell)) for cell in columns[name])]
    nameless = [names[k] for k in find_unnamed_columns(names)]
    if nameless:
        words = [name for name in text if not all(str(cell).lower() in TRUTH for cell in columns[name])]
        return words[0] if len(words) == 1 and nameless[0] not in text else nameless[0]
    text = [name for name in text if not tables.has_identifier_name(name)] or text  # a code beside the name
    if len(text) == 1 or names[0] in text:
        return names[0] if names[0] in text else text[0]
    raise ValueError(
        f"{path} does not say which class each row describes: name one of its columns {CLASS_COLUMN!r} (they are "
        f"{list_values(names)})"
    )


def _from_arrays(path: Source) -> pd.DataFrame:
    if path.suffix == ".npy":
        raise ValueError(
            f"{path} holds a matrix without class names: save an .npz with 'signatures' and 'classes', or a CSV file"
        )
    arrays = arrayss.read_array(path, MATRICES, (*CLASSES, *COLUMNS))
    matrix = arrayss.pick_array(path, arrays, MATRICES, dimensions=2)
    by_name = {
        name.lower(): arrayss.to_texts(path, name, arrays[name]) for name in arrays if arrayss.is_vector(arrays[name])
    }
    classes = next((by_name[name] for name in CLASSES if name in by_name), None)
    if classes is None:
        raise ValueError(f"{path} holds {list_values(arrays)} and no 'classes': add the name of the class of each row")
    if path.suffix == ".mat" and len(matrix) != len(classes):
        matrix = matrix.T  # attributes × classes, as in att_splits.mat
    if matrix.dtype.kind not in "iufb" or len(matrix) != len(classes):
        raise ValueError(
            f"{path} has signatures of shape {matrix.shape} and type {matrix.dtype} for {len(classes)} classes: "
            "expected numbers, a row per class"
        )
    names = next((by_name[name] for name in COLUMNS if name in by_name), None)
    if names is None:
        names = [f"attribute {k}" for k in range(matrix.shape[1])]
    elif len(names) != matrix.shape[1]:
        raise ValueError(f"{path} names {len(names)} attributes for {matrix.shape[1]} columns: expected as many")
    index = pd.Index([text.strip() for text in classes], name=CLASS_COLUMN)
    return pd.DataFrame(matrix.astype(np.float64), index=index, columns=names)
