"""The one table of a run: a row for each method, and below it one for whatever else its model was given."""

from __future__ import annotations

from collections.abc import Sequence

from zskl.experiments import given_figures, record_table
from zskl.experiments.compare import Comparison, Figure, Row, compare, labels
from zskl.experiments.record import Record

CALIBRATED = "calibrated H"
AREA = "area"  # of the seen–unseen curve: for `zskl compare` and the report
GIVEN = "given"  # examples or unlabelled rows, beside descriptions


def of_run(records: Sequence[Record]) -> Comparison:
    """Records of one dataset. Every row says whether its settings are tuned or default."""
    table = compare(records)
    settings = {labels(record): record_table.chosen(record, counted=False) for record in records}
    rows = []
    for row in table.rows:
        said = {"method": row.labels["method"], "settings": settings[tuple(row.labels.values())], GIVEN: ""}
        plain = {name: figure for name, figure in row.figures.items() if name not in table.given}
        rows.append(Row(said, row.seeds, plain))
        rows += [Row({**said, GIVEN: words}, row.seeds, found) for words, found in _given(row, table.given).items()]
    columns = tuple(name for name in table.figures if name not in (*table.given, AREA))
    names = ("method", "settings", *((GIVEN,) if table.given else ()))
    return Comparison(names, columns, tuple(rows), tuple(_notes(rows, CALIBRATED in columns)))


def _given(row: Row, columns: Sequence[str]) -> dict[str, dict[str, Figure]]:
    """What the model was given → the figures after it, under the names of plain ones."""
    found: dict[str, dict[str, Figure]] = {}
    for column in columns:
        if column in row.figures:
            name, words = given_figures.halves(column)
            found.setdefault(words, {})[name] = row.figures[column]
    return found


def _notes(rows: Sequence[Row], calibrated: bool) -> list[str]:
    """What explains a mark in the table."""
    marked = dict.fromkeys(
        row.labels["method"]
        for row in rows
        if any(figure.mark == given_figures.DECLINED for figure in row.figures.values())
    )
    advice = "" if calibrated else "; --calibrate tries that"
    return [
        f"{given_figures.DECLINED} {name} did not adapt and is scored as it was: validation classes do not promise "
        f"that unlabelled rows help{advice}"
        for name in marked
    ]
