"""Seen against unseen accuracy, as a constant is subtracted from the scores of seen classes.

Every row is reduced to its gap, its best seen score minus its best unseen score, where the scores are: on a device too.
Sorting the gaps gives all that can happen, so accuracies are exact for every constant, and so is the best constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl._arrays import Array, convert_like, is_torch, namespace, to_numpy

Floats = NDArray[np.float64]


def row_gaps(
    scores: Array, own: NDArray[np.intp], is_seen: NDArray[np.bool_]
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Of each row (..., n): best seen minus best unseen score, the larger size of both, whether its own side is right.

    Its own side is right where its class has the best score among the seen, or among the unseen, classes. Scores on a
    device stay there: only the best of each row are fetched.
    """
    gap, largest, right, _ = gaps_from_best(to_numpy(best_scores(scores, Sides(own, is_seen, scores))))
    return gap, largest, right


class Sides:
    """The columns of seen and of unseen classes, and the column (n,) of each row's own class, where scores are."""

    def __init__(self, own: NDArray[np.intp], is_seen: NDArray[np.bool_], scores: Array) -> None:
        self.seen, self.unseen, self.own = (
            convert_like(places, scores, "int64") for places in (np.flatnonzero(is_seen), np.flatnonzero(~is_seen), own)
        )


def best_scores(scores: Array, sides: Sides) -> Array:
    """(4, ..., n) of each row of scores (..., n, c), where they are: the best seen and the best unseen score, whether
    its own side is right, and whether all its scores are finite. `gaps_from_best` reads it."""
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
    """(..., n) whether all scores of a row are finite."""
    if is_torch(S):
        # 0 times what is not finite is not a number: again fewer calls.
        found: Array = (0 * S).sum(dim=-1) == 0
        return found
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

    def thinned(self, points: int) -> Curve:
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

    A row leaves the seen classes as soon as the constant γ exceeds its gap. A right row adds
    1 / (rows of its class · classes of its side) to its mean per-class accuracy.
    """
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
    """The constant γ with the highest mean over folds of the harmonic mean, and the harmonic mean (F,) of each there.

    All constants between two neighbouring gaps are equal. We choose the middle of the best interval; of several equal
    ones, the one nearest 0. If no constant gets both sides right, γ is 0.
    """
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
