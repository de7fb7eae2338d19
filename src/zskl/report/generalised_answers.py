"""The answers of the generalised protocol in a record → shares of the rows of each class that got each answer.

The rows of a part lie class by class, in the order of `per_class` of the result; unseen classes are those of the
zero-shot result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zskl.experiments.answers import unpack
from zskl.experiments.record import Record

NEW = "○ "  # before the name of an unseen class


@dataclass(frozen=True)
class AllAnswers:
    """`shares` (classes, answers), true classes first among the answers; unseen classes are marked by `NEW`."""

    shares: NDArray[np.float64]
    classes: list[str]
    answers: list[str]
    right: dict[str, float]


def read(record: Record) -> AllAnswers | None:
    """Of the calibrated result if there is one. None where a record does not hold what each row was answered."""
    part = record.gzsl if record.gzsl_calibrated is None else record.gzsl_calibrated
    if part.answers is None or part.answers.seen is None or record.class_rows is None or not part.per_class:
        return None
    unseen = {*record.zsl.per_class, *record.zsl.left_out}
    tested = list(part.per_class)
    names = [*tested, *part.left_out]
    place = {name: k for k, name in enumerate(names)}
    shares = np.zeros((len(tested), len(names)))
    codes = {"unseen": part.answers.unseen, "seen": part.answers.seen}
    for side, packed in codes.items():
        mine = [name for name in tested if (name in unseen) == (side == "unseen")]
        sizes = unpack(getattr(record.class_rows, side))
        if len(mine) != len(sizes):
            return None  # a compact record, or one that another program wrote
        answers = unpack(packed, int(sizes.sum()))
        if answers.max(initial=0) > len(names):
            return None
        for name, own in zip(mine, np.split(answers, np.cumsum(sizes)[:-1]), strict=True):
            told = np.where(own == 0, place[name], own - 1)
            shares[place[name]] = np.bincount(told, minlength=len(names)) / len(own)
    marked = [f"{NEW}{name}" if name in unseen else name for name in names]
    classes = marked[: len(tested)]
    return AllAnswers(shares, classes, marked, {name: float(shares[k, k]) for k, name in enumerate(classes)})
