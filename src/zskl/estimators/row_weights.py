"""Weights of training rows: those that you give, times those of their classes. Methods without weights say so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import Array, NumPyArray, is_torch, to_numpy
from zskl.parameters import listed, plain
from zskl.signatures.labels import one_spelling

Arguments = ParamSpec("Arguments")
Fitted = TypeVar("Fitted")
Given = tuple[Any, Any]  # sample_weight and class_weight, as a caller hands them over
NONE: Given = (None, None)
BALANCED = "balanced"
TAKEN = "class-means, eszsl, sae, exem, conse, dap and iap"


def row_weights(y: NumPyArray, sample_weight: Any = None, class_weight: Any = None) -> NDArray[np.float64] | None:
    """(n,) ≥ 0 of rows with labels y (n,); None where all of them count the same."""
    if sample_weight is None and class_weight is None:
        return None
    weights = np.ones(len(y)) if sample_weight is None else _given(sample_weight, len(y))
    if class_weight is not None:
        classes, codes = np.unique(y, return_inverse=True)
        masses = np.bincount(codes, weights).astype(np.float64)
        weights = weights * _of_classes(class_weight, classes, masses)[codes]
    if not weights.any():
        raise ValueError("the weight of every row is zero: expected a weight above 0 for some rows")
    return weights


def counted(
    X: Array, y: NumPyArray, weights: NDArray[np.float64] | None
) -> tuple[Array, NumPyArray, NDArray[np.float64] | None]:
    """The rows whose weight is above 0, which is as if the others were not there."""
    if weights is None or weights.all():
        return X, y, weights
    kept = np.flatnonzero(weights)
    return X[kept], y[kept], weights[kept]


def _given(sample_weight: Any, n: int) -> NDArray[np.float64]:
    weights = to_numpy(sample_weight) if is_torch(sample_weight) else np.asarray(sample_weight)
    if weights.dtype.kind not in "fiub" or weights.shape not in ((), (n,)):
        shown = f"of shape {weights.shape} and type {weights.dtype}" if weights.ndim else repr(sample_weight)
        raise ValueError(f"sample_weight is {shown}: expected a number for each of the {n} rows")
    weights = np.broadcast_to(weights.astype(np.float64), (n,))
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(f"sample_weight of row {bad[0]} is {weights[bad[0]]:g}: expected finite numbers of at least 0")
    return weights


def _of_classes(class_weight: Any, classes: NumPyArray, masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """(C,) factors of classes whose rows weigh `masses` (C,). Balanced, all classes weigh the same together."""
    if isinstance(class_weight, str) and class_weight == BALANCED:
        present = masses > 0
        return np.where(present, masses.sum() / (present.sum() * np.where(present, masses, 1.0)), 0.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight is {str(class_weight)[:60]!r}: expected None, 'balanced' or a mapping from class to weight"
        )
    names = one_spelling(np.array(list(class_weight), dtype=object), classes.tolist()).tolist()
    class_weight = dict(zip(names, class_weight.values(), strict=True))
    unknown = [label for label in class_weight if label not in set(classes.tolist())]
    if unknown:
        raise ValueError(f"class_weight names {listed(unknown)}, which y does not hold: it has {listed(classes)}")
    for label, value in class_weight.items():
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not 0 <= value < np.inf:
            raise ValueError(f"class_weight of {plain(label)!r} is {value!r}: expected a finite number of at least 0")
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])


def without_weights(fit: Callable[Arguments, Fitted]) -> Callable[Arguments, Fitted]:
    """A `fit` that takes no weights, and says which methods do."""

    @wraps(fit)
    def refusing(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Fitted:
        weights = {name: kwargs.pop(name, None) for name in ("sample_weight", "class_weight")}
        given = [name for name, value in weights.items() if value is not None]
        if given:
            raise TypeError(
                f"{type(args[0]).__name__}.fit takes no {given[0]}, because its training has no place for weights: use "
                f"one of {TAKEN}, or repeat rows"
            )
        return fit(*args, **kwargs)

    return refusing
