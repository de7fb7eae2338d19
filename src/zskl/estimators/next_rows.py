"""Which rows are worth a label: how unsure a model is of each, or how much it would learn; and no two alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import NumPyArray, like, namespace, to_numpy
from zskl.estimators import inputs
from zskl.estimators.candidates import softmax
from zskl.estimators.panel import Panel, best_first
from zskl.estimators.temperature import temperature_of
from zskl.parameters import count, listed, one_of, positive

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier

STRATEGIES = ("margin", "change")
COMPARED = 20  # rows that are compared with each other, for each that is asked for
AT_LEAST = 1000  # of these, or all there are


@dataclass(frozen=True, eq=False)
class Picks:
    """Rows to label, the first one first: their numbers `rows` (n,) and what each is `worth` (n,) by itself.

    `labels` and `scores` (n, 2) are those of the best two candidates, and `probabilities` too if the model is
    calibrated.
    """

    strategy: str
    rows: NDArray[np.int64]
    worth: NDArray[np.float64]
    labels: NumPyArray
    scores: NumPyArray
    probabilities: NumPyArray | None


def pick(
    model: ZeroShotClassifier,
    X: inputs.Rows,
    n: int,
    strategy: str,
    signatures: Any = None,
    candidates: Any = None,
    diversity: float = 1.0,
) -> Picks:
    """See `Labelling.label_next`."""
    one_of("strategy", strategy, STRATEGIES)
    diversity = positive("diversity", diversity, zero_allowed=True)
    X = inputs.sliceable(model, X, "label_next")
    if count("n", n) > X.shape[0]:
        raise ValueError(f"n is {n}: expected an integer from 1 to {X.shape[0]}, the number of rows")
    panel = Panel(model, signatures, candidates, calibrated=True)
    if len(panel.labels) < 2:
        raise ValueError(f"the only candidate is {listed(panel.labels)}: a label tells classes apart, so name another")
    mover = None
    if strategy == "change":
        mover = model._mover(model._scaled(inputs.taken(model, X, slice(0, 1))), panel.table)
        if mover is None:
            raise ValueError(
                f"strategy is 'change': {type(model).__name__} does not learn from examples, so no label would change "
                "it; use strategy='margin'"
            )
    likely = mover is not None or model.temperatures_ is not None
    temperature = temperature_of(model.temperatures_, panel.situation) if likely else 1.0
    order = np.empty((X.shape[0], 2), dtype=np.int64)
    scores, probabilities, worth = np.empty(order.shape), np.empty(order.shape), np.empty(len(order))
    for rows, found in panel.blocks(X):
        order[rows], scores[rows] = best_first(to_numpy(found), 2)
        shares = softmax(found / temperature)
        probabilities[rows] = np.take_along_axis(to_numpy(shares), order[rows], axis=1)
        if mover is not None:
            moves = mover(model._scaled(inputs.taken(model, X, rows)))
            worth[rows] = to_numpy(namespace(shares).sum(shares * like(moves, shares), axis=1))
    if mover is None:
        worth = by_margin(scores[:, 0] - scores[:, 1])
    best = np.argsort(-worth, kind="stable")[: max(COMPARED * int(n), AT_LEAST)]
    directions = model._row_directions(model._scaled(inputs.taken(model, X[best], slice(0, len(best)))))
    chosen = best[apart(worth[best], to_numpy(directions), int(n), diversity)]
    return Picks(
        strategy,
        chosen,
        worth[chosen],
        panel.labels[order[chosen]],
        scores[chosen],
        None if model.temperatures_ is None else probabilities[chosen],
    )


def by_margin(gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) exp(−gap / mean gap): 1 where the best two classes score the same, near 0 where one is far ahead."""
    usual = float(gaps.mean())
    return np.exp(-gaps / usual) if usual > 0 else np.ones_like(gaps)


def apart(worth: NDArray[np.float64], directions: NumPyArray, n: int, diversity: float) -> NDArray[np.int64]:
    """(n,) places of the rows to take, one after the other: the most worthwhile of those that are left.

    After each, every row loses as much of its worth as it is near: (1 − cosine)^diversity of it remains, and all of it
    where the cosine of the two unit vectors in `directions` (m, d) is below 0.
    """
    left, free = worth.copy(), np.ones(len(worth), dtype=bool)
    taken = []
    for _ in range(n):
        place = int(np.where(free, left, -1.0).argmax())
        taken.append(place)
        free[place] = False
        if diversity:
            cosines = np.asarray(directions @ directions[place], dtype=np.float64)
            left *= (1 - cosines.clip(0, 1)) ** diversity
    return np.array(taken, dtype=np.int64)
