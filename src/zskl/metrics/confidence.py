"""How far probabilities can be trusted."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = 15) -> float:
    """
    Mean distance between probability and accuracy: `Σ_b (n_b / n) |mean correct_b − mean confidence_b|`.

    Parameters
    ----------
    confidence : array-like of shape (n_samples,)
        The probability of each answer.
    correct : array-like of shape (n_samples,)
        Whether each answer was right.
    bins : int, default=15
        Number of bins of equal width in [0, 1] over which the rows are grouped.

    Returns
    -------
    float
        A number between 0 and 1; 0 is best.

    Examples
    --------
    >>> from zskl.metrics import expected_calibration_error
    >>> expected_calibration_error([1.0, 1.0, 0.5, 0.5], [True, True, True, False])
    0.0
    >>> expected_calibration_error([1.0, 1.0], [True, False])
    0.5
    """
    p, right = _confidences(confidence, correct)
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"bins is {bins!r}: expected an integer ≥ 1")
    bin_of = np.minimum((p * bins).astype(np.intp), bins - 1)
    surplus = np.bincount(bin_of, right - p, minlength=bins)
    return float(np.abs(surplus).sum() / len(p))


def coverage_accuracy(confidence: ArrayLike, correct: ArrayLike, thresholds: ArrayLike) -> tuple[Floats, Floats]:
    """
    What remains if answers below a probability are withheld: their share and their accuracy.

    Parameters
    ----------
    confidence : array-like of shape (n_samples,)
        The probability of each answer.
    correct : array-like of shape (n_samples,)
        Whether each answer was right.
    thresholds : array-like of shape (n_thresholds,)
        A row is answered if its probability is at least the threshold.

    Returns
    -------
    shares : ndarray of shape (n_thresholds,)
        Share of rows that are answered.
    accuracies : ndarray of shape (n_thresholds,)
        Share of right answers among these rows, NaN where no row is answered.

    Examples
    --------
    >>> from zskl.metrics import coverage_accuracy
    >>> shares, accuracies = coverage_accuracy([0.9, 0.8, 0.4], [True, True, False], [0.0, 0.5])
    >>> shares.round(2).tolist(), accuracies.round(2).tolist()
    ([1.0, 0.67], [0.67, 1.0])
    """
    p, right = _confidences(confidence, correct)
    t = np.asarray(thresholds, np.float64)
    order = np.argsort(-p, kind="stable")
    answered = np.searchsorted(-p[order], -t, side="right")
    hits = np.concatenate([[0.0], np.cumsum(right[order])])[answered]
    with np.errstate(invalid="ignore"):
        return answered / len(p), hits / answered


def _confidences(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    """Both as vectors of one length; a probability a little above 1 by rounding counts as 1."""
    p, right = np.asarray(confidence, np.float64), np.asarray(correct, np.float64)
    if p.ndim != 1 or p.shape != right.shape or not len(p):
        raise ValueError(
            f"confidence has shape {p.shape} and correct {right.shape}: expected two vectors of one length, at least 1"
        )
    if not np.all((p >= 0) & (p <= 1 + 1e-6)):
        raise ValueError(f"confidence runs from {p.min():g} to {p.max():g}: expected probabilities")
    return np.minimum(p, 1.0), right
