"""Figures of single unseen classes: accuracy, what they are mistaken for, which attributes their rows show."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from zskl.report.bars import Bar, bar_chart
from zskl.report.commands import run_commands
from zskl.report.groups import Case, Problem
from zskl.report.matrix import matrix
from zskl.report.pieces import Cell, Figure, Table

MOST = 20  # bars; of more classes the worst and the best halves of that
SQUARE = 12  # classes that a whole matrix is drawn of
NAME = 24  # letters of a class in a pair
PAIRS = 15  # confusions listed otherwise


def shown(problem: Problem) -> Case:
    """The case whose classes are looked at: that of the highest zero-shot accuracy."""
    return problem.ranked("zero-shot")[0]


def accuracies(problem: Problem) -> list[Figure]:
    """Zero-shot accuracy of each unseen class, worst first, mean over seeds."""
    case = shown(problem)
    found: dict[str, list[float]] = {}
    for record in case.records:
        for name, value in record.zsl.per_class.items():
            found.setdefault(name, []).append(100 * value)
    if not found:
        return []
    means = sorted(((statistics.mean(values), name) for name, values in found.items()), key=lambda pair: pair[0])
    bars = [Bar(name, value) for value, name in means]
    half = MOST // 2
    if len(bars) > MOST:
        bars = [*bars[:half], Bar(f"… {len(bars) - MOST} classes between …", None), *bars[-half:]]
    title = f"Zero-shot accuracy of each unseen class of {problem.name}"
    chance = 100 / (len(found) + len(case.first.zsl.left_out))
    (low, worst), (high, best) = means[0], means[-1]
    said = f"{len(means)} classes, from {low:.1f} % ({worst}) to {high:.1f} % ({best}); chance is {chance:.1f} %"
    svg = bar_chart(title, said, bars, "accuracy (%)", chance)
    note = f"Method {case.name}, mean over {len(case.records)} seed(s), worst first; dashed: chance, {chance:.1f} %."
    rows = [[name, value / 100] for value, name in means]
    command = "\n".join(run_commands(case.records))
    return [Figure(f"classes-{problem.address}", title, svg, note, ["class", "accuracy"], rows, command)]


def confusions(problem: Problem) -> list[Figure]:
    """Unseen classes and their wrong answers: a matrix of few classes, the largest shares of many."""
    case = shown(problem)
    mistaken, right = case.first.zsl.mistaken, case.first.zsl.per_class
    if not mistaken:
        return []
    pairs = [(share, true, answer) for true, wrong in mistaken.items() for answer, share in wrong]
    pairs.sort(key=lambda pair: -pair[0])
    title = f"Confusion between unseen classes of {problem.name}"
    said = "; ".join(f"{true} taken for {answer}: {100 * share:.1f} %" for share, true, answer in pairs[:5]) or "none"
    if len(mistaken) <= SQUARE:
        svg = _square(title, said, list(mistaken), {(true, answer): share for share, true, answer in pairs}, right)
        note = "Share of the rows of a class (row) that got an answer (column), in per cent"
    else:
        bars = [Bar(f"{_cut(true)} → {_cut(answer)}", 100 * share) for share, true, answer in pairs[:PAIRS]]
        svg = bar_chart(title, said, bars, "share of the class's rows (%)", above=True)
        note = f"True class → answer: the {len(bars)} largest shares of rows that got one wrong answer"
    note += f". Method {case.name}, zero-shot protocol, seed {case.first.seed}."
    rows = [[true, answer, share] for share, true, answer in pairs]
    rows += [[name, name, value] for name, value in right.items()]
    columns = ["true class", "answer", "share"]
    command = "\n".join(run_commands([case.first]))
    return [Figure(f"confusion-{problem.address}", title, svg, note, columns, rows, command)]


def _cut(name: str) -> str:
    return name if len(name) <= NAME else name[: NAME - 1] + "…"


def _square(
    title: str, said: str, names: list[str], shares: dict[tuple[str, str], float], right: Mapping[str, float]
) -> str:
    most = 1 + max((sum(true == name for true, _ in shares) for name in names), default=0)
    complete = len(names) <= most or len(names) <= 4  # at most three wrong answers are recorded

    def cell(true: str, answer: str) -> float | None:
        share = right.get(true) if true == answer else shares.get((true, answer), 0.0 if complete else None)
        return None if share is None else 100 * share

    cells = [[cell(true, answer) for answer in names] for true in names]
    return matrix(title, said, cells, names, names, ("true class", "answer"), (0.0, 100.0))


def attributes(problem: Problem) -> list[Table]:
    """The attributes that rows of an unseen class show most, after the projection."""
    for case in problem.ranked("zero-shot"):
        found = case.first.attributes
        if found:
            rows = [
                [Cell(name), Cell(", ".join(f"{one} {share:.2f}" for one, share in nearest))]
                for name, nearest in found.items()
            ]
            note = (
                "The largest entries of the mean of Wᵀx over the test rows of a class, as shares of its length. Of "
                f"method {case.name}, seed {case.first.seed}."
            )
            title, columns = "Nearest attributes of each unseen class", ["class", "attributes"]
            return [Table(f"attributes-{problem.address}", title, columns, rows, note)]
    return []
