"""A table as text, CSV, in the body of a request → rows of features."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable

import numpy as np

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve.bodies import Body, Features, as_float32, check_shape, places_of
from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal, shown

SIGNS = ",;\t"  # that may stand between two values


def from_csv(body: Body, model: ZeroShotClassifier, limits: Limits) -> Features:
    """Features from a CSV table. If its first line has a value that is no number, it names the columns: the model's
    features are then found by name, and other columns are left out. Without names the columns are the features."""
    if max(map(body.count, SIGNS.encode())) + body.count(b"\n") > limits.json_values:
        raise Refusal(413, f"the table has more than {limits.json_values} values: send rows in parts, or a .npy file")
    try:
        text = bytes(body).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(422, "the body is not text in UTF-8: save the table as CSV in UTF-8, then send it") from None
    sign = max(SIGNS, key=text.partition("\n")[0].count)
    lines = enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=sign), start=1)
    filled = ((number, line) for number, line in lines if any(map(str.strip, line)))
    try:
        first = next(filled, None)
        if first is None:
            raise Refusal(422, "the table is empty: expected a line for every row")
        names = [name.strip() for name in first[1]]
        headed = any(_number(value) is None for value in names)
        rows = _rows(filled if headed else itertools.chain([first], filled), names, headed)
    except csv.Error as error:
        raise Refusal(422, f"the body cannot be read as CSV ({error})") from None
    if headed and not rows:
        raise Refusal(422, "the table has names of columns and no rows: expected a line for every row")
    named = headed and getattr(model, "feature_names_in_", None) is not None
    places = places_of(names, model) if named else list(range(len(names)))
    check_shape((len(rows), len(places)), model, limits)
    X = np.empty((len(rows), len(places)))
    for k, (number, line) in enumerate(rows):
        for column, place in enumerate(places):
            value = _number(line[place])
            if value is None:
                what = shown(names[place]) if headed else str(place + 1)
                raise Refusal(422, f"line {number}, column {what} is {shown(line[place])}: expected a number")
            X[k, column] = value
    return as_float32(X)


def _rows(lines: Iterable[tuple[int, list[str]]], names: list[str], headed: bool) -> list[tuple[int, list[str]]]:
    """The lines, with their numbers. All have as many values as the first."""
    found = []
    for number, line in lines:
        if len(line) != len(names):
            first = "the first line names" if headed else "the first line has"
            raise Refusal(422, f"line {number} has {len(line)} values: {first} {len(names)}")
        found.append((number, line))
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
