"""The frozen record of one dataset. It is checked when it is made, so you can rely on what it holds."""

import hashlib
import json
import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl._arrays import is_sparse, take_rows
from zskl._display import Shown, list_some
from zskl._validation import list_values, suggest
from zskl.datasets import split
from zskl.datasets.tables.features import (
    Wanted,
    check_range,
    choose_feature_columns,
    find_repeated_features,
    to_float32,
)
from zskl.datasets.tables.source import Source
from zskl.signatures import table as tables

REQUIRED_PARTS = ("trainval", "test_seen", "test_unseen")
BLOCK_VALUES = 1 << 22  # features checked together for finite values: 16 MB
Scalar = TypeVar("Scalar", bound=np.generic)
log = logging.getLogger(__name__)


def fold_names(parts: Iterable[str]) -> list[str]:
    """The validation folds among the names of parts, by number: fold1 for fold1_train and fold1_val."""
    names = set(parts)
    folds = [name.removesuffix("_train") for name in names if name.endswith("_train")]
    return sorted((fold for fold in folds if f"{fold}_val" in names), key=lambda fold: (len(fold), fold))


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features, labels, class signatures and the parts that the rows fall into.

    A class is *seen* if it has rows in the part trainval. Every other class of the table is *unseen*. All is checked
    when a dataset is made, and arrays are read-only.

    Parameters
    ----------
    name : str
        What the dataset is called; errors name it.
    X : array of shape (n, d)
        The features, kept as float32. A float32 memory map stays one.
    y : array of shape (n,)
        The class of each row, all strings or all integers: the same values as in `signatures.index`.
    signatures : DataFrame
        The class table: its index gives the class, its columns are attributes. Several rows of one class are several
        descriptions of it.
    parts : mapping of str to array
        Name → row numbers: trainval, test_seen and test_unseen, which share no row. Any further part, such as
        fold1_train, is inside trainval.
    source : str, default=""
        The file or the function that the data came from; errors name it.
    features : str, default=""
        Which features X holds, for a dataset that comes with several, such as "res101".
    feature_names : tuple of str, default=None
        The names of the d columns of X, if they have names.
    backbone : str, default=None
        The network that made the features from pictures, such as "efficientnet-lite2", if it is known.
    blocks : mapping of str to int or range, default=None
        The blocks of columns of X by name, such as one for each network: how many columns each has, in their order, or
        which. Together they are all columns. None stands for a single block.
    signature_blocks : mapping of str to int or range, default=None
        The same for the columns of the table, where several tables stand side by side.
    checked : bool, default=False
        X is float32 and known to be finite, so it is not read to check it.

    Attributes
    ----------
    blocks, signature_blocks : mapping of str to range
        Name → columns, also of a single block: what `ClassMeansClassifier` takes under the same names.

    Examples
    --------
    >>> import pandas as pd
    >>> from zskl import Dataset
    >>> table = pd.DataFrame({"legs": [2, 4, 6], "fur": [0, 1, 0]}, index=["owl", "cat", "ant"])
    >>> parts = {"trainval": [0, 2], "test_seen": [1], "test_unseen": [3]}
    >>> data = Dataset("animals", [[1], [2], [8], [9]], ["owl", "owl", "cat", "ant"], table, parts)
    >>> data
    Dataset('animals', 4 rows × 1 features, 2 seen and 1 unseen classes, 2 attributes)
    >>> data.unseen_classes.tolist()
    ['ant']
    >>> X, y = data.samples("trainval")
    >>> X.shape, y.tolist()
    ((2, 1), ['owl', 'cat'])
    """

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.generic]
    signatures: pd.DataFrame
    parts: Mapping[str, NDArray[np.int64]]
    source: str = ""
    features: str = ""
    feature_names: tuple[str, ...] | None = None
    backbone: str | None = None
    blocks: Mapping[str, range] | None = None  # always a mapping once the record is made
    signature_blocks: Mapping[str, range] | None = None
    checked: InitVar[bool] = False

    @classmethod
    def from_frames(
        cls,
        features: Any,
        labels: Any,
        signatures: Any,
        *,
        unseen: Sequence[str | int] | int | float = 0.25,
        seed: int = 0,
        name: str = "frames",
    ) -> "Dataset":
        """Make a dataset of data frames in memory, divided into parts as `zskl data make` divides files.

        Parameters
        ----------
        features : data frame or array of shape (n, d)
            A row per sample, from pandas, polars or another library that narwhals knows. A column "id" names the rows
            and is no feature.
        labels : str, Series or array of shape (n,)
            The class of each row: a column of `features`, or the labels themselves. A pandas Series with the index of
            `features` in another order is matched by it.
        signatures : data frame or mapping
            The class table: one row, or several, per class. The column "class" (or the one called as `labels`) names
            the class, or the index of a pandas frame does.
        unseen : list of labels, int or float, default=0.25
            The classes without training rows: their names, how many to draw, or the fraction to draw. A class without
            rows is always unseen.
        seed : int, default=0
            Seed of all draws: unseen classes, test rows and folds.
        name : str, default="frames"
            What the dataset is called.

        Returns
        -------
        Dataset
            The dataset. A fifth of the rows of each seen class is test_seen. Of six seen classes or more, there are
            three validation folds.

        Raises
        ------
        ValueError
            If a frame is not as expected; the message names the column and says what to do.

        See Also
        --------
        zskl.datasets.make : The same from files.

        Examples
        --------
        >>> import pandas as pd
        >>> from zskl import Dataset
        >>> birds = pd.DataFrame({"wing": [20, 21, 5, 6, 90], "species": ["owl", "owl", "wren", "wren", "swan"]})
        >>> traits = pd.DataFrame({"class": ["owl", "wren", "swan"], "size": [2, 1, 3], "nocturnal": [1, 0, 0]})
        >>> data = Dataset.from_frames(birds, "species", traits, unseen=["swan"])
        >>> data
        Dataset('frames', 5 rows × 1 features, 2 seen and 1 unseen classes, 2 attributes)
        >>> data.parts["test_unseen"].tolist()
        [4]
        """
        split.check_seed(seed)
        X, names, y = _read_features(features, labels)
        numbering = tables.Numbering(names or ())
        if names and len(X):
            numbering.update(X)
        found = [(names or ())[k] for k in numbering.find()]
        if found:
            fault = "numbers or names the rows, and counts as a feature: drop it, or call it 'id'"
            warnings.warn(f"features: column {list_values(found)} {fault}", stacklevel=2)
        table = tables.read_table(_index_by_class(signatures, labels if isinstance(labels, str) else None))
        tables.warn_about_signatures(table, signatures)
        if table.labels.dtype.kind == "f":  # 3.0 is 3, as in files
            table = tables.with_integer_labels(table)
        with _name_dataset(f"dataset {name!r}"):
            y = _check_labels("labels", _whole_labels(y))
            classes = list(dict.fromkeys(_check_labels("the classes of signatures", table.labels).tolist()))
            codes = np.asarray(pd.Index(classes).get_indexer(pd.Index(y)), dtype=np.int64)
            _check_described(y, codes, np.asarray(classes))
        sizes = np.bincount(codes, minlength=len(classes))
        hidden = split.choose_unseen([str(one) for one in classes], sizes, *_requested_unseen(unseen), seed)
        return cls(
            name=name,
            X=X,
            y=y,
            signatures=tables.to_frame(table),
            parts=split.divide_rows(codes, hidden, seed),
            feature_names=names,
        )

    def __post_init__(self, checked: bool) -> None:
        keep = object.__setattr__
        with _name_dataset(self._where):
            keep(self, "X", _check_features(self.X, checked))
            if self.feature_names is not None and len(self.feature_names) != self.X.shape[1]:
                raise ValueError(f"X has {self.X.shape[1]} columns and feature_names {len(self.feature_names)} names")
            keep(self, "y", _check_labels("y", self.y))
            if len(self.y) != len(self.X):
                raise ValueError(f"X has {len(self.X)} rows and y {len(self.y)} labels; give one label per row")
            keep(self, "signatures", _check_signatures(self.signatures))
            _check_described(self.y, self.codes, self.class_names)
            keep(self, "parts", _check_parts(self.parts, len(self.X)))
            single = {"blocks": self.features or "features", "signature_blocks": "signatures"}
            widths = {"blocks": self.X.shape[1], "signature_blocks": self.signatures.shape[1]}
            for field, width in widths.items():
                given = getattr(self, field) or {single[field]: width}
                if isinstance(given, MappingProxyType) and len(given) == 1:  # of a dataset whose columns were replaced
                    given = dict.fromkeys(given, width)
                keep(self, field, _check_blocks(field, given, width))
            self._check_class_split()
        log.info("%r", self)

    def _check_class_split(self) -> None:
        seen = self.seen_classes
        tested = {part: self.class_names[np.unique(self.codes[rows])] for part, rows in self.parts.items()}
        leaked = np.intersect1d(tested["test_unseen"], seen)
        if leaked.size:
            advice = "take the rows of an unseen class out of trainval"
            raise ValueError(f"classes {list_values(leaked)} have rows in both trainval and test_unseen; {advice}")
        untrained = np.setdiff1d(tested["test_seen"], seen)
        if untrained.size:
            fault = "have rows in test_seen and none in trainval; move the rows to test_unseen"
            raise ValueError(f"classes {list_values(untrained)} {fault}")
        if len(seen) < 2:
            raise ValueError(f"trainval has {len(seen)} classes; give rows of at least two")
        if not len(self.unseen_classes):
            raise ValueError(f"all {len(seen)} classes of signatures have trainval rows; add an unseen class")

    def __repr__(self) -> str:
        n, d = self.X.shape
        classes = f"{len(self.seen_classes)} seen and {len(self.unseen_classes)} unseen classes"
        attributes = f"{len(self.attribute_names)} attributes"
        return f"Dataset({self.name!r}, {n} rows × {d} features, {classes}, {attributes})"

    def _repr_html_(self) -> str:
        n, d = self.X.shape
        rows = [
            ("rows × features", f"{n} × {d}"),
            (f"{len(self.seen_classes)} seen classes", list_some(self.seen_classes.tolist())),
            (f"{len(self.unseen_classes)} unseen classes", list_some(self.unseen_classes.tolist())),
            (f"{len(self.attribute_names)} attributes", list_some(self.attribute_names)),
            *((f"part {part}", f"{len(places)} rows") for part, places in self.parts.items()),
        ]
        features = f", features {self.features}" if self.features else ""
        return Shown(f"Dataset {self.name}{features}", ("", ""), rows).html()

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy does not pickle
        fields = (self.name, self.X, self.y, self.signatures, dict(self.parts), self.source, self.features)
        blocks = dict(self.blocks or {}), dict(self.signature_blocks or {})
        return type(self), (*fields, self.feature_names, self.backbone, *blocks, True)  # X was checked

    def samples(self, part: str) -> tuple[NDArray[np.float32] | pd.DataFrame, NDArray[np.generic]]:
        """Give X and y of a part, ready for `fit`.

        Parameters
        ----------
        part : str
            The name of a part, such as "trainval".

        Returns
        -------
        X : array or DataFrame of shape (rows, d)
            The features of these rows; a data frame if the columns have names.
        y : array of shape (rows,)
            Their classes.
        """
        if part not in self.parts:
            near, known = suggest(part, self.parts), list_values(self.parts)
            raise ValueError(f"{self._where}: no part {part!r}{near}: expected one of {known}")
        rows = self.parts[part]
        X, y = take_rows(self.X, rows), self.y[rows]
        return (X, y) if self.feature_names is None else (pd.DataFrame(X, columns=self.feature_names, copy=False), y)

    @cached_property
    def class_names(self) -> NDArray[np.generic]:
        """The C classes of the table, in the order in which they first appear."""
        return read_only_view(np.asarray(list(dict.fromkeys(self.signatures.index.tolist()))))

    @cached_property
    def attribute_names(self) -> list[str]:
        """The p column names of the table."""
        return [str(column) for column in self.signatures.columns]

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The n labels as positions in `class_names`."""
        found = pd.Index(self.class_names).get_indexer(pd.Index(self.y))
        return read_only_view(np.asarray(found, dtype=np.int64))

    @cached_property
    def seen_classes(self) -> NDArray[np.generic]:
        """The classes with trainval rows, in the order of `class_names`."""
        return read_only_view(self.class_names[self._is_seen])

    @cached_property
    def unseen_classes(self) -> NDArray[np.generic]:
        """All other classes of the table, with or without rows, in the order of `class_names`."""
        return read_only_view(self.class_names[~self._is_seen])

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
        """SHA-256 in hex of the shape of X and of up to 64 rows spread over it: it need not read all of a mapped
        file."""
        rows = np.unique(np.linspace(0, len(self.X) - 1, 64).astype(np.int64))
        digest = hashlib.sha256(json.dumps(list(self.X.shape)).encode())
        digest.update(np.ascontiguousarray(self.X[rows], dtype="<f4").tobytes())
        return digest.hexdigest()

    @cached_property
    def _is_seen(self) -> NDArray[np.bool_]:
        return np.bincount(self.codes[self.parts["trainval"]], minlength=len(self.class_names)) > 0

    @property
    def _where(self) -> str:
        return f"dataset {self.name!r}{f' ({self.source})' if self.source else ''}"


