"""Data frames in memory → a dataset, divided as `zskl data make` divides files."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.datasets import dataset_checks, split_by_class
from zskl.datasets.dataset import Dataset
from zskl.datasets.tables.feature_file import Wanted, as_float32, check_range, choose
from zskl.datasets.tables.label_files import repeated
from zskl.datasets.tables.source import Source
from zskl.parameters import did_you_mean, listed
from zskl.signatures import doubts, identifiers
from zskl.signatures import table as tables
from zskl.signatures.frames import check_numbers, opened
from zskl.signatures.table import CLASS_COLUMN
from zskl.sparse_rows import is_sparse

FEATURES = Source(Path("features"), "features", "")  # what errors call the frame


def dataset(
    features: Any,
    labels: Any,
    signatures: Any,
    unseen: Sequence[str | int] | int | float = 0.25,
    seed: int = 0,
    name: str = "frames",
) -> Dataset:
    """What `Dataset.from_frames` returns."""
    split_by_class.check_seed(seed)
    X, names, y = _rows(features, labels)
    _warn_of_identifiers(X, names)
    column = labels if isinstance(labels, str) else None
    table = tables.read(_by_class(signatures, column))
    doubts.warn_of(table, signatures)
    if table.labels.dtype.kind == "f":  # 3.0 is 3, as in files
        table = tables.with_whole_labels(table)
    where = f"dataset {name!r}"
    y = dataset_checks.labels(where, "labels", _whole(y))
    classes = list(dict.fromkeys(dataset_checks.labels(where, "the classes of signatures", table.labels).tolist()))
    codes = pd.Index(classes).get_indexer(pd.Index(y))
    dataset_checks.check_described(where, y, np.asarray(codes, dtype=np.int64), np.asarray(classes))
    sizes = np.bincount(codes, minlength=len(classes))
    hidden = split_by_class.choose_unseen([str(one) for one in classes], sizes, *_asked(unseen), seed)
    return Dataset(
        name=name,
        X=X,
        y=y,
        signatures=pd.DataFrame(table.matrix, pd.Index(table.labels, name=CLASS_COLUMN), _attributes(table)),
        parts=split_by_class.divide(codes, hidden, seed),
        feature_names=names,
    )


def _rows(features: Any, labels: Any) -> tuple[NDArray[np.float32], tuple[str, ...] | None, Any]:
    """X (n, d), the names of its columns, and the labels, of a data frame or an array."""
    if is_sparse(features):
        raise ValueError(
            f"features is a sparse {type(features).__name__}, and a dataset holds dense rows: use features.toarray() "
            "if that is small, else hand sparse rows to fit and to selection.tune"
        )
    features, labels = _named(features, labels)
    frame = opened(features, "features")
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
            f"labels is {labels!r}, which is not a column of features{did_you_mean(labels, header)}: expected one of "
            f"{listed(header)}, or the label of each row"
        )
    chosen = choose(FEATURES, header, Wanted(labels if isinstance(labels, str) else None))
    kept = [frame.columns[k] for k in chosen.features]
    check_numbers(frame.select(kept), "features")
    X = np.column_stack([_numbers(frame[column]) for column in kept])
    y = frame[labels].to_list() if isinstance(labels, str) else _aligned(features, labels)
    return X, chosen.names, y


def _named(features: Any, labels: Any) -> tuple[Any, Any]:
    """A pandas frame with text as names of columns, such as "0" for 0, and the name of the labels so too."""
    if not isinstance(features, pd.DataFrame):
        return features, labels
    if isinstance(labels, int | tuple) and labels in features.columns:
        labels = str(labels)
    names = [str(name) for name in features.columns]
    if len(set(names)) < len(names):
        raise ValueError(f"features has several columns named {listed(repeated(names))}: rename or drop them")
    return features.set_axis(names, axis=1), labels


def _warn_of_identifiers(X: NDArray[np.float32], names: tuple[str, ...] | None) -> None:
    numbering = identifiers.Numbering(names or ())
    if names and len(X):
        numbering.see(X)
    found = [(names or ())[k] for k in numbering.found()]
    if found:
        warnings.warn(
            f"features: column {listed(found)} numbers or names the rows, and counts as a feature: drop it, or call it "
            "'id'",
            stacklevel=4,
        )


def _numbers(column: nw.Series[Any]) -> NDArray[np.float32]:
    """A column as float32, all of it finite."""
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        values = np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    else:  # numbers written as text
        values = np.array([np.nan if one is None or one is pd.NA else float(one) for one in column.to_list()])
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        raise ValueError(
            f"features has no value in column {column.name!r} in rows {listed(missing)}, counted from 0: expected a "
            "number in each; fill them in first, as scikit-learn's SimpleImputer does, or drop the rows or the column"
        )
    single = as_float32(values)
    for row in np.flatnonzero(~np.isfinite(single)):
        check_range(f"features, row {row} (counted from 0), column {column.name!r}", float(values[row]))
    return single


def _aligned(features: Any, labels: Any) -> Any:
    """Labels in the order of the rows: by the index if both are pandas and have the same one in another order."""
    if not isinstance(features, pd.DataFrame) or not isinstance(labels, pd.Series):
        return labels
    if features.index.equals(labels.index):
        return labels
    if labels.index.is_unique and len(labels) == len(features) and features.index.isin(labels.index).all():
        return labels.loc[features.index]
    raise ValueError(
        "labels and features name their rows differently (index): expected the same index; call reset_index(drop=True) "
        "on both if they are in the same order"
    )


def _by_class(signatures: Any, column: str | None) -> Any:
    """A class table whose classes are in the column that names the labels in features: it is called "class" here."""
    frame = opened(signatures, "signatures")
    if frame is None or column not in frame.columns or CLASS_COLUMN in frame.columns:
        return signatures
    return frame.rename({column: CLASS_COLUMN}).to_native()


def _attributes(table: tables.SignatureTable) -> list[str]:
    return [f"attribute {k}" for k in range(table.matrix.shape[1])] if table.names is None else list(table.names)


def _asked(unseen: Any) -> tuple[Sequence[str | int] | None, int | float]:
    """The unseen classes by name, or how many, or which fraction of them."""
    if isinstance(unseen, float | np.floating) and 0 < unseen < 1:
        return None, float(unseen)
    if isinstance(unseen, int | np.integer) and not isinstance(unseen, bool) and unseen >= 1:
        return None, int(unseen)
    if isinstance(unseen, str) or not isinstance(unseen, Iterable):
        raise ValueError(
            f"unseen is {unseen!r}: expected a list of class names, how many classes to draw, or the fraction of them, "
            "such as 0.25"
        )
    return list(unseen), 0.25


def _whole(labels: Any) -> Any:
    """Labels; whole numbers as integers, where missing values had made them floats."""
    found = np.asarray(labels) if hasattr(labels, "dtype") else labels
    if isinstance(found, list) and found and all(isinstance(one, float) for one in found):
        found = np.array(found)
    if isinstance(found, np.ndarray) and found.dtype.kind == "f" and (found == np.round(found)).all():
        return found.astype(np.int64)
    return found
