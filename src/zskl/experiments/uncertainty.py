"""Intervals of figures, and paired differences between methods, from the answers in records.

Every draw takes the same classes and rows for all records of the same data. With several seeds the figure of a draw is
the mean of theirs, as the figure of a table is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from zskl import methods
from zskl.experiments import given_figures
from zskl.experiments.answers import unpack
from zskl.experiments.drawn_figures import mean_draws, prepare
from zskl.experiments.figure import FIGURES, Figure, Read, over_seeds
from zskl.experiments.record import Record
from zskl.metrics import bootstrap

__all__ = ["Difference", "Leaders", "difference", "few_classes", "figures", "is_random", "leaders", "prepare"]

ROUNDING = 1e-3  # points: draws are in single precision
FEW = 20  # classes: with fewer, an interval over classes is markedly too narrow


@dataclass(frozen=True)
class Difference:
    """Of two methods, in points, with the ends of its 95 % interval; `decided` if that interval excludes 0."""

    mean: float
    low: float
    high: float

    @property
    def decided(self) -> bool:
        return self.low > ROUNDING or self.high < -ROUNDING


@dataclass(frozen=True)
class Leaders:
    """Who is first in a column, and who is `best`: the first and all whose paired interval with it includes 0.

    Nobody is best where all are, or where fewer than two have the figure. `unknown` are those without answers of rows;
    where there are any, nobody is best.
    """

    first: str | None = None
    best: frozenset[str] = frozenset()
    rivals: int = 0
    unknown: tuple[str, ...] = ()


def figures(records: Sequence[Record]) -> dict[str, Figure]:
    """The figures of all seeds of a method, in per cent, by column; those that every seed has.

    Of several records of a seed the last that has a figure counts. A method without randomness has one.
    """
    found = {}
    readers: dict[str, Read] = {**FIGURES, **given_figures.columns(records)}
    for column, read in readers.items():
        mine = _counting(records, column, read)
        if mine:
            figure = over_seeds([100 * value for _, value in mine])
            draws = mean_draws([record for record, _ in mine], column)
            low, high = (None, None) if draws is None else bootstrap.interval(100 * draws)
            found[column] = replace(figure, low=low, high=high, mark=given_figures.mark(column, records))
    return found


def difference(ours: Sequence[Record], theirs: Sequence[Record], column: str) -> Difference | None:
    """Ours minus theirs, paired; None where a column or the answers are missing on one side."""
    _check_same_data([*ours, *theirs])
    read = {**FIGURES, **given_figures.columns([*ours, *theirs])}.get(column)
    if read is None:
        return None
    mine, yours = _counting(ours, column, read), _counting(theirs, column, read)
    one, other = (mean_draws([record for record, _ in found], column) for found in (mine, yours))
    if one is None or other is None:
        return None
    mean = np.mean([value for _, value in mine]) - np.mean([value for _, value in yours])
    return Difference(100 * float(mean), *bootstrap.interval(100 * (one - other)))


def leaders(groups: Mapping[str, Sequence[Record]], column: str, most: bool = True) -> Leaders:
    """Who is best among methods by name; `most`: the largest figure is the best."""
    readers = {**FIGURES, **given_figures.columns([record for group in groups.values() for record in group])}
    read = readers.get(column)
    found = {} if read is None else {name: _counting(group, column, read) for name, group in groups.items()}
    means = {name: float(np.mean([value for _, value in mine])) for name, mine in found.items() if mine}
    if len(means) < 2:
        return Leaders(next(iter(means), None), rivals=len(means))
    first = (max if most else min)(means, key=lambda name: means[name])
    apart = {name: difference(groups[first], groups[name], column) for name in means}
    unknown = tuple(name for name in means if mean_draws([record for record, _ in found[name]], column) is None)
    if unknown:
        return Leaders(first, rivals=len(means), unknown=unknown)
    best = frozenset(name for name, one in apart.items() if one is not None and not one.decided)
    return Leaders(first, best if len(best) < len(means) else frozenset(), len(means))


def few_classes(records: Iterable[Record]) -> str:
    """A sentence where figures with intervals are of few unseen classes; otherwise empty."""
    known = {record.class_rows for record in records if record.class_rows is not None}
    least = min((len(unpack(rows.unseen)) for rows in known), default=FEW)
    if least >= FEW:
        return ""
    unseen = f"{least} unseen class{'' if least == 1 else 'es'}"
    return f"of {unseen} a 95 % interval is too narrow, so that differences look clear too often"


def is_random(method: str, column: str = "") -> bool:
    """Whether another seed gives another figure: of a random method, or after examples that the seed drew."""
    known = methods.METHODS.get(method)
    return known is None or known.random or given_figures.is_taught(column)


def _counting(records: Sequence[Record], column: str, read: Read) -> list[tuple[Record, float]]:
    """For each seed the last record that has the figure, and the figure; nothing if a seed has none.

    Where nothing is random, seeds are one run many times over: the last record counts, of those that keep answers.
    """
    have = [(record, value) for record in records if (value := read(record)) is not None]
    found = {one[0].seed: one for one in have}
    if found.keys() != {record.seed for record in records}:
        return []
    if is_random(records[0].method, column):
        return list(found.values())
    return sorted(have, key=lambda one: one[0].class_rows is not None)[-1:]


def _check_same_data(records: Sequence[Record]) -> None:
    first = records[0]
    for other in records[1:]:
        if (other.dataset, other.fingerprint) != (first.dataset, first.fingerprint):
            raise ValueError(
                f"{first.method} on {first.dataset} and {other.method} on {other.dataset} are of different data "
                f"(fingerprints {first.fingerprint[:8]!r} and {other.fingerprint[:8]!r}): expected the same classes "
                "and rows, since a difference is taken row by row; compare records of one dataset"
            )
