"""The tables of both protocols, times, and where figures come from."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from zskl.experiments import table_formats
from zskl.experiments.compare import Comparison, Row
from zskl.experiments.record import Record
from zskl.report.contents import Cell, Table
from zskl.report.groups import Problem

PROTOCOLS = {
    "zero-shot": ("Zero-shot: unseen classes alone", ("zero-shot",)),
    "generalised": ("Generalised: seen and unseen classes", ("unseen", "seen", "H", "calibrated H", "area")),
}
STAGES = ("search", "calibrate", "fit", "evaluate")


def protocols(table: Comparison) -> list[Table]:
    """Per cent, mean over seeds with its interval; the best of each dataset bold."""
    made = []
    for name, (title, wanted) in PROTOCOLS.items():
        figures = [figure for figure in wanted if figure in table.figures]
        if not figures:
            continue
        rows = [[*_labels(table, row), *(_figure(row, figure) for figure in figures)] for row in table.rows]
        part = Comparison(table.labels, tuple(figures), table.rows)
        columns = [*table.labels, "seeds", *(f"{figure} (%)" for figure in figures)]
        note = f"Mean per-class top-1 accuracy. {_meaning(part)}"
        if name == "generalised":
            note += " H: harmonic mean of seen and unseen; area: under the seen–unseen curve."
        made.append(Table(name, title, columns, rows, note, table_formats.comma_separated(part)))
    return [*made, *_given(table)]


def differences(table: Comparison) -> list[Table]:
    """Of each figure from the highest of its dataset, where records say how certain that is."""
    if not any(figure.low is not None for row in table.rows for figure in row.figures.values()):
        return []
    plain, _ = table.parted()
    rows = [[*_labels(plain, row), *(_figure(row, figure) for figure in plain.figures)] for row in plain.rows]
    columns = [*plain.labels, "seeds", *(f"{figure} (points)" for figure in plain.figures)]
    note = (
        "In brackets the 95 % interval of the difference, by the same draws of classes and rows for both methods. "
        "Where it includes 0, the two cannot be told apart on these data. Bold: as in the tables above."
    )
    title = "Difference from the highest figure"
    return [Table("differences", title, columns, rows, note, table_formats.comma_separated(plain))]


def _meaning(table: Comparison) -> str:
    """What stands behind a mean, and what is bold."""
    figures = [figure for row in table.rows for figure in row.figures.values()]
    if any(figure.low is not None for figure in figures):
        return (
            "In brackets the 95 % interval over draws of classes and of rows within them. Bold: the highest, and all "
            "that are not clearly lower; nothing where that is all of them."
        )
    return "± standard deviation over seeds. The records keep no answers of rows, so there are no intervals."


def _given(table: Comparison) -> list[Table]:
    """After examples or unlabelled rows, apart from the plain figures."""
    _, part = table.parted()
    if part is None:
        return []
    rows = [[*_labels(part, row), *(_figure(row, figure) for figure in part.figures)] for row in part.rows]
    columns = [*part.labels, "seeds", *(f"{figure} (%)" for figure in part.figures)]
    note = (
        "Not comparable with the tables above: the model was taught examples of each unseen class, which are not "
        "scored (shots), or adapted to the test rows without their labels, of unseen or of all classes (unlabelled). "
        "†: the model did not adapt, and its figure is that of the table above."
    )
    title = "After examples or unlabelled rows"
    return [Table("given", title, columns, rows, note, table_formats.comma_separated(part))]


def times(problems: Sequence[Problem]) -> Table:
    """Seconds of each stage, mean over seeds."""
    rows = []
    for problem in problems:
        for case in problem.cases:
            spent = [_mean([getattr(record.seconds, stage) for record in case.records]) for stage in STAGES]
            total = sum(value for value in spent if value is not None)
            device = {record.device for record in case.records}
            numbers = [Cell("") if value is None else Cell(f"{value:.1f}", value) for value in (*spent, total)]
            rows.append([Cell(problem.name), Cell(case.name), Cell(", ".join(sorted(device))), *numbers])
    columns = ["dataset", "method", "device", *(f"{stage} (s)" for stage in STAGES), "in all (s)"]
    return Table("times", "Seconds, mean over seeds", columns, rows, "Of whatever machines the records were made on.")


def sources(problems: Sequence[Problem]) -> Table:
    """What data, how many rows, which seeds and versions."""
    rows = []
    for problem in problems:
        mine = [record for case in problem.cases for record in case.records]
        counts = mine[0].rows
        parts = [f"{counts[name]} {name}" for name in ("trainval", "test_seen", "test_unseen") if name in counts]
        finished = sorted(record.finished for record in mine if record.finished)
        rows.append(
            [
                Cell(problem.name),
                Cell(mine[0].fingerprint),
                Cell(", ".join(parts)),
                Cell(", ".join(map(str, sorted({record.seed for record in mine})))),
                Cell(_versions(mine)),
                Cell(" to ".join(dict.fromkeys([finished[0], finished[-1]])) if finished else ""),
            ]
        )
    columns = ["dataset", "fingerprint of the data", "rows", "seeds", "versions", "finished"]
    return Table("sources", "Data, seeds, versions", columns, rows)


def _labels(table: Comparison, row: Row) -> list[Cell]:
    return [*(Cell(row.labels[name]) for name in table.labels), Cell(table_formats.seeds(row), row.seeds)]


def _figure(row: Row, name: str) -> Cell:
    figure = row.figures.get(name)
    return Cell("") if figure is None else Cell(table_formats.cell(figure, " ± "), figure.mean, figure.best)


def _versions(mine: Sequence[Record]) -> str:
    """Each package with all versions that were met."""
    found: dict[str, set[str]] = {}
    for record in mine:
        for name, version in record.versions.items():
            found.setdefault(name, set()).add(version)
    return ", ".join(f"{name} {' and '.join(sorted(versions))}" for name, versions in found.items())


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.mean(known) if known else None
