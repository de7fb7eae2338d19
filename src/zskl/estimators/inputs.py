"""Features and labels as they come from a caller → checked arrays; NumPy and PyTorch alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from zskl.arrays import Array, NumPyArray, is_torch, namespace, to_numpy
from zskl.estimators import sparse_inputs
from zskl.parameters import listed
from zskl.scaling import computed, float_type, is_half
from zskl.signatures.frames import by_name, in_order
from zskl.signatures.labels import one_spelling
from zskl.signatures.table import as_labels, label_kind
from zskl.sparse_rows import are_sparse, is_sparse

if TYPE_CHECKING:
    from torch import Tensor

    from zskl.estimators.estimator import ZeroShotClassifier

Rows: TypeAlias = "Array | pd.DataFrame"  # features as callers hand them in
LOOKED_AT = 1 << 18  # values checked together


def check_training(
    estimator: ZeroShotClassifier, X: Array, y: Any, values: bool = True, reset: bool = True
) -> tuple[Array, NumPyArray]:
    """X (n, d) of numbers and labels y (n,); sets `n_features_in_` and, where known, `feature_names_in_`.

    An array or tensor is left as it is, in half precision or whole numbers too: `computed` turns blocks of it into
    float32 or float64. Without `values` nobody looks at the numbers yet; `taken` will. Without `reset` X must have the
    columns of rows before it.
    """
    if y is None and is_torch(X):
        raise ValueError("fit requires y to be passed, but the target y is None: a class label for each row of X")
    if reset:
        for told in ("preparation_", "backbone_"):  # of other rows
            estimator.__dict__.pop(told, None)
    y = labels(y)
    if is_sparse(X):
        X, y = sparse_inputs.check_rows(estimator, X, y, reset=reset)
    elif is_torch(X):
        X = _check_tensor(estimator, X, reset=reset)
        y = column_or_1d(y, warn=True)
        if len(y) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows but y has {len(y)} labels: expected one label for each row")
    else:
        X = in_order(X, None if reset else getattr(estimator, "feature_names_in_", None))
        _check_dimensions(X)
        as_it_is = X if _is_plain(X) and X.dtype != float_type(X) else None
        X = X if as_it_is is None else np.broadcast_to(np.float32(0), X.shape)  # of that shape, and no size
        X, y = validate_data(estimator, X, y, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False)
        X = X if as_it_is is None else np.asarray(as_it_is)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity: every row needs a class label")
    if values:
        check_finite(estimator, X)
    label_kind(y, "y")
    check_classification_targets(y)
    return X, y


def check_features(estimator: ZeroShotClassifier, X: Rows, dense_for: str | None = "this") -> Array:
    """Features at predict time: float32 or float64, finite, with the fitted number (and names) of columns.

    `dense_for` names what cannot be done with sparse rows; None takes them.
    """
    X = sliceable(estimator, X, dense_for)
    return taken(estimator, X, slice(0, X.shape[0]))


def sliceable(estimator: ZeroShotClassifier, X: Rows, dense_for: str | None = "this") -> Array:
    """`check_features` without a look at the values: an array (n, d) of numbers, not copied if X is one already.

    `taken` checks and returns pieces of it, so a memory-mapped array is never held whole.
    """
    check_is_fitted(estimator)
    if is_sparse(X):
        if estimator.SPARSE and dense_for is not None:
            sparse_inputs.refuse_rows(dense_for)
        known = getattr(estimator, "feature_names_in_", None)
        found: Array = sparse_inputs.check_rows(estimator, by_name(X, known))
        return found
    if is_torch(X):
        tensor: Array = _check_tensor(estimator, X, reset=False)
        return tensor
    X = in_order(X, getattr(estimator, "feature_names_in_", None))
    _check_dimensions(X)
    plain = _is_plain(X)
    first: Any = X[:1] if plain else X
    checked = validate_data(
        estimator, computed(first) if plain else X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite=False
    )
    return np.asarray(X) if plain else checked


def taken(estimator: ZeroShotClassifier, X: Array, rows: slice) -> Array:
    """These rows of what `sliceable` returned, as float32 or float64, all finite."""
    block: Array = X[rows] if are_sparse(X) else computed(X[rows])
    if not _finite(block):
        _refuse_values(estimator, X, rows.start)
    return block


def _is_plain(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.size > 0 and (X.dtype.kind in "fiub" or is_half(X.dtype))


def labels(y: Any, known: Iterable[Any] = ()) -> Any:
    """Labels of any 1-D kind as an array, without turning numbers into text; the checks see to other shapes.

    A name in two spellings gets one of them, that of `known` where it is there.
    """
    if is_torch(y):
        return to_numpy(y)
    if isinstance(y, list | tuple):
        return y if any(np.ndim(label) for label in y) else as_labels(y, "y", known)
    array = np.asarray(y)
    if array.ndim == 1 and array.dtype.kind in "OT":  # objects, or text of variable length
        return as_labels(array.tolist(), "y", known)
    return one_spelling(array, known) if array.ndim == 1 and array.dtype.kind == "U" else y


def _check_dimensions(X: Any) -> None:
    if isinstance(X, list | tuple) and X and not any(hasattr(row, "__len__") for row in X):
        X = np.asarray(X)
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) == 1:
        raise ValueError(
            f"X has shape {tuple(shape)}: expected 2-D (samples, features). Reshape your data with X.reshape(1, -1) if "
            "it is one sample, X.reshape(-1, 1) if it is one feature"
        )


def _check_tensor(estimator: ZeroShotClassifier, X: Tensor, reset: bool) -> Tensor:
    import torch

    X = X.detach()
    if X.layout != torch.strided:
        raise ValueError("X is a sparse tensor: expected a dense one; use X.to_dense()")
    if X.is_complex():
        raise ValueError("X is a tensor of complex numbers: expected real ones")
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X has shape {tuple(X.shape)}: expected 2-D (samples, features), at least one of each")
    if reset:
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    return X


def check_finite(estimator: ZeroShotClassifier, X: Array) -> None:
    """Refuse NaN and infinity, looking at some rows at a time."""
    height = X.shape[0] if are_sparse(X) else max(1, LOOKED_AT // X.shape[1])
    for start in range(0, X.shape[0], height):
        block = X[start : start + height]
        if not _finite(block if are_sparse(X) else computed(block)):
            _refuse_values(estimator, X, start)


def _finite(X: Array) -> bool:
    if are_sparse(X):
        return not len(X.not_finite())
    xp = namespace(X)
    with np.errstate(all="ignore"):
        if bool(xp.all(xp.isfinite(xp.sum(X, axis=0)))):  # no temporary: the sum of a column with NaN is not finite
            return True
    return bool(xp.all(xp.isfinite(X)))  # finite values whose sum overflowed


def _refuse_values(estimator: ZeroShotClassifier, X: Array, start: int) -> None:
    """Say what is wrong from row `start` on, counted in blocks."""
    bad, first = _faults(X, start)
    columns = np.flatnonzero(bad)
    row = int(first[columns[0]])
    names = getattr(estimator, "feature_names_in_", None)
    value = "NaN" if np.isnan(float(X[row, columns[0]])) else "infinity (inf)"
    where = listed(columns if names is None else names[columns])
    advice = ", for example by a SimpleImputer before the model" if value == "NaN" else ""
    raise ValueError(
        f"Input X contains {value} in column {where}, first at row {row} ({int(bad.sum())} such value(s) in all): "
        f"fill in or drop them{advice}"
    )


def _faults(X: Array, start: int) -> tuple[NumPyArray, NumPyArray]:
    """(d,) how many values of each column are not finite, and the row of the first; −1 where there is none."""
    if are_sparse(X):
        rows, columns = X.not_finite().T
        first = np.full(X.shape[1], -1)
        first[columns[::-1]] = rows[::-1]  # of equal columns the last one stays: the first row
        return np.bincount(columns, minlength=X.shape[1]), first
    height = max(1, LOOKED_AT // X.shape[1])
    bad, first = np.zeros(X.shape[1], dtype=np.int64), np.full(X.shape[1], -1)
    for row in range(start, X.shape[0], height):
        block = computed(X[row : row + height])
        wrong = ~to_numpy(namespace(block).isfinite(block))
        new = (first < 0) & wrong.any(axis=0)
        first[new] = row + wrong.argmax(axis=0)[new]
        bad += wrong.sum(axis=0)
    return bad, first
