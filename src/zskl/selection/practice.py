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
from zskl.estimators.class_means.bench import Bench, Rows, Trial
from zskl.selection.constant import fitted
from zskl.selection.unlabelled import ROUGHLY, of_all, of_unseen, shrinkages, thinned

SHOTS, MIDDLE = (1, 2, 5, 10), 5
DRAWS = 2
ENOUGH = 60  # rows of a class to judge examples by
WEIGHTS = (1.0, 2.0, 4.0, 8.0)  # n₀
WRONG = (0.0, 0.2, 0.35, 0.5)  # what the mean of rows marked as wrong counts against a class
SHOWN = 2  # rows of other classes that are marked as wrong for each class
_EXAMPLES = 7  # stream of the seed


def practise(benches: Sequence[Bench]) -> dict[str, Any]:
    """Everything that a model stores as `practice_`, from the validation rows of each fold."""
    some = [thinned(bench, ENOUGH) for bench in benches]
    tried = shrinkages(some)
    first = _with_examples(some, MIDDLE, tried)
    shrinkage = tried if first is None else (float(first["shrinkage"]),)  # one serves all numbers of examples
    others = {k: first if k == MIDDLE else _with_examples(some, k, shrinkage) for k in SHOTS}
    examples = {str(k): found for k, found in others.items() if found is not None}
    return {
        "examples": examples,
        "wrong_weight": _wrong_weight(some, examples),
        "unlabelled": {"unseen": of_unseen(benches), "all": of_all(benches)},
    }


def _with_examples(benches: Sequence[Bench], k: int, tried: Sequence[float]) -> dict[str, Any] | None:
    """n₀, shrinkage and crowding for k examples of each held-out class, with the constant and temperatures for them."""
    parts = [bench.held_out() for bench in benches]
    drawn = [[draw_examples(bench, k, draw) for draw in range(DRAWS)] for bench in parts]
    if any(rows is None for fold in drawn for rows in fold):
        return None
    options: dict[tuple[float, float, float], list[float]] = {}
    for shrinkage, (bench, fold) in product(tried, list(zip(parts, drawn, strict=True))):
        turned = bench.at(shrinkage)
        for rows in fold:
            assert rows is not None
            left = np.setdiff1d(np.arange(len(bench.own)), rows)
            trial = Trial(turned, added_up(turned, rows), left)
            for weight, crowding in product(WEIGHTS, _crowdings(bench)):
                scores = trial.scores(weight, crowding, firm=True)
                options.setdefault((shrinkage, weight, crowding), []).append(turned.accuracy(scores, left))
    best = max(options, key=lambda option: float(np.mean(options[option])))
    shrinkage, weight, crowding = best
    scored = []
    for bench, fold in zip(benches, drawn, strict=True):
        turned, given = bench.at(shrinkage), bench.new_rows[fold[0]]
        rows = np.setdiff1d(np.arange(len(bench.own)), given)
        scores = Trial(turned, added_up(turned, given), rows).scores(weight, crowding, firm=True)
        scored.append((scores, bench.own[rows], bench.seen))
    figures = {"zsl": float(np.mean(options[best])), **fitted(scored, within=ROUGHLY, tell=False)}
    return {"weight": weight, "shrinkage": shrinkage, "crowding": crowding, **figures}


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


def _crowdings(bench: Bench) -> tuple[float, ...]:
    """The model's own, and less: rows make up for a crowded place."""
    return (bench.crowding, 0.5 * bench.crowding, 0.0) if bench.crowding else (0.0,)


def _wrong_weight(benches: Sequence[Bench], examples: dict[str, Any]) -> float:
    """What wrong rows count against a class: tried on the rows of other classes that score highest for each class."""
    weight = examples["1"]["weight"] if "1" in examples else 2.0
    accuracies: dict[float, list[float]] = {against: [] for against in WRONG}
    for bench in benches:
        scores = Trial(bench, None, bench.new_rows).scores(weight, bench.crowding)
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
        sums = (member @ bench.x[rows]) / np.maximum(member.sum(axis=1, keepdims=True), 1)
        for against, found in accuracies.items():
            scores = Trial(bench, -np.float32(against) * sums, left).scores(weight, bench.crowding)
            found.append(bench.accuracy(scores, left))
    if not accuracies[0.0]:
        return 0.0
    return float(max(WRONG, key=lambda against: float(np.mean(accuracies[against]))))
