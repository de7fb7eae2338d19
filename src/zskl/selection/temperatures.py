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
RANGE = (1e-4, 1e4)  # of T, in units of the spread of the scores


def fit(answered: Sequence[Answered], candidates: str = "these", within: float = 1e-4, tell: bool = True) -> float:
    """argmin over T of the mean over folds of −log softmax(scores / T)[own class].

    log T is found to `within`. The loss is convex in 1/T. If all scores are equal, T is 1. If no finite T is best,
    because the scores mislead more than they help, T is the highest in the range, and the log says so
    if you want it to `tell`.
    """
    parts = [(scores.astype(np.float64), own) for scores, own in answered if len(own)]
    spread = float(np.mean([np.std(scores, axis=1).mean() for scores, _ in parts])) if parts else 0.0
    if spread <= 0:
        return 1.0

    def loss(log_t: float) -> float:
        return float(np.mean([_nll(scores / (spread * np.exp(log_t)), own) for scores, own in parts]))

    found = minimize_scalar(loss, bounds=tuple(np.log(RANGE)), method="bounded", options={"xatol": within})
    if tell and found.x > np.log(RANGE[1]) - FLAT:
        log.warning(
            "validation rows do not tell %s candidates apart, so probabilities among them will be nearly equal: their "
            "order is still that of the scores; more validation classes or other settings may help",
            candidates,
        )
    return float(spread * np.exp(found.x))


def _nll(logits: NDArray[np.float64], own: NDArray[np.int64]) -> float:
    shifted = logits - logits.max(axis=1, keepdims=True)
    mine = np.take_along_axis(shifted, own[:, None], axis=1)[:, 0]
    return float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - mine))
