"""Rows of scores reduced to the best of both sides, seen and unseen classes, where the scores are: on a device too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import Array, is_torch, like, namespace, to_numpy

Floats = NDArray[np.float64]


def gaps(scores: Array, own: NDArray[np.intp], is_seen: NDArray[np.bool_]) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Of each row (..., n): best seen minus best unseen score, the larger size of both, whether its own side is right.

    Its own side is right where its class has the best score among the seen, or among the unseen, classes. Scores on a
    device stay there: only the best of each row are fetched.
    """
    gap, largest, right, _ = told(to_numpy(best_scores(scores, Sides(own, is_seen, scores))))
    return gap, largest, right


class Sides:
    """The columns of seen and of unseen classes, and the column (n,) of each row's own class, where scores are."""

    def __init__(self, own: NDArray[np.intp], is_seen: NDArray[np.bool_], scores: Array) -> None:
        self.seen, self.unseen, self.own = (
            like(places, scores, "int64") for places in (np.flatnonzero(is_seen), np.flatnonzero(~is_seen), own)
        )


def best_scores(scores: Array, sides: Sides) -> Array:
    """(4, ..., n) of each row of scores (..., n, c), where they are: the best seen and the best unseen score, whether
    its own side is right, and whether all its scores are finite. `told` reads it."""
    xp = namespace(scores)
    best_seen, seen_right = _best(scores, sides.seen, sides.own)
    best_unseen, unseen_right = _best(scores, sides.unseen, sides.own)
    checks = (xp.astype(check, scores.dtype) for check in (seen_right | unseen_right, _finite(scores)))
    return xp.stack([best_seen, best_unseen, *checks])


def told(found: NDArray[np.floating]) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """What `gaps` says of rows, and whether all scores of each are finite, from their `best_scores`."""
    best_seen, best_unseen = found[0].astype(np.float64), found[1].astype(np.float64)
    largest = np.maximum(np.abs(best_seen), np.abs(best_unseen))
    return best_seen - best_unseen, largest, found[2] > 0, found[3] > 0


def _finite(S: Array) -> Array:
    """(..., n) whether all scores of a row are finite."""
    if is_torch(S):
        found: Array = (0 * S).sum(dim=-1) == 0  # 0 times what is not finite is not a number: fewer calls again
        return found
    xp = namespace(S)
    return xp.all(xp.isfinite(S), axis=-1)


def _best(S: Array, columns: Array, own: Array) -> tuple[Array, Array]:
    """The best score (..., n) of each row among the columns, and whether it is that of the row's own class."""
    if is_torch(S):  # the same in fewer calls, which take longer than their work
        score, winner = S.index_select(-1, columns).max(dim=-1)
        return score, columns[winner] == own
    xp = namespace(S)
    part = xp.take(S, columns, axis=-1)  # rows stay in one piece, unlike those of S[..., columns]
    winner = xp.argmax(part, axis=-1)
    score = xp.take_along_axis(part, winner[..., None], axis=-1)[..., 0]
    return score, columns[winner] == own
