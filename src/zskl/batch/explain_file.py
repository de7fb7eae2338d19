"""A fitted model on a features file: which attributes support the class of each row, block by block."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from zskl.batch.predict_file import PathLike, candidate_table, opened, rows_of, typed
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.explanation import Explanation

COLUMNS = (
    *("class", "against", "difference", "calibration", "rest"),
    *("rank", "attribute", "contribution", "value", "value_against"),
)


@dataclass(frozen=True)
class Explained:
    """A row of a file by its "id", or its number, the "row"; and the explanation."""

    named_by: str
    row: object
    explanation: Explanation

    def lines(self) -> Iterator[list[object]]:
        """A line of a table for each attribute that is shown, and for each term, which has neither rank nor values."""
        one = self.explanation
        head = [self.row, one.label, one.against, *map(_figure, (one.difference, one.calibration, one.rest))]
        for rank, (m, (_, contribution)) in enumerate(zip(one.order, one.top, strict=True), start=1):
            values = [_figure(value) for value in (contribution, one.values[m], one.values_against[m])]
            yield [*head, rank, one.told(m), *values]
        for name, value in one.terms.items():
            yield [*head, "", name, _figure(value), "", ""]

    def record(self) -> dict[str, object]:
        """The same for JSON."""
        return {self.named_by: self.row, **self.explanation.record()}


def explain_file(
    model: ZeroShotClassifier,
    features: PathLike,
    *,
    signatures: PathLike | None = None,
    with_known: bool = False,
    candidates: Sequence[str] | None = None,
    top: int = 5,
    label: str | None = None,
    against: str | None = None,
    rows: Sequence[range] | None = None,
    raw: bool = False,
) -> Iterator[Explained]:
    """Explanations for the rows of a file, or those of them numbered in `rows`, from 0 on; see `model.explain`.

    Candidates are those of `predict_file.Predictor`.
    """
    table = candidate_table(model, signatures, with_known)
    names = None if candidates is None else typed(model, candidates)
    mine, theirs = (None if name is None else typed(model, [name])[0] for name in (label, against))
    end = None if rows is None else max(some.stop for some in rows)
    done = 0
    for block in opened(model, features).blocks():
        numbers = np.arange(done, done + len(block.X))
        asked = np.flatnonzero([rows is None or any(number in some for some in rows) for number in numbers.tolist()])
        if len(asked):
            X = rows_of(model, block)
            X = X.iloc[asked] if hasattr(X, "iloc") else X[asked]
            found = model.explain(X, top, table, names, label=mine, against=theirs, raw=raw)
            for place, explanation in zip(asked.tolist(), found, strict=True):
                row = done + place if block.ids is None else block.ids[place]
                yield Explained("row" if block.ids is None else "id", row, explanation)
        done += len(block.X)
        if end is not None and done >= end:
            return
    if end is not None:
        raise ValueError(
            f"row {end - 1} was asked for: expected a number below {done}, since {features} has {done} rows"
        )


def table(found: Iterator[Explained]) -> Iterator[list[object]]:
    """The lines of a CSV table, its column names first."""
    for count, one in enumerate(found):
        if not count:
            yield [one.named_by, *COLUMNS]
        yield from one.lines()


def row_numbers(texts: Sequence[str]) -> list[range]:
    """["3", "10-19"] → the rows that they name, both ends included."""
    found = []
    for text in texts:
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first:
            raise ValueError(f"rows {text!r}: expected the number of a row, counted from 0, or a range such as 0-9")
        found.append(range(first, last + 1))
    return found


def _figure(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
