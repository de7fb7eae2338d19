"""What validation rows say about unlabelled rows: which settings help the held-out classes, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.estimators.class_means.adaptation import AdaptationSettings
from zskl.estimators.class_means.bench import Bench
from zskl.metrics.seen_unseen import margins
from zskl.selection.constant import Scored, best_constant, fitted

Figures = NDArray[np.float64]  # one per fold
EARLY, FRONT = 3, 4  # rounds after which options are compared first, and how many go on
INDUCTIVE = 2.0  # n₀ of held-out classes without rows: any number above 0 is the same


def of_unseen(benches: Sequence[Bench]) -> dict[str, Any]:
    """Rows of the held-out classes alone: the settings with the best zero-shot accuracy, and the gain."""
    parts = [bench.held_out() for bench in benches]
    rows = [np.arange(len(part.own)) for part in parts]
    before = np.array([p.accuracy(p.scores(INDUCTIVE, p.crowding), r) for p, r in zip(parts, rows, strict=True)])
    options = [
        AdaptationSettings(weight=weight, kappa=kappa, balance=balance)
        for weight, kappa, balance in product((2.0, 5.0, 10.0), (20.0, 40.0, 80.0), (False, True))
    ]

    def after(how: AdaptationSettings) -> Figures:
        scores = [part.scores(how.weight, how.crowding, part.adapted(how).sums) for part in parts]
        return np.array([p.accuracy(s, r) for p, s, r in zip(parts, scores, rows, strict=True)])

    how, found = _best(options, after)
    sums = [_spread(bench, part.adapted(how).sums) for bench, part in zip(benches, parts, strict=True)]
    scored = [
        (bench.scores(how.weight, how.crowding, added), bench.own, bench.seen)
        for bench, added in zip(benches, sums, strict=True)
    ]
    return {**asdict(how), **_gain(found - before), **fitted(scored)}


def of_all(benches: Sequence[Bench]) -> dict[str, Any]:
    """Rows of all classes together: the settings with the best harmonic mean, and the gain."""
    plain = [(bench.scores(INDUCTIVE, bench.crowding), bench.own, bench.seen) for bench in benches]
    before = _harmonic(plain)
    options = [
        AdaptationSettings(weight=weight, kappa=kappa, shift=shift, rounds=10)
        for weight, kappa, shift in product((2.0, 5.0), (20.0, 40.0), (0.0, 0.05))
    ]

    def scored(how: AdaptationSettings) -> list[Scored]:
        return [(b.scores(how.weight, how.crowding, b.adapted(how).sums), b.own, b.seen) for b in benches]

    how, found = _best(options, lambda option: _harmonic(scored(option)))
    return {**asdict(how), **_gain(found - before), **fitted(scored(how))}


def _best(
    options: Sequence[AdaptationSettings], figures: Callable[[AdaptationSettings], Figures]
) -> tuple[AdaptationSettings, Figures]:
    """The best of the options: all of them after a few rounds, then those in front after all rounds."""
    early = [figures(replace(option, rounds=min(option.rounds, EARLY))).mean() for option in options]
    front = [options[place] for place in np.argsort(-np.array(early), kind="stable")[:FRONT]]
    found = [figures(option) for option in front]
    place = int(np.argmax([one.mean() for one in found]))
    return front[place], found[place]


def _harmonic(scored: Sequence[Scored]) -> Figures:
    return best_constant([margins(scores, own, seen) for scores, own, seen in scored])[1]


def _gain(differences: Figures) -> dict[str, float]:
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else float("inf")
    return {"gain": float(differences.mean()), "spread": spread if np.isfinite(spread) else 1.0}


def _spread(bench: Bench, sums: NDArray[np.float32]) -> NDArray[np.float32]:
    """(c, d) from the sums of the held-out classes."""
    found = np.zeros((len(bench.seen), sums.shape[1]), np.float32)
    found[bench.new] = sums
    return found
