"""Objective and accuracy against iterations (Figure 3 of the paper, column 4)."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from zskl.experiments.compare import Comparison, Figure, Row
from zskl.paper.curve_records import ConvergenceRecord
from zskl.paper.results import Output, Results, over_seeds
from zskl.plots import ConvergenceDisplay, drawing

PHASES = {"validation": ("training rows", "validation rows"), "test": ("all training rows", "test rows")}
SIDES = ("training", "held out")
QUANTITIES = {"objective": "objective (mean over rows)", "accuracy": "mean per-class accuracy (%)"}


def outputs(results: Results) -> list[Output]:
    """For each dataset a figure of four panels."""
    made = []
    for (problem, method), found in results.courses.items():
        title = f"Convergence of {method} on {problem.name}"
        rows, drawn = [], []
        for phase, names in PHASES.items():
            figures = {(q, side): course(found, phase, q, side) for q in QUANTITIES for side in SIDES}
            steps = found[0].phases[phase].step
            for place, step in enumerate(steps):
                cells = {f"{q}, {side}": figures[q, side][place] for q in QUANTITIES for side in SIDES}
                rows.append(Row({"run": " and ".join(names), "iteration": str(step)}, len(found), cells))
            for quantity, axis in QUANTITIES.items():
                heading = f"{quantity}: {names[0]} and {names[1]}"
                sides = [figures[quantity, side] for side in SIDES]
                drawn.append((heading.capitalize(), _display(names, steps, sides, axis)))
        kept = found[0].setting.get("epochs")
        notes = (
            f"{len(found)} seed(s). Each side among its own classes, so the heights of the two lines of a panel are of "
            "different numbers of classes; validation rows are those of the first fold. Shades: one standard deviation "
            "over seeds.",
            f"Settings as chosen by validation, which stopped at epoch {kept} of the {found[0].epochs} shown.",
        )
        columns = tuple(f"{quantity}, {side}" for quantity in QUANTITIES for side in SIDES)
        table = Comparison(("run", "iteration"), columns, tuple(rows), notes)
        name = f"convergence-{method}-{problem.stem}"
        made.append(Output("convergence", name, title, table, {name: drawing.panels(title, drawn)}))
    return made


def course(found: Sequence[ConvergenceRecord], phase: str, quantity: str, side: str) -> list[Figure]:
    """Mean and deviation over seeds after each look; accuracies in per cent."""
    factor, digits = (100.0, 1) if quantity == "accuracy" else (1.0, 4)
    phases = [record.phases[phase] for record in found]
    lines = [(one.accuracy if quantity == "accuracy" else one.objective)[side] for one in phases]
    made = (over_seeds([factor * value for value in values], digits) for values in zip(*lines, strict=True))
    return [figure for figure in made if figure is not None]


def _display(
    names: Sequence[str], steps: Sequence[int], sides: Sequence[Sequence[Figure]], axis: str
) -> ConvergenceDisplay:
    means = [[figure.mean for figure in side] for side in sides]
    spreads = [[nan if figure.deviation is None else figure.deviation for figure in side] for side in sides]
    return ConvergenceDisplay([steps] * len(sides), means, names=names, deviations=spreads, quantity=axis)
