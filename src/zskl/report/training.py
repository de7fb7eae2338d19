"""Figures of the trained projection: the course of its objective and WᵀW."""

from __future__ import annotations

from zskl.plots import ConvergenceDisplay, GramDisplay, convergence, gram
from zskl.report.contents import Figure, figure
from zskl.report.groups import Case, Problem


def courses(problem: Problem) -> list[Figure]:
    """Each method's objective is its own: only the course of a line means something, not its height."""
    cases = problem.with_field(convergence.read, "zero-shot")
    if not cases:
        return []
    first = [case.first for case in cases]
    names = [case.name for case in cases]
    several = len(cases) > 1  # objectives are on different scales: in one frame most lines would lie flat
    ranks = [case.rank for case in cases]
    display = ConvergenceDisplay.from_records(first, names=names, ranks=ranks, relative=several)
    title = f"Convergence on {problem.name}"
    note = "Means over blocks of iterations, first seed; pale: the blocks, strong: their running mean."
    if several:
        note += (
            " Each line goes from its highest value (100) to its lowest (0), because objectives of different methods "
            "are on different scales: a line tells how soon it comes to rest. The numbers themselves are in the CSV."
        )
    rows = [
        [case.name, case.first.seed, int(step), float(value)]
        for case, steps, values in zip(cases, display.steps, display.values, strict=True)
        for step, value in zip(steps, values, strict=True)
    ]
    columns = ["method", "seed", "iteration", "objective"]
    return [figure(f"convergence-{problem.address}", title, display, note, columns, rows, first)]


def grams(problem: Problem, case: Case) -> list[Figure]:
    """Cosines between the first columns of W."""
    if gram.read(case.first) is None:
        return []
    display = GramDisplay.from_records([case.first])
    title = f"Gram matrix of {case.name} on {problem.name}"
    note = f"{display.description}. Blue is positive, orange negative. Seed {case.first.seed}."
    size, names = range(len(display.gram)), display.columns
    rows = [[names[i], names[j], float(display.gram[i, j])] for i in size for j in size]
    name = f"gram-{problem.place(case)}"
    return [figure(name, title, display, note, ["row", "column", "value"], rows, [case.first])]
