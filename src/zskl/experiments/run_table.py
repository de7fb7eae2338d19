"""The one table of a run: a row for each method, and below it one for whatever else its model was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zskl.experiments import choice_notes, given_figures, meaning, record_table
from zskl.experiments.compare import Comparison, Figure, Row, compare, labels
from zskl.experiments.record import Record

CALIBRATED = "calibrated H"
AREA = "area"  # of the seen–unseen curve: for `zskl compare` and the report


def of_run(records: Sequence[Record]) -> Comparison:
    """Records of one dataset. Every row says whether its settings are tuned or default."""
    table = compare(records)
    settings = {labels(record): record_table.chosen(record, counted=False) for record in records}
    rows = []
    for row in table.rows:
        said = {"method": row.labels["method"], "settings": settings[tuple(row.labels.values())]}
        plain = {name: figure for name, figure in row.figures.items() if name not in table.given}
        rows.append(Row(said, row.seeds, plain))
        rows += [
            Row({"method": f"+ {words.removesuffix(' of each class')}", "settings": ""}, None, found)
            for words, found in _given(row, table.given).items()
        ]
    columns = tuple(name for name in table.figures if name not in (*table.given, AREA))
    notes = [*_notes(table.rows, CALIBRATED in columns), *choice_notes.against_default(records)]
    return Comparison(("method", "settings"), columns, tuple(rows), tuple(notes))


def _given(row: Row, columns: Sequence[str]) -> dict[str, dict[str, Figure]]:
    """What the model was given → the figures after it, under the names of plain ones.

    Of a model that did not adapt they are those of the row above, so their intervals are not repeated.
    """
    found: dict[str, dict[str, Figure]] = {}
    for column in columns:
        if column in row.figures:
            name, words = given_figures.halves(column)
            figure = row.figures[column]
            found.setdefault(words, {})[name] = replace(figure, low=None, high=None) if figure.mark else figure
    return found


def legend(records: Sequence[Record], columns: Sequence[str]) -> dict[str, str]:
    """Columns of the table → what they say."""
    unseen, together = (meaning.classes(result) for result in (records[0].zsl, records[0].gzsl))
    meant = {
        "zero-shot": f"choosing among {unseen or 'all'} unseen classes, which have no training row",
        "unseen, seen": f"accuracy on unseen and on seen classes, choosing among all {together or ''}".rstrip(),
        "H": "the harmonic mean of unseen and seen",
        CALIBRATED: "H after lowering scores of seen classes as validation advises",
    }
    return {name: words for name, words in meant.items() if name.split(",")[0] in columns}


def _notes(rows: Sequence[Row], calibrated: bool) -> list[str]:
    """What explains a mark in the table."""
    marked = dict.fromkeys(
        row.labels["method"]
        for row in rows
        if any(figure.mark == given_figures.DECLINED for figure in row.figures.values())
    )
    advice = "" if calibrated else "; --calibrate tries that"
    return [
        f"{given_figures.DECLINED} {name} did not adapt: validation classes do not promise that unlabelled rows help"
        f"{advice}"
        for name in marked
    ]
