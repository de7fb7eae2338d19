"""Scores of zero-shot predictions, and three numbers about kernels and projections: pure functions of arrays.

Accuracies are fractions between 0 and 1 and are averaged over classes, so that a large class counts no more
than a small one. Sums are accumulated in float64 whatever comes in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    return float(_harmonic(np.asarray(seen, np.float64), np.asarray(unseen, np.float64)))


@dataclass(frozen=True, eq=False)
class Curve:
    """Seen against unseen accuracy as a constant is subtracted from the scores of seen classes.

    calibration: (m,) rising constants; seen, unseen: (m,) mean per-class accuracy under each of them.
    """

    calibration: Floats
    seen: Floats
    unseen: Floats

    def __post_init__(self) -> None:
        for name in ("calibration", "seen", "unseen"):
            array = np.asarray(getattr(self, name), np.float64).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        shapes = [self.calibration.shape, self.seen.shape, self.unseen.shape]
        if self.calibration.ndim != 1 or not self.calibration.size or len(set(shapes)) > 1:
            raise ValueError(
                f"calibration, seen and unseen have shapes {', '.join(map(str, shapes))}; "
                "expected three vectors of one length, at least 1"
            )
        if not np.all(np.diff(self.calibration) >= 0):
            raise ValueError("the constants of calibration must rise from point to point; sort the points")

    @property
    def area(self) -> float:
        """Area under seen accuracy as a function of unseen accuracy, by trapezoids, in [0, 1]."""
        return float(np.trapezoid(self.seen, self.unseen))

    def best(self) -> tuple[float, float]:
        """(constant, harmonic mean) where the harmonic mean is highest; of equals, the constant nearest 0."""
        harmonic = _harmonic(self.seen, self.unseen)
        highest = np.flatnonzero(harmonic == harmonic.max())
        chosen = highest[np.argmin(np.abs(self.calibration[highest]))]
        return float(self.calibration[chosen]), float(harmonic[chosen])

    def thinned(self, points: int) -> Curve:
        """At most so many of its points: both ends, the one of the highest harmonic mean, others evenly between."""
        if len(self.calibration) <= points:
            return self
        even = np.linspace(0, len(self.calibration) - 1, points - 1).round().astype(np.intp)
        kept = np.union1d(even, np.searchsorted(self.calibration, self.best()[0]))
        return Curve(self.calibration[kept], self.seen[kept], self.unseen[kept])


def seen_unseen_curve(scores: ArrayLike, y_true: ArrayLike, candidates: ArrayLike, seen: ArrayLike) -> Curve:
    """Trace both accuracies over every constant γ subtracted from the seen columns.

    ŷ_i(γ) = argmax_j ( scores[i, j] − γ · seen[j] ),   scores (n, c), candidates (c,) labels, seen (c,) bool

    Row i leaves the seen classes at γ = gap_i = (its best seen score) − (its best unseen score), and only
    rows whose best column on their own side is right ever change an accuracy. Sorting the gaps of those rows
    gives all that can happen, in O(n log n). A point of the curve is one interval between neighbouring gaps;
    its constant is the middle of the interval, at the two ends a finite one beyond all gaps. Gaps that differ
    by no more than the rounding of the scores are one gap: no constant is safely between them.
    """
    S, own, is_seen = _checked_scores(scores, y_true, candidates, seen)
    best_seen, seen_right = _best(S, np.flatnonzero(is_seen), own)
    best_unseen, unseen_right = _best(S, np.flatnonzero(~is_seen), own)
    gap = best_seen - best_unseen  # (n,)
    largest = np.maximum(np.abs(best_seen), np.abs(best_unseen))

    rows_of = np.bincount(own, minlength=len(is_seen))  # (c,)
    classes = np.where(is_seen, np.sum(is_seen & (rows_of > 0)), np.sum(~is_seen & (rows_of > 0)))
    share = 1.0 / (rows_of[own] * classes[own])  # what one right row adds to its mean per-class accuracy

    moving = np.flatnonzero(seen_right | unseen_right)
    moving = moving[np.argsort(gap[moving], kind="stable")]
    g, rounding = gap[moving], 4 * np.finfo(np.float64).eps * largest[moving]
    inner = np.flatnonzero(np.diff(g) > rounding[1:] + rounding[:-1]) + 1
    passed = np.concatenate([[0], inner, [len(g)]])  # how many moving rows each point has behind it
    gained = np.concatenate([[0.0], np.cumsum((share * unseen_right)[moving])])
    kept = np.concatenate([[0.0], np.cumsum((share * seen_right)[moving][::-1])])[::-1]

    margin = largest.max() or 1.0
    middle = g[inner - 1] + (g[inner] - g[inner - 1]) / 2
    calibration = np.concatenate([[gap.min() - margin], middle, [gap.max() + margin]])
    return Curve(calibration, np.minimum(kept[passed], 1.0), np.minimum(gained[passed], 1.0))


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


def _harmonic(seen: Floats, unseen: Floats) -> Floats:
    total = seen + unseen
    return 2 * seen * unseen / np.where(total > 0, total, 1.0)


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


def _checked_scores(
    scores: ArrayLike, y_true: ArrayLike, candidates: ArrayLike, seen: ArrayLike
) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.bool_]]:
    """The scores (n, c), the column (n,) of each row's own class, and which columns (c,) are seen."""
    S, true, labels, is_seen = (
        np.asarray(scores),
        np.asarray(y_true),
        np.asarray(candidates),
        np.asarray(seen),
    )
    if true.ndim != 1 or labels.ndim != 1 or is_seen.shape != labels.shape or S.shape != (len(true), len(labels)):
        raise ValueError(
            f"scores have shape {S.shape} for y_true {true.shape}, candidates {labels.shape} and seen "
            f"{is_seen.shape}; expected one row per label and one column per candidate"
        )
    if is_seen.dtype != np.bool_:
        raise ValueError(f"seen holds {is_seen.dtype}; expected one boolean per candidate")
    column = {label: j for j, label in enumerate(labels.tolist())}
    if len(column) < len(labels):
        raise ValueError(f"{len(labels)} candidates name {len(column)} classes; expected each class once")
    strangers = sorted({repr(label) for label in true.tolist() if label not in column})
    if strangers:
        raise ValueError(
            f"y_true names {len(strangers)} classes that are no candidates: {', '.join(strangers[:3])}; "
            "leave their rows out or add the classes to the candidates"
        )
    own = np.array([column[label] for label in true.tolist()], dtype=np.intp)
    for side, mask in (("seen", is_seen), ("unseen", ~is_seen)):
        if not mask.any() or not mask[own].any():
            raise ValueError(
                f"{np.sum(mask)} candidates and {np.sum(mask[own])} rows are of {side} classes; "
                "the curve needs at least one of each"
            )
    if not np.all(np.isfinite(S)):
        raise ValueError(f"{np.sum(~np.isfinite(S))} scores are NaN or infinite; expected finite scores")
    return S, own, is_seen


def _best(S: NDArray[Any], columns: NDArray[np.intp], own: NDArray[np.intp]) -> tuple[Floats, NDArray[np.bool_]]:
    """The best score (n,) of each row among the columns, and whether it is that of the row's own class."""
    part = S[:, columns]
    winner = np.argmax(part, axis=1)
    score = np.take_along_axis(part, winner[:, None], axis=1)[:, 0].astype(np.float64)
    return score, columns[winner] == own
