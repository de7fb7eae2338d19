"""Validation and test accuracy against one setting (Figure 3 of the paper, columns 1 to 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from zskl.experiments.compare import Comparison, Figure, Row
from zskl.paper.curve_records import SensitivityRecord
from zskl.paper.results import Output, Results
from zskl.plots import drawing
from zskl.plots import sensitivity as plot

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
    read = plot.read(found, setting)
    sides = (read.validation, read.validation_deviation, read.test, read.test_deviation)
    return [
        Point(value, _figure(mine, apart), _figure(tested, spread), diverged)
        for value, mine, apart, tested, spread, diverged in zip(
            read.values, *(side.tolist() for side in sides), read.diverged, strict=True
        )
    ]


def _figure(mean: float, deviation: float) -> Figure | None:
    """In per cent; nothing where nothing is known."""
    return None if isnan(mean) else Figure(100 * mean, None if isnan(deviation) else 100 * deviation)


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
            heading = f"{method}: {plot.LETTERS[setting]} varied"
            drawn.append((heading, plot.display_of(found, setting)))
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
        made.append(Output("sensitivity", name, title, table, {name: drawing.panels(title, drawn)}))
    return made
