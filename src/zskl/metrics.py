"""Scores of zero-shot predictions, three numbers about kernels and projections, and scorers for scikit-learn.
Accuracies are fractions, averaged over classes, so that a large class counts no more than a small one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl._arrays import Array, convert_like, is_torch, namespace, to_numpy
from zskl._validation import check_count, check_option, list_values, to_plain

__all__ = [
    "Curve",
    "alignment",
    "coverage_accuracy",
    "expected_calibration_error",
    "harmonic_mean",
    "incoherence",
    "mean_per_class_accuracy",
    "per_class_accuracy",
    "polarisation",
    "scorer",
    "seen_unseen_curve",
    "wrong_answers",
]

Floats = NDArray[np.float64]


def per_class_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> dict[Any, float]:
    """Share of right answers among the rows of each class.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The class of each row, and the answer for it.

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
    y_true, y_pred : array-like of shape (n_samples,)
        The class of each row, and the answer for it.

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
    true, predicted : array-like of shape (n_samples,)
        The class of each row, and the answer for it.
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
    confidence, correct : array-like of shape (n_samples,)
        The probability of each answer, and whether it was right.
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
    confidence, correct : array-like of shape (n_samples,)
        The probability of each answer, and whether it was right.
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


# Seen against unseen accuracy, as a constant is subtracted from the scores of seen classes. Every row is reduced to its
# gap, its best seen score minus its best unseen score, where the scores are: on a device too. Sorting the gaps gives
# all that can happen, so accuracies are exact for every constant, and so is the best constant.


