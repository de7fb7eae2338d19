"""The temperature T at which softmax(scores / T) fits validation rows best."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

log = logging.getLogger(__name__)
Answered = tuple[NDArray[Any], NDArray[np.int64]]  # scores (n, c) of rows, and the column of each row's class
FLAT = 0.5  # in log T; a minimum this near to the end of the range lies beyond it
FEW = 5  # candidates: with fewer, a fold says little
RANGE = (1e-4, 1e4)  # of T, in units of the spread of the scores


def fit(answered: Sequence[Answered], candidates: str = "these", rough: bool = False) -> float:
    """argmin over T of the mean over folds of −log softmax(scores / T)[own class].

    The loss is convex in 1/T. If all scores are equal, T is 1. If no finite T is best, because the scores mislead more
    than they help, T is the highest in the range, and the log says so. A `rough` T is within 2 % and says nothing.
    """
    parts = [(scores.astype(np.float64), own) for scores, own in answered if len(own)]
    spread = float(np.mean([np.std(scores, axis=1).mean() for scores, _ in parts])) if parts else 0.0
    if spread <= 0:
        return 1.0

    def loss(log_t: float) -> float:
        return float(np.mean([_nll(scores / (spread * np.exp(log_t)), own) for scores, own in parts]))

    within = {"xatol": 0.02 if rough else 1e-4}
    found = minimize_scalar(loss, bounds=tuple(np.log(RANGE)), method="bounded", options=within)
    if not rough and found.x > np.log(RANGE[1]) - FLAT:
        log.warning("%s", _flat(candidates, max(scores.shape[1] for scores, _ in parts)))
    return float(spread * np.exp(found.x))


def _flat(candidates: str, classes: int) -> str:
    """Why probabilities will be nearly equal."""
    few = f"a validation fold has only {classes} of them, too few to tell how sure to be"
    reason = few if classes < FEW else "on validation rows the scores mislead as often as they help"
    candidates = "seen and unseen" if candidates == "mixed" else candidates
    return f"probabilities among {candidates} classes will be nearly equal, though their order is right: {reason}"


def _nll(logits: NDArray[np.float64], own: NDArray[np.int64]) -> float:
    shifted = logits - logits.max(axis=1, keepdims=True)
    mine = np.take_along_axis(shifted, own[:, None], axis=1)[:, 0]
    return float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - mine))
