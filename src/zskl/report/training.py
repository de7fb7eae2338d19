"""Figures of the trained projection: the course of its objective and WᵀW."""

from __future__ import annotations

from zskl.report.commands import run_commands
from zskl.report.groups import Problem
from zskl.report.lines import Axis, Series, line_chart
from zskl.report.matrix import matrix
from zskl.report.pieces import Figure

GRAMS = 2  # drawn of a problem, so that two methods can be compared


def convergence(problem: Problem) -> list[Figure]:
    """Each method's objective is its own: only the course of a line means something, not its height."""
    cases = problem.with_field(lambda record: record.convergence, "zero-shot")
    if not cases:
        return []
    courses = [(case, course) for case in cases if (course := case.first.convergence) is not None]
    series = [
        Series(case.name, list(zip(map(float, course.step), course.objective, strict=True)), case.rank)
        for case, course in courses
    ]
    title = f"Convergence on {problem.name}"
    said = "; ".join(
        f"{case.name} from {course.objective[0]:.3g} to {course.objective[-1]:.3g} in {course.step[-1]} steps"
        for case, course in courses
    )
    svg = line_chart(title, said, series, Axis("iterations", 0), Axis("objective of mini-batches"))
    note = "Means over blocks of iterations, first seed; objectives of different methods are on different scales."
    rows = [
        [case.name, case.first.seed, step, value]
        for case, course in courses
        for step, value in zip(course.step, course.objective, strict=True)
    ]
    columns = ["method", "seed", "iteration", "objective"]
    command = "\n".join(run_commands([case.first for case in cases]))
    return [Figure(f"convergence-{problem.address}", title, svg, note, columns, rows, command)]


def grams(problem: Problem) -> list[Figure]:
    """Cosines between the first columns of W."""
    made = []
    for number, case in enumerate(problem.with_field(lambda record: record.gram, "zero-shot")[:GRAMS], start=1):
        cells = case.first.gram or ()
        names = [str(k + 1) for k in range(len(cells))]
        off = [abs(value) for i, row in enumerate(cells) for j, value in enumerate(row) if i != j]
        title = f"Gram matrix of {case.name} on {problem.name}"
        said = f"Cosines between columns of W; off the diagonal {max(off, default=0):.2f} at most, and "
        said += f"{sum(off) / max(1, len(off)):.2f} on average, in size"
        svg = matrix(title, said, cells, names, names, ("column of W", "column of W"), (0.0, 1.0), digits=2)
        note = f"{said}. Blue is positive, orange negative. Seed {case.first.seed}."
        rows = [[i + 1, j + 1, value] for i, row in enumerate(cells) for j, value in enumerate(row)]
        command = "\n".join(run_commands([case.first]))
        name = f"gram-{number}-{problem.address}"
        made.append(Figure(name, title, svg, note, ["row", "column", "value"], rows, command))
    return made
