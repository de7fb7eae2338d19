"""What validation rows say about unlabelled rows: which settings help the held-out classes, and by how much.

Rows that come later may be few, may be of some classes more than of others, and of some not at all. So settings are
judged by the mean gain over three kinds of validation rows: as they are, uneven, and without half of the held-out
classes; and again with few rows of each class. More than a few rounds, and balance, bring more where everything is
even, and do harm where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import generator
from zskl.estimators.class_means.adaptation import AdaptationSettings
from zskl.estimators.class_means.bench import Bench
from zskl.metrics.seen_unseen import margins
from zskl.selection.constant import Scored, best_constant, fitted

Figures = NDArray[np.float64]  # one per fold
WEIGHTS, KAPPAS, ROUNDS = (2.0, 5.0, 10.0, 25.0), (20.0, 40.0, 80.0), (3, 5)
FEW = 5  # rows of a class
VALUES = 1 << 23  # features of validation rows that are tried together, at most
UNEVEN = 3.0  # the rarest class keeps exp(−3) of its rows
FRONT = 3  # settings that are tried further
ROUGHLY = 0.02  # how near log T must come
INDUCTIVE = 2.0  # n₀ of held-out classes without rows: any number above 0 is the same
_KINDS = 8  # stream of the seed


def of_unseen(benches: Sequence[Bench]) -> list[dict[str, Any]]:
    """Rows of the held-out classes alone, for few rows of a class and for all there are."""
    found = []
    for few in _densities(benches):
        thin = [thinned(bench, few) for bench in benches]
        found.append({"per_class": _per_class(thin, new=True), **_zero_shot(thin)})
    return found


def of_all(benches: Sequence[Bench]) -> list[dict[str, Any]]:
    """Rows of all classes together, for few rows of a class and for all there are."""
    found = []
    for few in _densities(benches):
        thin = [thinned(bench, few) for bench in benches]
        found.append({"per_class": _per_class(thin, new=False), **_generalised(thin)})
    return found


def shrinkages(benches: Sequence[Bench]) -> tuple[float, ...]:
    """The model's own, and less: rows say more in a space that is whitened more."""
    own = benches[0].shrinkage
    plain = float(np.ptp(benches[0].eigenvalues)) == 0.0
    return (own,) if plain else (own, own / 2, own / 4)


def _zero_shot(benches: Sequence[Bench]) -> dict[str, Any]:
    """The settings with the best mean gain in zero-shot accuracy over the kinds of rows."""
    parts = [bench.held_out() for bench in benches]
    kinds = [_kinds(part, fold) for fold, part in enumerate(parts)]
    before = [{name: _accuracy(kind, INDUCTIVE, kind.crowding) for name, kind in fold.items()} for fold in kinds]

    @cache
    def gains(how: AdaptationSettings, names: tuple[str, ...]) -> Figures:
        pairs = zip(kinds, before, strict=True)
        return np.array([np.mean([_after(fold[name], how) - old[name] for name in names]) for fold, old in pairs])

    options = [
        AdaptationSettings(weight=weight, kappa=kappa, rounds=min(ROUNDS)) for weight, kappa in product(WEIGHTS, KAPPAS)
    ]
    front = _front(options, shrinkages(parts), lambda how: gains(how, ("even",)))
    how, found = _best(
        [replace(one, rounds=rounds) for one in front for rounds in ROUNDS], lambda how: gains(how, tuple(kinds[0]))
    )
    scored = []
    for bench, part in zip(benches, parts, strict=True):
        turned, sums = bench.at(_rho(how, bench)), np.zeros((len(bench.seen), bench.x.shape[1]), np.float32)
        sums[bench.new] = part.at(_rho(how, part)).adapted(how).sums
        scored.append((turned.scores(how.weight, how.crowding, sums), bench.own, bench.seen))
    return {**asdict(how), **_summary(found), **fitted(scored, within=ROUGHLY, tell=False)}


def _generalised(benches: Sequence[Bench]) -> dict[str, Any]:
    """The settings with the best harmonic mean. While rows are shared out, seen classes are calibrated."""
    plain = [(bench.scores(INDUCTIVE, bench.crowding), bench.own, bench.seen) for bench in benches]
    constant, before = best_constant([margins(*one) for one in plain])
    options = [
        AdaptationSettings(
            weight=weight,
            kappa=kappa,
            balance=balance,
            rounds=min(ROUNDS),
            shift=constant,
            crowding=benches[0].crowding,
        )
        for weight, kappa, balance in product(WEIGHTS[:3], KAPPAS[1:], (0.0, 0.5))
    ]

    def scored(how: AdaptationSettings) -> list[Scored]:
        turned = [bench.at(_rho(how, bench)) for bench in benches]
        return [(b.scores(how.weight, how.crowding, b.adapted(how).sums), b.own, b.seen) for b in turned]

    @cache
    def gains(how: AdaptationSettings) -> Figures:
        return best_constant([margins(*one) for one in scored(how)])[1] - before

    how, found = _best(_front(options, shrinkages(benches), gains), gains)
    return {**asdict(how), **_summary(found), **fitted(scored(how), within=ROUGHLY, tell=False)}


