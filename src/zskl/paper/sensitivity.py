"""Validation and test accuracy against one setting (Figure 3 of the paper, columns 1 to 3)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from zskl.experiments.compare import Comparison, Figure, Row
from zskl.paper.curve_records import SensitivityRecord
from zskl.paper.pictures import panels
from zskl.paper.results import Output, Problem, Results, over_seeds
from zskl.report.lines import Axis, Series, line_chart

LETTERS = {"sigma": "σ", "bias": "c", "repulsion": "λ"}
NOTE = (
    "All other settings are those that validation chose for the lowest seed. Shades: one standard deviation, of "
    "validation over folds, of test over seeds. The ring is at the chosen value. Test accuracies were computed after "
    "all choices and decided none."
)


@dataclass(frozen=True)
class Point:
    """A value with its accuracies in per cent: of validation the deviation is over folds, of test over seeds.

    None where training diverged from every seed.
    """

    value: float
    validation: Figure | None
    test: Figure | None
    diverged: int = 0  # seeds


def points(found: Sequence[SensitivityRecord], setting: str) -> list[Point]:
    """One for each value, over the records of all seeds."""
    made = []
    for place, value in enumerate(found[0].curves[setting].values):
        curves = [record.curves[setting] for record in found]
        folds = [fold for curve in curves if (fold := curve.validation[place]) is not None]
        tested = [100 * right for curve in curves if (right := curve.test[place]) is not None]
        means = [100 * statistics.mean(fold) for fold in zip(*folds, strict=True)]  # of each fold over seeds
        made.append(Point(value, over_seeds(means), over_seeds(tested), len(found) - len(tested)))
    return made


def outputs(results: Results) -> list[Output]:
    """For each dataset and method a figure of two panels."""
    made = []
    for (problem, method), found in results.curves.items():
        rows, drawn = [], []
        for setting in found[0].curves:
            curve = points(found, setting)
            for point in curve:
                pairs = {"validation": point.validation, "test": point.test}
                figures = {name: figure for name, figure in pairs.items() if figure is not None}
                rows.append(Row({"setting": setting, "value": f"{point.value:g}"}, len(found), figures))
            drawn.append((f"{method}: {LETTERS[setting]} varied", _drawn(problem, method, found, setting, curve)))
        title = f"Sensitivity of {method} on {problem.name}"
        notes = [
            f"{len(found)} seed(s). {NOTE}",
            f"Chosen: {', '.join(f'{name} {value}' for name, value in found[0].setting.items())}.",
        ]
        gone = sum(point.diverged for setting in found[0].curves for point in points(found, setting))
        if gone:
            notes.append(f"Training diverged in {gone} case(s), which are left out of the means.")
        table = Comparison(("setting", "value"), ("validation", "test"), tuple(rows), tuple(notes))
        name = f"sensitivity-{method}-{problem.stem}"
        made.append(Output("sensitivity", name, title, table, {name: panels(title, drawn)}))
    return made


def _drawn(
    problem: Problem, method: str, found: Sequence[SensitivityRecord], setting: str, curve: Sequence[Point]
) -> str:
    least = min(point.value for point in curve if point.value > 0)

    def at(value: float) -> float:
        return math.log10(value) if value > 0 else math.log10(least) - 0.5  # 0 stands half a decade before the others

    chosen = found[0].chosen(setting)
    series, best = [], []
    for rank, side in enumerate(("validation", "test")):
        known = [(at(point.value), figure) for point in curve if (figure := getattr(point, side)) is not None]
        if not known:
            continue
        top = max((point for point in curve if getattr(point, side)), key=lambda point: getattr(point, side).mean)
        best.append(f"{side} is highest at {top.value:g} with {getattr(top, side).mean:.1f} %")
        spread = [(x, f.mean - f.deviation, f.mean + f.deviation) for x, f in known if f.deviation is not None]
        marks = [("hollow", (x, f.mean)) for x, f in known if x == at(chosen)]
        dots = [("dot", (x, f.mean)) for x, f in known]
        series.append(Series(side, [(x, f.mean) for x, f in known], rank, [*dots, *marks], band=spread))
    said = "; ".join(best)
    letter = LETTERS[setting]
    across = Axis(f"{letter} ({setting}), logarithmic", at(curve[0].value), at(curve[-1].value), ticks(curve))
    title = f"Accuracy of {method} against {letter} on {problem.name}"
    return line_chart(title, said, series, across, Axis("mean per-class accuracy (%)"))


def ticks(curve: Sequence[Point]) -> list[tuple[float, str]]:
    """Powers of ten, with 2 and 5 times these where the range is short; and 0 where it was tried."""
    low, high = min(p.value for p in curve if p.value > 0), curve[-1].value
    decades = math.log10(high / low)
    times = (1, 2, 5) if decades < 2.2 else (1, 3) if decades < 4.2 else (1,)
    values = [t * 10.0**k for k in range(-6, 7) for t in times]
    found = [(math.log10(v), f"{v:g}") for v in values if low * 0.999 <= v <= high * 1.001]
    return ([(math.log10(low) - 0.5, "0")] if curve[0].value == 0 else []) + found
