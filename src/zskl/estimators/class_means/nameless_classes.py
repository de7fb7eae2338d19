"""Scores of classes that come as signatures without names, as in an ONNX graph: seen ones are told by signatures.

A row that equals the signature of a seen class, up to rounding, is that class. So its training rows count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from zskl.arrays import Array, NumPyArray, like, namespace, to_numpy
from zskl.estimators.class_means.descriptions import distances
from zskl.estimators.class_means.evidence import Evidence
from zskl.estimators.class_means.space import unit
from zskl.estimators.class_means.taught import WEIGHT
from zskl.parameters import listed

if TYPE_CHECKING:
    from zskl.estimators.class_means.scoring import Scoring

SAME = 1e-11  # ‖y − y′‖² / ‖y′‖² up to which two signatures are the same: far above rounding of sums in float64


def scorer(model: Scoring, Y: Array) -> Callable[[Array], Array]:
    """Scaled rows (n, d) → scores (n, c) for raw signatures Y (c, p)."""
    _check_names(model)
    seen = model.signature_table_.select(model.classes_)
    sums = model.class_sums_[Evidence.codes(model.classes_, seen.labels)]
    xp = namespace(Y)
    match = xp.astype(_same(Y, seen.matrix.astype(np.float32)), Y.dtype)  # (c, R)
    found = xp.sum(match, axis=1, keepdims=True)
    known = xp.minimum(found, xp.ones_like(found))  # (c, 1)
    weights = WEIGHT + (float(model.description_weight) - WEIGHT) * known
    rows = (match / xp.maximum(found, xp.ones_like(found))) @ like(sums, Y)
    U = unit(weights * unit(model._means(model.signature_scaling_.apply(Y), model._shared(Y))) + rows)
    crowded = model._crowded(U)

    def answer(X: Array) -> Array:
        scores = model._hat(X) @ U.T
        return scores if crowded is None else scores - crowded

    return answer


def _same(Y: Array, signatures: NumPyArray) -> Array:
    """(c, R) which rows of Y are the same as one of the signatures (R, p)."""
    exact = signatures.astype(np.float64)
    found: Array = distances(like(Y, Y, "float64"), exact) <= SAME * (exact * exact).sum(axis=1)
    return found


def _check_names(model: Scoring) -> None:
    """Refuse models that need the names of classes."""
    advice = "fix the classes, by signatures=False or --fixed"
    if len(model.example_classes_) or model.adaptation_ is not None:
        raise ValueError(
            "a model that was taught by examples or adapted to unlabelled rows cannot be exported with signatures as "
            f"an input, because it tells classes by their names (fixed classes only): {advice}"
        )
    table, seen = model.signature_table_, model.signature_table_.select(model.classes_)
    same = to_numpy(_same(table.matrix.astype(np.float32), seen.matrix.astype(np.float32)))
    clash = same & (table.labels[:, None] != seen.labels[None, :])
    if clash.any():
        row, other = np.argwhere(clash)[0]
        raise ValueError(
            f"the classes {listed([seen.labels[other], table.labels[row]])} have the same signature, so the model "
            f"cannot be exported with signatures as an input, which tells seen classes by their signatures: {advice}"
        )
