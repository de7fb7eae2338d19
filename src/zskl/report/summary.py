"""What the records say, in words."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from zskl.datasets.xlsa17.benchmarks import BENCHMARKS
from zskl.experiments import table_formats
from zskl.experiments.compare import Comparison
from zskl.report.groups import Case, Problem

PUBLISHED = "res101"  # the features that published figures were measured on


def sentences(found: Sequence[Problem], table: Comparison) -> list[str]:
    """A paragraph on all, one on each problem, and the notes of the comparison."""
    return [_overview(found), *(_problem(one) for one in found), *(f"Note: {note}." for note in table.notes)]


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


def _problem(problem: Problem) -> str:
    words = [f"{problem.name}:"]
    best = problem.ranked("zero-shot")[0]
    if "zero-shot" in best.row.figures:
        words.append(f"{_best(problem, best, 'zero-shot', 'zero-shot accuracy')}.")
    final = "calibrated H" if any("calibrated H" in case.row.figures for case in problem.cases) else "H"
    winner = problem.ranked(final)[0]
    if final in winner.row.figures:
        words.append(f"With seen classes among the candidates {_best(problem, winner, final, final)}.")
    words.append(_chosen(problem))
    words += _calibration(problem)
    if len(problem.cases) > 1:
        words.append(
            "The highest was picked from these test figures, for display; settings were chosen before, without them."
            if any(case.first.tune.scoring for case in problem.cases)
            else "The highest was picked from these test figures, for display."
        )
    words.append(_comparable(problem))
    return " ".join(words)


def _best(problem: Problem, case: Case, figure: str, word: str) -> str:
    text = table_formats.cell(case.row.figures.get(figure), " ± ")
    rivals = [one for one in problem.cases if figure in one.row.figures]
    if len(rivals) == 1:
        return f"{case.name} has {word} {text} %"
    best = [one.name for one in rivals if one.row.figures[figure].best]
    if best == [case.name]:
        return f"the best {word} is {text} %, by {case.name}"
    highest = f"the highest {word} is {text} %, by {case.name}"
    if best:
        return f"{highest}, not clearly above {', '.join(name for name in best if name != case.name)}"
    if all(one.row.figures[figure].low is not None for one in rivals):
        return f"{highest}, not clearly above any other"
    return f"{highest}, from records that do not say how certain that is"


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
    if not both:
        return []
    gains = sorted(((case.mean("calibrated H") - case.mean("H"), case.name) for case in both), key=lambda pair: pair[0])
    top = max(both, key=lambda case: case.mean("calibrated H"))
    said = f"Calibration takes H of {top.name} from {top.mean('H'):.1f} to {top.mean('calibrated H'):.1f} %"
    if len(both) > 1:
        (least, loser), (most, winner) = gains[0], gains[-1]
        said += (
            f"; over {len(both)} methods its effect goes from {_points(least)} ({loser}) to {_points(most)} ({winner}),"
        )
        said += f" {_points(statistics.mean(gain for gain, _ in gains))} points on average"
    return [said + "."]


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
