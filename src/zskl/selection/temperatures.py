"""The temperatures at which softmax(scores / T) fits validation rows best, and the calibration constant with them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from zskl.estimators._candidates import calibrate_scores
from zskl.metrics.seen_unseen import best_constant, row_margins

log = logging.getLogger(__name__)
Answered = tuple[NDArray[Any], NDArray[np.int64]]  # scores (n, c) of rows, and the column of each row's class
Scored = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_]]  # scores (n, c), own columns (n,), seen ones (c,)
FLAT = 0.5  # in log T; a minimum this near to the end of the range lies beyond it
FEW = 5  # candidates: with fewer, a fold says little
RANGE = (1e-4, 1e4)  # of T, in units of the spread of the scores


def fit_calibration(scored: Sequence[Scored], constant: float | None = None, rough: bool = False) -> dict[str, Any]:
    """`calibration` (the best constant, unless you give one), mean harmonic mean `gzsl` there, and `temperatures`.

    Temperatures may be `rough`.
    """
    harmonic = np.zeros(0)
    if constant is None:
        constant, harmonic = best_constant([row_margins(scores, own, seen) for scores, own, seen in scored])
    mixed = [(calibrate_scores(scores.astype(np.float64), seen, constant), own) for scores, own, seen in scored]
    return {
        "calibration": float(constant),
        "gzsl": float(harmonic.mean()) if len(harmonic) else None,
        "temperatures": {
            "seen": fit_temperature([_select_side(*one, wanted=True) for one in scored], "seen", rough),
            "unseen": fit_temperature([_select_side(*one, wanted=False) for one in scored], "unseen", rough),
            "mixed": fit_temperature(mixed, "mixed", rough),
        },
    }


def _select_side(
    scores: NDArray[Any], own: NDArray[np.int64], seen: NDArray[np.bool_], *, wanted: bool
) -> tuple[Any, Any]:
    """Rows and columns of the seen classes alone, or of the others."""
    columns = np.flatnonzero(seen == wanted)
    rows = np.flatnonzero(seen[own] == wanted)
    return scores[np.ix_(rows, columns)], np.searchsorted(columns, own[rows])


def fit_temperature(answered: Sequence[Answered], candidates: str = "these", rough: bool = False) -> float:
    """argmin over T of the mean over folds of −log softmax(scores / T)[own class].

    The loss is convex in 1/T. If all scores are equal, T is 1. If no finite T is best, because the scores mislead more
    than they help, T is the highest in the range, and the log says so. A `rough` T is within 2 % and says nothing.
    """
    parts = [(scores.astype(np.float64), own) for scores, own in answered if len(own)]
    spread = float(np.mean([np.std(scores, axis=1).mean() for scores, _ in parts])) if parts else 0.0
    if spread <= 0:
        return 1.0

    def loss(log_t: float) -> float:
        T = spread * np.exp(log_t)
        return float(np.mean([_negative_log_likelihood(scores / T, own) for scores, own in parts]))

    within = {"xatol": 0.02 if rough else 1e-4}
    found = minimize_scalar(loss, bounds=tuple(np.log(RANGE)), method="bounded", options=within)
    if not rough and found.x > np.log(RANGE[1]) - FLAT:
        log.warning("%s", _flatness_reason(candidates, max(scores.shape[1] for scores, _ in parts)))
    return float(spread * np.exp(found.x))


def _flatness_reason(candidates: str, classes: int) -> str:
    """Why probabilities will be nearly equal."""
    few = f"a validation fold has only {classes} of them, too few to tell how sure to be"
    reason = few if classes < FEW else "on validation rows the scores mislead as often as they help"
    candidates = "seen and unseen" if candidates == "mixed" else candidates
    return f"probabilities among {candidates} classes will be nearly equal, though their order is right: {reason}"


def _negative_log_likelihood(logits: NDArray[np.float64], own: NDArray[np.int64]) -> float:
    shifted = logits - logits.max(axis=1, keepdims=True)
    mine = np.take_along_axis(shifted, own[:, None], axis=1)[:, 0]
    return float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - mine))
