"""Data frames as features: columns by name, and an error that names the column."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from zskl import ClassMeansClassifier, Committee, baselines
from zskl.signatures import frames

NAMES = list("uvwxyz")
MODELS = {"eszsl": baselines.ESZSL(), "class-means": ClassMeansClassifier(), "committee": Committee(random_state=0)}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("name", MODELS)
def test_columns_in_another_order_are_matched_by_name(toy, name, library):
    X = toy.X[:, : len(NAMES)]
    model = MODELS[name].fit(pd.DataFrame(X, columns=NAMES), toy.y, toy.table)
    given = library(dict(zip(NAMES, X.T, strict=True)))
    turned = given[NAMES[::-1]]
    assert frames.in_order(turned, NAMES).equals(given)
    assert model.decision_function(turned).shape == model.decision_function(given).shape
    np.testing.assert_array_equal(model.predict(turned), model.predict(given))
    assert model.score(turned, toy.y) == model.score(given, toy.y)
    with pytest.raises(ValueError, match=r"Feature names unseen at fit time:\n- new"):
        model.predict(library(dict(zip(["new", *NAMES[1:]], X.T, strict=True))))


def test_later_pieces_too(toy):
    X = pd.DataFrame(toy.X, columns=NAMES)
    one, other = (ClassMeansClassifier().partial_fit(X, toy.y, toy.table) for _ in range(2))
    one, other = one.partial_fit(X, toy.y), other.partial_fit(X[NAMES[::-1]], toy.y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


WORDS = {
    "text": (
        ["red", "blue"],
        "'red' in column 'colour': expected numbers; if it holds categories, put",
    ),
    "categories": (pd.Categorical(["red", "blue"]), "'red' in column 'colour'"),
    "dates": ([datetime.datetime(2024, 5, 1)] * 2, "dates in column 'colour': expected numbers"),
}


@pytest.mark.parametrize("case", WORDS)
def test_a_column_that_is_not_of_numbers_is_named(case):
    values, sentence = WORDS[case]
    X = pd.DataFrame({"size": [1.0, 2.0], "colour": values})
    with pytest.raises(ValueError, match=f"X holds {sentence}"):
        baselines.ESZSL().fit(X, ["a", "b"])
    model = baselines.ESZSL().fit(X.assign(colour=[1, 2]), ["a", "b"])
    with pytest.raises(ValueError, match=f"X holds {sentence}"):
        model.predict(X)


def test_numbers_as_text_and_truth_values_are_numbers():
    X = pd.DataFrame({"size": ["1.5", "2"], "wild": [True, False]})
    assert baselines.ESZSL().fit(X, ["a", "b"]).predict(X).tolist() == ["a", "b"]


def test_a_lazy_frame_has_no_rows_yet():
    lazy = pl.LazyFrame({"class": ["a", "b"], "size": [1.0, 2.0]})
    for what, given in (("X", (lazy, ["a", "b"])), ("signatures", ([[1.0], [2.0]], ["a", "b"], lazy))):
        with pytest.raises(ValueError, match=rf"{what} is a LazyFrame, which holds no rows yet.*\.collect\(\)"):
            baselines.ESZSL().fit(*given)


def test_a_column_called_collect_is_a_column():
    assert frames.opened(pd.DataFrame({"collect": [1]}), "X").columns == ["collect"]
    assert frames.opened(np.ones((2, 2)), "X") is None
