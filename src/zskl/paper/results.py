"""Records, sorted into what the tables and figures ask for."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zskl.experiments.compare import FIGURES, Comparison, Figure
from zskl.paper.published import FEATURES
from zskl.plots.drawing import Drawing

Record = Mapping[str, Any]


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
    curves: Mapping[tuple[Problem, str], Sequence[Record]] = field(default_factory=dict)
    courses: Mapping[tuple[Problem, str], Sequence[Record]] = field(default_factory=dict)
    times: Sequence[Mapping[str, Any]] = ()

    @property
    def measured(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if not problem.missing)

    def figure(self, problem: Problem, method: str, column: str) -> Figure | None:
        """A column of `compare.FIGURES` in per cent, mean and deviation over the seeds that have it."""
        part, name = FIGURES[column]
        found = self.runs.get((problem, method), ())
        return over_seeds(100 * record[part][name] for record in found if name in record.get(part, {}))

    def incoherence(self, problem: Problem, method: str) -> Figure | None:
        found = self.runs.get((problem, method), ())
        return over_seeds(record["incoherence"] for record in found if record.get("incoherence") is not None)

    def seeds(self, problems: Iterable[Problem], method: str) -> int:
        """Of the problem with the fewest, 0 where nothing was run."""
        counts = [len(self.runs[problem, method]) for problem in problems if (problem, method) in self.runs]
        return min(counts, default=0)


def over_seeds(values: Iterable[float], digits: int = 1) -> Figure | None:
    """Mean and standard deviation; nothing of nothing."""
    seen = list(values)
    if not seen:
        return None
    return Figure(statistics.mean(seen), statistics.stdev(seen) if len(seen) > 1 else None, digits=digits)
