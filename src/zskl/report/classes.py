"""Figures of single unseen classes: accuracy, what they are mistaken for, which attributes their rows show."""

from __future__ import annotations

from zskl.plots import ClassAccuracyDisplay, ConfusionDisplay, class_accuracy, confusion
from zskl.report.contents import Cell, Figure, Table, figure
from zskl.report.groups import Case, Problem


def shown(problem: Problem) -> Case:
    """The case whose classes are looked at: that of the highest zero-shot accuracy."""
    return problem.ranked("zero-shot")[0]


def accuracies(problem: Problem) -> list[Figure]:
    """Zero-shot accuracy of each unseen class, worst first, mean over seeds."""
    case = shown(problem)
    records = [record for record in case.records if class_accuracy.read(record)]
    if not records:
        return []
    display = ClassAccuracyDisplay.from_records(records)
    title = f"Zero-shot accuracy of each unseen class of {problem.name}"
    seeds, chance = len(case.records), 100 * display.chance
    note = f"Method {case.name}, mean over {seeds} seed(s), worst first; dashed: chance, {chance:.1f} %."
    rows = list(display.accuracy.items())
    return [figure(f"classes-{problem.address}", title, display, note, ["class", "accuracy"], rows, case.records)]


def confusions(problem: Problem) -> list[Figure]:
    """Unseen classes and their wrong answers: a matrix of few classes, the largest shares of many."""
    case = shown(problem)
    if confusion.read(case.first) is None:
        return []
    display = ConfusionDisplay.from_records([case.first])
    title = f"Confusion between unseen classes of {problem.name}"
    if display.whole:
        note = "Share of the rows of a class (row) that got an answer (column), in per cent"
    else:
        drawn = min(confusion.PAIRS, len(display.pairs))
        note = f"True class → answer: the {drawn} largest shares of rows that got one wrong answer"
    note += f". Method {case.name}, zero-shot protocol, seed {case.first.seed}."
    right = class_accuracy.read(case.first) or {}
    rows = [*display.pairs, *((name, name, value) for name, value in right.items())]
    columns = ["true class", "answer", "share"]
    return [figure(f"confusion-{problem.address}", title, display, note, columns, rows, [case.first])]


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
