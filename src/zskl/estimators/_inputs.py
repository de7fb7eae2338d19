"""Features, labels and weights as they come from a caller → checked arrays; NumPy, PyTorch and sparse rows alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from zskl._arrays import Array, NumPyArray, SparseRows, is_sparse, is_sparse_rows, is_torch, namespace, to_numpy
from zskl._display import count_noun
from zskl._validation import list_values, to_plain
from zskl.scaling import float_type, is_half, to_float_type
from zskl.signatures.table import label_kind, order_columns, order_sparse_columns, to_labels, unify_spelling

if TYPE_CHECKING:
    from torch import Tensor

    from zskl.estimators.base import ZeroShotClassifier
    from zskl.signatures.table import SignatureTable

Rows: TypeAlias = "Array | pd.DataFrame"  # features as callers hand them in
WeightArguments = tuple[Any, Any]  # sample_weight and class_weight, as a caller hands them over
Arguments = ParamSpec("Arguments")
Fitted = TypeVar("Fitted")
NO_WEIGHTS: WeightArguments = (None, None)
SPARSE_METHODS = "methods such as class-means and eszsl take sparse ones"
DENSE_EXAMPLE = "make_pipeline(TruncatedSVD(300), model)"
VALUES_AT_ONCE = 1 << 18  # values checked together


@dataclass(frozen=True)
class Training:
    """What a method trains on: scaled, float32, on the device that computes."""

    X: Any  # (n, d) an array, or `ScaledRows`
    codes: Array  # (n,) index of each row's class in `seen_classes_`
    Y: Array  # (rows, p) signatures of the seen classes, class by class
    rows: NumPyArray  # (C, m) rows of Y for each class, padded with its first
    counts: NumPyArray  # (C,) how many of them are its own
    sizes: NumPyArray  # (C,) training rows of each class, or the sum of their weights
    weights: NumPyArray | None = None  # (n,) > 0, float64; None: all rows count the same
    own: bool = False  # row i of Y is the signature of row i of X alone


def combine_weights(y: NumPyArray, sample_weight: Any = None, class_weight: Any = None) -> NDArray[np.float64] | None:
    """(n,) ≥ 0 of rows with labels y (n,); None where all of them count the same."""
    if sample_weight is None and class_weight is None:
        return None
    weights = np.ones(len(y)) if sample_weight is None else _check_sample_weight(sample_weight, len(y))
    if class_weight is not None:
        classes, codes = np.unique(y, return_inverse=True)
        masses = np.bincount(codes, weights).astype(np.float64)
        weights = weights * _class_factors(class_weight, classes, masses)[codes]
    if not weights.any():
        raise ValueError("the weight of every row is zero: expected a weight above 0 for some rows")
    return weights


def drop_weightless_rows(
    X: Array, y: NumPyArray, weights: NDArray[np.float64] | None
) -> tuple[Array, NumPyArray, NDArray[np.float64] | None]:
    if weights is None or weights.all():
        return X, y, weights
    kept = np.flatnonzero(weights)
    return X[kept], y[kept], weights[kept]


def _check_sample_weight(sample_weight: Any, n: int) -> NDArray[np.float64]:
    weights = to_numpy(sample_weight) if is_torch(sample_weight) else np.asarray(sample_weight)
    if weights.dtype.kind not in "fiub" or weights.shape not in ((), (n,)):
        shown = f"of shape {weights.shape} and type {weights.dtype}" if weights.ndim else repr(sample_weight)
        raise ValueError(f"sample_weight is {shown}: expected a number for each of the {n} rows")
    weights = np.broadcast_to(weights.astype(np.float64), (n,))
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(f"sample_weight of row {bad[0]} is {weights[bad[0]]:g}: expected finite numbers of at least 0")
    return weights


def _class_factors(class_weight: Any, classes: NumPyArray, masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """(C,) factors of classes whose rows weigh `masses` (C,). Balanced, all classes weigh the same together."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        present = masses > 0
        return np.where(present, masses.sum() / (present.sum() * np.where(present, masses, 1.0)), 0.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight is {str(class_weight)[:60]!r}: expected None, 'balanced' or a mapping from class to weight"
        )
    names = unify_spelling(np.array(list(class_weight), dtype=object), classes.tolist()).tolist()
    class_weight = dict(zip(names, class_weight.values(), strict=True))
    unknown = [label for label in class_weight if label not in set(classes.tolist())]
    if unknown:
        raise ValueError(
            f"class_weight names {list_values(unknown)}, which y does not hold: it has {list_values(classes)}"
        )
    for label, value in class_weight.items():
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not 0 <= value < np.inf:
            raise ValueError(
                f"class_weight of {to_plain(label)!r} is {value!r}: expected a finite number of at least 0"
            )
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])


