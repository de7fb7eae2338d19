"""The signatures that a user gives, a data frame, a mapping or an array → class labels and a matrix, checked.

A data frame (pandas, polars or any other that narwhals knows) has one row, or several, per class. A column named
"class" gives the class; without one the pandas index does, or the only column of text. The others are attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from zskl.arrays import is_torch, to_numpy
from zskl.parameters import SHOWN, listed, plain
from zskl.signatures import numbers
from zskl.signatures.labels import one_spelling, refuse_missing
from zskl.sparse_rows import is_sparse, stacked

CLASS_COLUMN = "class"


@dataclass(frozen=True)
class SignatureTable:
    """`labels` (rows,), one or several rows per class; `matrix` (rows, p) float64; `names` of its columns, if known.

    The matrix may be sparse: a `SparseRows`.
    """

    labels: NDArray[np.generic]
    matrix: Any  # NDArray[np.float64] or SparseRows
    names: tuple[str, ...] | None

    @property
    def classes(self) -> NDArray[np.generic]:
        """The classes, each once, in the order of their first rows."""
        return unique_in_order(self.labels)

    def select(self, classes: Sequence[Any] | NDArray[np.generic]) -> SignatureTable:
        """The rows of these classes, class by class, in the given order."""
        rows = rows_of(self.labels)
        order = [row for label in _values(classes) for row in rows[label]]
        return SignatureTable(self.labels[order], self.matrix[order], self.names)

    @property
    def counts(self) -> NDArray[np.int64]:
        """(classes,) how many rows each class has."""
        return np.array([len(group) for group in rows_of(self.labels).values()])

    def padded_rows(self) -> NDArray[np.int64]:
        """(classes, m) row indices; m is the largest number of rows of a class. One with fewer repeats its first."""
        rows = rows_of(self.labels)
        most = max(len(group) for group in rows.values())
        return np.array([group + [group[0]] * (most - len(group)) for group in rows.values()])


def read(
    signatures: Any,
    classes: Sequence[Any] | NDArray[np.generic] | None = None,
    names: Sequence[str] | None = None,
    known: Iterable[Any] | None = None,
) -> SignatureTable:
    """A checked table. The rows of an array are `classes`, in order; `names`, if given, are the columns to have.

    A class whose name is another spelling of one in `known` (None: of `classes`) is that one.
    """
    if isinstance(signatures, SignatureTable):
        table = signatures
    elif isinstance(signatures, Mapping):
        table = _from_mapping(signatures)
    elif isinstance(signatures, np.ndarray | list | tuple) or is_torch(signatures) or issparse(signatures):
        table = _from_array(signatures, classes)
    elif is_sparse(signatures):
        labels = as_labels(signatures.index.tolist(), "the class index of signatures")
        columns = tuple(str(name) for name in signatures.columns)
        table = SignatureTable(labels, numbers.matrix(signatures, "signatures"), columns)
    else:
        table = _from_frame(signatures)
    if names is not None and table.names is not None:
        table = _reordered(table, tuple(names))
    numbers.check(table.labels, table.matrix, table.names)
    spelled = one_spelling(table.labels, (() if classes is None else _values(classes)) if known is None else known)
    return table if spelled is table.labels else SignatureTable(spelled, table.matrix, table.names)


def read_once(signatures: Any) -> Any:
    """What `read` takes in place of signatures, without reading them again where they name their classes."""
    nameless = signatures is None or isinstance(signatures, np.ndarray | list | tuple) or is_torch(signatures)
    nameless = nameless or issparse(signatures)
    return signatures if nameless else read(signatures)


def with_whole_labels(table: SignatureTable) -> SignatureTable:
    """The table with its float labels as integers. A label that is not whole is refused."""
    labels = table.labels.astype(np.int64)
    changed = table.labels[labels != table.labels]
    if len(changed):
        raise ValueError(f"signatures has class labels such as {listed(changed)}, but labels in y are integers")
    return SignatureTable(labels, table.matrix, table.names)


def one_hot(classes: NDArray[np.generic]) -> SignatureTable:
    """Each class is its own only attribute, as for an ordinary classifier."""
    return SignatureTable(classes, np.eye(len(classes)), None)


def label_kind(labels: NDArray[np.generic], where: str) -> str:
    """ "integer", "string", "float" or "boolean"; a mixture is refused."""
    kinds = {"b": "boolean", "i": "integer", "u": "integer", "f": "float", "U": "string", "T": "string"}
    if labels.dtype.kind in kinds:
        return kinds[labels.dtype.kind]
    found: dict[str, Any] = {}
    for label in labels.tolist():
        kind = next((name for name, types in _TYPES.items() if isinstance(label, types)), type(label).__name__)
        found.setdefault(kind, label)
    if found.keys() - {"string", "integer", "boolean"}:
        refuse_missing(labels, where)
    if len(found) > 1:
        shown = ", ".join(f"{kind} {label!r}" for kind, label in found.items())
        raise ValueError(f"{where} mixes label types ({shown}): make all class labels strings, or all integers")
    kind = next(iter(found))
    if kind not in _TYPES:
        raise ValueError(f"{where} holds labels of type {kind}: class labels must be all strings or all integers")
    return kind


_TYPES: dict[str, tuple[type, ...]] = {
    "boolean": (bool, np.bool_),
    "integer": (int, np.integer),
    "string": (str,),
    "float": (float, np.floating),
}


def unique_in_order(labels: NDArray[np.generic]) -> NDArray[np.generic]:
    """Each label once, by first appearance."""
    return labels[[group[0] for group in rows_of(labels).values()]]


def rows_of(labels: NDArray[np.generic]) -> dict[Any, list[int]]:
    """label → the indices of its rows."""
    rows: dict[Any, list[int]] = {}
    for index, label in enumerate(labels.tolist()):
        rows.setdefault(label, []).append(index)
    return rows


def as_labels(values: Any, where: str, known: Iterable[Any] = ()) -> NDArray[np.generic]:
    """A 1-D array of labels of one kind. A list of mixed types is refused, not turned into strings.

    A name in two spellings gets one of them, that of `known` where it is there.
    """
    if isinstance(values, str):
        raise ValueError(f"{where} is {values!r}: expected a list of class names; write [{values!r}]")
    if not isinstance(values, np.ndarray):
        values = list(to_numpy(values).tolist()) if is_torch(values) else list(values)
        array = np.empty(len(values), dtype=object)
        array[:] = values
        kind = label_kind(array, where) if len(array) else "string"
        return one_spelling(array, known) if kind == "string" else np.array(values)
    if values.ndim != 1:
        raise ValueError(f"{where} has shape {values.shape}: expected one label per row, shape (n,)")
    if len(values):
        label_kind(values, where)
    return one_spelling(values, known)


def _values(labels: Any) -> list[Any]:
    return [plain(label) for label in labels]


def _from_frame(frame: Any) -> SignatureTable:
    if isinstance(frame, pd.DataFrame):
        names = [str(name) for name in frame.columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"attribute columns appear more than once: {listed(repeated)}; keep one of each")
        frame = frame.set_axis(names, axis=1)
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        if hasattr(frame, "collect"):  # a plan for rows, as polars has it
            kind = type(frame).__name__
            raise ValueError(f"signatures is a {kind}, which holds no rows yet: call its .collect() first") from None
        raise ValueError(
            f"signatures of type {type(frame).__name__}: expected a data frame (pandas or polars), "
            "a mapping from class to vector, or a 2-D array"
        ) from None
    text = [name for name, kind in table.schema.items() if not (kind.is_numeric() or kind == nw.Boolean)]
    labels, given_by = _class_labels(frame, table, text)
    attributes = [name for name in table.columns if name != given_by]
    wrong = [name for name in text if name != given_by]
    if wrong:
        kinds = ", ".join(f"{name!r} is {table.schema[name]}" for name in wrong[:SHOWN])
        raise ValueError(
            f"attribute columns must be numbers, but {kinds}; convert them, as astype(float) does in pandas, or drop "
            f"them, or name the one that gives the class {CLASS_COLUMN!r}"
        )
    matrix = table.select(nw.col(attributes).cast(nw.Float64)).to_numpy() if attributes else np.empty((0, 0))
    return SignatureTable(as_labels(labels, "the class index of signatures"), matrix, tuple(attributes))


def _class_labels(frame: Any, table: Any, text: list[Any]) -> tuple[Any, Any]:
    """The label of each row, and the column that gave it (None for a pandas index)."""
    is_pandas = isinstance(frame, pd.DataFrame)
    if CLASS_COLUMN in table.columns:
        return table[CLASS_COLUMN].to_list(), CLASS_COLUMN
    if len(text) == 1 and (not is_pandas or isinstance(frame.index, pd.RangeIndex)):
        return table[text[0]].to_list(), text[0]
    if is_pandas:
        return frame.index.tolist(), None
    raise ValueError(
        f"the signatures table does not say which class each row describes: name one column {CLASS_COLUMN!r} "
        f"(its columns are {listed(table.columns)})"
    )


def _from_mapping(mapping: Mapping[Any, Any]) -> SignatureTable:
    if not mapping:
        raise ValueError("signatures is an empty mapping: expected class → vector")
    names: tuple[str, ...] | None = None
    labels: list[Any] = []
    blocks: list[Any] = []
    for label, given in mapping.items():
        named = given if isinstance(given, Mapping) else given.to_dict() if isinstance(given, pd.Series) else None
        if named is not None:
            mine = tuple(str(name) for name in named)
            names = names or mine
            if set(mine) != set(names):
                raise ValueError(f"class {label!r} is described by {listed(mine)}, others by {listed(names)}")
            by_name = {str(name): value for name, value in named.items()}
            given = [by_name[name] for name in names]
        block = numbers.matrix(given, f"the signature of class {label!r}")
        if block.ndim > 2:
            raise ValueError(f"the signature of class {label!r} has shape {block.shape}: expected (p,) or (rows, p)")
        if blocks and block.shape[1] != blocks[0].shape[1]:
            raise ValueError(
                f"the signature of class {label!r} has {block.shape[1]} values, that of class {labels[0]!r} "
                f"{blocks[0].shape[1]}: all classes need the same attributes"
            )
        labels += [label] * len(block)
        blocks.append(block)
    return SignatureTable(as_labels(labels, "signatures"), stacked(*blocks), names)


def _from_array(array: Any, classes: Sequence[Any] | NDArray[np.generic] | None) -> SignatureTable:
    matrix = numbers.matrix(array, "signatures") if issparse(array) else numbers.numeric(array, "signatures")
    if matrix.ndim != 2:
        raise ValueError(f"signatures has shape {matrix.shape}: expected 2-D, one row per class")
    if classes is None:
        raise ValueError(
            f"signatures is an array of {len(matrix)} rows without class names: pass candidates=[name of each row], "
            "or a data frame or mapping that names them"
        )
    if len(classes) != len(matrix):
        raise ValueError(
            f"signatures has {len(matrix)} rows for {len(classes)} classes: an array needs one row per class, "
            "in order; use a data frame or a mapping to describe further classes"
        )
    return SignatureTable(as_labels(classes, "the classes of signatures"), matrix, None)


def _reordered(table: SignatureTable, names: tuple[str, ...]) -> SignatureTable:
    assert table.names is not None
    if table.names == names:
        return table
    mine, wanted = {name: place for place, name in enumerate(table.names)}, set(names)
    missing = [name for name in names if name not in mine]
    extra = [name for name in table.names if name not in wanted]
    if missing or extra:
        parts = [f"lacks {listed(missing)}"] * bool(missing) + [f"has the unknown {listed(extra)}"] * bool(extra)
        raise ValueError(
            f"the signatures table {' and '.join(parts)}: it must have the {len(names)} attribute columns of fit"
        )
    order = [mine[name] for name in names]
    return SignatureTable(table.labels, table.matrix[:, order], names)