@contextmanager
def _name_dataset(where: str) -> Iterator[None]:
    """Begin the errors of checks with the name of the dataset."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


# Checks: each returns the field as it is kept, or raises an error that `_name_dataset` completes


def _check_features(X: NDArray[np.generic], checked: bool) -> NDArray[np.float32]:
    """X as float32, finite. What was `checked` before is not read again."""
    X = X if isinstance(X, np.memmap) else np.asarray(X)
    if X.ndim != 2 or not X.size:
        raise ValueError(f"X has shape {X.shape}; give a matrix of at least one row and one column")
    try:
        with np.errstate(over="ignore"):  # what overflows is infinite and reported below
            single = np.asanyarray(X, dtype=np.float32)  # X itself if it is float32, also a memory map
    except (TypeError, ValueError):
        raise ValueError(f"X holds {X.dtype} values; give numbers") from None
    if checked and X.dtype == np.float32:
        return read_only_view(single)
    # In blocks, so that a mapped file is never in memory whole.
    height = max(1, BLOCK_VALUES // single.shape[1])
    finite = np.ones(len(single), dtype=bool)
    for start in range(0, len(single), height):
        finite[start : start + height] = np.isfinite(single[start : start + height]).all(axis=1)
    if not finite.all():
        rows = np.flatnonzero(~finite)
        columns = np.flatnonzero(~np.isfinite(single[rows[0]]))
        raise ValueError(
            f"X is NaN or infinite (as float32) in rows {list_values(rows)}, the first of them in columns "
            f"{list_values(columns)}; repair or leave out these rows"
        )
    return read_only_view(single)


def _check_labels(field: str, values: Any) -> NDArray[np.generic]:
    """Only strings, in form NFC, or only integers. NumPy would turn the list [1, "a"] into strings: objects first."""
    found = np.asarray(values) if hasattr(values, "dtype") else np.array(list(values), dtype=object)
    if found.ndim != 1:
        raise ValueError(f"{field} has shape {found.shape}; give a vector of labels")
    if found.dtype.kind not in "iuU":
        tables.refuse_missing(found, field)
        kinds = {_label_kind(label) for label in found.tolist()}
        if len(kinds) > 1 or not kinds <= {"str", "int"}:
            shown = " and ".join(sorted(kinds))
            raise ValueError(f"{field} holds labels of type {shown}; make all strings or all integers")
        found = found.astype(np.str_ if kinds == {"str"} else np.int64)
    return read_only_view(tables.normalise_names(found))


def _check_signatures(table: pd.DataFrame) -> pd.DataFrame:
    """The same table with labels as in y, string column names and values of one float type."""
    if not isinstance(table, pd.DataFrame) or table.index.nlevels != 1 or not table.size:
        found = f"a table of shape {table.shape}" if isinstance(table, pd.DataFrame) else type(table).__name__
        raise ValueError(f"signatures is {found}; give a pandas DataFrame, index = class, column = attribute")
    classes = _check_labels("signatures.index", table.index)
    columns = pd.Index([str(column) for column in table.columns], name=table.columns.name)
    if columns.has_duplicates:
        twice = columns[columns.duplicated()].unique()
        raise ValueError(f"signatures has several columns named {list_values(twice)}; rename or drop them")
    if tables.CLASS_COLUMN in columns:
        raise ValueError(f"signatures has an attribute named {tables.CLASS_COLUMN!r}, which names classes; rename it")
    words = [not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]
    if any(words):
        raise ValueError(
            f"signatures is not numeric in columns {list_values(columns[words])}; give numbers, as class_table "
            "makes them of words"
        )
    single = all(kind == np.float32 for kind in table.dtypes)
    values = table.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
    finite = np.isfinite(values)
    if not finite.all():
        raise ValueError(
            f"signatures is missing or infinite for classes {list_values(classes[~finite.all(axis=1)])} in "
            f"columns {list_values(columns[~finite.all(axis=0)])}; fill in the values or drop the columns"
        )
    index = pd.Index(classes, name=table.index.name)
    kept = pd.DataFrame(read_only_view(values.copy()), index=index, columns=columns, copy=False)
    kept.attrs = dict(table.attrs)  # what words became, for new classes
    return kept


def _check_described(y: NDArray[np.generic], codes: NDArray[np.int64], class_names: NDArray[np.generic]) -> None:
    """Refuse labels without a row in the signatures, whose code is -1."""
    missing = list(dict.fromkeys(y[codes < 0].tolist()))
    if not missing:
        return
    mine, table = _label_kind(y[0].item()), _label_kind(class_names[0].item())
    if mine != table:
        raise ValueError(
            f"y holds {mine} labels such as {list_values(missing[:1])}, signatures.index {table} labels such "
            f"as {list_values(class_names[:1])}; convert one of them: 3 and '3' are different labels"
        )
    advice = "add their signatures or leave their rows out"
    raise ValueError(f"y names classes without a row in signatures: {list_values(missing)}; {advice}")


def _check_parts(given: Mapping[str, Any], n: int) -> Mapping[str, NDArray[np.int64]]:
    """Row numbers below n, each once in a part; the required parts share no row, the others are inside trainval."""
    given = dict(given) if isinstance(given, Mapping) else {}
    lacking = [part for part in REQUIRED_PARTS if part not in given]
    if lacking:
        raise ValueError(f"parts lacks {list_values(lacking)}; give name → row numbers, an empty list for none")
    found = {str(part): np.asarray(rows) for part, rows in given.items()}
    within: dict[str, NDArray[np.bool_]] = {}  # part → for each row whether it is in it
    for part, rows in found.items():
        if rows.ndim != 1 or (rows.dtype.kind not in "iu" and rows.size):
            raise ValueError(
                f"parts[{part!r}] is {rows.dtype} of shape {rows.shape}; give a vector of integer row "
                "numbers (np.flatnonzero turns a mask into one)"
            )
        beyond = rows[(rows < 0) | (rows >= n)]
        if beyond.size:
            raise ValueError(f"parts[{part!r}] names rows {list_values(beyond)}; X has rows 0 to {n - 1}, count from 0")
        found[part] = read_only_view(rows.astype(np.int64, copy=False))
        times = np.bincount(found[part], minlength=n)
        twice = np.flatnonzero(times > 1)
        if twice.size:
            raise ValueError(f"parts[{part!r}] repeats rows {list_values(twice)}; name each row once")
        within[part] = times > 0
    for a, b in combinations(REQUIRED_PARTS, 2):
        shared = np.flatnonzero(within[a] & within[b])
        if shared.size:
            raise ValueError(f"parts {a!r} and {b!r} share rows {list_values(shared)}; move each row to one of them")
    for part, rows in found.items():
        others = rows[~within["trainval"][rows]]
        if others.size and part not in REQUIRED_PARTS:
            raise ValueError(f"parts[{part!r}] names rows {list_values(others)} outside trainval; keep folds inside it")
    for fold in fold_names(found):
        a, b = f"{fold}_train", f"{fold}_val"
        shared = np.intersect1d(found[a], found[b])
        if shared.size:
            raise ValueError(f"parts {a!r} and {b!r} share rows {list_values(shared)}; put each into one of them")
    return MappingProxyType(found)


def place_blocks(widths: Mapping[str, int]) -> dict[str, range]:
    """Name → columns of blocks of these widths that follow one another."""
    ends = np.cumsum(list(widths.values())).tolist()
    return {name: range(end - width, end) for (name, width), end in zip(widths.items(), ends, strict=True)}


def _check_blocks(field: str, given: Any, width: int) -> Mapping[str, range]:
    """Name → columns of blocks that follow one another and are all of `width` columns together."""
    if not isinstance(given, Mapping):
        raise ValueError(f"{field} is {given!r}: expected a mapping from name to a number of columns, or to a range")
    found: dict[str, range] = {}
    start = 0
    for name, columns in given.items():
        if isinstance(columns, int | np.integer) and not isinstance(columns, bool):
            columns = range(start, start + int(columns))
        if not isinstance(columns, range) or (columns.start, columns.step) != (start, 1) or not columns:
            raise ValueError(
                f"{field}[{name!r}] is {columns!r}: expected a number of columns above 0, or a range that starts at "
                f"column {start}, where the block before ends"
            )
        found[str(name)], start = columns, columns.stop
    if start != width:
        raise ValueError(f"{field} have {start} columns together: expected all {width}")
    return MappingProxyType(found)


def read_only_view(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """A read-only view; the caller's own array stays writable."""
    view = array.view()
    view.flags.writeable = False
    return view


