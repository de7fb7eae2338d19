"""Candidate classes before a fitted model: rows of any number are scored block by block.

What the candidates alone decide is worked out once. A block holds so many rows that its features and scores take
`BLOCK_BYTES`; fewer rows are one block. What a block needs besides is a few times that, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array, NumPyArray, is_torch, like, namespace, on_gpu
from zskl.estimators import candidates as candidate_scores
from zskl.estimators import inputs
from zskl.estimators.candidates import as_in, choose
from zskl.estimators.no_signatures import warn_once
from zskl.scaling import float_type
from zskl.sparse_rows import are_sparse

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier

BLOCK_BYTES = 8 << 20, 256 << 20  # of features and scores at once: on a CPU what stays near it, on a GPU more
WHOLE_SORT = 4  # candidates per place asked for, up to which all are sorted


class Panel:
    """Candidate classes before a fitted model, which scores rows for them.

    What depends only on these two is worked out with the first rows; all rows must share their library, device and
    precision.

    `labels` (c,) are the candidates' names, `situation` says whether they are all "seen", all "unseen", or "mixed",
    and `constant` is what calibration subtracts from the scores of those in the mask `seen` (c,).
    """

    def __init__(
        self, model: ZeroShotClassifier, given: Any = None, candidates: Any = None, calibrated: bool = False
    ) -> None:
        check_is_fitted(model)
        self.model = model
        self.table = choose(model, given, candidates)
        self.labels: NumPyArray = as_in(model.classes_, self.table.classes)
        if given is not None:
            warn_once(model, self.labels.tolist(), stacklevel=4)  # where `predict` and the like are called
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
        """(rows, their scores) over all of X from `inputs.sliceable`; refuses values that are not finite."""
        n = X.shape[0]
        height = block_rows or self.height(X)
        for start in range(0, n, height):
            rows = slice(start, min(start + height, n))
            yield rows, self.scores(inputs.taken(self.model, X, rows))

    def height(self, X: Array) -> int:
        """Rows of a block."""
        if are_sparse(X):
            values = 2 * (X.values.nnz // X.shape[0] + len(self.table.labels)) + 1
        else:
            values = X.shape[1] + sum(self.table.matrix.shape)  # of a row: features, scores, the projection
        return int(max(1, BLOCK_BYTES[on_gpu(X, self.model.device)] // (values * float_type(X).itemsize)))


def best_first(scores: NumPyArray, k: int) -> tuple[NumPyArray, NumPyArray]:
    """Columns and values (n, k) of the k largest scores of each row of (n, c), the first of equal ones first.

    Of many columns only the k best are sorted. If others equal the last of them, the whole row is.
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


def filled(panel: Panel, X: Array, of: Callable[[Array], Array], out: Array | None = None) -> Array:
    """of(scores) (n, c) of all rows, in `out` or a new array; the result for a single block is returned as it is."""
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


def check_out(out: Array, shape: tuple[int, int], X: Array) -> None:
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
    if is_torch(out) or is_torch(X) or are_sparse(X):
        return False
    try:
        return np.shares_memory(out, X, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
