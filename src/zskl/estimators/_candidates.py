"""Candidate classes before a fitted model: which ones, their scores for rows, and what follows from these."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from zskl import scaling
from zskl._arrays import (
    Array,
    NumPyArray,
    convert_like,
    is_sparse_rows,
    is_torch,
    namespace,
    runs_on_gpu,
    to_dense,
    to_numpy,
)
from zskl._validation import check_count, check_option, check_positive, find_caller_level, list_values, suggest
from zskl.estimators import _inputs
from zskl.scaling import Scaling, float_type
from zskl.signatures import table as tables
from zskl.signatures.table import SignatureTable, label_kind

if TYPE_CHECKING:
    from zskl.estimators.base import ZeroShotClassifier

SIGNATURE_ADVICE = "pass signatures to fit (model__signatures=... to that of a Pipeline)"
REPR_NOTE = "  # fitted without signatures: knows only the classes in y"
BLOCK_BYTES = 8 << 20, 256 << 20  # of features and scores at once: on a CPU what stays near it, on a GPU more
WHOLE_SORT = 4  # candidates per place asked for, up to which all are sorted
STRATEGIES = ("margin", "change")
COMPARED, LEAST_COMPARED = 20, 1000  # rows compared with each other for each that is asked for, or at least so many


class NoSignaturesWarning(UserWarning):
    """Warns of classes that only a description could give, asked of a model that was fitted without signatures.

    A model says it once. Its answers for such classes mean nothing.

    See Also
    --------
    UncalibratedWarning : Warns of probabilities whose size is not right.

    Examples
    --------
    >>> import warnings
    >>> from zskl import NoSignaturesWarning
    >>> warnings.simplefilter("error", NoSignaturesWarning)
    """


class UncalibratedWarning(UserWarning):
    """Warns of probabilities whose temperature nobody has fitted: their order is right, their size is not.

    See Also
    --------
    zskl.selection.calibrate : Fits the temperatures of a fitted model.

    Examples
    --------
    >>> import warnings
    >>> from zskl import UncalibratedWarning
    >>> warnings.simplefilter("ignore", UncalibratedWarning)
    """


def warn_no_signatures(model: ZeroShotClassifier, asked: Iterable[Any], stacklevel: int) -> None:
    if model.described_ or "_warned" in vars(model):
        return
    known = {*model.candidates_.tolist(), *model.seen_classes_.tolist()}
    new = [label for label in dict.fromkeys(asked) if label not in known]
    if new:
        model._warned = True
        warnings.warn(
            f"this {type(model).__name__} was fitted without signatures, so it can tell nothing of {list_values(new)}: "
            f"{SIGNATURE_ADVICE}",
            NoSignaturesWarning,
            stacklevel=stacklevel + 1,
        )


def signature_hint(model: ZeroShotClassifier) -> str:
    """What to add to an error that signatures in `fit` would have spared."""
    return "" if model.described_ else f"; the model was fitted without signatures: {SIGNATURE_ADVICE}"


def wrap_repr_lines(kind: type) -> None:
    """Let scikit-learn break long lines of an estimator whose `__repr__` is its own."""
    # No part of scikit-learn's public names: without it lines stay long.
    with suppress(ImportError, AttributeError):
        from sklearn.utils._pprint import _EstimatorPrettyPrinter as Printer

        Printer._dispatch.setdefault(kind.__repr__, Printer._pprint_estimator)


def get_temperatures(model: ZeroShotClassifier, seen: NumPyArray, usual: float = 1.0) -> NumPyArray:
    """(c,) T of the rows that each candidate answers; the usual one with a warning if none is fitted."""
    temperatures = model.temperatures_
    if temperatures is not None:
        if seen.all() or not seen.any():
            return np.full(len(seen), temperatures["seen" if seen.all() else "unseen"])
        # Models of 0.2 have one for both sides.
        sides = (temperatures.get(name, temperatures["mixed"]) for name in ("mixed_seen", "mixed_unseen"))
        return np.where(seen, *sides)
    warnings.warn(
        "the probabilities of this model are not calibrated: their order is right, their size is not; "
        f"{model._calibration_advice}",
        UncalibratedWarning,
        stacklevel=find_caller_level(),
    )
    return np.full(len(seen), usual)


@dataclass(frozen=True)
class Question:
    Y: Array  # (rows, p) scaled signatures, class by class
    rows: NumPyArray  # (c, m) rows of Y for each candidate, padded with its first
    labels: NumPyArray  # (c,)


def choose_candidates(model: ZeroShotClassifier, given: Any, candidates: Any) -> SignatureTable:
    """The table of the `candidates`, class by class, among the signatures `given`; None stands for the table of fit."""
    if candidates is not None:
        if isinstance(candidates, str) or not hasattr(candidates, "__iter__"):
            raise ValueError(f"candidates is {candidates!r}: expected a list of class names")
        candidates = tables.to_labels(candidates, "candidates", model.candidates_.tolist())
        if len(candidates) == 0:
            raise ValueError("candidates is empty: name at least one class")
    table, source = model.signature_table_, "the fitted table" if given is None else "signatures"
    if given is not None:
        known, prepared = model.candidates_.tolist(), model.signature_table_.preparation
        table = tables.read_table(given, candidates, model.attribute_names_, known, prepared)
        _inputs.check_sparse_signatures(model, table)
        _check_new_signatures(model, table)
        check_directions(model, table)
    if candidates is not None:
        candidates = tables.to_labels(candidates, "candidates", table.classes.tolist())  # new classes too
    wanted = table.classes if candidates is None else tables.unique_in_order(candidates)
    if candidates is not None and len(wanted) < len(candidates) and len(candidates) != len(table.labels):
        raise ValueError(f"candidates names a class twice in {list_values(candidates)}: name each once")
    known = set(table.labels.tolist())
    unknown = [label for label in wanted.tolist() if label not in known]
    if unknown:
        near = suggest(unknown[0], [str(label) for label in table.classes.tolist()])
        raise ValueError(
            f"candidate {list_values(unknown)} is not in {source}{near}, which has {list_values(table.classes)}"
            f"{signature_hint(model)}"
        )
    return table.select(wanted)


def _check_new_signatures(model: ZeroShotClassifier, table: SignatureTable) -> None:
    p = model.signature_table_.matrix.shape[1]
    if table.matrix.shape[1] != p:
        raise ValueError(
            f"signatures has {table.matrix.shape[1]} attributes, the model was fitted with {p}: describe classes "
            f"by the same attributes{signature_hint(model)}"
        )
    mine, theirs = label_kind(model.seen_classes_, "y"), label_kind(table.labels, "signatures")
    texts = {str(label) for label in model.candidates_.tolist()}
    alike = [label for label in table.classes.tolist() if str(label) in texts]
    if {mine, theirs} == {"integer", "string"} and alike:
        raise ValueError(
            f"signatures names classes by {theirs}s such as {list_values(alike)}, the model knows them as {mine}s: "
            "use the type of fit, or seen classes would count as new ones"
        )


def check_directions(model: ZeroShotClassifier, table: SignatureTable) -> None:
    """Refuse a signature of zeros where no mean is subtracted: it has no direction, and fits all rows alike."""
    if model.signature_scaling == scaling.AUTO:  # which always subtracts the mean
        return
    steps = scaling.parse_scaling(model.signature_scaling, "signature_scaling")
    empty = ~table.matrix.any(axis=1)
    if empty.any() and not set(steps) & set(scaling.FITTED):
        raise ValueError(
            f"all-zero signature for class {list_values(tables.unique_in_order(table.labels[empty]))}: with "
            f"signature_scaling={model.signature_scaling!r} a description needs at least one attribute that is not 0; "
            "use one that subtracts the mean, such as center-l2"
        )


def best_row_scores(scores: Array, rows: NumPyArray) -> Array:
    """(..., rows) → (..., classes): the best score among the rows of each class; for `rows` see `padded_rows`."""
    if rows.shape[1] == 1:
        return scores
    xp = namespace(scores)
    indices = [convert_like(column, scores, "int64") for column in rows.T]
    best = scores[..., indices[0]]
    for index in indices[1:]:
        best = xp.maximum(best, scores[..., index])
    return best


def softmax(logits: Array) -> Array:
    """exp(l_ij) / Σ_j exp(l_ij) of (n, c), for numbers of any size."""
    xp = namespace(logits)
    e = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def to_probabilities(scores: Array, temperatures: NumPyArray) -> Array:
    """softmax(scores / T) of (n, c), largest in each row where the score is, the first of equal scores. T of a row is
    that of its answer, of `temperatures` (c,)."""
    xp = namespace(scores)
    best = xp.argmax(scores, axis=1)
    found = softmax(scores / convert_like(temperatures, scores)[best][:, None])
    largest = xp.argmax(found, axis=1)
    tied = np.flatnonzero(to_numpy(best != largest))
    if len(tied):
        # exp makes numbers equal that differ by less than it can tell: the answer of `predict` gets the next one above.
        rows = convert_like(tied, found, "int64")
        found[rows, best[rows]] = found[rows, largest[rows]] * (1 + xp.finfo(found.dtype).eps)
    return found


def match_label_dtype(classes: NumPyArray, labels: NumPyArray) -> NumPyArray:
    """Strings as objects or of fixed width, whichever the classes of `fit` came in."""
    return labels.astype(np.str_) if classes.dtype.kind == "U" and isinstance(labels[0], str) else labels


def calibrate_scores(scores: Array, seen: NumPyArray, constant: float) -> Array:
    """Scores (n, c), the constant subtracted from the columns of seen classes; `seen` is a mask (c,)."""
    return scores - convert_like(constant * seen.astype(np.float64), scores) if constant else scores


class CandidateScorer:
    """Candidate classes before a fitted model, which scores any number of rows for them, in blocks of `BLOCK_BYTES`.
    What depends on these two alone is worked out with the first rows; all must share library, device and precision.
    Calibration subtracts the `constant` from scores of the candidates in the mask `seen` (c,)."""

    def __init__(
        self, model: ZeroShotClassifier, given: Any = None, candidates: Any = None, calibrated: bool = False
    ) -> None:
        check_is_fitted(model)
        self.model = model
        self.table = choose_candidates(model, given, candidates)
        self.labels: NumPyArray = match_label_dtype(model.seen_classes_, self.table.classes)
        # The warning points at the caller of `predict` and the like.
        if given is not None:
            warn_no_signatures(model, self.labels.tolist(), stacklevel=4)
        known = set(model.seen_classes_.tolist())
        self.seen = np.array([label in known for label in self.labels.tolist()])
        self.situation = "seen" if self.seen.all() else "mixed" if self.seen.any() else "unseen"
        self.constant = float(model.calibration_) if calibrated and self.situation == "mixed" else 0.0
        self._answer: Callable[[Array], Array] | None = None

    def scores(self, X: Array) -> Array:
        scaled = self.model._scale_rows(X)
        if self._answer is None:
            self._answer = self.model._candidate_scorer(self.model._question(scaled, self.table))
        return calibrate_scores(convert_like(self._answer(scaled), X), self.seen, self.constant)

    def blocks(self, X: Array, block_rows: int | None = None) -> Iterator[tuple[slice, Array]]:
        """(rows, their scores) over all of X from `as_sliceable`; refuses values that are not finite."""
        height = block_rows or self.height(X)
        for start in range(0, X.shape[0], height):
            rows = slice(start, min(start + height, X.shape[0]))
            yield rows, self.scores(_inputs.take_input_rows(self.model, X, rows))

    def fill(self, X: Array, transform: Callable[[Array], Array], out: Array | None = None) -> Array:
        """transform(scores) (n, c) of all rows, in `out` or a new array; of a single block it is returned as it is."""
        if out is None and X.shape[0] <= self.height(X):
            return transform(self.scores(_inputs.take_input_rows(self.model, X, slice(0, X.shape[0]))))
        for rows, scores in self.blocks(X):
            found = transform(scores)
            if out is None:
                xp = namespace(found)
                out = xp.empty((X.shape[0], found.shape[1]), dtype=found.dtype, device=found.device)
            out[rows] = convert_like(found, out)
        assert out is not None  # there is at least one row
        return out

    def height(self, X: Array) -> int:
        if is_sparse_rows(X):
            values = 2 * (X.values.nnz // X.shape[0] + len(self.table.labels)) + 1
        else:
            values = X.shape[1] + sum(self.table.matrix.shape)  # of a row: features, scores, the projection
        return int(max(1, BLOCK_BYTES[runs_on_gpu(X, self.model.device)] // (values * float_type(X).itemsize)))


def top_columns(scores: NumPyArray, k: int) -> tuple[NumPyArray, NumPyArray]:
    """Columns and values (n, k) of the k largest scores of each row of (n, c), the first of equal ones first."""
    falling = -scores
    if scores.shape[1] <= WHOLE_SORT * k:
        order = np.argsort(falling, axis=1, kind="stable")[:, :k]
        return order, np.take_along_axis(scores, order, axis=1)
    some = np.sort(np.argpartition(falling, k - 1, axis=1)[:, :k], axis=1)
    values = np.take_along_axis(falling, some, axis=1)
    order = np.take_along_axis(some, np.argsort(values, axis=1, kind="stable"), axis=1)
    last = values.max(axis=1, keepdims=True)
    # Equal scores, or NaN: only a stable sort of the whole row says which come first.
    unclear = np.flatnonzero(np.count_nonzero(falling <= last, axis=1) != k)
    order[unclear] = np.argsort(falling[unclear], axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


def check_score_output(out: Array, shape: tuple[int, int], X: Array) -> None:
    if not isinstance(out, np.ndarray) and not is_torch(out):
        raise ValueError(f"out is a {type(out).__name__}: expected a NumPy array, an np.memmap or a tensor")
    if tuple(out.shape) != shape:
        raise ValueError(
            f"out has shape {tuple(out.shape)}: expected {shape}, a row per sample, a column per candidate"
        )
    if not (out.dtype.is_floating_point if is_torch(out) else out.dtype.kind == "f"):
        raise ValueError(f"out holds {out.dtype}: expected floating-point numbers such as float32")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError("out is read-only: expected a writable one; open a memory-mapped file with mode='r+' or 'w+'")
    if _is_output_overlapping(out, X):
        raise ValueError("out shares memory with X, which is still to be read: hand over another array")


def _is_output_overlapping(out: Array, X: Array) -> bool:
    """Whether writing to `out` could change X; in doubt, yes. Tensors overlap where their storage does."""
    if is_torch(out) and is_torch(X):
        return bool(out.untyped_storage().data_ptr() == X.untyped_storage().data_ptr())
    if is_torch(out) or is_torch(X) or is_sparse_rows(X):
        return False
    try:
        return np.shares_memory(out, X, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def nearest_classes(
    scaling: Scaling, table: SignatureTable, places: NumPyArray, top: int
) -> tuple[NumPyArray, NumPyArray]:
    """(k, top) places of the classes nearest to those at `places` (k,) of a table, and the cosines; best pairs count.
    Classes are taken in blocks, so that many do not need all their cosines at once."""
    rows = table.padded_rows()  # (c, m)
    c, m = rows.shape
    top = min(top, c - 1)
    if top < 1:
        return np.empty((len(places), 0), dtype=np.int64), np.empty((len(places), 0))
    Y = Scaling(("l2",)).apply(scaling.apply(table.matrix))
    order, similarity = np.empty((len(places), top), dtype=np.int64), np.empty((len(places), top))
    height = max(1, BLOCK_BYTES[0] // (8 * m * len(Y)))
    for start in range(0, len(places), height):
        some = places[start : start + height]
        cosines = to_numpy(best_row_scores(Y[rows[some].ravel()] @ Y.T, rows)).reshape(-1, m, c).max(axis=1)
        # A class is not its own neighbour.
        cosines[np.arange(len(some)), some] = -np.inf
        order[start : start + height], similarity[start : start + height] = top_columns(cosines, top)
    return order, similarity


@dataclass(frozen=True, eq=False)
class Picks:
    """Rows to label, the first one first."""

    strategy: str
    rows: NDArray[np.int64]  # (n,)
    worth: NDArray[np.float64]  # (n,) of each by itself
    labels: NumPyArray  # (n, 2) of the best two candidates, as are the next two
    scores: NumPyArray
    probabilities: NumPyArray | None  # of a calibrated model


def pick_rows(
    model: ZeroShotClassifier,
    X: _inputs.Rows,
    n: int,
    strategy: str,
    signatures: Any = None,
    candidates: Any = None,
    diversity: float = 1.0,
) -> Picks:
    """See `ZeroShotClassifier.label_next`."""
    check_option("strategy", strategy, STRATEGIES)
    diversity = check_positive("diversity", diversity, zero_allowed=True)
    X = _inputs.as_sliceable(model, X, dense_for=None)
    if check_count("n", n) > X.shape[0]:
        raise ValueError(f"n is {n}: expected an integer from 1 to {X.shape[0]}, the number of rows")
    scorer = CandidateScorer(model, signatures, candidates, calibrated=True)
    if len(scorer.labels) < 2:
        raise ValueError(
            f"the only candidate is {list_values(scorer.labels)}: a label tells classes apart, so name another"
        )
    mover = None
    if strategy == "change":
        mover = model._mover(model._scale_rows(_inputs.take_input_rows(model, X, slice(0, 1))), scorer.table)
        if mover is None:
            raise ValueError(
                f"strategy is 'change': {type(model).__name__} does not learn from examples, so no label would change "
                "it; use strategy='margin'"
            )
    likely = mover is not None or model.temperatures_ is not None
    temperatures = get_temperatures(model, scorer.seen) if likely else np.ones(len(scorer.seen))
    order = np.empty((X.shape[0], 2), dtype=np.int64)
    scores, probabilities, worth = np.empty(order.shape), np.empty(order.shape), np.empty(len(order))
    for rows, found in scorer.blocks(X):
        order[rows], scores[rows] = top_columns(to_numpy(found), 2)
        shares = to_probabilities(found, temperatures)
        probabilities[rows] = np.take_along_axis(to_numpy(shares), order[rows], axis=1)
        if mover is not None:
            moves = mover(model._scale_rows(_inputs.take_input_rows(model, X, rows)))
            worth[rows] = to_numpy(namespace(shares).sum(shares * convert_like(moves, shares), axis=1))
    if mover is None:
        gaps = scores[:, 0] - scores[:, 1]
        worth = np.exp(-gaps / float(gaps.mean())) if gaps.mean() > 0 else np.ones_like(gaps)
    best = np.argsort(-worth, kind="stable")[: max(COMPARED * int(n), LEAST_COMPARED)]
    directions = model._row_directions(model._scale_rows(_inputs.take_input_rows(model, X[best], slice(0, len(best)))))
    chosen = best[pick_diverse_rows(worth[best], to_numpy(directions), int(n), diversity)]
    return Picks(
        strategy,
        chosen,
        worth[chosen],
        scorer.labels[order[chosen]],
        scores[chosen],
        None if model.temperatures_ is None else probabilities[chosen],
    )


def pick_diverse_rows(
    worth: NDArray[np.float64], directions: NumPyArray, n: int, diversity: float
) -> NDArray[np.int64]:
    """(n,) places, each of the row worth most; then others keep (1 − cosine)^diversity of their worth, at most all."""
    left, free = worth.copy(), np.ones(len(worth), dtype=bool)
    taken = []
    for _ in range(n):
        place = int(np.where(free, left, -1.0).argmax())
        taken.append(place)
        free[place] = False
        if diversity:
            cosines = np.asarray(directions @ to_dense(directions[[place]])[0], dtype=np.float64)
            left *= (1 - cosines.clip(0, 1)) ** diversity
    return np.array(taken, dtype=np.int64)
