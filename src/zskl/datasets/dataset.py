"""The frozen record of one dataset, checked when it is made: who holds one may rely on its invariants."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from functools import cached_property
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.parameters import did_you_mean, listed
from zskl.signatures.table import CLASS_COLUMN

REQUIRED_PARTS = ("trainval", "test_seen", "test_unseen")
BLOCK_VALUES = 1 << 22  # features looked at together in the check for finite values: 16 MB


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features, labels, class signatures and the parts into which the rows fall.

    X           (n, d) float32; a float32 memmap is kept as it is
    y           (n,) class labels, strings or integers, the same values as `signatures.index`
    signatures  index = class, columns = attribute names; several rows of one class are several descriptions
    parts       name → row numbers: trainval, test_seen, test_unseen, which share no row; any further part
                is a fold or the like and lies inside trainval
    source      the file or the function the data came from; errors name it
    features    which features X holds, where a dataset comes with several: "res101"
    feature_names   of the d columns of X, where they have any
    checked     X is float32 and known to be finite, as what datasets.mapped keeps: it is not read to check it

    A class is seen if it has trainval rows; every other class of the table is unseen. Arrays are read-only.
    """

    name: str
    X: NDArray[np.float32]
    y: NDArray[Any]
    signatures: pd.DataFrame
    parts: Mapping[str, NDArray[np.int64]]
    source: str = ""
    features: str = ""
    feature_names: tuple[str, ...] | None = None
    checked: InitVar[bool] = False

    def __post_init__(self, checked: bool) -> None:
        keep = object.__setattr__
        keep(self, "X", self._checked_features(checked))
        if self.feature_names is not None and len(self.feature_names) != self.X.shape[1]:
            raise self._error(f"X has {self.X.shape[1]} columns and feature_names {len(self.feature_names)} names")
        keep(self, "y", self._checked_labels("y", self.y))
        if len(self.y) != len(self.X):
            raise self._error(f"X has {len(self.X)} rows and y {len(self.y)} labels; give one label per row")
        keep(self, "signatures", self._checked_signatures())
        self._check_described()
        keep(self, "parts", self._checked_parts())
        self._check_class_split()

    def __repr__(self) -> str:
        n, d = self.X.shape
        classes = f"{len(self.seen_classes)} seen and {len(self.unseen_classes)} unseen classes"
        attributes = f"{len(self.attribute_names)} attributes"
        return f"Dataset({self.name!r}, {n} rows × {d} features, {classes}, {attributes})"

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy does not pickle
        fields = (self.name, self.X, self.y, self.signatures, dict(self.parts), self.source, self.features)
        return type(self), (*fields, self.feature_names, True)  # X was checked when this record was made

    def samples(self, part: str) -> tuple[Any, NDArray[Any]]:
        """X and y of a part, ready for `fit`; X is a data frame where the columns have names."""
        if part not in self.parts:
            raise self._error(f"no part {part!r}{did_you_mean(part, self.parts)}; expected one of {listed(self.parts)}")
        rows = self.parts[part]
        X, y = self.X[rows], self.y[rows]
        return (X, y) if self.feature_names is None else (pd.DataFrame(X, columns=self.feature_names, copy=False), y)

    @cached_property
    def class_names(self) -> NDArray[Any]:
        """(C,) the classes of the table in the order in which they first appear."""
        return _frozen(np.asarray(list(dict.fromkeys(self.signatures.index.tolist()))))

    @cached_property
    def attribute_names(self) -> list[str]:
        """The p column names of the table."""
        return [str(column) for column in self.signatures.columns]

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """(n,) the labels as positions in `class_names`."""
        found = pd.Index(self.class_names).get_indexer(pd.Index(self.y))
        return _frozen(np.asarray(found, dtype=np.int64))

    @cached_property
    def seen_classes(self) -> NDArray[Any]:
        """The classes with trainval rows, in the order of `class_names`."""
        return _frozen(self.class_names[self._is_seen])

    @cached_property
    def unseen_classes(self) -> NDArray[Any]:
        """All other classes of the table, with or without rows, in the order of `class_names`."""
        return _frozen(self.class_names[~self._is_seen])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of labels, parts and the named signatures, not of X: the same in every process."""
        table, parts = self.signatures, sorted(self.parts.items())
        names = [self.y.tolist(), table.index.tolist(), self.attribute_names, [[k, len(v)] for k, v in parts]]
        digest = hashlib.sha256(json.dumps(names).encode())
        digest.update((table.to_numpy(dtype="<f8") + 0.0).tobytes())  # + 0.0: minus zero is zero
        for _, rows in parts:
            digest.update(rows.astype("<i8").tobytes())
        return digest.hexdigest()

    @cached_property
    def features_digest(self) -> str:
        """SHA-256 in hex of the shape of X and of up to 64 rows spread over it: tells features made anew from the old
        ones, without reading all of a mapped file."""
        rows = np.unique(np.linspace(0, len(self.X) - 1, 64).astype(np.int64))
        digest = hashlib.sha256(json.dumps(list(self.X.shape)).encode())
        digest.update(np.ascontiguousarray(self.X[rows], dtype="<f4").tobytes())
        return digest.hexdigest()

    @cached_property
    def _is_seen(self) -> NDArray[np.bool_]:
        return np.bincount(self.codes[self.parts["trainval"]], minlength=len(self.class_names)) > 0

    def _error(self, sentence: str) -> ValueError:
        return ValueError(f"dataset {self.name!r}{f' ({self.source})' if self.source else ''}: {sentence}")

    def _checked_features(self, checked: bool) -> NDArray[np.float32]:
        X = self.X if isinstance(self.X, np.memmap) else np.asarray(self.X)
        if X.ndim != 2 or not X.size:
            raise self._error(f"X has shape {X.shape}; give a matrix of at least one row and one column")
        if X.dtype != np.float32:
            try:
                with np.errstate(over="ignore"):  # what overflows is infinite and reported below
                    X = X.astype(np.float32)
            except (TypeError, ValueError):
                raise self._error(f"X holds {X.dtype} values; give numbers") from None
        elif checked:
            return _frozen(X)
        height = max(1, BLOCK_VALUES // X.shape[1])
        finite = np.ones(len(X), dtype=bool)
        for start in range(0, len(X), height):
            finite[start : start + height] = np.isfinite(X[start : start + height]).all(axis=1)
        if not finite.all():
            rows = np.flatnonzero(~finite)
            columns = np.flatnonzero(~np.isfinite(X[rows[0]]))
            raise self._error(
                f"X is NaN or infinite (as float32) in rows {listed(rows)}, the first of them in columns "
                f"{listed(columns)}; repair or leave out these rows"
            )
        return _frozen(X)

    def _checked_labels(self, field: str, values: Any) -> NDArray[Any]:
        """Only strings or only integers. NumPy would turn the list [1, "a"] into strings: objects first."""
        labels = np.asarray(values) if hasattr(values, "dtype") else np.array(list(values), dtype=object)
        if labels.ndim != 1:
            raise self._error(f"{field} has shape {labels.shape}; give a vector of labels")
        if labels.dtype.kind not in "iuU":
            kinds = {_kind(label) for label in labels.tolist()}
            if len(kinds) > 1 or not kinds <= {"str", "int"}:
                found = " and ".join(sorted(kinds))
                raise self._error(f"{field} holds labels of type {found}; make all strings or all integers")
            labels = labels.astype(np.str_ if kinds == {"str"} else np.int64)
        return _frozen(labels)

    def _checked_signatures(self) -> pd.DataFrame:
        """The same table with labels as in y, string column names and values of one float type."""
        table = self.signatures
        if not isinstance(table, pd.DataFrame) or table.index.nlevels != 1 or not table.size:
            found = f"a table of shape {table.shape}" if isinstance(table, pd.DataFrame) else type(table).__name__
            raise self._error(f"signatures is {found}; give a pandas DataFrame, index = class, column = attribute")
        classes = self._checked_labels("signatures.index", table.index)
        columns = pd.Index([str(column) for column in table.columns], name=table.columns.name)
        if columns.has_duplicates:
            twice = columns[columns.duplicated()].unique()
            raise self._error(f"signatures has several columns named {listed(twice)}; rename or drop them")
        if CLASS_COLUMN in columns:
            raise self._error(f"signatures has an attribute named {CLASS_COLUMN!r}, which names classes; rename it")
        words = [not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]
        if any(words):
            raise self._error(f"signatures is not numeric in columns {listed(columns[words])}; give numbers")
        single = all(kind == np.float32 for kind in table.dtypes)
        values = table.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
        finite = np.isfinite(values)
        if not finite.all():
            raise self._error(
                f"signatures is missing or infinite for classes {listed(classes[~finite.all(axis=1)])} in "
                f"columns {listed(columns[~finite.all(axis=0)])}; fill in the values or drop the columns"
            )
        if not values.any(axis=1).all():
            empty = classes[~values.any(axis=1)]
            raise self._error(f"signatures has only zeros for classes {listed(empty)}; describe or drop them")
        index = pd.Index(classes, name=table.index.name)
        return pd.DataFrame(_frozen(values.copy()), index=index, columns=columns, copy=False)

    def _check_described(self) -> None:
        missing = list(dict.fromkeys(self.y[self.codes < 0].tolist()))
        if not missing:
            return
        mine, table = _kind(self.y[0].item()), _kind(self.class_names[0].item())
        if mine != table:
            raise self._error(
                f"y holds {mine} labels such as {listed(missing[:1])}, signatures.index {table} labels such "
                f"as {listed(self.class_names[:1])}; convert one of them: 3 and '3' are different labels"
            )
        raise self._error(
            f"y names classes without a row in signatures: {listed(missing)}; add their signatures or "
            "leave their rows out"
        )

    def _checked_parts(self) -> Mapping[str, NDArray[np.int64]]:
        n = len(self.X)
        given = dict(self.parts) if isinstance(self.parts, Mapping) else {}
        lacking = [part for part in REQUIRED_PARTS if part not in given]
        if lacking:
            raise self._error(f"parts lacks {listed(lacking)}; give name → row numbers, an empty list for none")
        parts = {str(part): np.asarray(rows) for part, rows in given.items()}
        within: dict[str, NDArray[np.bool_]] = {}  # part → for each row whether it is in it
        for part, rows in parts.items():
            if rows.ndim != 1 or (rows.dtype.kind not in "iu" and rows.size):
                raise self._error(
                    f"parts[{part!r}] is {rows.dtype} of shape {rows.shape}; give a vector of integer row "
                    "numbers (np.flatnonzero turns a mask into one)"
                )
            beyond = rows[(rows < 0) | (rows >= n)]
            if beyond.size:
                raise self._error(f"parts[{part!r}] names rows {listed(beyond)}; X has rows 0 to {n - 1}, count from 0")
            parts[part] = _frozen(rows.astype(np.int64, copy=False))
            times = np.bincount(parts[part], minlength=n)
            if times.max() > 1:
                raise self._error(
                    f"parts[{part!r}] repeats rows {listed(np.flatnonzero(times > 1))}; name each row once"
                )
            within[part] = times > 0
        for one, other in combinations(REQUIRED_PARTS, 2):
            shared = np.flatnonzero(within[one] & within[other])
            if shared.size:
                raise self._error(
                    f"parts {one!r} and {other!r} share rows {listed(shared)}; move each row to one of them"
                )
        for part, rows in parts.items():
            outside = rows[~within["trainval"][rows]]
            if outside.size and part not in REQUIRED_PARTS:
                raise self._error(
                    f"parts[{part!r}] names rows {listed(outside)} outside trainval; keep folds inside it"
                )
        for part in [name for name in parts if name.endswith("_train") and f"{name[:-6]}_val" in parts]:
            other = f"{part[:-6]}_val"
            shared = np.intersect1d(parts[part], parts[other])
            if shared.size:
                raise self._error(
                    f"parts {part!r} and {other!r} share rows {listed(shared)}; put each into one of them"
                )
        return MappingProxyType(parts)

    def _check_class_split(self) -> None:
        tested = {part: self.class_names[np.unique(self.codes[rows])] for part, rows in self.parts.items()}
        leaked = np.intersect1d(tested["test_unseen"], self.seen_classes)
        if leaked.size:
            raise self._error(
                f"classes {listed(leaked)} have rows in both trainval and test_unseen; take the rows of an "
                "unseen class out of trainval"
            )
        untrained = np.setdiff1d(tested["test_seen"], self.seen_classes)
        if untrained.size:
            raise self._error(
                f"classes {listed(untrained)} have rows in test_seen and none in trainval; move the rows to test_unseen"
            )
        if len(self.seen_classes) < 2:
            raise self._error(f"trainval has {len(self.seen_classes)} classes; give rows of at least two")
        if not len(self.unseen_classes):
            raise self._error(
                f"all {len(self.class_names)} classes of signatures have trainval rows; add an unseen class"
            )


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: the flags of the caller's own array stay as they are."""
    view = array.view()
    view.flags.writeable = False
    return view


def _kind(label: Any) -> str:
    if isinstance(label, (int, np.integer)) and not isinstance(label, bool):
        return "int"
    return "str" if isinstance(label, str) else type(label).__name__
