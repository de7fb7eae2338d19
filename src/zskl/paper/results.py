"""Records, sorted into what the tables and figures ask for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from zskl.datasets import Dataset
from zskl.experiments import compare, uncertainty
from zskl.experiments.compare import Comparison, Figure
from zskl.experiments.record import Record
from zskl.experiments.uncertainty import Difference
from zskl.paper.curve_records import ConvergenceRecord, SensitivityRecord
from zskl.paper.published import FEATURES, NEAR
from zskl.plots.drawing import Drawing

SAME = ("cmt-star", "zero-shot")  # is that of cmt, where only unseen classes are candidates


@dataclass(frozen=True)
class Problem:
    """A dataset with its features, and the fingerprints of both; `missing` where there is nothing of it."""

    dataset: str
    features: str = ""
    fingerprint: str = ""
    features_digest: str = ""
    missing: bool = False

    @property
    def comparable(self) -> bool:
        """Whether the features are those of the published figures."""
        return self.features == FEATURES

    @property
    def near(self) -> bool:
        """Whether they are of a network so like that one that published figures give an orientation."""
        return self.comparable or self.features in NEAR

    @property
    def name(self) -> str:
        return f"{self.dataset} ({self.features})" if self.features else self.dataset

    @property
    def stem(self) -> str:
        """For names of files."""
        words = [self.dataset] if self.comparable or not self.features else [self.dataset, self.features]
        return re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")


class Identified(Protocol):
    """A record of any kind, as far as it says what data it is of."""

    @property
    def dataset(self) -> str: ...

    @property
    def features(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def features_digest(self) -> str: ...


def problem_of(record: Identified) -> Problem:
    """The problem that a record is of."""
    return Problem(record.dataset, record.features, record.fingerprint, record.features_digest)


def problem_of_data(data: Dataset) -> Problem:
    """The problem that records of this dataset will be of."""
    return Problem(data.name, data.features, data.fingerprint, data.features_digest)


@dataclass(frozen=True)
class Output:
    """A table and the figures that go with it, by the names of their files. The notes of the table belong to both."""

    part: str
    name: str
    title: str
    table: Comparison
    figures: Mapping[str, Drawing] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """For each problem and method its records, by seed: evaluations, sensitivity curves, courses of training."""

    problems: tuple[Problem, ...]
    methods: tuple[str, ...]
    runs: Mapping[tuple[Problem, str], Sequence[Record]]
    curves: Mapping[tuple[Problem, str], Sequence[SensitivityRecord]] = field(default_factory=dict)
    courses: Mapping[tuple[Problem, str], Sequence[ConvergenceRecord]] = field(default_factory=dict)
    times: Sequence[Mapping[str, Any]] = ()

    @property
    def measured(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if not problem.missing)

    @cached_property
    def _figures(self) -> Mapping[tuple[Problem, str], Mapping[str, Figure]]:
        uncertainty.prepare([record for mine in self.runs.values() for record in mine])
        return {place: uncertainty.figures(mine) for place, mine in self.runs.items()}

    def figure(self, problem: Problem, method: str, column: str) -> Figure | None:
        """A column of `compare.FIGURES` in per cent, with its interval; None where it was not measured."""
        found = self._figures.get((problem, method), {})
        return None if (method, column) == SAME else found.get(column)

    def groups(self, problem: Problem, column: str) -> dict[str, Sequence[Record]]:
        """The records of each method that has this figure."""
        names = [name for name in self.methods if self.figure(problem, name, column) is not None]
        return {name: self.runs[problem, name] for name in names}

    def difference(self, problem: Problem, method: str, other: str, column: str) -> Difference | None:
        """How far the first is above the other one, in points, paired; None where records have no answers."""
        return uncertainty.difference(self.runs[problem, method], self.runs[problem, other], column)

    def ranked(self, problem: Problem, methods: Iterable[str], column: str) -> list[tuple[str, Figure]]:
        """Methods with their figures, the highest mean first."""
        found = [(name, figure) for name in methods if (figure := self.figure(problem, name, column)) is not None]
        return sorted(found, key=lambda pair: -pair[1].mean)

    def incoherence(self, problem: Problem, method: str) -> Figure | None:
        found = self.runs.get((problem, method), ())
        return over_seeds(record.incoherence for record in found if record.incoherence is not None)

    def seeds(self, problem: Problem, method: str) -> int | None:
        """0 where nothing was run, and None where seeds make no difference."""
        found = self.runs.get((problem, method), ())
        return None if found and not uncertainty.is_random(method) else len(found)


def over_seeds(values: Iterable[float], digits: int = 1) -> Figure | None:
    """Mean and standard deviation; nothing of nothing."""
    seen = list(values)
    return compare.over_seeds(seen, digits) if seen else None
