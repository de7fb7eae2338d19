"""Dates and words among the features of a data frame: refused by name, with what to do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from refusals import assert_refused, frame
from toy import make_toy
from zskl import baselines

DATED = pd.Timestamp("2026-01-05")


def dated(toy):
    return frame(toy.X).assign(found=DATED)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, t: m.fit(dated(t), t.y, t.table), ["dates in column 'found'", "the month"]),
        (lambda m, t: m.fit(dated(t).assign(found=DATED.tz_localize(0)), t.y, t.table), ["dates in column 'found'"]),
        (lambda m, t: m.fit(dated(t).assign(found=DATED - DATED), t.y, t.table), ["dates in column 'found'"]),
        (lambda m, t: m.fit(pl.from_pandas(dated(t)), t.y, t.table), ["dates in column 'found'"]),
        (lambda m, t: m.predict(t.X.astype("datetime64[D]")), ["X holds dates (datetime64[D])"]),
        (lambda m, t: m.predict(np.full(t.X.shape, DATED, object)), ["X holds dates: expected numbers"]),
        (
            lambda m, t: m.fit(frame(t.X).assign(colour="red"), t.y, t.table),
            ["'red' in column 'colour'", "OneHotEncoder before the model"],
        ),
        (lambda m, t: m.fit(pl.from_pandas(frame(t.X).assign(colour="red")), t.y, t.table), ["'red'", "OneHotEncoder"]),
        (
            lambda m, t: m.fit(frame(t.X).assign(colour=pd.Categorical(["red"] * len(t.X))), t.y, t.table),
            ["'red' in column 'colour'"],
        ),
        (lambda m, t: m.fit(np.where(t.X > 2, np.nan, t.X), t.y, t.table), ["NaN", "SimpleImputer before the model"]),
    ],
)
def test_dates_words_and_holes_are_refused_with_what_to_put_before(call, words):
    assert_refused(make_toy(), call, words)


def test_truth_values_and_numbers_in_objects_are_numbers():
    toy = make_toy()
    X = frame(toy.X).assign(wet=toy.X[:, 0] > 0)
    as_numbers = baselines.ESZSL().fit(X.astype({"wet": float}), toy.y, toy.table).compatibility(X)
    np.testing.assert_array_equal(baselines.ESZSL().fit(X, toy.y, toy.table).compatibility(X), as_numbers)
    objects = frame(toy.X).astype({"bill": object})
    assert baselines.ESZSL().fit(objects, toy.y, toy.table).predict(objects).shape == (len(toy.X),)
