"""Candidate classes ranked for rows of any number: scored block by block, what candidates alone decide worked out once.

A block holds so many rows that its features and scores take `BLOCK_BYTES`; fewer rows are one block. What a block
needs besides is a few times that, whatever the number of rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array, NumPyArray, float_type, is_torch, like, namespace, on_gpu, to_numpy
from zskl.estimators import candidates as candidate_scores
from zskl.estimators import inputs
from zskl.estimators.candidates import as_in, choose, softmax
from zskl.parameters import count

Labels: TypeAlias = Sequence[Any] | NumPyArray
UNKNOWN = "unknown"  # what `predict` answers for a row that it rejects
BLOCK_BYTES = 8 << 20, 256 << 20  # of features and scores at once: on a CPU what stays near it, on a GPU more
WHOLE_SORT = 4  # candidates per place asked for, up to which all are sorted


class UncalibratedWarning(UserWarning):
    """Probabilities of a model whose temperature nobody has fitted."""


class Panel:
    """Candidate classes before a fitted model, which scores rows for them. What depends on the two alone is worked out
    with the first rows, whose library, device and precision the others must share.

    `labels` (c,) are the candidates' names, `situation` says whether they are all "seen", all "unseen", or "mixed",
    and `constant` is what calibration subtracts from the scores of those in the mask `seen` (c,).
    """

    def __init__(self, model: Any, given: Any = None, candidates: Any = None, calibrated: bool = False) -> None:
        check_is_fitted(model)
        self.model = model
        self.table = choose(model, given, candidates)
        self.labels: NumPyArray = as_in(model.classes_, self.table.classes)
        known = set(model.classes_.tolist())
        self.seen = np.array([label in known for label in self.labels.tolist()])
        self.situation = "seen" if self.seen.all() else "mixed" if self.seen.any() else "unseen"
        self.constant = float(model.calibration_) if calibrated and self.situation == "mixed" else 0.0
        self._answer: Callable[[Array], Array] | None = None

    def scores(self, X: Array) -> Array:
        """(n, c) of checked rows X (n, d), where they lie."""
        scaled = self.model._scaled(X)
        if self._answer is None:
            self._answer = self.model._answerer(self.model._question(scaled, self.table))
        return candidate_scores.calibrated(like(self._answer(scaled), X), self.seen, self.constant)

    def blocks(self, X: Array, block_rows: int | None = None) -> Iterator[tuple[slice, Array]]:
        """(rows, their scores) over all of X, as of `inputs.sliceable`; values that are not finite are refused."""
        n = X.shape[0]
        height = block_rows or self.height(X)
        for start in range(0, n, height):
            rows = slice(start, min(start + height, n))
            yield rows, self.scores(inputs.taken(self.model, X, rows))

    def height(self, X: Array) -> int:
        """Rows of a block."""
        values = X.shape[1] + sum(self.table.matrix.shape)  # of a row: features, scores, the projection
        return int(max(1, BLOCK_BYTES[on_gpu(X, self.model.device)] // (values * float_type(X).itemsize)))


class Ranking:
    """What a fitted estimator answers. It has `_scaled`, `_question` and `_answerer`, and the attributes of `fit`."""

    classes_: NumPyArray
    temperatures_: dict[str, float] | None

    def compatibility(
        self, X: Array, signatures: Any = None, candidates: Labels | None = None, out: Array | None = None
    ) -> Array:
        """Raw scores (n, c) of the candidate classes, larger is better, in the library and on the device of X.

        Candidates are the classes of `signatures` (default: `candidates_`), or those of them named in `candidates`. A
        class with several signatures scores the best of them. An array of signatures needs `candidates`, a name a row.

        `out`, an array (n, c) of floating-point numbers such as a writable np.memmap, takes the scores and is returned:
        then memory holds a block of them at a time.
        """
        panel, X = self._opened(X, signatures, candidates)
        if out is not None:
            _check_out(out, (X.shape[0], len(panel.labels)), X)
        return _filled(panel, X, lambda scores: scores, out)

    def iter_compatibility(
        self, X: Array, signatures: Any = None, candidates: Labels | None = None, block_rows: int | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """(rows, scores) block by block: a slice of X's rows, in order, and what `compatibility` says of them.

        `block_rows` is the number of rows in a block; the default keeps features and scores of one at some megabytes.
        """
        panel, X = self._opened(X, signatures, candidates)
        return panel.blocks(X, None if block_rows is None else count("block_rows", block_rows))

    def predict(
        self,
        X: Array,
        signatures: Any = None,
        candidates: Labels | None = None,
        calibrated: bool = True,
        reject: float | None = None,
    ) -> NumPyArray:
        """The best candidate class of each row (n,). `calibrated` takes `calibration_` off the seen classes where
        candidates mix seen and unseen ones. With `reject`, a row whose best probability is below it is answered
        "unknown", and labels are objects."""
        panel, X = self._opened(X, signatures, candidates, calibrated)
        if reject is not None and (
            isinstance(reject, bool) or not isinstance(reject, int | float | np.number) or not 0 <= reject <= 1
        ):
            raise ValueError(f"reject={reject!r}: expected a probability between 0 and 1")
        temperature = None if reject is None else self._temperature(panel.situation)
        answers = np.empty(X.shape[0], dtype=panel.labels.dtype if reject is None else object)
        for rows, scores in panel.blocks(X):
            answers[rows] = panel.labels[to_numpy(namespace(scores).argmax(scores, axis=1))]
            if temperature is not None:
                unsure = to_numpy(softmax(scores / temperature)).max(axis=1) < reject
                answers[rows][unsure] = UNKNOWN
        return answers

    def predict_proba(
        self,
        X: Array,
        signatures: Any = None,
        candidates: Labels | None = None,
        calibrated: bool = True,
    ) -> Array:
        """Probabilities (n, c) of the candidate classes, in the order of `compatibility`.

        softmax(scores / T), with `calibration_` subtracted as in `predict`. T is one of `temperatures_`, fitted on
        validation classes by `zskl.selection`: for candidates that are all "seen", all "unseen", or "mixed". Of a model
        that was only fitted, T is 1 and a warning says so.
        """
        panel, X = self._opened(X, signatures, candidates, calibrated)
        temperature = self._temperature(panel.situation)
        return _filled(panel, X, lambda scores: softmax(scores / temperature))

    def top_k(
        self,
        X: Array,
        k: int = 5,
        signatures: Any = None,
        candidates: Labels | None = None,
        calibrated: bool = True,
        return_scores: bool = False,
    ) -> Any:
        """The k best candidate classes of each row (n, k), best first; with `return_scores` a pair (labels, scores)."""
        panel, X = self._opened(X, signatures, candidates, calibrated)
        labels = panel.labels
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= len(labels):
            raise ValueError(f"k={k!r}: expected an integer from 1 to {len(labels)}, the number of candidates")
        best = np.empty((X.shape[0], k), dtype=labels.dtype)
        values: NumPyArray | None = None
        for rows, scores in panel.blocks(X):
            order, of_block = best_first(to_numpy(scores), int(k))
            best[rows] = labels[order]
            if return_scores:
                values = np.empty(best.shape, dtype=of_block.dtype) if values is None else values
                values[rows] = of_block
        return (best, values) if return_scores else best

    def score(
        self, X: Array, y: Any, sample_weight: Any = None, signatures: Any = None, candidates: Labels | None = None
    ) -> float:
        """Accuracy of `predict` over rows, scikit-learn's score; `protocols` and `metrics` average over classes."""
        return float(accuracy_score(y, self.predict(X, signatures, candidates), sample_weight=sample_weight))

    def decision_function(self, X: Array) -> Array:
        """Raw scores over `classes_`, in scikit-learn's shape: (n, C), or (n,) for two classes."""
        check_is_fitted(self)
        scores = self.compatibility(X, candidates=self.classes_)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _opened(self, X: Array, given: Any, candidates: Any, calibrated: bool = False) -> tuple[Panel, Array]:
        X = inputs.sliceable(self, X)
        return Panel(self, given, candidates, calibrated), X

    def _temperature(self, situation: str) -> float:
        if self.temperatures_ is not None:
            return self.temperatures_[situation]
        warnings.warn(
            "the probabilities of this model are not calibrated: their order is right, their size is not; "
            "fit it by selection.tune, or call selection.calibrate on it",
            UncalibratedWarning,
            stacklevel=3,
        )
        return 1.0


