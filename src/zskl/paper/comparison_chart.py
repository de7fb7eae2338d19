"""Tables of accuracies as dots with intervals, a row for each method."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from zskl.experiments.compare import Comparison
from zskl.paper.results import Problem
from zskl.plots import ComparisonDisplay, drawing
from zskl.plots.comparison import reach
from zskl.plots.drawing import Drawing


def chart(problem: Problem, table: Comparison) -> Drawing | None:
    """Zero-shot accuracy, the published figures as rings where the table has them."""
    printed = [name for name in table.figures if "published" in name and "zero-shot" in name]
    title = f"Zero-shot accuracy on {problem.name}"
    axis = "mean per-class accuracy (%)"
    if not printed:
        return dots(title, table, ("zero-shot",), axis)
    return dots(title, table, (*printed, "zero-shot"), axis, marks=("ring", "dot"), ranks=(1, 0))


def dots(
    title: str,
    table: Comparison,
    columns: Sequence[str],
    axis: str,
    marks: Sequence[str] | None = None,
    ranks: Sequence[int] | None = None,
) -> Drawing | None:
    """Columns of a table; the whiskers are 95 % intervals."""
    rows = [row for row in table.rows if any(name in row.figures for name in columns)]
    if not rows:
        return None
    found = [[row.figures.get(name) for row in rows] for name in columns]
    means = [[nan if figure is None else figure.mean for figure in column] for column in found]
    methods = [row.labels["method"] for row in rows]
    display = ComparisonDisplay(
        methods, means, names=columns, whiskers=[reach(column) for column in found], axis=axis, marks=marks, ranks=ranks
    )
    return drawing.panels(title, [(title, display)])
