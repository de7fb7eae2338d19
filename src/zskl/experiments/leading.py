"""Which figures of a comparison are the best, and how far the others are from the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from zskl.experiments import uncertainty
from zskl.experiments.figure import Figure
from zskl.experiments.record import Record
from zskl.experiments.uncertainty import Difference, Leaders

if TYPE_CHECKING:
    from zskl.experiments.compare import Row

FIRST = " (first)"  # marks the figure that others are compared with
Pairs = Sequence[tuple["Row", Sequence[Record]]]


def marked(pairs: Pairs, columns: Sequence[str]) -> tuple[list[Row], list[str]]:
    """The rows with the best marked; and why where none is."""
    best: dict[tuple[int, str], bool] = {}
    notes = []
    for problem, groups in _problems(pairs).items():
        found = {column: uncertainty.leaders(groups, column) for column in columns}
        best |= {(int(name), column): True for column, one in found.items() for name in one.best}
        notes += _notes(problem, found, groups)

    def mark(place: int, figures: Mapping[str, Figure]) -> dict[str, Figure]:
        return {name: replace(figure, best=(place, name) in best) for name, figure in figures.items()}

    return [replace(row, figures=mark(place, row.figures)) for place, (row, _) in enumerate(pairs)], notes


def apart(pairs: Pairs, columns: Sequence[str]) -> tuple[list[Row], list[str]]:
    """The rows with paired differences from the highest figure of each column in place of figures."""
    rows, notes = marked(pairs, columns)
    for groups in _problems(pairs).values():
        for column in columns:
            first = uncertainty.leaders(groups, column).first
            if first is None:
                continue
            for name in groups:
                mine = dict(rows[int(name)].figures)
                if column in mine:
                    paired = None if name == first else uncertainty.difference(groups[name], groups[first], column)
                    mean = mine[column].mean - pairs[int(first)][0].figures[column].mean
                    mine[column] = _apart(mean, paired, mine[column].best, name == first)
                    rows[int(name)] = replace(rows[int(name)], figures=mine)
    return rows, notes


def _apart(mean: float, paired: Difference | None, best: bool, first: bool) -> Figure:
    mark = FIRST if first else ""
    found = Figure(mean, None, best, mark)
    return found if paired is None else replace(found, low=paired.low, high=paired.high)


def _problems(pairs: Pairs) -> dict[str, dict[str, Sequence[Record]]]:
    """Dataset, features and data, which must be equal for figures to compete → the records of rows by their places."""
    found: dict[tuple[str, ...], dict[str, Sequence[Record]]] = {}
    for place, (row, group) in enumerate(pairs):
        problem = row.labels["dataset"], row.labels["features"], row.labels["data"]
        found.setdefault(problem, {})[str(place)] = group
    names = [problem[0] for problem in found]
    twins = {problem: names.count(problem[0]) > 1 for problem in found}
    return {", ".join(filter(None, problem)) if twins[problem] else problem[0]: one for problem, one in found.items()}


def _notes(problem: str, found: Mapping[str, Leaders], groups: Mapping[str, Sequence[Record]]) -> list[str]:
    """What to mind of intervals, and why no figure of a column is marked."""
    unknown = {groups[name][0].method: None for one in found.values() for name in one.unknown}
    few = uncertainty.few_classes(record for group in groups.values() for record in group)
    notes = [f"{problem}: {few}"] if few else []
    if unknown:
        notes.append(
            f"{problem}: the records of {', '.join(unknown)} keep no answers of rows, so these figures have no "
            "interval and no figure is marked as the best; run them again into a new folder"
        )
    shared = [column for column, one in found.items() if one.rivals > 1 and not one.best and not one.unknown]
    if shared:
        notes.append(
            f"{problem}: no method is clearly the best in {', '.join(shared)}, since the paired interval of each with "
            "the first includes 0"
        )
    return notes
