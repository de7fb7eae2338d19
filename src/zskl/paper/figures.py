"""The figures of the evaluation, each with the table of its numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan

from zskl._validation import count_noun
from zskl.experiments.compare import Comparison, Row
from zskl.experiments.uncertainty import Figure
from zskl.paper.results import PAIRS, ConvergenceRecord, Output, Problem, Results, SensitivityRecord, mean_over_runs
from zskl.plots import ComparisonDisplay, ConvergenceDisplay, GramDisplay
from zskl.plots import sensitivity as plot
from zskl.plots._base import Drawing, draw_panels
from zskl.plots.comparison import read_columns
from zskl.plots.gram import AXIS


def accuracy_chart(problem: Problem, table: Comparison) -> Drawing | None:
    printed = [name for name in table.figures if "published" in name and "zero-shot" in name]
    title = f"Zero-shot accuracy on {problem.name}"
    axis = "mean per-class accuracy (%)"
    if not printed:
        return dot_chart(title, table, ("zero-shot",), axis)
    return dot_chart(title, table, (*printed, "zero-shot"), axis, marks=("ring", "dot"), ranks=(1, 0))


def dot_chart(
    title: str,
    table: Comparison,
    columns: Sequence[str],
    axis: str,
    marks: Sequence[str] | None = None,
    ranks: Sequence[int] | None = None,
) -> Drawing | None:
    rows = [row for row in table.rows if any(name in row.figures for name in columns)]
    if not rows:
        return None
    methods, means, whiskers = read_columns(rows, columns)
    display = ComparisonDisplay(methods, means, names=columns, whiskers=whiskers, axis=axis, marks=marks, ranks=ranks)
    return draw_panels(title, [(title, display)])


# Validation and test accuracy against one setting (Figure 3 of the paper, columns 1 to 3)

NOTE = (
    "All other settings are those that validation chose for the lowest seed. Shades: one standard deviation, of "
    "validation over folds, of test over seeds. The ring is at the chosen value. Test accuracies were computed after "
    "all choices and decided none."
)


@dataclass(frozen=True)
class Point:
    """In per cent: the deviation of validation is over folds, of test over seeds; None where every seed diverged."""

    value: float
    validation: Figure | None
    test: Figure | None
    diverged: int = 0  # seeds


def curve_points(found: Sequence[SensitivityRecord], setting: str) -> list[Point]:
    read = plot.read_sensitivity(found, setting)
    figures = []
    for side in ("validation", "test"):
        pairs = (100 * read[[side, f"{side}_deviation"]].to_numpy(float)).tolist()
        figures.append([None if isnan(one) else Figure(one, None if isnan(apart) else apart) for one, apart in pairs])
    return list(map(Point, read.index.tolist(), *figures, read["diverged"].tolist()))


def sensitivity_figures(results: Results) -> Iterator[Output]:
    for (problem, method), found in results.curves.items():
        rows, drawn, gone = [], [], 0
        for setting in found[0].curves:
            curve = curve_points(found, setting)
            gone += sum(point.diverged for point in curve)
            for point in curve:
                pairs = {"validation": point.validation, "test": point.test}
                figures = {name: figure for name, figure in pairs.items() if figure is not None}
                rows.append(Row({"setting": setting, "value": f"{point.value:g}"}, len(found), figures))
            heading = f"{method}: {plot.LETTERS[setting]} varied"
            drawn.append((heading, plot.SensitivityDisplay._read(found, setting)))
        title = f"Sensitivity of {method} on {problem.name}"
        notes = [
            f"{count_noun(len(found), 'seed')}. {NOTE}",
            f"Chosen: {', '.join(f'{name} {value}' for name, value in found[0].setting.items())}.",
        ]
        if gone:
            notes.append(f"Training diverged in {count_noun(gone, 'case')}, left out of the means.")
        table = Comparison(("setting", "value"), ("validation", "test"), tuple(rows), tuple(notes))
        name = f"sensitivity-{method}-{problem.stem}"
        yield Output("sensitivity", name, title, table, {name: draw_panels(title, drawn)})


# Objective and accuracy against iterations (Figure 3 of the paper, column 4)

PHASES = {"validation": ("training rows", "validation rows"), "test": ("all training rows", "test rows")}
SIDES = ("training", "held out")
QUANTITIES = {"objective": "objective (mean over rows)", "accuracy": "mean per-class accuracy (%)"}


def convergence_figures(results: Results) -> Iterator[Output]:
    for (problem, method), found in results.courses.items():
        title = f"Convergence of {method} on {problem.name}"
        rows, drawn = [], []
        for phase, names in PHASES.items():
            figures = {(q, side): mean_course(found, phase, q, side) for q in QUANTITIES for side in SIDES}
            steps = found[0].phases[phase].step
            for place, step in enumerate(steps):
                cells = {f"{q}, {side}": figures[q, side][place] for q in QUANTITIES for side in SIDES}
                rows.append(Row({"run": " and ".join(names), "iteration": str(step)}, len(found), cells))
            for quantity, axis in QUANTITIES.items():
                sides = [figures[quantity, side] for side in SIDES]
                means = [[one.mean for one in side] for side in sides]
                apart = [[nan if one.deviation is None else one.deviation for one in side] for side in sides]
                display = ConvergenceDisplay([steps] * 2, means, names=names, deviations=apart, quantity=axis)
                drawn.append((f"{quantity}: {names[0]} and {names[1]}".capitalize(), display))
        kept = found[0].setting.get("epochs")
        notes = (
            f"{count_noun(len(found), 'seed')}. Each side among its own classes, so the heights of the two lines of a "
            "panel are of different numbers of classes; validation rows are those of the first fold. Shades: one "
            "standard deviation over seeds.",
            f"Settings as chosen by validation, which stopped at epoch {kept} of the {found[0].epochs} shown.",
        )
        columns = tuple(f"{quantity}, {side}" for quantity in QUANTITIES for side in SIDES)
        table = Comparison(("run", "iteration"), columns, tuple(rows), notes)
        name = f"convergence-{method}-{problem.stem}"
        yield Output("convergence", name, title, table, {name: draw_panels(title, drawn)})


def mean_course(found: Sequence[ConvergenceRecord], phase: str, quantity: str, side: str) -> list[Figure]:
    factor, digits = (100.0, 1) if quantity == "accuracy" else (1.0, 4)
    phases = [record.phases[phase] for record in found]
    lines = [(one.accuracy if quantity == "accuracy" else one.objective)[side] for one in phases]
    made = (mean_over_runs([factor * value for value in values], digits) for values in zip(*lines, strict=True))
    return [figure for figure in made if figure is not None]


def gram_figures(results: Results) -> Iterator[Output]:
    """WᵀW, columns of unit length, without and with incoherence, from the lowest seed that holds them."""
    for problem in results.measured:
        for pair in PAIRS:
            runs = {method: results.runs.get((problem, method), ()) for method in pair}
            holding = {method: [(one.seed, one.gram) for one in mine if one.gram] for method, mine in runs.items()}
            found = {method: mine[0] for method, mine in holding.items() if mine}
            if not found:
                continue
            title = f"WᵀW of the {pair[0].capitalize()} kernel on {problem.name}"
            displays = {method: GramDisplay(cells) for method, (_, cells) in found.items()}
            drawn = [
                (f"{method}: {display.mean_off_diagonal:.2f} on average off the diagonal", display)
                for method, display in displays.items()
            ]
            rows, seeds = [], sorted({seed for seed, _ in found.values()})
            for method, (_, cells) in found.items():
                for place, row in enumerate(cells, start=1):
                    figures = {str(k): Figure(value, digits=2) for k, value in enumerate(row, start=1)}
                    rows.append(Row({"method": method, AXIS: str(place)}, 1, figures))
            columns = tuple(str(k) for k in range(1, 1 + max(len(cells) for _, cells in found.values())))
            note = (
                f"Cosines between the first columns of W; seed {' and '.join(map(str, seeds))}. Blue is positive, "
                "orange negative, deeper is larger."
            )
            table = Comparison(("method", AXIS), columns, tuple(rows), (note,))
            name = f"gram-{pair[0]}-{problem.stem}"
            yield Output("gram", name, title, table, {name: draw_panels(title, drawn)})