def _label_kind(label: Any) -> str:
    if isinstance(label, (int, np.integer)) and not isinstance(label, bool):
        return "int"
    return "str" if isinstance(label, str) else type(label).__name__


def _read_features(features: Any, labels: Any) -> tuple[NDArray[np.float32], tuple[str, ...] | None, Any]:
    """X (n, d), the names of its columns, and the labels."""
    if is_sparse(features):
        raise ValueError(
            f"features is a sparse {type(features).__name__}, and a dataset holds dense rows: use features.toarray() "
            "if that is small, else hand sparse rows to fit and to selection.tune"
        )
    if isinstance(features, pd.DataFrame):  # names of columns become text, such as "0" for 0
        if isinstance(labels, int | tuple) and labels in features.columns:
            labels = str(labels)
        names = [str(name) for name in features.columns]
        twice = find_repeated_features(names)
        if twice:
            raise ValueError(f"features has several columns named {list_values(twice)}: rename or drop them")
        features = features.set_axis(names, axis=1)
    frame = tables.open_frame(features, "features")
    if frame is None:
        if isinstance(labels, str):
            raise ValueError(
                f"labels is {labels!r}, and features a {type(features).__name__} without named columns: expected the "
                "label of each row; give an array of labels, or a data frame"
            )
        return np.asarray(features), None, labels
    header = [str(column) for column in frame.columns]
    if isinstance(labels, str) and labels not in header:
        raise ValueError(
            f"labels is {labels!r}, which is not a column of features{suggest(labels, header)}: expected one of "
            f"{list_values(header)}, or the label of each row"
        )
    source = Source(Path("features"), "features", "")  # what errors call the frame
    chosen = choose_feature_columns(source, header, Wanted(labels if isinstance(labels, str) else None))
    kept = [frame.columns[k] for k in chosen.features]
    tables.check_numbers(frame.select(kept), "features")
    X = np.column_stack([_float_column(frame[column]) for column in kept])
    y = frame[labels].to_list() if isinstance(labels, str) else _align_labels(features, labels)
    return X, chosen.names, y


