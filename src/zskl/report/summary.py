"""What the records say, in words."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from zskl.datasets.xlsa17.benchmarks import BENCHMARKS
from zskl.experiments import meaning
from zskl.experiments.compare import Comparison
from zskl.report.groups import Problem

PUBLISHED = "res101"  # the features that published figures were measured on


def sentences(found: Sequence[Problem], table: Comparison) -> list[str]:
    """A paragraph on all, two on each problem, and the notes of the comparison."""
    problems = [text for one in found for text in (_meaning(one), f"{one.name}: {_choice(one)}") if text]
    return [_overview(found), *problems, *(f"Note: {note}." for note in table.notes)]


def _overview(found: Sequence[Problem]) -> str:
    methods = list(dict.fromkeys(case.row.labels["method"] for problem in found for case in problem.cases))
    runs = sum(len(case.records) for problem in found for case in problem.cases)
    counts = [case.row.seeds for problem in found for case in problem.cases if case.row.seeds is not None]
    names = [problem.name for problem in found]
    return (
        f"{_count(runs, 'run')} on {_count(len(names), 'dataset')} ({'; '.join(names)}) with "
        f"{_count(len(methods), 'method')} ({', '.join(methods)}){_seeds(counts)}. "
        "Accuracies are means over classes, in per cent, and then over seeds."
    )


def _seeds(counts: Sequence[int]) -> str:
    """Of the methods that have any."""
    if not counts:
        return ""
    most = _count(max(counts), "seed")
    return f", {most} each" if min(counts) == max(counts) else f", {min(counts)} to {most} each"


def _meaning(problem: Problem) -> str:
    """The sentences that `zskl run` prints."""
    said = meaning.sentences([record for case in problem.cases for record in case.records])
    return " ".join([f"{problem.name}:", *said]) if said else ""


def _choice(problem: Problem) -> str:
    """How settings were chosen, what calibration brought, and what may be compared."""
    words = [_chosen(problem), *_calibration(problem)]
    if len(problem.cases) > 1:
        words.append(
            "The highest was picked from these test figures, for display; settings were chosen before, without them."
            if any(case.first.tune.scoring for case in problem.cases)
            else "The highest was picked from these test figures, for display."
        )
    return " ".join([*words, _comparable(problem)])


def _chosen(problem: Problem) -> str:
    ways = dict.fromkeys(case.row.labels["chosen by"] for case in problem.cases)
    said = {
        "defaults": "taken as they are by default",
        "folds, constant only": "taken as they are by default, the constant chosen on validation classes",
        "folds, zsl": "chosen on validation classes by zero-shot accuracy",
        "folds, gzsl": "chosen on validation classes by H",
        "folds, zsl and gzsl": "chosen on validation classes, by zero-shot accuracy for the plain and by H for the "
        "calibrated figures",
    }
    return f"Settings were {', or '.join(said.get(way, way) for way in ways)}."


def _calibration(problem: Problem) -> list[str]:
    both = [case for case in problem.cases if {"H", "calibrated H"} <= set(case.row.figures)]
    if len(both) < 2:
        return []
    gains = sorted(((case.mean("calibrated H") - case.mean("H"), case.name) for case in both), key=lambda pair: pair[0])
    (least, loser), (most, winner) = gains[0], gains[-1]
    mean = _points(statistics.mean(gain for gain, _ in gains))
    return [
        f"Over {len(both)} methods the effect of calibration on H goes from {_points(least)} ({loser}) to "
        f"{_points(most)} points ({winner}), {mean} on average."
    ]


def _points(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def _comparable(problem: Problem) -> str:
    if problem.dataset.upper() not in BENCHMARKS:
        return "There are no published figures of this division to compare with."
    if problem.features == PUBLISHED:
        return "The features are those that published figures were measured on."
    return (
        f"These features ({problem.features or 'unnamed'}) are not the ResNet-101 ones (res101) of published figures: "
        "not comparable with them."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
