"""A figure of a table, and the figures that a record has."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zskl.experiments.record import Record

Read = Callable[[Record], float | None]
FIGURES: Mapping[str, Read] = {  # column → a fraction, shown in per cent
    "zero-shot": lambda record: record.zsl.accuracy,
    "unseen": lambda record: record.gzsl.unseen,
    "seen": lambda record: record.gzsl.seen,
    "H": lambda record: record.gzsl.harmonic,
    "calibrated H": lambda record: record.gzsl_calibrated.harmonic if record.gzsl_calibrated else None,
    "area": lambda record: record.gzsl.ausuc,
}


@dataclass(frozen=True)
class Figure:
    """A mean over seeds, and how far it can be trusted.

    `low` and `high` are the ends of its 95 % bootstrap interval, None without answers of rows. `deviation` is the
    standard deviation over seeds, None where there is one seed or nothing random. `best`: no other figure of its
    dataset is clearly better. Shown with that many `digits` after the point; a `mark` points to a note.
    """

    mean: float
    deviation: float | None = None
    best: bool = False
    mark: str = ""
    digits: int = 1
    low: float | None = None
    high: float | None = None


def over_seeds(values: Sequence[float], digits: int = 1) -> Figure:
    """Mean and standard deviation of at least one value."""
    return Figure(statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None, digits=digits)