def _float_column(column: nw.Series[Any]) -> NDArray[np.float32]:
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        values = np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    else:  # numbers written as text
        values = np.array([np.nan if one is None or one is pd.NA else float(one) for one in column.to_list()])
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        raise ValueError(
            f"features has no value in column {column.name!r} in rows {list_values(missing)}, counted from 0: expected "
            "a number in each; fill them in first, as scikit-learn's SimpleImputer does, or drop the rows or the column"
        )
    single = to_float32(values)
    for row in np.flatnonzero(~np.isfinite(single)):
        check_range(f"features, row {row} (counted from 0), column {column.name!r}", float(values[row]))
    return single


def _align_labels(features: Any, labels: Any) -> Any:
    """Labels in the order of the rows: by the index if both are pandas and have the same one in another order."""
    matched = isinstance(features, pd.DataFrame) and isinstance(labels, pd.Series)
    if not matched or features.index.equals(labels.index):
        return labels
    if labels.index.is_unique and len(labels) == len(features) and features.index.isin(labels.index).all():
        return labels.loc[features.index]
    raise ValueError(
        "labels and features name their rows differently (index): expected the same index; call reset_index(drop=True) "
        "on both if they are in the same order"
    )


def _index_by_class(signatures: Any, column: str | None) -> Any:
    """A class table whose classes are in the column that names the labels in features: it is called "class" here."""
    frame = tables.open_frame(signatures, "signatures")
    if frame is None or column not in frame.columns or tables.CLASS_COLUMN in frame.columns:
        return signatures
    return frame.rename({column: tables.CLASS_COLUMN}).to_native()


def _requested_unseen(unseen: Any) -> tuple[Sequence[str | int] | None, int | float]:
    if isinstance(unseen, float | np.floating) and 0 < unseen < 1:
        return None, float(unseen)
    if isinstance(unseen, int | np.integer) and not isinstance(unseen, bool) and unseen >= 1:
        return None, int(unseen)
    if isinstance(unseen, str) or not isinstance(unseen, Iterable):
        expected = "a list of class names, how many classes to draw, or the fraction of them, such as 0.25"
        raise ValueError(f"unseen is {unseen!r}: expected {expected}")
    return list(unseen), 0.25


def _whole_labels(labels: Any) -> Any:
    """Labels; whole numbers as integers, where missing values had made them floats."""
    found = np.asarray(labels) if hasattr(labels, "dtype") else labels
    if isinstance(found, list) and found and all(isinstance(one, float) for one in found):
        found = np.array(found)
    if isinstance(found, np.ndarray) and found.dtype.kind == "f" and (found == np.round(found)).all():
        return found.astype(np.int64)
    return found