def row_gaps(
    scores: Array, own: NDArray[np.intp], is_seen: NDArray[np.bool_]
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Of each row (..., n): best seen minus best unseen score, the larger size of both, and whether its class has the
    best score on its own side, among the seen or among the unseen classes."""
    gap, largest, right, _ = gaps_from_best(to_numpy(best_scores(scores, Sides(own, is_seen, scores))))
    return gap, largest, right


class Sides:
    """The columns of seen and of unseen classes, and the column (n,) of each row's own class, where scores are."""

    def __init__(self, own: NDArray[np.intp], is_seen: NDArray[np.bool_], scores: Array) -> None:
        self.seen, self.unseen, self.own = (
            convert_like(places, scores, "int64") for places in (np.flatnonzero(is_seen), np.flatnonzero(~is_seen), own)
        )


def best_scores(scores: Array, sides: Sides) -> Array:
    """(4, ..., n) of scores (..., n, c): best seen, best unseen, whether its own side is right, and all are finite."""
    xp = namespace(scores)
    best_seen, seen_right = _best_score(scores, sides.seen, sides.own)
    best_unseen, unseen_right = _best_score(scores, sides.unseen, sides.own)
    checks = (xp.astype(check, scores.dtype) for check in (seen_right | unseen_right, _all_finite(scores)))
    return xp.stack([best_seen, best_unseen, *checks])


def gaps_from_best(found: NDArray[np.floating]) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """What `row_gaps` says of rows, and whether all scores of each are finite, from their `best_scores`."""
    best_seen, best_unseen = found[0].astype(np.float64), found[1].astype(np.float64)
    largest = np.maximum(np.abs(best_seen), np.abs(best_unseen))
    return best_seen - best_unseen, largest, found[2] > 0, found[3] > 0


def _all_finite(S: Array) -> Array:
    if is_torch(S):
        # 0 times what is not finite is not a number: again fewer calls.
        return (0 * S).sum(dim=-1) == 0
    xp = namespace(S)
    return xp.all(xp.isfinite(S), axis=-1)


def _best_score(S: Array, columns: Array, own: Array) -> tuple[Array, Array]:
    """The best score (..., n) of each row among the columns, and whether it is that of the row's own class."""
    # On a device calls take longer than their work: the same in fewer of them.
    if is_torch(S):
        score, winner = S.index_select(-1, columns).max(dim=-1)
        return score, columns[winner] == own
    xp = namespace(S)
    # `take` leaves rows in one piece, unlike S[..., columns].
    part = xp.take(S, columns, axis=-1)
    winner = xp.argmax(part, axis=-1)
    score = xp.take_along_axis(part, winner[..., None], axis=-1)[..., 0]
    return score, columns[winner] == own


@dataclass(frozen=True, eq=False)
class Curve:
    """Seen against unseen accuracy as a constant is subtracted from the scores of seen classes.

    Parameters
    ----------
    calibration : array of shape (m,)
        The constants, rising.
    seen, unseen : array of shape (m,)
        Mean per-class accuracy of seen and of unseen classes at each constant.

    Examples
    --------
    >>> from zskl import metrics
    >>> curve = metrics.Curve([-1.0, 0.0, 1.0], seen=[0.8, 0.6, 0.0], unseen=[0.0, 0.6, 0.8])
    >>> curve.best()
    (0.0, 0.6)
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
        """Find the constant at which the harmonic mean is highest.

        Returns
        -------
        tuple of float
            The constant and the harmonic mean there; of equals, the constant nearest 0. (0, 0) if no constant gets
            both sides right.
        """
        harmonic = harmonic_means(self.seen, self.unseen)
        place = highest_place(self.calibration, harmonic)
        return (0.0, 0.0) if place is None else (float(self.calibration[place]), float(harmonic[place]))

    def thinned(self, points: int) -> "Curve":
        """Keep some points: both ends, the one of the highest harmonic mean, and others evenly between.

        Parameters
        ----------
        points : int
            How many points to keep at most.

        Returns
        -------
        Curve
            The curve of these points.
        """
        if len(self.calibration) <= points:
            return self
        even = np.linspace(0, len(self.calibration) - 1, points - 1).round().astype(np.intp)
        kept = np.union1d(even, np.searchsorted(self.calibration, self.best()[0]))
        return Curve(self.calibration[kept], self.seen[kept], self.unseen[kept])


def seen_unseen_curve(scores: ArrayLike, y_true: ArrayLike, candidates: ArrayLike, seen: ArrayLike) -> Curve:
    """Trace both accuracies over every constant γ subtracted from the seen columns.

    ŷ_i(γ) = argmax_j ( scores[i, j] − γ · seen[j] ),   scores (n, c), candidates (c,) labels, seen (c,) bool

    A point of the curve is one interval between neighbouring gaps of rows.

    Parameters
    ----------
    scores : array-like of shape (n, c)
        Raw scores of rows for the candidate classes.
    y_true : array-like of shape (n,)
        The class of each row.
    candidates : array-like of shape (c,)
        The class of each column.
    seen : array-like of bool of shape (c,)
        Whether each candidate is a seen class.

    Returns
    -------
    Curve
        Both accuracies at every constant that changes an answer.

    Examples
    --------
    >>> from zskl import metrics
    >>> scores = [[0.9, 0.1], [0.6, 0.4]]  # of a seen and of an unseen class
    >>> curve = metrics.seen_unseen_curve(scores, ["cat", "emu"], ["cat", "emu"], [True, False])
    >>> curve.area
    1.0
    """
    constants, kept, gained = trace_curves([row_margins(*_check_scores(scores, y_true, candidates, seen))])
    return Curve(constants, kept[0], gained[0])


@dataclass(frozen=True, eq=False)
class Margins:
    """Rows reduced to what decides them, so that every constant can be judged exactly.

    gap: (m,) best seen minus best unseen score, rising, of the rows whose best class on their own side is right. Others
    never change an accuracy. seen, unseen: (m,) what a row adds to either accuracy while it is on that side. rounding:
    (m,) how far a gap may be off. ends: constants below and above the gaps of all rows.
    """

    gap: Floats
    seen: Floats
    unseen: Floats
    rounding: Floats
    ends: tuple[float, float]

    @property
    def zsl(self) -> float:
        """Mean per-class accuracy of the unseen rows among the unseen classes alone."""
        return min(float(self.unseen.sum()), 1.0)

    def at(self, constant: float) -> tuple[float, float]:
        """(seen, unseen) accuracy with the constant subtracted; a row whose gap equals it is still on the seen side."""
        gone = int(np.searchsorted(self.gap, constant, side="left"))
        return min(float(self.seen[gone:].sum()), 1.0), min(float(self.unseen[:gone].sum()), 1.0)


def row_margins(scores: Array, own: NDArray[np.intp], is_seen: NDArray[np.bool_]) -> Margins:
    """Margins from scores (n, c), the column (n,) of each row's class and whether each column (c,) is of a seen class.
    A row leaves the seen classes as soon as the constant γ exceeds its gap; a right one adds 1 / (rows of its class ·
    classes of its side) to its mean per-class accuracy."""
    return sort_margins(*row_gaps(scores, own, is_seen), row_shares(own, is_seen))


def row_shares(own: NDArray[np.intp], is_seen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """(n,) what each row adds to the seen, and to the unseen accuracy if it is right."""
    rows_of = np.bincount(own, minlength=len(is_seen))  # (c,)
    classes = np.where(is_seen, np.sum(is_seen & (rows_of > 0)), np.sum(~is_seen & (rows_of > 0)))
    share = 1.0 / (rows_of[own] * classes[own])
    return share * is_seen[own], share * ~is_seen[own]


def sort_margins(gap: Floats, largest: Floats, right: NDArray[np.bool_], added: tuple[Floats, Floats]) -> Margins:
    """`row_margins` from what `row_gaps` found, and the `row_shares`."""
    moving = np.flatnonzero(right)
    moving = moving[np.argsort(gap[moving], kind="stable")]
    beyond = float(largest.max()) or 1.0
    return Margins(
        gap[moving],
        added[0][moving],
        added[1][moving],
        4 * np.finfo(np.float64).eps * largest[moving],
        (float(gap.min()) - beyond, float(gap.max()) + beyond),
    )


def trace_curves(parts: Sequence[Margins]) -> tuple[Floats, Floats, Floats]:
    """Constants (k,) that rise, and under each of them the seen and the unseen accuracy (F, k) of each of F parts.

    All constants between two neighbouring gaps, of any part, give the same answers. Each interval has one point,
    in its middle; the two at the ends are finite and beyond all gaps. Gaps that differ by no more than the rounding of
    the scores are one gap, because no constant is safely between them. Costs O(n log n).
    """
    gap = np.concatenate([part.gap for part in parts])
    order = np.argsort(gap, kind="stable")
    g, rounding = gap[order], np.concatenate([part.rounding for part in parts])[order]
    inner = np.flatnonzero(np.diff(g) > rounding[1:] + rounding[:-1]) + 1
    passed = np.concatenate([[0], inner, [len(g)]])  # how many rows each point has behind it
    part_of = np.repeat(np.arange(len(parts)), [len(part.gap) for part in parts])[order]
    rows = np.zeros((len(parts), len(g) + 1), np.intp)  # of each part among the first of all
    np.cumsum(part_of == np.arange(len(parts))[:, None], axis=1, out=rows[:, 1:])
    left = rows[:, passed]  # (F, k) how many rows of each part have left the seen classes

    def behind(shares: Sequence[Floats]) -> Floats:
        """(F, k) sums of the shares of the rows that have left: those of a part leave in its own order."""
        sums = (np.concatenate([[0.0], np.cumsum(share)]) for share in shares)
        return np.stack([one[gone] for one, gone in zip(sums, left, strict=True)])

    lost, gained = behind([part.seen for part in parts]), behind([part.unseen for part in parts])
    low, high = min(part.ends[0] for part in parts), max(part.ends[1] for part in parts)
    constants = np.concatenate([[low], (g[inner - 1] + g[inner]) / 2, [high]])
    return constants, np.minimum(lost[:, -1:] - lost, 1.0), np.minimum(gained, 1.0)


def best_constant(folds: Sequence[Margins]) -> tuple[float, NDArray[np.float64]]:
    """The constant with the highest mean H over folds, of equals the nearest to 0, and H (F,) there; 0 if all H are."""
    constants, seen, unseen = trace_curves(folds)
    harmonic = harmonic_means(seen, unseen)  # (F, k)
    place = highest_place(constants, harmonic.mean(axis=0))
    return (0.0, np.zeros(len(folds))) if place is None else (float(constants[place]), harmonic[:, place])


def highest_place(constants: Floats, figures: Floats) -> int | None:
    """The place of the highest figure, of equals the one whose constant is nearest 0; None if all figures are 0."""
    if figures.max() == 0:
        return None
    equals = np.flatnonzero(figures == figures.max())
    return int(equals[np.argmin(np.abs(constants[equals]))])


def harmonic_means(seen: Floats, unseen: Floats) -> Floats:
    """`harmonic_mean` for each pair of entries."""
    total = seen + unseen
    return 2 * seen * unseen / np.where(total > 0, total, 1.0)


def _check_scores(
    scores: ArrayLike, y_true: ArrayLike, candidates: ArrayLike, seen: ArrayLike
) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.bool_]]:
    """The scores (n, c), the column (n,) of each row's own class, and which columns (c,) are seen."""
    S, true, labels, is_seen = map(np.asarray, (scores, y_true, candidates, seen))
    if true.ndim != 1 or labels.ndim != 1 or is_seen.shape != labels.shape or S.shape != (len(true), len(labels)):
        raise ValueError(
            f"scores have shape {S.shape} for y_true {true.shape}, candidates {labels.shape} and seen "
            f"{is_seen.shape}: expected one row per label and one column per candidate"
        )
    if is_seen.dtype != np.bool_:
        raise ValueError(f"seen holds {is_seen.dtype}: expected one boolean per candidate")
    column = {label: j for j, label in enumerate(labels.tolist())}
    if len(column) < len(labels):
        raise ValueError(f"{len(labels)} candidates name {len(column)} classes: expected each class once")
    strangers = sorted({repr(label) for label in true.tolist() if label not in column})
    if strangers:
        raise ValueError(
            f"y_true names {len(strangers)} classes that are not candidates: {', '.join(strangers[:3])}; "
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
        raise ValueError(f"{np.sum(~np.isfinite(S))} scores are NaN or infinite: expected finite scores")
    return S, own, is_seen


# Kernel matrices and projections. Sums are accumulated in float64 whatever comes in.


def alignment(K: ArrayLike, L: ArrayLike) -> float:
    """Alignment ⟨K, L⟩ = Σ_ij K_ij L_ij of two matrices.

    Parameters
    ----------
    K, L : array-like of shape (n, m)
        Two matrices of one shape, square or not.

    Returns
    -------
    float
        The sum of the products of their entries.

    Examples
    --------
    >>> from zskl.metrics import alignment
    >>> alignment([[1, 2], [3, 4]], [[1, 0], [0, 1]])
    5.0
    """
    k, l = np.asarray(K), np.asarray(L)  # noqa: E741
    if k.ndim != 2 or k.shape != l.shape:
        raise ValueError(f"K has shape {k.shape} and L {l.shape}: expected two matrices of the same shape")
    return float(np.einsum("ij,ij->", k, l, dtype=np.float64))


def polarisation(
    K: ArrayLike, row_labels: ArrayLike, column_labels: ArrayLike | None = None, repulsion: float = 1.0
) -> float:
    """Alignment of a kernel matrix with its labels: Σ_{l_i = l_j} K_ij − λ Σ_{l_i ≠ l_j} K_ij.

    Parameters
    ----------
    K : array-like of shape (n, m)
        Kernel values of n rows against m columns.
    row_labels : array-like of shape (n,)
        The class of each row.
    column_labels : array-like of shape (m,), default=None
        The class of each column. If None, the row labels are used.
    repulsion : float, default=1.0
        The weight λ of pairs of different classes.

    Returns
    -------
    float
        Large where rows are similar to columns of their own class alone.

    Examples
    --------
    >>> from zskl.metrics import polarisation
    >>> polarisation([[1.0, 0.5], [0.5, 1.0]], ["ant", "bee"])
    1.0
    """
    rows = np.asarray(row_labels)
    columns = rows if column_labels is None else np.asarray(column_labels)
    if rows.ndim != 1 or columns.ndim != 1 or np.shape(K) != (len(rows), len(columns)):
        raise ValueError(
            f"K has shape {np.shape(K)}, the row labels {rows.shape} and the column labels {columns.shape}: "
            "expected one label for each row and each column of K"
        )
    return alignment(K, np.where(rows[:, None] == columns[None, :], 1.0, -float(repulsion)))


def incoherence(W: ArrayLike) -> float:
    """How far the columns of a projection are from orthogonal: ‖ŴᵀŴ − I‖²_F.

    Ŵ is W with columns of unit length. A column of zeros stays zero, and so adds 1.

    Parameters
    ----------
    W : array-like of shape (n_features, n_attributes)
        The projection.

    Returns
    -------
    float
        0 for orthogonal columns; larger the more they point the same way.

    Examples
    --------
    >>> from zskl.metrics import incoherence
    >>> incoherence([[1, 0], [0, 2]])
    0.0
    """
    w = np.asarray(W, np.float64)
    if w.ndim != 2:
        raise ValueError(f"W has shape {w.shape}: expected a matrix, features by attributes")
    length = np.linalg.norm(w, axis=0)
    unit = w / np.where(length > 0, length, 1.0)
    return float(np.sum((unit.T @ unit - np.eye(w.shape[1])) ** 2))


# Scorers for scikit-learn


def scorer(name: str, *, k: int = 5) -> Callable[..., float]:
    """Make a scorer for scikit-learn that knows all classes of the model, with or without rows in y.

    Pass it as `scoring` to `cross_val_score`, `GridSearchCV` and the like. A model has a column for each of `classes_`,
    and rows are often of some of them. scikit-learn's own scorers of probabilities then refuse the rows, or take a
    column for another class.

    Parameters
    ----------
    name : str
        What to measure; more is better for all of them.

        - "accuracy": the share of rows that are answered right.
        - "per_class_accuracy" or "balanced_accuracy": the mean of the accuracies of the classes in y.
        - "f1_macro": the mean F1 of the classes that are in y or among the answers.
        - "neg_log_loss": the mean logarithm of the probability of a row's class.
        - "neg_brier_score": minus the squared error of the probabilities, summed over the classes (of two, halved).
        - "top_k_accuracy": the share of rows whose class is among the best k.
        - "roc_auc_ovr": the area under the ROC curve, each class in y against the rest, on average over these classes.
        - "average_precision": the average precision of each class in y, on average over these classes.
    k : int, default=5
        How many classes count as right in "top_k_accuracy".

    Returns
    -------
    callable
        Takes a fitted model, X, y and maybe `sample_weight`, and returns a number.

    Raises
    ------
    ValueError
        If there is no scorer of that name.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from zskl import baselines, datasets, metrics
    >>> data = datasets.make_synthetic(n_seen=6, n_unseen=3)
    >>> X, y = data.samples("trainval")
    >>> among_two = metrics.scorer("top_k_accuracy", k=2)
    >>> found = cross_val_score(baselines.ESZSL(), X, y, scoring=among_two, params={"signatures": data.signatures})
    >>> bool(found.mean() > 0.5)
    True
    """
    check_option("name", name, _SCORERS)
    return Scorer(name, check_count("k", k))


@dataclass(frozen=True)
class Scorer:
    """A class, not a closure: other processes can take it."""

    name: str
    k: int

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        true = to_numpy(y) if is_torch(y) else np.asarray(y)
        weights = np.ones(len(true)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        return float(_SCORERS[self.name](_Answers(estimator, X, true, self.k), weights))

    def __repr__(self) -> str:
        return f"scorer({self.name!r}{f', k={self.k}' if self.name == 'top_k_accuracy' else ''})"


@dataclass(frozen=True)
class _Answers:
    """What a fitted model says of rows whose classes are known."""

    estimator: Any
    X: Any
    true: NDArray[Any]  # (n,)
    k: int

    def labels(self) -> NDArray[Any]:
        return np.asarray(self.estimator.predict(self.X))

    def probabilities(self) -> NDArray[np.floating]:
        return np.asarray(to_numpy(self.estimator.predict_proba(self.X)))

    def scores(self) -> NDArray[np.floating]:
        """(n, C) of all classes: probabilities only where there is nothing finer."""
        if not hasattr(self.estimator, "decision_function"):
            return self.probabilities()
        found: NDArray[np.floating] = np.asarray(to_numpy(self.estimator.decision_function(self.X)))
        return found if found.ndim == 2 else np.column_stack([np.zeros_like(found), found])

    def codes(self) -> NDArray[np.int64]:
        """(n,) the column of each row's class."""
        classes = self.estimator.classes_.tolist()
        place = {label: column for column, label in enumerate(classes)}
        missing = [label for label in dict.fromkeys(self.true.tolist()) if label not in place]
        if missing:
            raise ValueError(
                f"y holds {list_values(missing)}, for which the model has no column: it knows {list_values(classes)}; "
                "describe every class of y in the signatures of fit, or leave these rows out"
            )
        return np.array([place[label] for label in self.true.tolist()], dtype=np.int64)


def _score_per_class(answers: _Answers, weights: Floats) -> float:
    right = weights * (answers.labels() == answers.true)
    codes = np.unique(answers.true, return_inverse=True)[1]
    masses = np.bincount(codes, weights)
    return float(np.mean(np.bincount(codes, right)[masses > 0] / masses[masses > 0]))


def _score_f1(answers: _Answers, weights: Floats) -> float:
    from sklearn.metrics import f1_score  # it takes long to import, and only scorers need it

    found, counts = answers.labels(), weights > 0
    among = np.unique(np.concatenate([answers.true[counts], found[counts]]))
    return float(f1_score(answers.true, found, labels=among, average="macro", sample_weight=weights))


def _score_log_loss(answers: _Answers, weights: Floats) -> float:
    found = answers.probabilities()
    least = np.finfo(found.dtype).eps  # what rounding makes 0 is not impossible
    own = np.clip(found[np.arange(len(found)), answers.codes()], least, 1 - least)
    return float(np.average(np.log(own.astype(np.float64)), weights=weights))


def _score_brier(answers: _Answers, weights: Floats) -> float:
    errors = answers.probabilities().astype(np.float64)
    errors[np.arange(len(errors)), answers.codes()] -= 1
    squares = np.average((errors**2).sum(axis=1), weights=weights)
    return -float(squares) / (2 if errors.shape[1] == 2 else 1)


def _score_top_k(answers: _Answers, weights: Floats) -> float:
    found, codes = answers.scores(), answers.codes()
    if answers.k >= found.shape[1]:
        raise ValueError(
            f"k is {answers.k}, and the model knows {found.shape[1]} classes: expected a smaller number, or every "
            "answer would be right"
        )
    own = found[np.arange(len(found)), codes][:, None]
    before = (found == own) & (np.arange(found.shape[1]) < codes[:, None])  # of equal scores the first one counts
    right = ((found > own) | before).sum(axis=1) < answers.k
    return float(np.average(right, weights=weights))


def _score_classes(answers: _Answers, weights: Floats, measure: Callable[..., Any]) -> float:
    """The mean over the classes in y of a measure of their columns, as scikit-learn has it for two classes."""
    found, codes = answers.probabilities(), answers.codes()
    present = np.unique(codes[weights > 0])
    return float(np.mean([measure(codes == k, found[:, k], sample_weight=weights) for k in present]))


def _score_roc_auc(answers: _Answers, weights: Floats) -> float:
    from sklearn.metrics import roc_auc_score

    present = np.unique(answers.true[weights > 0])
    if len(present) < 2:
        raise ValueError(
            f"y holds 1 class only ({list_values(present)}): roc_auc_ovr compares rows of a class with rows of others; "
            "score rows of 2 classes or more"
        )
    return _score_classes(answers, weights, roc_auc_score)


def _score_average_precision(answers: _Answers, weights: Floats) -> float:
    from sklearn.metrics import average_precision_score

    return _score_classes(answers, weights, average_precision_score)


_SCORERS: dict[str, Callable[[_Answers, Floats], float]] = {
    "accuracy": lambda answers, weights: float(np.average(answers.labels() == answers.true, weights=weights)),
    "per_class_accuracy": _score_per_class,
    "balanced_accuracy": _score_per_class,
    "f1_macro": _score_f1,
    "neg_log_loss": _score_log_loss,
    "neg_brier_score": _score_brier,
    "top_k_accuracy": _score_top_k,
    "roc_auc_ovr": _score_roc_auc,
    "average_precision": _score_average_precision,
}
