"""Figures of single classes, of one method: accuracy, what they are mistaken for, which attributes their rows show."""

from __future__ import annotations

from zskl.plots import ClassAccuracyDisplay, ConfusionDisplay, class_accuracy, confusion
from zskl.report import generalised_answers
from zskl.report.contents import Cell, Figure, Table, figure
from zskl.report.groups import Case, Problem


def accuracies(problem: Problem, case: Case) -> list[Figure]:
    """Zero-shot accuracy of each unseen class, worst first, mean over seeds."""
    records = [record for record in case.records if class_accuracy.read(record)]
    if not records:
        return []
    display = ClassAccuracyDisplay.from_records(records)
    title = f"Zero-shot accuracy of each unseen class of {problem.name}"
    seeds, chance = len(case.records), 100 * display.chance
    note = f"Method {case.name}, mean over {seeds} seed(s), worst first; dashed: chance, {chance:.1f} %."
    rows = list(display.accuracy.items())
    name = f"classes-{problem.place(case)}"
    return [figure(name, title, display, note, ["class", "accuracy"], rows, case.records)]


def confusions(problem: Problem, case: Case) -> list[Figure]:
    """Classes and their wrong answers in both protocols: a matrix of few classes, the largest shares of many."""
    made = []
    if confusion.read(case.first) is not None:
        display = ConfusionDisplay.from_records([case.first])
        title = f"Confusion between unseen classes of {problem.name}"
        told = f"Method {case.name}, zero-shot protocol, seed {case.first.seed}."
        right = class_accuracy.read(case.first) or {}
        made.append(_confusion(f"confusion-{problem.place(case)}", title, display, told, right, case))
    found = generalised_answers.read(case.first)
    if found is not None:
        display = ConfusionDisplay(found.shares, found.classes, found.answers).plot()
        title = f"Confusion among all classes of {problem.name}"
        chosen = "with" if case.first.gzsl_calibrated is not None else "without"
        told = f"Method {case.name}, generalised protocol {chosen} calibration, seed {case.first.seed}. ○: unseen."
        made.append(_confusion(f"confusion-all-{problem.place(case)}", title, display, told, found.right, case))
    return made


def _confusion(
    name: str, title: str, display: ConfusionDisplay, told: str, right: dict[str, float] | object, case: Case
) -> Figure:
    if display.whole:
        note = "Share of the rows of a class (row) that got an answer (column), in per cent"
    else:
        drawn = min(confusion.PAIRS, len(display.pairs))
        note = f"True class → answer: the {drawn} largest shares of rows that got one wrong answer"
    own = right.items() if isinstance(right, dict) else ()
    rows = [*display.pairs, *((one, one, value) for one, value in own)]
    return figure(name, title, display, f"{note}. {told}", ["true class", "answer", "share"], rows, [case.first])


def attributes(problem: Problem, case: Case) -> list[Table]:
    """The attributes that rows of an unseen class show most, after the projection."""
    found = case.first.attributes
    if not found:
        return []
    rows = [
        [Cell(name), Cell(", ".join(f"{one} {share:.2f}" for one, share in nearest))] for name, nearest in found.items()
    ]
    note = (
        "The largest entries of the mean of Wᵀx over the test rows of a class, as shares of its length. Of "
        f"method {case.name}, seed {case.first.seed}."
    )
    title, columns = "Nearest attributes of each unseen class", ["class", "attributes"]
    return [Table(f"attributes-{problem.place(case)}", title, columns, rows, note)]
