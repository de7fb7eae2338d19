"""Figures of models that were given examples or unlabelled rows: columns of their own, apart from plain figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from zskl.evidence import UNLABELLED
from zskl.experiments.record import Record
from zskl.experiments.record_parts import Adapted, Generalised, Taught, ZeroShot

Read: TypeAlias = Callable[[Record], float | None]
FIGURES = ("zero-shot", "H", "calibrated H")
DECLINED = "†"  # marks a figure of a model that did not adapt
_AFTER = ", "  # between a figure and what the model was given: "H, 5 shots"


def results(record: Record) -> dict[str, ZeroShot | Generalised]:
    """Column → result, of all that the model of a record was given."""
    found: dict[str, ZeroShot | Generalised | None] = {}
    given: list[Taught | Adapted] = [*(record.taught or ()), *(record.adapted or ())]
    for one in given:
        words = _shots(one.shots) if isinstance(one, Taught) else f"unlabelled {one.unlabelled}"
        for name, result in zip(FIGURES, (one.zsl, one.gzsl, one.gzsl_calibrated), strict=True):
            found[name + _AFTER + words] = result
    return {column: result for column, result in found.items() if result is not None}


def columns(records: Sequence[Record]) -> dict[str, Read]:
    """Column → a fraction of a record, in order, for all that some record was given."""
    shots = sorted({one.shots for record in records for one in record.taught or ()})
    order = [*map(_shots, shots), *(f"unlabelled {rows}" for rows in UNLABELLED)]
    there = {column for record in records for column in results(record)}
    return {
        column: _reader(column) for words in order for name in FIGURES if (column := name + _AFTER + words) in there
    }


def halves(column: str) -> tuple[str, str]:
    """The figure of a column and what was given before it, in a person's words.

    >>> halves("H, 5 shots")
    ('H', '5 examples of each class')
    """
    name, _, words = column.partition(_AFTER)
    first, last = words.split()
    if first == "unlabelled":
        return name, f"unlabelled rows of {last} classes"
    return name, f"{first} example{'' if first == '1' else 's'} of each class"


def is_given(column: str) -> bool:
    """Whether a column is one of these."""
    return _AFTER in column


def is_taught(column: str) -> bool:
    """Whether a column is of models that were taught examples, which the seed draws."""
    return is_given(column) and "shot" in column.partition(_AFTER)[2]


def mark(column: str, records: Iterable[Record]) -> str:
    """The mark of a figure: not empty if a model behind it did not adapt."""
    found = (results(record).get(column) for record in records)
    return DECLINED if any(result.declined for result in found if result is not None) else ""


def notes(groups: Iterable[Sequence[Record]]) -> list[str]:
    """Sentences about models that did not adapt, and about columns that not every seed of a row has."""
    found: dict[str, None] = {}
    for group in groups:
        who, seeds = f"{group[0].dataset}, {group[0].method}", {record.seed for record in group}
        for column in columns(group):
            have = [record for record in group if column in results(record)]
            for record in have:
                why = results(record)[column].declined
                if why:
                    found[f"{DECLINED} {who}: the model did not adapt and was scored as it was; {why}"] = None
            number = len({record.seed for record in have})
            if number < len(seeds):
                found[f"{who}: {column!r} is left out, since {number} of {len(seeds)} seeds have it"] = None
    return list(found)


def _shots(number: int) -> str:
    return f"{number} shot{'' if number == 1 else 's'}"


def _reader(column: str) -> Read:
    def read(record: Record) -> float | None:
        result = results(record).get(column)
        if result is None:
            return None
        return result.accuracy if isinstance(result, ZeroShot) else result.harmonic

    return read
