"""Class descriptions from a file: one row, or several, per class under named columns, or arrays with names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from zskl.datasets.tables import array_files, parquet_files, text_files
from zskl.datasets.tables.feature_file import check_named, comma_hint, nameless_columns
from zskl.parameters import listed
from zskl.signatures.table import CLASS_COLUMN

MATRICES = ("signatures", "att", "attributes")
CLASSES = ("classes", "class_names", "allclasses_names")
COLUMNS = ("attribute_names", "columns")
TRUTH = {"true": "1", "false": "0"}


def read(path: Path, label_column: str | None = None) -> pd.DataFrame:
    """The table in the file's order; index = class, as text, columns = attributes, values float64.

    The class is in the column named "class" (or named as the label column of the features), else in the only column of
    words beside a first column that counts, else in a first column without a name, else in the only column without
    numbers. A column without a name that does not give the class is dropped.
    """
    suffix = path.suffix.lower()
    if suffix in array_files.SUFFIXES:
        return _from_arrays(path)
    where: Sequence[int]
    if suffix in parquet_files.SUFFIXES:
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
    if not attributes:
        raise ValueError(f"{path} has no attribute column beside {key!r}: describe each class by numbers")
    matrix = np.empty((len(where), len(attributes)))
    for k, name in enumerate(attributes):
        for row, cell in enumerate(columns[name]):
            cell = TRUTH.get(cell.lower(), cell) if isinstance(cell, str) else cell
            if not text_files.is_number(str(cell)):
                raise ValueError(
                    f"{path}, {unit} {where[row]}, column {name!r}: found {cell!r}, expected a finite number"
                    f"{comma_hint(cell)}; if the column names the classes, call it {CLASS_COLUMN!r}"
                )
            matrix[row, k] = float(cell)
    return pd.DataFrame(matrix, index=pd.Index(classes, name=CLASS_COLUMN), columns=attributes)


def _text_columns(path: Path) -> tuple[dict[str, list[str]], list[int]]:
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


def _class_column(path: Path, columns: Mapping[str, Sequence[Any]], label_column: str | None) -> str:
    names = list(columns)
    for wanted in (CLASS_COLUMN, label_column):
        found = [name for name in names if wanted is not None and name.lower() == wanted.lower()]
        if found:
            return found[0]
    text = [name for name in names if not any(text_files.is_number(str(cell)) for cell in columns[name])]
    nameless = [names[k] for k in nameless_columns(names)]
    if nameless:
        words = [name for name in text if not all(str(cell).lower() in TRUTH for cell in columns[name])]
        return words[0] if len(words) == 1 and nameless[0] not in text else nameless[0]
    if len(text) == 1 or names[0] in text:
        return names[0] if names[0] in text else text[0]
    raise ValueError(
        f"{path} does not say which class each row describes: name one of its columns {CLASS_COLUMN!r} (they are "
        f"{listed(names)})"
    )


def _from_arrays(path: Path) -> pd.DataFrame:
    if path.suffix.lower() == ".npy":
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
    if path.suffix.lower() == ".mat" and len(matrix) != len(classes):
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
