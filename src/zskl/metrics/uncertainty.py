"""How far figures can be trusted: the bootstrap over classes and rows, and the calibration of probabilities.

A draw takes as many classes as there are, with replacement, and as many rows of each class drawn as it has, again with
replacement. A class drawn twice gets its rows twice, each time others. So classes are the sample, and rows within
them. The draws follow from the sizes of the classes and a seed alone: all figures of the same rows have the same draws,
and their differences are paired.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl._arrays import make_generator

DRAWS, FEWEST = 10_000, 1_000
LEVEL = 0.95  # of an interval
BLOCK, ALL = 2**22, 2**28  # entries of a block of draws; of all draws, before there are fewer than DRAWS

Floats = NDArray[np.float64]


def draw_means(
    outcomes: ArrayLike, sizes: ArrayLike, *, seed: int = 0, draws: int | None = None
) -> NDArray[np.float32]:
    """(draws, k) means of outcomes (n, k), which lie class by class, over the rows and then the classes of each draw.

    `sizes` (C,) are the rows of each class, at least 1. By default there are 10 000 draws, fewer where there are more
    than 26 000 rows, and never fewer than 1 000.
    """
    rows = np.asarray(sizes, dtype=np.int64)
    values = np.asarray(outcomes, dtype=np.float32)
    if values.ndim != 2 or rows.ndim != 1 or not len(rows) or rows.min() < 1 or rows.sum() != len(values):
        raise ValueError(
            f"outcomes have shape {values.shape} for classes of {rows.sum()} rows: expected a row of numbers for each, "
            "and at least one row of each class"
        )
    shared = values / np.repeat(rows * len(rows), rows)[:, None].astype(np.float32)
    number = default_draws(len(values)) if draws is None else draws
    return np.concatenate([block @ shared for block in draw_counts(rows, seed, number)])


def default_draws(rows: int) -> int:
    """How many draws there are by default."""
    return min(DRAWS, max(FEWEST, ALL // rows))


def draw_counts(sizes: NDArray[np.int64], seed: int, draws: int) -> Iterator[NDArray[np.float32]]:
    """How often each draw takes each row (b, n), in blocks of draws."""
    step = max(1, BLOCK // int(sizes.sum()))
    for number, first in enumerate(range(0, draws, step)):
        yield _draw_block(sizes, min(step, draws - first), make_generator(seed, number))


def _draw_block(sizes: NDArray[np.int64], draws: int, rng: np.random.Generator) -> NDArray[np.float32]:
    classes = len(sizes)
    drawn = rng.integers(classes, size=(draws, classes)) + classes * np.arange(draws)[:, None]
    times = np.bincount(drawn.ravel(), minlength=draws * classes).reshape(draws, classes)  # each class in each draw
    found = np.empty((draws, int(sizes.sum())), np.float32)
    last = np.cumsum(sizes)
    for c, size in enumerate(sizes.tolist()):
        begins = np.repeat(np.arange(draws, dtype=np.int64) * size, times[:, c] * size)  # of the draw of each row taken
        begins += rng.integers(size, size=len(begins), dtype=np.int32)
        mine = np.bincount(begins, minlength=draws * size).reshape(draws, size)
        found[:, last[c] - size : last[c]] = mine
    return found


def bootstrap_interval(figures: ArrayLike) -> tuple[float, float]:
    """Both ends of the interval that holds the middle 95 % of the draws of a figure."""
    tail = 50 * (1 - LEVEL)
    low, high = np.percentile(np.asarray(figures, np.float64), [tail, 100 - tail])
    return round(float(low), 9), round(float(high), 9)


def area_from_levels(seen: ArrayLike, unseen: ArrayLike) -> Floats:
    """The area under the seen–unseen curve, by trapezoids: `seen` and `unseen` (..., m) are what leaves the seen accuracy
    and what joins the unseen one at m rising levels of the constant."""
    lost, gained = np.asarray(seen, np.float64), np.asarray(unseen, np.float64)
    after = lost.sum(axis=-1, keepdims=True) - np.cumsum(lost, axis=-1)  # seen accuracy once a level has been passed
    found: Floats = np.sum(gained * (after + lost / 2), axis=-1)
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
