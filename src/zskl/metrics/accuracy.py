"""Accuracy by class, what wrong answers were, and how far probabilities can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl._validation import to_plain
from zskl.metrics.seen_unseen import Floats, harmonic_means


def per_class_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> dict[Any, float]:
    """Share of right answers among the rows of each class.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The class of each row.
    y_pred : array-like of shape (n_samples,)
        The answer for each row.

    Returns
    -------
    dict
        From each class that has rows to its accuracy, between 0 and 1, in sorted order of the classes.

    Examples
    --------
    >>> from zskl.metrics import per_class_accuracy
    >>> per_class_accuracy(["ant", "ant", "bee"], ["ant", "bee", "bee"])
    {'ant': 0.5, 'bee': 1.0}
    """
    true, predicted = _check_pairs(y_true, y_pred)
    labels, codes = np.unique(true, return_inverse=True)
    accuracy = np.bincount(codes, weights=true == predicted) / np.bincount(codes)
    return dict(zip((to_plain(label) for label in labels), accuracy.tolist(), strict=True))


def mean_per_class_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mean of the accuracies of the classes, so that a large class counts no more than a small one.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The class of each row.
    y_pred : array-like of shape (n_samples,)
        The answer for each row.

    Returns
    -------
    float
        A number between 0 and 1.

    Examples
    --------
    >>> from zskl.metrics import mean_per_class_accuracy
    >>> mean_per_class_accuracy(["ant", "ant", "bee"], ["ant", "bee", "bee"])
    0.75
    """
    return float(np.mean(list(per_class_accuracy(y_true, y_pred).values())))


def harmonic_mean(seen: float, unseen: float) -> float:
    """Harmonic mean H = 2 · seen · unseen / (seen + unseen) of two accuracies (Eq. 14 of the paper).

    Parameters
    ----------
    seen : float
        Accuracy on rows of seen classes, those with training rows.
    unseen : float
        Accuracy on rows of unseen classes, those known only by a description.

    Returns
    -------
    float
        The harmonic mean; 0 where both are 0.

    Examples
    --------
    >>> from zskl.metrics import harmonic_mean
    >>> round(harmonic_mean(0.8, 0.2), 4)
    0.32
    """
    for name, value in (("seen", seen), ("unseen", unseen)):
        if not 0 <= value < np.inf:
            raise ValueError(f"{name} is {value}: expected an accuracy, a finite number of at least 0")
    return float(harmonic_means(np.asarray(seen, np.float64), np.asarray(unseen, np.float64)))


def wrong_answers(true: ArrayLike, predicted: ArrayLike, most: int = 3) -> dict[Any, tuple[tuple[Any, float], ...]]:
    """Classes that the rows of each class were mistaken for.

    Parameters
    ----------
    true : array-like of shape (n_samples,)
        The class of each row.
    predicted : array-like of shape (n_samples,)
        The answer for each row.
    most : int, default=3
        How many wrong answers to give for each class.

    Returns
    -------
    dict
        From each class to pairs (wrong answer, share of the class's rows), largest share first.

    Examples
    --------
    >>> from zskl.metrics import wrong_answers
    >>> wrong_answers(["ant", "ant", "bee"], ["ant", "bee", "bee"])
    {'ant': (('bee', 0.5),), 'bee': ()}
    """
    t, p = np.asarray(true), np.asarray(predicted)
    found = {}
    for label in np.unique(t):
        answers, counts = np.unique(p[(t == label) & (p != label)], return_counts=True)
        order = np.argsort(-counts, kind="stable")[:most]
        rows = int(np.sum(t == label))
        found[to_plain(label)] = tuple((to_plain(answers[k]), float(counts[k] / rows)) for k in order)
    return found


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = 15) -> float:
    """Mean distance between probability and accuracy: `Σ_b (n_b / n) |mean correct_b − mean confidence_b|`.

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
    p, right = _check_confidences(confidence, correct)
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"bins is {bins!r}: expected an integer ≥ 1")
    bin_of = np.minimum((p * bins).astype(np.intp), bins - 1)
    surplus = np.bincount(bin_of, right - p, minlength=bins)
    return float(np.abs(surplus).sum() / len(p))


def coverage_accuracy(confidence: ArrayLike, correct: ArrayLike, thresholds: ArrayLike) -> tuple[Floats, Floats]:
    """What remains if answers below a probability are withheld: their share and their accuracy.

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
    p, right = _check_confidences(confidence, correct)
    t = np.asarray(thresholds, np.float64)
    order = np.argsort(-p, kind="stable")
    answered = np.searchsorted(-p[order], -t, side="right")
    hits = np.concatenate([[0.0], np.cumsum(right[order])])[answered]
    with np.errstate(invalid="ignore"):
        return answered / len(p), hits / answered


def _check_pairs(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both as arrays, refused if they cannot be compared row by row."""
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if true.ndim != 1 or predicted.ndim != 1:
        raise ValueError(f"y_true has shape {true.shape} and y_pred {predicted.shape}: expected two vectors")
    if len(true) != len(predicted) or not len(true):
        raise ValueError(
            f"y_true has {len(true)} labels and y_pred has {len(predicted)}: expected the same number, at least one"
        )
    if isinstance(true[0], str) != isinstance(predicted[0], str):
        raise ValueError(
            f"y_true holds labels like {to_plain(true[0])!r} and y_pred like {to_plain(predicted[0])!r}, "
            "which are never equal: make both strings or both numbers"
        )
    return true, predicted


def _check_confidences(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    """Both as vectors of one length; a probability a little above 1 by rounding counts as 1."""
    p, right = np.asarray(confidence, np.float64), np.asarray(correct, np.float64)
    if p.ndim != 1 or p.shape != right.shape or not len(p):
        raise ValueError(
            f"confidence has shape {p.shape} and correct {right.shape}: expected two vectors of one length, at least 1"
        )
    if not np.all((p >= 0) & (p <= 1 + 1e-6)):
        raise ValueError(f"confidence runs from {p.min():g} to {p.max():g}: expected probabilities")
    return np.minimum(p, 1.0), right
