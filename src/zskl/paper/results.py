"""Records, sorted into what the tables and figures ask for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from zskl.datasets import Dataset
from zskl.experiments import compare
from zskl.experiments.compare import FIGURES, Comparison, Figure
from zskl.experiments.record import Record
from zskl.paper.curve_records import ConvergenceRecord, SensitivityRecord
from zskl.paper.published import FEATURES
from zskl.plots.drawing import Drawing


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

    def figure(self, problem: Problem, method: str, column: str) -> Figure | None:
        """A column of `compare.FIGURES` in per cent, mean and deviation over the seeds that have it."""
        found = [FIGURES[column](record) for record in self.runs.get((problem, method), ())]
        return over_seeds(100 * value for value in found if value is not None)

    def incoherence(self, problem: Problem, method: str) -> Figure | None:
        found = self.runs.get((problem, method), ())
        return over_seeds(record.incoherence for record in found if record.incoherence is not None)

    def seeds(self, problems: Iterable[Problem], method: str) -> int:
        """Of the problem with the fewest, 0 where nothing was run."""
        counts = [len(self.runs[problem, method]) for problem in problems if (problem, method) in self.runs]
        return min(counts, default=0)


def over_seeds(values: Iterable[float], digits: int = 1) -> Figure | None:
    """Mean and standard deviation; nothing of nothing."""
    seen = list(values)
    return compare.over_seeds(seen, digits) if seen else None
