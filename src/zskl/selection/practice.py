"""What validation classes say about learning from examples and from unlabelled rows.

Held-out classes play the unseen ones. Examples are drawn from their rows and then never scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import generator
from zskl.estimators.class_means.bench import Bench, Rows
from zskl.selection.constant import fitted
from zskl.selection.unlabelled import of_all, of_unseen

SHOTS = (1, 2, 5, 10)
DRAWS = 3
WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0)  # n₀
WRONG = (0.0, 0.1, 0.25, 0.5, 1.0)  # what a row counts against a class for which it is marked as wrong
SHOWN = 2  # rows of other classes that are marked as wrong for each class
_EXAMPLES = 7  # stream of the seed


def practise(benches: Sequence[Bench]) -> dict[str, Any]:
    """Everything that a model stores as `practice_`, from the validation rows of each fold."""
    examples = {str(k): found for k in SHOTS if (found := _with_examples(benches, k)) is not None}
    return {
        "examples": examples,
        "wrong_weight": _wrong_weight(benches, examples),
        "unlabelled": {"unseen": of_unseen(benches), "all": of_all(benches)},
    }


def _with_examples(benches: Sequence[Bench], k: int) -> dict[str, Any] | None:
    """n₀ and crowding for k examples of each held-out class, with the constant and temperatures that go with them."""
    drawn = [(bench, draw_examples(bench, k, draw)) for bench in benches for draw in range(DRAWS)]
    tried = [
        (bench, added_up(bench, rows), np.setdiff1d(bench.new_rows, rows)) for bench, rows in drawn if rows is not None
    ]
    if not tried:
        return None

    def accuracy(weight: float, crowding: float) -> NDArray[np.float64]:
        return np.array([b.accuracy(b.scores(weight, crowding, added, left), left) for b, added, left in tried])

    options = {option: accuracy(*option) for option in product(WEIGHTS, _crowdings(benches))}
    weight, crowding = max(options, key=lambda option: options[option].mean())
    found = options[weight, crowding]
    scored = []
    for bench, added, left in tried[::DRAWS]:
        rows = np.union1d(np.flatnonzero(bench.seen[bench.own]), left)
        scored.append((bench.scores(weight, crowding, added, rows), bench.own[rows], bench.seen))
    return {"weight": weight, "crowding": crowding, "zsl": float(found.mean()), **fitted(scored)}


def draw_examples(bench: Bench, k: int, draw: int) -> NDArray[np.int64] | None:
    """k rows of each held-out class that has more; None if fewer than half of the classes do."""
    rows = []
    for column in bench.new:
        mine = np.flatnonzero(bench.own == column)
        if len(mine) > k:
            rows.append(generator(draw, _EXAMPLES, k, int(column)).permutation(mine)[:k])
    return np.sort(np.concatenate(rows)) if len(rows) >= max(2, len(bench.new) / 2) else None


def added_up(bench: Bench, rows: NDArray[np.int64]) -> Rows:
    """(c, d) the sums of these rows by their classes."""
    member = np.zeros((len(bench.seen), len(rows)), np.float32)
    member[bench.own[rows], np.arange(len(rows))] = 1
    return member @ bench.x[rows]


def _crowdings(benches: Sequence[Bench]) -> tuple[float, ...]:
    own = benches[0].crowding
    return (own, 0.0) if own else (0.0,)


def _wrong_weight(benches: Sequence[Bench], examples: dict[str, Any]) -> float:
    """What a row counts against a class: tried on the rows of other classes that score highest for each class."""
    weight = examples["1"]["weight"] if "1" in examples else 2.0
    accuracies: dict[float, list[float]] = {against: [] for against in WRONG}
    for bench in benches:
        scores = bench.scores(weight, bench.crowding, rows=bench.new_rows)
        shown, columns = [], []
        for column in bench.new:
            others = np.flatnonzero(bench.own[bench.new_rows] != column)
            best = others[np.argsort(-scores[others, column], kind="stable")[:SHOWN]]
            shown.append(bench.new_rows[best])
            columns.append(np.full(len(best), column))
        rows, marked = np.concatenate(shown), np.concatenate(columns)
        left = np.setdiff1d(bench.new_rows, rows)
        if not len(left):
            continue
        member = np.zeros((len(bench.seen), len(rows)), np.float32)
        member[marked, np.arange(len(rows))] = 1
        sums = member @ bench.x[rows]
        for against, found in accuracies.items():
            found.append(bench.accuracy(bench.scores(weight, bench.crowding, -np.float32(against) * sums, left), left))
    if not accuracies[0.0]:
        return 0.0
    return float(max(WRONG, key=lambda against: float(np.mean(accuracies[against]))))
