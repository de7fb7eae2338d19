"""Figures of the trained projection: the course of its objective and WᵀW."""

from __future__ import annotations

from zskl.plots import ConvergenceDisplay, GramDisplay, convergence, gram
from zskl.report.contents import Figure, figure
from zskl.report.groups import Problem

GRAMS = 2  # drawn of a problem, so that two methods can be compared


def courses(problem: Problem) -> list[Figure]:
    """Each method's objective is its own: only the course of a line means something, not its height."""
    cases = problem.with_field(convergence.read, "zero-shot")
    if not cases:
        return []
    first = [case.first for case in cases]
    names = [case.name for case in cases]
    display = ConvergenceDisplay.from_records(first, names=names, ranks=[case.rank for case in cases])
    title = f"Convergence on {problem.name}"
    note = "Means over blocks of iterations, first seed; objectives of different methods are on different scales."
    rows = [
        [case.name, case.first.seed, int(step), float(value)]
        for case, steps, values in zip(cases, display.steps, display.values, strict=True)
        for step, value in zip(steps, values, strict=True)
    ]
    columns = ["method", "seed", "iteration", "objective"]
    return [figure(f"convergence-{problem.address}", title, display, note, columns, rows, first)]


def grams(problem: Problem) -> list[Figure]:
    """Cosines between the first columns of W."""
    made = []
    for number, case in enumerate(problem.with_field(gram.read, "zero-shot")[:GRAMS], start=1):
        display = GramDisplay.from_records([case.first])
        title = f"Gram matrix of {case.name} on {problem.name}"
        note = f"{display.description}. Blue is positive, orange negative. Seed {case.first.seed}."
        size = range(len(display.gram))
        rows = [[i + 1, j + 1, float(display.gram[i, j])] for i in size for j in size]
        name = f"gram-{number}-{problem.address}"
        made.append(figure(name, title, display, note, ["row", "column", "value"], rows, [case.first]))
    return made
