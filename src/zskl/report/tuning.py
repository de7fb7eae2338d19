"""What validation chose, and the grid that it chose from as a heat map."""

from __future__ import annotations

from zskl.experiments import choice_notes
from zskl.experiments.record_parts import Setting
from zskl.plots import ValidationGridDisplay, validation_grid
from zskl.report.contents import Cell, Figure, Table, figure
from zskl.report.groups import Case, Problem

SCORINGS = {"zsl": "zero-shot accuracy", "gzsl": "H at the best constant"}


def choices(problem: Problem) -> list[Table]:
    """A row per method, seed and scoring."""
    rows = []
    for case in problem.cases:
        for record in case.records:
            for scoring, choice in record.tune.choices.items():
                folds = [100 * score for score in choice.fold_scores]
                mean, constant = choice.score, choice.calibration
                rows.append(
                    [
                        Cell(case.name),
                        Cell(str(record.seed), record.seed),
                        Cell(SCORINGS[scoring]),
                        Cell("") if mean is None else Cell(f"{100 * mean:.1f}", 100 * mean),
                        Cell(" · ".join(f"{score:.1f}" for score in folds)),
                        Cell(choice_notes.spreads(choice)),
                        Cell("") if constant is None else Cell(f"{constant:.4g}", constant),
                        Cell(spoken(choice.setting)),
                        Cell(choice_notes.edges(choice)),
                    ]
                )
    if not rows:
        return []
    columns = [
        "method",
        "seed",
        "chosen by",
        "mean (%)",
        "folds (%)",
        "± over folds",
        "constant",
        "settings",
        "at an edge",
    ]
    note = (
        "Scores are of held-out training classes, never of test rows; constant: subtracted from scores of seen "
        "classes; at an edge: nothing beyond was tried."
    )
    records = [record for case in problem.cases for record in case.records]
    luck = choice_notes.over_folds(records)
    note += f" Figures that {luck}." if luck else ""
    return [Table(f"choices-{problem.address}", "What validation chose", columns, rows, note)]


def grids(problem: Problem, case: Case) -> list[Figure]:
    """For each scoring that chose, if the case holds its grid's scores."""
    table = case.first.tune.table
    if table is None or not table.rows or not table.names:
        return []
    made = []
    for place, (scoring, word) in enumerate(SCORINGS.items()):
        if validation_grid.read(case.first, scoring) is None:
            continue
        display = ValidationGridDisplay.from_records([case.first], scoring=scoring)
        title = f"Validation grid on {problem.name}, {word}"
        note = (
            f"Mean over folds in per cent, the best over all other settings; framed: the chosen one. Method "
            f"{case.name}, seed {case.first.seed}."
        )
        settings = len(table.names)
        rows = [[*row[:settings], row[settings + place]] for row in table.rows]
        columns = [*table.names, word]
        name = f"grid-{scoring}-{problem.place(case)}"
        made.append(figure(name, title, display, note, columns, rows, [case.first]))
    return made


def spoken(setting: Setting) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in setting.items())


def _value(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "" if value is None else f"{value:g}" if number else str(value)
