"""The invariants of a dataset. Each check returns the field as it is kept, or raises an error starting with `where`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.parameters import listed
from zskl.signatures.labels import all_composed, refuse_missing
from zskl.signatures.table import CLASS_COLUMN

REQUIRED_PARTS = ("trainval", "test_seen", "test_unseen")
BLOCK_VALUES = 1 << 22  # features checked together for finite values: 16 MB


Scalar = TypeVar("Scalar", bound=np.generic)


def fold_names(parts: Iterable[str]) -> list[str]:
    """The validation folds among the names of parts, by number: fold1 for fold1_train and fold1_val."""
    names = set(parts)
    folds = [name.removesuffix("_train") for name in names if name.endswith("_train")]
    return sorted((fold for fold in folds if f"{fold}_val" in names), key=lambda fold: (len(fold), fold))


def features(where: str, X: NDArray[np.generic], checked: bool) -> NDArray[np.float32]:
    """X as float32, finite. What was `checked` before is not read again."""
    X = X if isinstance(X, np.memmap) else np.asarray(X)
    if X.ndim != 2 or not X.size:
        raise _error(where, f"X has shape {X.shape}; give a matrix of at least one row and one column")
    try:
        with np.errstate(over="ignore"):  # what overflows is infinite and reported below
            single = np.asanyarray(X, dtype=np.float32)  # X itself if it is float32, also a memory map
    except (TypeError, ValueError):
        raise _error(where, f"X holds {X.dtype} values; give numbers") from None
    if checked and X.dtype == np.float32:
        return frozen(single)
    height = max(1, BLOCK_VALUES // single.shape[1])
    finite = np.ones(len(single), dtype=bool)
    for start in range(0, len(single), height):
        finite[start : start + height] = np.isfinite(single[start : start + height]).all(axis=1)
    if not finite.all():
        rows = np.flatnonzero(~finite)
        columns = np.flatnonzero(~np.isfinite(single[rows[0]]))
        raise _error(
            where,
            f"X is NaN or infinite (as float32) in rows {listed(rows)}, the first of them in columns "
            f"{listed(columns)}; repair or leave out these rows",
        )
    return frozen(single)


def labels(where: str, field: str, values: Any) -> NDArray[np.generic]:
    """Only strings, in form NFC, or only integers. NumPy would turn the list [1, "a"] into strings: objects first."""
    found = np.asarray(values) if hasattr(values, "dtype") else np.array(list(values), dtype=object)
    if found.ndim != 1:
        raise _error(where, f"{field} has shape {found.shape}; give a vector of labels")
    if found.dtype.kind not in "iuU":
        refuse_missing(found, f"{where}: {field}")
        kinds = {_kind(label) for label in found.tolist()}
        if len(kinds) > 1 or not kinds <= {"str", "int"}:
            raise _error(
                where, f"{field} holds labels of type {' and '.join(sorted(kinds))}; make all strings or all integers"
            )
        found = found.astype(np.str_ if kinds == {"str"} else np.int64)
    return frozen(all_composed(found))


def signatures(where: str, table: pd.DataFrame) -> pd.DataFrame:
    """The same table with labels as in y, string column names and values of one float type."""
    if not isinstance(table, pd.DataFrame) or table.index.nlevels != 1 or not table.size:
        found = f"a table of shape {table.shape}" if isinstance(table, pd.DataFrame) else type(table).__name__
        raise _error(where, f"signatures is {found}; give a pandas DataFrame, index = class, column = attribute")
    classes = labels(where, "signatures.index", table.index)
    columns = pd.Index([str(column) for column in table.columns], name=table.columns.name)
    if columns.has_duplicates:
        twice = columns[columns.duplicated()].unique()
        raise _error(where, f"signatures has several columns named {listed(twice)}; rename or drop them")
    if CLASS_COLUMN in columns:
        raise _error(where, f"signatures has an attribute named {CLASS_COLUMN!r}, which names classes; rename it")
    words = [not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]
    if any(words):
        raise _error(where, f"signatures is not numeric in columns {listed(columns[words])}; give numbers")
    single = all(kind == np.float32 for kind in table.dtypes)
    values = table.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
    finite = np.isfinite(values)
    if not finite.all():
        raise _error(
            where,
            f"signatures is missing or infinite for classes {listed(classes[~finite.all(axis=1)])} in "
            f"columns {listed(columns[~finite.all(axis=0)])}; fill in the values or drop the columns",
        )
    index = pd.Index(classes, name=table.index.name)
    return pd.DataFrame(frozen(values.copy()), index=index, columns=columns, copy=False)


def check_described(
    where: str, y: NDArray[np.generic], codes: NDArray[np.int64], class_names: NDArray[np.generic]
) -> None:
    """Refuse labels without a row in the signatures, whose code is -1."""
    missing = list(dict.fromkeys(y[codes < 0].tolist()))
    if not missing:
        return
    mine, table = _kind(y[0].item()), _kind(class_names[0].item())
    if mine != table:
        raise _error(
            where,
            f"y holds {mine} labels such as {listed(missing[:1])}, signatures.index {table} labels such "
            f"as {listed(class_names[:1])}; convert one of them: 3 and '3' are different labels",
        )
    raise _error(
        where,
        f"y names classes without a row in signatures: {listed(missing)}; add their signatures or leave their rows out",
    )


def parts(where: str, given: Mapping[str, Any], n: int) -> Mapping[str, NDArray[np.int64]]:
    """Row numbers below n, each once in a part; the required parts share no row, the others are inside trainval."""
    given = dict(given) if isinstance(given, Mapping) else {}
    lacking = [part for part in REQUIRED_PARTS if part not in given]
    if lacking:
        raise _error(where, f"parts lacks {listed(lacking)}; give name → row numbers, an empty list for none")
    found = {str(part): np.asarray(rows) for part, rows in given.items()}
    within: dict[str, NDArray[np.bool_]] = {}  # part → for each row whether it is in it
    for part, rows in found.items():
        if rows.ndim != 1 or (rows.dtype.kind not in "iu" and rows.size):
            raise _error(
                where,
                f"parts[{part!r}] is {rows.dtype} of shape {rows.shape}; give a vector of integer row "
                "numbers (np.flatnonzero turns a mask into one)",
            )
        beyond = rows[(rows < 0) | (rows >= n)]
        if beyond.size:
            raise _error(where, f"parts[{part!r}] names rows {listed(beyond)}; X has rows 0 to {n - 1}, count from 0")
        found[part] = frozen(rows.astype(np.int64, copy=False))
        times = np.bincount(found[part], minlength=n)
        if times.max() > 1:
            raise _error(where, f"parts[{part!r}] repeats rows {listed(np.flatnonzero(times > 1))}; name each row once")
        within[part] = times > 0
    for one, other in combinations(REQUIRED_PARTS, 2):
        shared = np.flatnonzero(within[one] & within[other])
        if shared.size:
            raise _error(
                where, f"parts {one!r} and {other!r} share rows {listed(shared)}; move each row to one of them"
            )
    for part, rows in found.items():
        outside = rows[~within["trainval"][rows]]
        if outside.size and part not in REQUIRED_PARTS:
            raise _error(where, f"parts[{part!r}] names rows {listed(outside)} outside trainval; keep folds inside it")
    for fold in fold_names(found):
        part, other = f"{fold}_train", f"{fold}_val"
        shared = np.intersect1d(found[part], found[other])
        if shared.size:
            raise _error(where, f"parts {part!r} and {other!r} share rows {listed(shared)}; put each into one of them")
    return MappingProxyType(found)


def check_class_split(
    where: str, tested: Mapping[str, NDArray[np.generic]], seen: NDArray[np.generic], unseen: NDArray[np.generic]
) -> None:
    """Refuse test rows of the wrong classes. `tested` are the classes with rows in test_seen and test_unseen."""
    leaked = np.intersect1d(tested["test_unseen"], seen)
    if leaked.size:
        raise _error(
            where,
            f"classes {listed(leaked)} have rows in both trainval and test_unseen; take the rows of an "
            "unseen class out of trainval",
        )
    untrained = np.setdiff1d(tested["test_seen"], seen)
    if untrained.size:
        raise _error(
            where,
            f"classes {listed(untrained)} have rows in test_seen and none in trainval; move the rows to test_unseen",
        )
    if len(seen) < 2:
        raise _error(where, f"trainval has {len(seen)} classes; give rows of at least two")
    if not len(unseen):
        raise _error(where, f"all {len(seen)} classes of signatures have trainval rows; add an unseen class")


def frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """A read-only view; the caller's own array stays writable."""
    view = array.view()
    view.flags.writeable = False
    return view


def _kind(label: Any) -> str:
    if isinstance(label, (int, np.integer)) and not isinstance(label, bool):
        return "int"
    return "str" if isinstance(label, str) else type(label).__name__


def _error(where: str, sentence: str) -> ValueError:
    return ValueError(f"{where}: {sentence}")