def refuse_weights(fit: Callable[Arguments, Fitted]) -> Callable[Arguments, Fitted]:
    """A `fit` that takes no weights, and says which methods do."""

    @wraps(fit)
    def refusing(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Fitted:
        weights = {name: kwargs.pop(name, None) for name in ("sample_weight", "class_weight")}
        given = [name for name, value in weights.items() if value is not None]
        if given:
            raise TypeError(
                f"{type(args[0]).__name__}.fit takes no {given[0]}, because its training has no place for weights: use "
                "a method that has one, such as class-means or eszsl, or repeat rows"
            )
        return fit(*args, **kwargs)

    return refusing


def check_sparse_rows(estimator: ZeroShotClassifier, X: Any, *y: Any, reset: bool = False) -> Any:
    """Rows X, or the pair of X and y, as `SparseRows` of float32 or float64; refuse a method that needs dense rows."""
    if not estimator.SPARSE:
        # A TypeError, because scikit-learn's own checks expect one.
        raise TypeError(
            f"X is a sparse {type(X).__name__}, and {type(estimator).__name__} needs dense rows: put a step before it, "
            f"as in {DENSE_EXAMPLE}, or use X.toarray() if that is small; {SPARSE_METHODS}"
        )
    if estimator.device is not None and str(estimator.device) != "cpu":
        raise ValueError(f"device is {str(estimator.device)!r} and X is sparse: expected None or 'cpu'")
    found = validate_data(
        estimator, X, *y, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
    )
    return (SparseRows.from_scipy(found[0]), found[1]) if y else SparseRows.from_scipy(found)


def check_sparse_signatures(model: ZeroShotClassifier, table: SignatureTable) -> None:
    if is_sparse_rows(table.matrix) and not model.SPARSE:
        raise ValueError(
            f"signatures are sparse, and {type(model).__name__} needs dense ones: expected an array or a data frame; "
            "use TruncatedSVD(300).fit_transform(signatures), or signatures.toarray() if that is small; "
            f"{SPARSE_METHODS}"
        )


def refuse_sparse_signatures(table: SignatureTable, what: str) -> None:
    if is_sparse_rows(table.matrix):
        raise ValueError(
            f"the signatures are sparse, and {what} needs dense ones: fit the model with a dense table, such as "
            "TruncatedSVD(300).fit_transform(signatures)"
        )


def check_training(
    estimator: ZeroShotClassifier, X: Array, y: Any, values: bool = True, reset: bool = True
) -> tuple[Array, NumPyArray]:
    """X (n, d) and labels y (n,); sets `n_features_in_` and, where known, `feature_names_in_`. X stays of its type:
    `take_input_rows` turns blocks of it into floats, and checks them unless `values` did so here."""
    if y is None and is_torch(X):
        raise ValueError("fit requires y to be passed, but the target y is None: a class label for each row of X")
    if reset:
        for name in ("preparation_", "backbone_"):  # of other rows
            estimator.__dict__.pop(name, None)
    y = as_label_array(y)
    if is_sparse(X):
        X, y = check_sparse_rows(estimator, X, y, reset=reset)
    elif is_torch(X):
        X = _check_tensor(estimator, X, reset=reset)
        y = column_or_1d(y, warn=True)
        if len(y) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows but y has {len(y)} labels: expected one label for each row")
    else:
        X = order_columns(X, None if reset else getattr(estimator, "feature_names_in_", None))
        _check_input_dimensions(X)
        # scikit-learn would copy half precision and whole numbers: let it check an array of that shape without size.
        as_it_is = X if _is_plain_array(X) and X.dtype != float_type(X) else None
        X = X if as_it_is is None else np.broadcast_to(np.float32(0), X.shape)
        X, y = _validate_numbers(estimator, X, y, reset=reset)
        X = X if as_it_is is None else np.asarray(as_it_is)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity: every row needs a class label")
    if values:
        check_finite_inputs(estimator, X)
    label_kind(y, "y")
    with warnings.catch_warnings():  # one row of each class is enough where descriptions say the rest
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        check_classification_targets(y)
    return X, y


def _validate_numbers(estimator: ZeroShotClassifier, X: Any, *y: Any, reset: bool = False) -> Any:
    """scikit-learn's checks of dense rows, and of labels; text instead of numbers comes to the right door."""
    try:
        return validate_data(estimator, X, *y, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False)
    except ValueError as error:
        text = str(error).partition("could not convert string to float: ")[2]
        if not text:
            raise
        raise ValueError(
            f"X holds text, such as {text}: expected rows of numbers. Texts are for zskl.TextClassifier, names of "
            "picture files for zskl.ImageClassifier; columns of words need a step before, such as a OneHotEncoder"
        ) from None


def check_features(estimator: ZeroShotClassifier, X: Rows, dense_for: str | None = "this") -> Array:
    """Finite floats, at predict time; `dense_for` names what cannot be done with sparse rows, None takes them."""
    X = as_sliceable(estimator, X, dense_for)
    return take_input_rows(estimator, X, slice(0, X.shape[0]))


def as_sliceable(estimator: ZeroShotClassifier, X: Rows, dense_for: str | None = "this") -> Array:
    """`check_features` without a look at values: `take_input_rows` reads pieces, so no mapped array is held whole."""
    check_is_fitted(estimator)
    known = getattr(estimator, "feature_names_in_", None)
    if is_sparse(X):
        if estimator.SPARSE and dense_for is not None:
            raise TypeError(
                f"X is sparse, and {dense_for} needs dense rows: use X[rows].toarray() for a few of them, or fit on "
                f"dense columns, as {DENSE_EXAMPLE} makes them"
            )
        return check_sparse_rows(estimator, order_sparse_columns(X, known))
    if is_torch(X):
        return _check_tensor(estimator, X, reset=False)
    X = order_columns(X, known)
    _check_input_dimensions(X)
    plain = _is_plain_array(X)
    some: Any = to_float_type(np.asarray(X)[:1]) if plain else X
    checked = _validate_numbers(estimator, some)
    return np.asarray(X) if plain else checked


def take_input_rows(estimator: ZeroShotClassifier, X: Array, rows: slice) -> Array:
    """These rows of what `as_sliceable` returned, as float32 or float64, all finite."""
    block: Array = X[rows] if is_sparse_rows(X) else to_float_type(X[rows])
    if not _is_finite_input(block):
        _refuse_nonfinite_inputs(estimator, X, rows.start)
    return block


def _is_plain_array(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.size > 0 and (X.dtype.kind in "fiub" or is_half(X.dtype))


def as_label_array(y: Any, known: Iterable[Any] = ()) -> Any:
    """Labels of any 1-D kind as an array, in one spelling, that of `known`; the checks see to other shapes."""
    if is_torch(y):
        return to_numpy(y)
    if isinstance(y, list | tuple):
        return y if any(np.ndim(label) for label in y) else to_labels(y, "y", known)
    array = np.asarray(y)
    if array.ndim == 1 and array.dtype.kind in "OT":  # objects, or text of variable length
        return to_labels(array.tolist(), "y", known)
    return unify_spelling(array, known) if array.ndim == 1 and array.dtype.kind == "U" else y


def _check_input_dimensions(X: Any) -> None:
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


def check_finite_inputs(estimator: ZeroShotClassifier, X: Array) -> None:
    height = X.shape[0] if is_sparse_rows(X) else max(1, VALUES_AT_ONCE // X.shape[1])
    for start in range(0, X.shape[0], height):
        block = X[start : start + height]
        if not _is_finite_input(block if is_sparse_rows(X) else to_float_type(block)):
            _refuse_nonfinite_inputs(estimator, X, start)


def _is_finite_input(X: Array) -> bool:
    if is_sparse_rows(X):
        return not len(X.find_not_finite())
    xp = namespace(X)
    # The sum of a column with NaN is not finite, and needs no temporary of the size of X.
    with np.errstate(all="ignore"):
        finite = bool(xp.all(xp.isfinite(xp.sum(X, axis=0))))
    # Finite values may have a sum that overflows.
    return finite or bool(xp.all(xp.isfinite(X)))


def _refuse_nonfinite_inputs(estimator: ZeroShotClassifier, X: Array, start: int) -> None:
    bad, first = _count_nonfinite(X, start)
    columns = np.flatnonzero(bad)
    row = int(first[columns[0]])
    names = getattr(estimator, "feature_names_in_", None)
    where = list_values(columns if names is None else names[columns])
    missing = np.isnan(float(X[row, columns[0]]))
    value, advice = ("NaN", ", for example by a SimpleImputer before the model") if missing else ("infinity (inf)", "")
    raise ValueError(
        f"Input X contains {value} in column {where}, first at row {row} "
        f"({count_noun(int(bad.sum()), 'such value')} in all): fill in or drop them{advice}"
    )


def _count_nonfinite(X: Array, start: int) -> tuple[NumPyArray, NumPyArray]:
    """(d,) how many values of each column are not finite, and the row of the first; −1 where there is none."""
    if is_sparse_rows(X):
        rows, columns = X.find_not_finite().T
        first = np.full(X.shape[1], -1)
        first[columns[::-1]] = rows[::-1]  # of equal columns the last one stays: the first row
        return np.bincount(columns, minlength=X.shape[1]), first
    height = max(1, VALUES_AT_ONCE // X.shape[1])
    bad, first = np.zeros(X.shape[1], dtype=np.int64), np.full(X.shape[1], -1)
    for row in range(start, X.shape[0], height):
        block = to_float_type(X[row : row + height])
        wrong = ~to_numpy(namespace(block).isfinite(block))
        new = (first < 0) & wrong.any(axis=0)
        first[new] = row + wrong.argmax(axis=0)[new]
        bad += wrong.sum(axis=0)
    return bad, first
