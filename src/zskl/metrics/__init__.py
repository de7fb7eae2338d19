"""Scores of zero-shot predictions, and three numbers about kernels and projections: pure functions of arrays.

Accuracies are fractions between 0 and 1 and are averaged over classes, so that a large class counts no more
than a small one. Sums are accumulated in float64 whatever comes in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl.metrics.seen_unseen import Curve as Curve
from zskl.metrics.seen_unseen import harmonic_means
from zskl.metrics.seen_unseen import seen_unseen_curve as seen_unseen_curve

Floats = NDArray[np.float64]


def per_class_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> dict[Any, float]:
    """Share of right answers among the rows of each class c that has rows, in sorted order of the labels.

    acc(c) = |{i : y_true[i] = y_pred[i] = c}| / |{i : y_true[i] = c}|,   y_true and y_pred of shape (n,)
    """
    true, predicted = _paired(y_true, y_pred)
    labels, codes = np.unique(true, return_inverse=True)
    accuracy = np.bincount(codes, weights=true == predicted) / np.bincount(codes)
    return dict(zip((_plain(label) for label in labels), accuracy.tolist(), strict=True))


def mean_per_class_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mean of acc(c) over the classes that have rows in y_true (n,): see per_class_accuracy."""
    return float(np.mean(list(per_class_accuracy(y_true, y_pred).values())))


def harmonic_mean(seen: float, unseen: float) -> float:
    """H = 2 · seen · unseen / (seen + unseen), Eq. 14; 0 where both are 0."""
    for name, value in (("seen", seen), ("unseen", unseen)):
        if not 0 <= value < np.inf:
            raise ValueError(f"{name} is {value}; expected an accuracy, a finite number of at least 0")
    return float(harmonic_means(np.asarray(seen, np.float64), np.asarray(unseen, np.float64)))


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = 15) -> float:
    """Σ_b (n_b / n) |mean correct_b − mean confidence_b| over `bins` bins of equal width in [0, 1].

    confidence (n,): the probability of each answer; correct (n,): whether it was right. 0 is best.
    """
    p, right = _confidences(confidence, correct)
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"bins is {bins!r}; expected an integer ≥ 1")
    bin_of = np.minimum((p * bins).astype(np.intp), bins - 1)
    surplus = np.bincount(bin_of, right - p, minlength=bins)
    return float(np.abs(surplus).sum() / len(p))


def coverage_accuracy(confidence: ArrayLike, correct: ArrayLike, thresholds: ArrayLike) -> tuple[Floats, Floats]:
    """For each threshold t the share of rows answered, confidence ≥ t, and the accuracy (over rows) of these.

    Where no row is answered the accuracy is NaN.
    """
    p, right = _confidences(confidence, correct)
    t = np.asarray(thresholds, np.float64)
    order = np.argsort(-p, kind="stable")
    answered = np.searchsorted(-p[order], -t, side="right")
    hits = np.concatenate([[0.0], np.cumsum(right[order])])[answered]
    with np.errstate(invalid="ignore"):
        return answered / len(p), hits / answered


def _confidences(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    p, right = np.asarray(confidence, np.float64), np.asarray(correct, np.float64)
    if p.ndim != 1 or p.shape != right.shape or not len(p):
        raise ValueError(
            f"confidence has shape {p.shape} and correct {right.shape}; expected two vectors of one length, at least 1"
        )
    if not np.all((p >= 0) & (p <= 1 + 1e-6)):
        raise ValueError(f"confidence runs from {p.min():g} to {p.max():g}; expected probabilities")
    return np.minimum(p, 1.0), right


def alignment(K: ArrayLike, L: ArrayLike) -> float:
    """⟨K, L⟩ = Σ_ij K_ij L_ij of two matrices of one shape, square or not."""
    k, l = np.asarray(K), np.asarray(L)  # noqa: E741
    if k.ndim != 2 or k.shape != l.shape:
        raise ValueError(f"K has shape {k.shape} and L {l.shape}; expected two matrices of the same shape")
    return float(np.einsum("ij,ij->", k, l, dtype=np.float64))


def polarisation(
    K: ArrayLike, row_labels: ArrayLike, column_labels: ArrayLike | None = None, repulsion: float = 1.0
) -> float:
    """Σ_{l_i = l_j} K_ij − λ Σ_{l_i ≠ l_j} K_ij: the alignment of K (n, m) with what the labels ask for.

    row_labels (n,); column_labels (m,), by default the row labels; λ is `repulsion`.
    """
    rows = np.asarray(row_labels)
    columns = rows if column_labels is None else np.asarray(column_labels)
    if rows.ndim != 1 or columns.ndim != 1 or np.shape(K) != (len(rows), len(columns)):
        raise ValueError(
            f"K has shape {np.shape(K)}, the row labels {rows.shape} and the column labels {columns.shape}; "
            "expected one label for each row and each column of K"
        )
    return alignment(K, np.where(rows[:, None] == columns[None, :], 1.0, -float(repulsion)))


def wrong_answers(true: ArrayLike, predicted: ArrayLike, most: int = 3) -> dict[Any, tuple[tuple[Any, float], ...]]:
    """Each class of `true` → up to `most` classes that its rows were mistaken for, with their share, largest first."""
    t, p = np.asarray(true), np.asarray(predicted)
    found = {}
    for label in np.unique(t):
        answers, counts = np.unique(p[(t == label) & (p != label)], return_counts=True)
        order = np.argsort(-counts, kind="stable")[:most]
        rows = int(np.sum(t == label))
        found[_plain(label)] = tuple((_plain(answers[k]), float(counts[k] / rows)) for k in order)
    return found


def incoherence(W: ArrayLike) -> float:
    """‖ŴᵀŴ − I‖²_F, Ŵ being W (d, p) with columns of unit length: 0 for orthogonal columns.

    A column of zeros stays zero, and so adds 1.
    """
    w = np.asarray(W, np.float64)
    if w.ndim != 2:
        raise ValueError(f"W has shape {w.shape}; expected a matrix, features by attributes")
    length = np.linalg.norm(w, axis=0)
    unit = w / np.where(length > 0, length, 1.0)
    return float(np.sum((unit.T @ unit - np.eye(w.shape[1])) ** 2))


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _paired(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if true.ndim != 1 or predicted.ndim != 1:
        raise ValueError(f"y_true has shape {true.shape} and y_pred {predicted.shape}; expected two vectors")
    if len(true) != len(predicted) or not len(true):
        raise ValueError(
            f"y_true has {len(true)} labels and y_pred has {len(predicted)}; expected as many, at least one"
        )
    if isinstance(true[0], str) != isinstance(predicted[0], str):
        raise ValueError(
            f"y_true holds labels like {_plain(true[0])!r} and y_pred like {_plain(predicted[0])!r}, "
            "which are never equal; make both strings or both numbers"
        )
    return true, predicted
