"""Records in the groups of a comparison: problems (a dataset with its features), in each its cases (methods)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zskl.experiments.compare import LABELS, Comparison, Row, labels
from zskl.experiments.record import Record

LINES = 6  # of a figure: more cannot be told apart


@dataclass(frozen=True)
class Case:
    """A row of the comparison, the name that tells it apart within its problem, and its records by seed."""

    name: str
    rank: int  # by H within its problem
    row: Row
    records: Sequence[Record]

    @property
    def first(self) -> Record:
        """The record of the lowest seed, for figures that show one run."""
        return self.records[0]

    def mean(self, figure: str) -> float:
        """In per cent; −∞ of a figure that the records do not hold."""
        found = self.row.figures.get(figure)
        return float("-inf") if found is None else found.mean


@dataclass(frozen=True)
class Problem:
    """What must be equal for figures to be compared. `address` is fit for names of figures and files."""

    name: str
    dataset: str
    features: str
    address: str
    cases: Sequence[Case]

    def place(self, case: Case) -> str:
        """An address for what is shown of one case: that of the best is the problem's own."""
        number = next(k for k, one in enumerate(self.ranked("zero-shot")) if one is case)
        return self.address if number == 0 else f"{self.address}-{number + 1}"

    def ranked(self, *figures: str) -> list[Case]:
        """The cases that have a figure, best first, by the first of `figures` that any of them has."""
        for figure in figures:
            have = [case for case in self.cases if figure in case.row.figures]
            if have:
                return sorted(have, key=lambda case: -case.mean(figure))
        return list(self.cases)

    def with_field(self, having: Callable[[Record], object], *figures: str) -> list[Case]:
        """Of `ranked` those whose first record has something, at most as many as a figure can show."""
        return [case for case in self.ranked(*figures) if having(case.first) is not None][:LINES]


def problems(found: Sequence[Record], table: Comparison) -> list[Problem]:
    """In the order of the comparison."""
    by_labels: dict[tuple[str, ...], list[Record]] = {}
    for record in found:
        by_labels.setdefault(labels(record), []).append(record)
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in table.rows:
        groups.setdefault((row.labels["dataset"], row.labels["features"], row.labels["data"]), []).append(row)
    made = []
    for number, ((dataset, features, data), rows) in enumerate(groups.items()):
        twins = sum((dataset, features) == other[:2] for other in groups)
        name = dataset + (f", {features} features" if features else "") + (f", data {data}" if twins > 1 else "")
        order = sorted(rows, key=_merit)
        cases = []
        for row in rows:
            mine = by_labels[tuple(row.labels[label] for label in LABELS)]
            ordered = sorted(mine, key=lambda record: record.seed)
            cases.append(Case(_name(row, rows), order.index(row), row, ordered))
        made.append(Problem(name, dataset, features, f"p{number + 1}", cases))
    return made


def _merit(row: Row) -> float:
    figure = row.figures.get("calibrated H") or row.figures.get("H")
    return 0.0 if figure is None else -figure.mean


def _name(row: Row, rivals: Sequence[Row]) -> str:
    """The method, and what else is needed to tell the row from others of the method."""
    twins = [other for other in rivals if other.labels["method"] == row.labels["method"]]
    told = [label for label in ("chosen by", "settings") if len({other.labels[label] for other in twins}) > 1]
    extra = [row.labels[label] or "defaults" for label in told]
    alike = [other for other in twins if all(other.labels[label] == row.labels[label] for label in told)]
    if len({other.labels["grid"] for other in alike}) > 1:
        extra.append(f"grid {row.labels['grid'] or 'unknown'}")
    return " ".join([row.labels["method"], *(f"({words})" for words in extra)])