def _accuracy(part: Bench, weight: float, crowding: float, added: NDArray[np.float32] | None = None) -> float:
    return part.accuracy(part.scores(weight, crowding, added), np.arange(len(part.own)))


def _after(part: Bench, how: AdaptationSettings) -> float:
    """Accuracy of these rows after adapting to them."""
    turned = part.at(_rho(how, part))
    return _accuracy(turned, how.weight, how.crowding, turned.adapted(how).sums)


def _kinds(part: Bench, fold: int) -> dict[str, Bench]:
    """Rows of a fold's held-out classes: as they are, unevenly many of each class, and of half of the classes."""
    draw, c = generator(0, _KINDS, fold), len(part.seen)
    rank = draw.permutation(c)
    uneven = draw.random(len(part.own)) < np.exp(-UNEVEN * rank / c)[part.own]
    half = (rank < c / 2)[part.own]
    found = {"even": part}
    found |= {
        name: part.some(np.flatnonzero(rows)) for name, rows in (("uneven", uneven), ("half", half)) if rows.any()
    }
    return found


def _densities(benches: Sequence[Bench]) -> tuple[int, ...]:
    """How many rows of a class to try at most."""
    most = min(int(np.bincount(bench.own).max()) for bench in benches)
    many = min(_within(bench) for bench in benches)
    return (FEW, many) if min(most, many) > 2 * FEW else (many,)


def _within(bench: Bench) -> int:
    """Rows of each class, so that together they do not hold too many values."""
    counts = np.sort(np.bincount(bench.own, minlength=len(bench.seen)))
    rows = VALUES // bench.x.shape[1]
    return max([few for few in (*counts.tolist(), 1) if np.minimum(counts, few).sum() <= rows], default=1)


def thinned(bench: Bench, few: int) -> Bench:
    """At most so many rows of each class."""
    if np.bincount(bench.own).max() <= few:
        return bench
    order = generator(0, _KINDS, few).permutation(len(bench.own))
    rank = np.empty(len(order), dtype=np.int64)
    for column in range(len(bench.seen)):
        mine = order[bench.own[order] == column]
        rank[mine] = np.arange(len(mine))
    return bench.some(np.flatnonzero(rank < few))


def _per_class(benches: Sequence[Bench], new: bool) -> float:
    """Rows for each candidate, on average."""
    pairs = [(len(b.new_rows), len(b.new)) if new else (len(b.own), len(b.seen)) for b in benches]
    return float(np.mean([rows / classes for rows, classes in pairs]))


def _rho(how: AdaptationSettings, bench: Bench) -> float:
    return bench.shrinkage if how.shrinkage is None else how.shrinkage


def _front(
    options: Sequence[AdaptationSettings], shrinkages: Sequence[float], gains: Callable[[AdaptationSettings], Figures]
) -> list[AdaptationSettings]:
    """The options that are best at the middle shrinkage, tried at the others too: the best of these."""
    middle, *others = sorted(shrinkages, key=lambda one: abs(one - shrinkages[len(shrinkages) // 2]))
    tried = _sorted([replace(one, shrinkage=middle) for one in options], gains)[:FRONT]
    return _sorted([*tried, *(replace(one, shrinkage=other) for one in tried for other in others)], gains)[:FRONT]


def _sorted(
    options: Sequence[AdaptationSettings], gains: Callable[[AdaptationSettings], Figures]
) -> list[AdaptationSettings]:
    """Best first."""
    means = np.array([gains(option).mean() for option in options])
    return [options[place] for place in np.argsort(-means, kind="stable")]


def _best(
    options: Sequence[AdaptationSettings], gains: Callable[[AdaptationSettings], Figures]
) -> tuple[AdaptationSettings, Figures]:
    found = [gains(option) for option in options]
    place = int(np.argmax([one.mean() for one in found]))
    return options[place], found[place]


def _summary(gains: Figures) -> dict[str, float]:
    spread = float(gains.std(ddof=1)) if len(gains) > 1 else 0.0
    return {"gain": float(gains.mean()), "spread": spread, "least": float(gains.min())}
