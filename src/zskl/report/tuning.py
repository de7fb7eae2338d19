"""What validation chose, and the grid that it chose from as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zskl.experiments.record_parts import Setting, Tried
from zskl.report.commands import run_commands
from zskl.report.groups import Problem
from zskl.report.matrix import matrix
from zskl.report.pieces import Cell, Figure, Table

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
                        Cell("") if constant is None else Cell(f"{constant:.4g}", constant),
                        Cell(spoken(choice.setting)),
                    ]
                )
    if not rows:
        return []
    columns = ["method", "seed", "chosen by", "mean (%)", "folds (%)", "constant", "settings"]
    note = (
        "Scores are of held-out training classes, never of test rows; constant: subtracted from scores of seen classes."
    )
    return [Table(f"choices-{problem.address}", "What validation chose", columns, rows, note)]


def grids(problem: Problem) -> list[Figure]:
    """Of the case with the highest zero-shot accuracy that holds its grid's scores, for each scoring that chose."""
    for case in problem.ranked("zero-shot"):
        table, chosen = case.first.tune.table, dict(case.first.tune.choices.items())
        if table is not None and table.rows and table.names:
            made = []
            for place, (scoring, word) in enumerate(SCORINGS.items()):
                face = _face(table, place, chosen[scoring].setting) if scoring in chosen else None
                if face is None:
                    continue
                title = f"Validation grid on {problem.name}, {word}"
                command = "\n".join(run_commands([case.first]))
                note = (
                    f"Mean over folds in per cent, the best over all other settings; framed: the chosen one. Method "
                    f"{case.name}, seed {case.first.seed}."
                )
                rows = [[*row[: len(table.names)], row[len(table.names) + place]] for row in table.rows]
                name = f"grid-{scoring}-{problem.address}"
                svg = face.draw(title)
                made.append(Figure(name, title, svg, note, [*table.names, word], rows, command))
            return made
    return []


def spoken(setting: Setting) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in setting.items())


@dataclass(frozen=True)
class _Face:
    """A grid seen from the side of two settings: the best score over all others."""

    names: tuple[str, str]
    rows: Sequence[Any]
    columns: Sequence[Any]
    cells: Sequence[Sequence[float | None]]
    chosen: tuple[int, int] | None

    def draw(self, title: str) -> str:
        known = [value for row in self.cells for value in row if value is not None]
        low, high = min(known), max(known)
        said = f"From {low:.1f} to {high:.1f} % over {' and '.join(name for name in self.names if name)}"
        rows, columns = [_value(one) for one in self.rows], [_value(one) for one in self.columns]
        span = (low - (high - low) * 0.1, high)
        return matrix(title, said, self.cells, rows, columns, self.names, span, chosen=self.chosen)


def _face(table: Tried, place: int, setting: Setting) -> _Face | None:
    names: list[str] = list(table.names)
    rows: Sequence[Sequence[Any]] = table.rows
    score = len(names) + place
    spreads = {}
    for k, name in enumerate(names):
        values = {row[k] for row in rows if _numeric(row[k])}
        if len(values) > 1 and all(_numeric(row[k]) for row in rows):
            best = [
                b for b in (_best(row[score] for row in rows if row[k] == value) for value in values) if b is not None
            ]
            spreads[name] = max(best) - min(best) if best else 0.0
    if not spreads or all(row[score] is None for row in rows):
        return None
    two = sorted(spreads, key=lambda name: -spreads[name])[:2]
    across, up = names.index(two[0]), names.index(two[1]) if len(two) > 1 else None
    columns = sorted({row[across] for row in rows})
    sides = [None] if up is None else sorted({row[up] for row in rows})
    cells = [
        [_best(row[score] for row in rows if row[across] == x and (up is None or row[up] == y)) for x in columns]
        for y in sides
    ]
    chosen = None
    if setting and setting.get(two[0]) in columns and (up is None or setting.get(two[1]) in sides):
        chosen = (0 if up is None else sides.index(setting[two[1]]), columns.index(setting[two[0]]))
    return _Face(("" if up is None else two[1], two[0]), sides, columns, cells, chosen)


def _best(scores: Any) -> float | None:
    known = [100 * score for score in scores if score is not None]
    return max(known) if known else None


def _numeric(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(value: Any) -> str:
    return "" if value is None else f"{value:g}" if _numeric(value) else str(value)
