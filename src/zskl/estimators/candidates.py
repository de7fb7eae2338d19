"""Which classes a fitted estimator is asked to rank, and the score of a class that has several signatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from zskl import scaling
from zskl.arrays import Array, NumPyArray, like, namespace
from zskl.estimators import sparse_inputs
from zskl.estimators.no_signatures import hint
from zskl.parameters import did_you_mean, listed
from zskl.signatures import table as tables
from zskl.signatures.table import SignatureTable, label_kind

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier


@dataclass(frozen=True)
class Question:
    """Candidate classes as a fitted estimator scores samples for them."""

    Y: Array  # (rows, p) scaled signatures, class by class
    rows: NumPyArray  # (c, m) rows of Y for each candidate, padded with its first
    labels: NumPyArray  # (c,)


def choose(model: ZeroShotClassifier, given: Any, candidates: Any) -> SignatureTable:
    """The table of the candidate classes of a fitted `model`, its rows class by class.

    `given` are the caller's signatures (None: the table of fit), `candidates` the names among them.
    """
    if candidates is not None:
        if isinstance(candidates, str) or not hasattr(candidates, "__iter__"):
            raise ValueError(f"candidates is {candidates!r}: expected a list of class names")
        candidates = tables.as_labels(candidates, "candidates", model.candidates_.tolist())
        if len(candidates) == 0:
            raise ValueError("candidates is empty: name at least one class")
    if given is None:
        table, source = model.signature_table_, "the fitted table"
    else:
        table = tables.read(given, candidates, model.attribute_names_, model.candidates_.tolist())
        sparse_inputs.check_signatures(model, table)
        source = "signatures"
        _check_new(model, table)
        check_directions(model, table)
    if candidates is not None:
        candidates = tables.as_labels(candidates, "candidates", table.classes.tolist())  # new classes too
    wanted = table.classes if candidates is None else tables.unique_in_order(candidates)
    if candidates is not None and len(wanted) < len(candidates) and len(candidates) != len(table.labels):
        raise ValueError(f"candidates names a class twice in {listed(candidates)}: name each once")
    known = set(table.labels.tolist())
    unknown = [label for label in wanted.tolist() if label not in known]
    if unknown:
        near = did_you_mean(unknown[0], [str(label) for label in table.classes.tolist()])
        raise ValueError(
            f"candidate {listed(unknown)} is not in {source}{near}, which has {listed(table.classes)}{hint(model)}"
        )
    chosen: SignatureTable = table.select(wanted)
    return chosen


def _check_new(model: ZeroShotClassifier, table: SignatureTable) -> None:
    p = model.signature_table_.matrix.shape[1]
    if table.matrix.shape[1] != p:
        raise ValueError(
            f"signatures has {table.matrix.shape[1]} attributes, the model was fitted with {p}: describe classes "
            f"by the same attributes{hint(model)}"
        )
    mine, theirs = label_kind(model.classes_, "y"), label_kind(table.labels, "signatures")
    texts = {str(label) for label in model.candidates_.tolist()}
    alike = [label for label in table.classes.tolist() if str(label) in texts]
    if {mine, theirs} == {"integer", "string"} and alike:
        raise ValueError(
            f"signatures names classes by {theirs}s such as {listed(alike)}, the model knows them as {mine}s: "
            "use the type of fit, or seen classes would count as new ones"
        )


def check_directions(model: ZeroShotClassifier, table: SignatureTable) -> None:
    """Refuse a signature of zeros where no mean is subtracted: it has no direction, and fits all rows alike."""
    steps = scaling.parse(model.signature_scaling, "signature_scaling")
    empty = ~table.matrix.any(axis=1)
    if empty.any() and not set(steps) & set(scaling.FITTED):
        raise ValueError(
            f"all-zero signature for class {listed(tables.unique_in_order(table.labels[empty]))}: with "
            f"signature_scaling={model.signature_scaling!r} a description needs at least one attribute that is not 0; "
            "use one that subtracts the mean, such as center-l2"
        )


def best_of_rows(scores: Array, rows: NumPyArray) -> Array:
    """(..., rows) → (..., classes): the best score among the rows of each class; for `rows` see `padded_rows`."""
    if rows.shape[1] == 1:
        return scores
    xp = namespace(scores)
    indices = [like(column, scores, "int64") for column in rows.T]
    best = scores[..., indices[0]]
    for index in indices[1:]:
        best = xp.maximum(best, scores[..., index])
    return best


def softmax(logits: Array) -> Array:
    """exp(l_ij) / Σ_j exp(l_ij) of (n, c), for numbers of any size."""
    xp = namespace(logits)
    e = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def as_in(classes: NumPyArray, labels: NumPyArray) -> NumPyArray:
    """Strings as objects or of fixed width, whichever the classes of `fit` came in."""
    return labels.astype(np.str_) if classes.dtype.kind == "U" and isinstance(labels[0], str) else labels


@overload
def calibrated(scores: NumPyArray, seen: NumPyArray, constant: float) -> NumPyArray: ...
@overload
def calibrated(scores: Array, seen: NumPyArray, constant: float) -> Array: ...
def calibrated(scores: Array, seen: NumPyArray, constant: float) -> Array:
    """Scores (n, c), the constant subtracted from the columns of seen classes; `seen` is a mask (c,)."""
    if constant == 0.0:
        return scores
    return scores - like(constant * seen.astype(np.float64), scores)