def best_first(scores: NumPyArray, k: int) -> tuple[NumPyArray, NumPyArray]:
    """Columns and values (n, k) of the k largest scores of each row of (n, c), the first of equal ones first.

    Of many columns only the k best are sorted; where others equal the last of them, the whole row is.
    """
    falling = -scores
    if scores.shape[1] <= WHOLE_SORT * k:
        order = np.argsort(falling, axis=1, kind="stable")[:, :k]
        return order, np.take_along_axis(scores, order, axis=1)
    some = np.sort(np.argpartition(falling, k - 1, axis=1)[:, :k], axis=1)
    values = np.take_along_axis(falling, some, axis=1)
    order = np.take_along_axis(some, np.argsort(values, axis=1, kind="stable"), axis=1)
    last = values.max(axis=1, keepdims=True)
    unclear = np.flatnonzero(np.count_nonzero(falling <= last, axis=1) != k)  # equal scores, or NaN
    order[unclear] = np.argsort(falling[unclear], axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


def _filled(panel: Panel, X: Array, of: Callable[[Array], Array], out: Array | None = None) -> Array:
    """of(scores) (n, c) of all rows, in `out` or a new array; that of a single block is returned as it is."""
    if out is None and X.shape[0] <= panel.height(X):
        return of(panel.scores(inputs.taken(panel.model, X, slice(0, X.shape[0]))))
    for rows, scores in panel.blocks(X):
        found = of(scores)
        if out is None:
            xp = namespace(found)
            out = xp.empty((X.shape[0], found.shape[1]), dtype=found.dtype, device=found.device)
        out[rows] = like(found, out)
    assert out is not None  # there is at least one row
    return out


def _check_out(out: Array, shape: tuple[int, int], X: Array) -> None:
    if not isinstance(out, np.ndarray) and not is_torch(out):
        raise ValueError(f"out is a {type(out).__name__}: expected a NumPy array, an np.memmap or a tensor")
    if tuple(out.shape) != shape:
        raise ValueError(
            f"out has shape {tuple(out.shape)}: expected {shape}, a row per sample, a column per candidate"
        )
    floating = out.dtype.is_floating_point if is_torch(out) else out.dtype.kind == "f"
    if not floating:
        raise ValueError(f"out holds {out.dtype}: expected floating-point numbers such as float32")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError("out is read-only: expected a writable one; open a memory-mapped file with mode='r+' or 'w+'")
    if _overlap(out, X):
        raise ValueError("out shares memory with X, which is still to be read: hand over another array")


def _overlap(out: Array, X: Array) -> bool:
    """Whether writing to `out` could change X; in doubt, yes. Tensors overlap where their storage does."""
    if is_torch(out) and is_torch(X):
        return bool(out.untyped_storage().data_ptr() == X.untyped_storage().data_ptr())
    if is_torch(out) or is_torch(X):
        return False
    try:
        return np.shares_memory(out, X, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
