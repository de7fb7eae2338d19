"""The one table of a run: a row for each method, and below it one for whatever else its model was given."""

from __future__ import annotations

from collections.abc import Sequence

from zskl.experiments import given_figures, record_table
from zskl.experiments.compare import Comparison, Figure, Row, compare, labels
from zskl.experiments.record import Record

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
    columns = tuple(name for name in table.figures if name not in table.given)
    names = ("method", "settings", *((GIVEN,) if table.given else ()))
    return Comparison(names, columns, tuple(rows), tuple(_notes(records)))


def _given(row: Row, columns: Sequence[str]) -> dict[str, dict[str, Figure]]:
    """What the model was given → the figures after it, under the names of plain ones."""
    found: dict[str, dict[str, Figure]] = {}
    for column in columns:
        if column in row.figures:
            name, words = given_figures.halves(column)
            found.setdefault(words, {})[name] = row.figures[column]
    return found


def _notes(records: Sequence[Record]) -> list[str]:
    """What explains a mark or a gap in the table."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(labels(record), []).append(record)
    return given_figures.notes(groups.values())
