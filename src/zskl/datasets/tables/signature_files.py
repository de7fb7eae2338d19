"""Class descriptions from a file: one row, or several, per class under named columns, or arrays with names."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from zskl.datasets.tables import array_files, parquet_files, text_files
from zskl.datasets.tables.cells import TRUTH, comma_hint, is_number, number_in
from zskl.datasets.tables.feature_file import check_named, nameless_columns
from zskl.datasets.tables.source import Source
from zskl.parameters import listed
from zskl.signatures import identifiers
from zskl.signatures.table import CLASS_COLUMN

MATRICES = ("signatures", "att", "attributes")
CLASSES = ("classes", "class_names", "allclasses_names")
COLUMNS = ("attribute_names", "columns")


def read(
    path: Source, label_column: str | None = None, keep: Collection[str] = (), known: Collection[str] | None = None
) -> pd.DataFrame:
    """The table in the file's order; index = class, as text, columns = attributes, values float64.

    The class is in the column named "class" (or named as the label column of the features), else in the only column of
    words beside a first column that counts, else in a first column without a name, else in the only column without
    numbers. A column without a name that does not give the class is dropped, and so is one that identifies the classes:
    see `read_signatures`.
    """
    if path.suffix in array_files.SUFFIXES:
        return _from_arrays(path)
    where: Sequence[int]
    if path.suffix in parquet_files.SUFFIXES:
        columns = parquet_files.read(path)
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
    dropped = {header[k] for k in nameless_columns(header)}  # an index beside the class
    attributes = [name for name in header if name != key and name not in dropped]
    check_named(path, header, attributes)
    wordy = [name for name in attributes if _identifies(name, columns[name]) and name not in {*keep, *(known or ())}]
    attributes = [name for name in attributes if name not in wordy]
    matrix = np.empty((len(where), len(attributes)))
    for k, name in enumerate(attributes):
        for row, cell in enumerate(columns[name]):
            value = number_in(str(cell))
            if value is None or value != value:
                raise ValueError(
                    f"{path}, {unit} {where[row]}, column {name!r}: found {cell!r}, expected a finite number"
                    f"{comma_hint(cell)}; a class table holds numbers alone (--missing and --categories are for "
                    f"features); if the column names the classes, call it {CLASS_COLUMN!r}"
                )
            matrix[row, k] = value
    table = pd.DataFrame(matrix, index=pd.Index(classes, name=CLASS_COLUMN), columns=attributes)
    table = without_identifiers(table, path, wordy, keep, known)
    if not table.shape[1]:
        raise ValueError(f"{path} has no attribute column beside {key!r}: describe each class by numbers")
    return table


def without_identifiers(
    table: pd.DataFrame,
    path: object,
    further: Sequence[str] = (),
    keep: Collection[str] = (),
    known: Collection[str] | None = None,
) -> pd.DataFrame:
    """The table without columns that only number or name its classes; a warning names these and the `further` ones."""
    names = [str(name) for name in table.columns]
    found = identifiers.among(names, table.to_numpy(dtype=np.float64), table.index.to_numpy())
    if known is not None:
        found += [name for name in names if identifiers.is_named_so(name) and name not in found]
    found = [name for name in found if name not in {*keep, *(known or ())}]
    if found or further:
        warnings.warn(
            f"{path}: column {listed([*further, *found])} was left out, since it numbers or names the classes and does "
            "not describe them; if it does, make the dataset with keep_columns (zskl data make --keep-column NAME)",
            stacklevel=2,
        )
    return table.drop(columns=found)


def _identifies(name: str, cells: Sequence[Any]) -> bool:
    """Whether a column holds another word for each row, under the name of an identifier."""
    words = any(number_in(str(cell)) is None for cell in cells)
    return words and identifiers.is_named_so(name) and len({str(cell) for cell in cells}) == len(cells)


def _text_columns(path: Source) -> tuple[dict[str, list[str]], list[int]]:
    """name → cells, and the line number of each row."""
    records = list(text_files.lines(path))
    if len(records) < 2:
        raise ValueError(f"{path} has no rows: expected a line of column names and a line per class")
    header = [name.strip() for name in records[0][1]]
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise ValueError(f"{path} has several columns named {listed(twice)}: rename or drop them")
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
    nameless = [names[k] for k in nameless_columns(names)]
    if nameless:
        words = [name for name in text if not all(str(cell).lower() in TRUTH for cell in columns[name])]
        return words[0] if len(words) == 1 and nameless[0] not in text else nameless[0]
    text = [name for name in text if not identifiers.is_named_so(name)] or text  # a code beside the name
    if len(text) == 1 or names[0] in text:
        return names[0] if names[0] in text else text[0]
    raise ValueError(
        f"{path} does not say which class each row describes: name one of its columns {CLASS_COLUMN!r} (they are "
        f"{listed(names)})"
    )


def _from_arrays(path: Source) -> pd.DataFrame:
    if path.suffix == ".npy":
        raise ValueError(
            f"{path} holds a matrix without class names: save an .npz with 'signatures' and 'classes', or a CSV file"
        )
    arrays = array_files.read(path, MATRICES, (*CLASSES, *COLUMNS))
    matrix = array_files.pick(path, arrays, MATRICES, dimensions=2)
    by_name = {
        name.lower(): array_files.as_texts(path, name, arrays[name])
        for name in arrays
        if array_files.is_vector(arrays[name])
    }
    classes = next((by_name[name] for name in CLASSES if name in by_name), None)
    if classes is None:
        raise ValueError(f"{path} holds {listed(arrays)} and no 'classes': add the name of the class of each row")
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
