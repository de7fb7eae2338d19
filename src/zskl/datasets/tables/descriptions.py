"""Class descriptions from a file: one row, or several, per class under named columns, or arrays with names."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from zskl._validation import list_values
from zskl.datasets.tables import arrays, parquet, text
from zskl.datasets.tables.features import check_feature_names, find_repeated_features, find_unnamed_columns
from zskl.datasets.tables.source import Source
from zskl.decisions import PARENTS, Hierarchy
from zskl.signatures.cells import TRUTH, Preparation, is_number, parse_number
from zskl.signatures.table import CLASS_COLUMN, PREPARED, find_identifiers, has_identifier_name, prepare_table, to_frame

MATRICES = ("signatures", "att", "attributes")
CLASSES = ("classes", "class_names", "allclasses_names")
COLUMNS = ("attribute_names", "columns")


def read_descriptions(
    path: Source,
    label_column: str | None = None,
    keep: Collection[str] = (),
    known: Collection[str] | None = None,
    missing: str | None = None,
    categories: str | None = None,
    preparation: Preparation | None = None,
    parents: Sequence[str] = (),
) -> pd.DataFrame:
    """(rows, p) float64 in the file's order, by class, as text, without columns that identify or only count classes.
    Columns that name `parents` are no attributes; `attrs` has them."""
    if preparation is not None:
        known = {*(known or ()), *preparation.names}
    if path.suffix in arrays.SUFFIXES:
        return _read_arrays(path)
    if path.suffix in parquet.SUFFIXES:
        columns, unit = parquet.read_parquet_columns(path), "row"
        where = list(range(len(next(iter(columns.values()), []))))
    else:
        (columns, where), unit = _read_description_columns(path, label_column), "line"
    above = {name: [str(cell).strip() for cell in columns.pop(name)] for name in parents if name in columns}
    key = _class_column(path, columns, label_column)
    classes = ["" if cell != cell else str(cell) for cell in columns[key]]  # NaN: no name
    if "" in classes:
        line = where[classes.index("")]
        raise ValueError(f"{path}, {unit} {line}, column {key!r}: the name of the class is missing")
    header = list(columns)
    dropped = {header[k] for k in find_unnamed_columns(header)}  # an index beside the class
    attributes = [name for name in header if name != key and name not in dropped]
    check_feature_names(path, header, attributes)
    wordy = [name for name in attributes if _is_identifier(name, columns[name]) and name not in {*keep, *(known or ())}]
    attributes = [name for name in attributes if name not in wordy]
    none = ValueError(f"{path} has no attribute column beside {key!r}: describe each class by numbers, or words")
    if not attributes:
        raise none
    encoded = preparation is not None and preparation.has_words and set(preparation.features) <= set(attributes)
    prepared = prepare_table(
        np.array(classes, dtype=object),
        {name: columns[name] for name in attributes},
        lambda row, name: f"{path}, {unit} {where[row]}, column {name!r}",
        missing,
        categories,
        None if encoded else preparation,
    )
    table, made = to_frame(prepared), prepared.preparation
    wordy += [] if made is None else [one.name for one in made.columns if one.left_out and one.name in columns]
    if preparation is None and made is not None and all(one.plain for one in made.columns):
        table.attrs.clear()
    table = drop_identifiers(table, path, wordy, keep, known)
    if not table.shape[1]:
        raise none
    if above:
        tree = Hierarchy.read(pd.DataFrame(above, index=classes, dtype=object))
        table.attrs[PARENTS] = tree._to_json()
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
    found = find_identifiers(names, table.to_numpy(dtype=np.float64), table.index.to_numpy())
    if known is not None:
        found += [name for name in names if has_identifier_name(name) and name not in found]
    found = [name for name in found if name not in {*keep, *(known or ())}]
    if found or further:
        warnings.warn(
            f"{path}: column {list_values([*further, *found])} was left out, since it numbers or names the classes and "
            "does not describe them; if it does, make the dataset with keep_columns (zskl data make --keep-column "
            "NAME)",
            stacklevel=2,
        )
    table = table.drop(columns=found)
    if found and PREPARED in table.attrs:
        kept = Preparation.from_text(table.attrs[PREPARED]).leave_out(found)
        table.attrs[PREPARED] = kept.text()
    return table


def _is_identifier(name: str, cells: Sequence[Any]) -> bool:
    """Whether a column holds another word for each row, under the name of an identifier."""
    words = any(parse_number(str(cell)) is None for cell in cells)
    return words and has_identifier_name(name) and len({str(cell) for cell in cells}) == len(cells)


def _read_description_columns(path: Source, label_column: str | None) -> tuple[dict[str, list[str]], list[int]]:
    """name → cells, and the line number of each row."""
    first, *records = [*text.read_text_lines(path)] or [(0, [])]
    if not records:
        raise ValueError(f"{path} has no rows: expected a line of column names and a line per class")
    header = [name.strip() for name in first[1]]
    twice = sorted(find_repeated_features(header))
    if twice:
        raise ValueError(f"{path} has several columns named {list_values(twice)}: rename or drop them")
    for record in records:
        text.check_text_width(path, record, len(header))
    where = [number for number, _ in records]
    columns = {name: [cells[k].strip() for _, cells in records] for k, name in enumerate(header)}
    named = {CLASS_COLUMN, (label_column or CLASS_COLUMN).lower()}
    for name in columns:
        if name.lower() not in named:
            columns[name] = list(text.to_points(path, where, columns[name], name))
    return columns, where


def _class_column(path: Source, columns: Mapping[str, Sequence[Any]], label_column: str | None) -> str:
    """The column "class", or named as the labels are; else the only words beside a count, a nameless first or words."""
    names = list(columns)
    for wanted in (CLASS_COLUMN, label_column):
        found = [name for name in names if wanted is not None and name.lower() == wanted.lower()]
        if found:
            return found[0]
    wordy = [name for name in names if not any(is_number(str(cell)) for cell in columns[name])]
    nameless = [names[k] for k in find_unnamed_columns(names)]
    if nameless:
        words = [name for name in wordy if not all(str(cell).lower() in TRUTH for cell in columns[name])]
        return words[0] if len(words) == 1 and nameless[0] not in wordy else nameless[0]
    wordy = [name for name in wordy if not has_identifier_name(name)] or wordy  # a code beside the name
    if len(wordy) == 1 or names[0] in wordy:
        return names[0] if names[0] in wordy else wordy[0]
    advice = f"name one of its columns {CLASS_COLUMN!r} (they are {list_values(names)})"
    raise ValueError(f"{path} does not say which class each row describes: {advice}")


def _read_arrays(path: Source) -> pd.DataFrame:
    if path.suffix == ".npy":
        advice = "save an .npz with 'signatures' and 'classes', or a CSV file"
        raise ValueError(f"{path} holds a matrix without class names: {advice}")
    found = arrays.read_arrays(path, MATRICES, (*CLASSES, *COLUMNS))
    matrix = arrays.pick_array(path, found, MATRICES)
    vectors = {name: values for name, values in found.items() if arrays.is_vector(values)}
    by_name = {name.lower(): arrays.to_texts(path, name, values) for name, values in vectors.items()}
    classes = next((by_name[name] for name in CLASSES if name in by_name), None)
    if classes is None:
        raise ValueError(f"{path} holds {list_values(found)} and no 'classes': add the name of the class of each row")
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
    index = pd.Index([name.strip() for name in classes], name=CLASS_COLUMN)
    return pd.DataFrame(matrix.astype(np.float64), index=index, columns=names)
