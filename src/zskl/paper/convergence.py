"""Objective and accuracy against iterations (Figure 3 of the paper, column 4)."""

from __future__ import annotations

from collections.abc import Sequence

from zskl.experiments.compare import Comparison, Figure, Row
from zskl.paper.curve_records import ConvergenceRecord
from zskl.paper.pictures import panels
from zskl.paper.results import Output, Results, over_seeds
from zskl.report.lines import Axis, Series, line_chart

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
                lines = [
                    _line(name, rank, steps, figures[quantity, side])
                    for rank, (name, side) in enumerate(zip(names, SIDES, strict=True))
                ]
                said = "; ".join(f"{one.name} from {one.points[0][1]:.3g} to {one.points[-1][1]:.3g}" for one in lines)
                svg = line_chart(f"{title}, {heading}", said, lines, Axis("iterations", 0), Axis(axis))
                drawn.append((heading.capitalize(), svg))
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
        made.append(Output("convergence", name, title, table, {name: panels(title, drawn)}))
    return made


def course(found: Sequence[ConvergenceRecord], phase: str, quantity: str, side: str) -> list[Figure]:
    """Mean and deviation over seeds after each look; accuracies in per cent."""
    factor, digits = (100.0, 1) if quantity == "accuracy" else (1.0, 4)
    phases = [record.phases[phase] for record in found]
    lines = [(one.accuracy if quantity == "accuracy" else one.objective)[side] for one in phases]
    made = (over_seeds([factor * value for value in values], digits) for values in zip(*lines, strict=True))
    return [figure for figure in made if figure is not None]


def _line(name: str, rank: int, steps: Sequence[int], figures: Sequence[Figure]) -> Series:
    pairs = list(zip(map(float, steps), figures, strict=True))
    band = [(x, f.mean - f.deviation, f.mean + f.deviation) for x, f in pairs if f.deviation is not None]
    return Series(name, [(x, f.mean) for x, f in pairs], rank, band=band)
