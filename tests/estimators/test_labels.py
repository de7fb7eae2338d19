"""Labels as text, integers and booleans, in every form that users hand over."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from toy import CANDIDATES

LABELS = {
    "numpy text": lambda y: y,
    "object": lambda y: y.astype(object),
    "list": lambda y: y.tolist(),
    "list of numpy text": list,
    "Series": pd.Series,
    "Series with another index": lambda y: pd.Series(y, index=range(100, 100 + len(y))),
    "string Series": lambda y: pd.Series(y, dtype="string"),
    "object Series": lambda y: pd.Series(y, dtype=object),
    "categorical Series": lambda y: pd.Series(y, dtype="category"),
    "Categorical": pd.Categorical,
    "polars Series": lambda y: pl.Series(y.tolist()),
}
CODES = {"ant": 3, "cat": 7, "dog": 8, "emu": -2, "bee": 5}


@pytest.mark.parametrize("form", LABELS)
def test_text_labels_in_every_form(toy, form):
    expected = toy.fitted()
    model = toy.model().fit(toy.X, LABELS[form](toy.y), toy.table)
    assert model.classes_.tolist() == ["ant", "cat", "dog"]
    assert model.candidates_.tolist() == CANDIDATES
    np.testing.assert_array_equal(model.projection_, expected.projection_)
    predicted = model.predict(toy.X)
    assert isinstance(predicted, np.ndarray)
    assert predicted.tolist() == expected.predict(toy.X).tolist()
    assert all(isinstance(label, str) for label in predicted)
    assert model.score(toy.X, LABELS[form](toy.y)) == expected.score(toy.X, toy.y)


def test_text_of_variable_length(toy):
    model = toy.model().fit(toy.X, toy.y.astype(np.dtypes.StringDType()), toy.table)
    assert model.candidates_.tolist() == CANDIDATES
    assert model.predict(toy.X).tolist() == toy.fitted().predict(toy.X).tolist()


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, "Int64", "category", list])
def test_integer_labels(toy, dtype):
    codes = np.array([CODES[label] for label in toy.y])
    y = (
        codes.tolist()
        if dtype is list
        else pd.Series(codes, dtype=dtype)
        if isinstance(dtype, str)
        else codes.astype(dtype)
    )
    table = toy.table.set_axis([CODES[label] for label in toy.table.index])
    model = toy.model().fit(toy.X, y, table)
    assert model.classes_.tolist() == [3, 7, 8]
    assert model.candidates_.tolist() == [3, 7, 8, -2, 5]
    assert model.predict(toy.X).dtype.kind in "iu"
    named = toy.fitted()
    np.testing.assert_array_equal(model.projection_, named.projection_)
    assert model.predict(toy.X_new).tolist() == [CODES[label] for label in named.predict(toy.X_new)]


def test_boolean_labels(toy):
    y = toy.y == "dog"
    model = toy.model().fit(toy.X, y, {False: [1.0, 0.0], True: [0.2, 1.0]})
    assert model.classes_.tolist() == model.candidates_.tolist() == [False, True]
    assert model.predict(toy.X).dtype == bool
    assert model.decision_function(toy.X).shape == (len(y),)


def test_predicted_labels_have_the_type_of_the_labels_of_fit(toy):
    for y in (toy.y.astype(np.str_), toy.y.astype(object)):
        model = toy.model().fit(toy.X, y, toy.table)
        assert model.candidates_.dtype.kind == model.classes_.dtype.kind == y.dtype.kind
        assert model.predict(toy.X).dtype.kind == y.dtype.kind
        assert model.predict(toy.X, toy.table.loc[["emu", "bee"]]).dtype.kind == y.dtype.kind


def test_boolean_labels_are_not_the_integers_0_and_1(toy):
    table = toy.table.head(3).set_axis([0, 1, 2], axis=0)
    with pytest.raises(ValueError, match="booleans, in signatures integers"):
        toy.model().fit(toy.X, toy.y == "dog", table)


def test_a_table_whose_integer_classes_were_read_as_floats(toy):
    codes = {label: k for k, label in enumerate(toy.table.index)}
    y = np.array([codes[label] for label in toy.y])
    model = toy.model().fit(toy.X, y, toy.table.set_axis(np.arange(5.0), axis=0))
    assert model.candidates_.dtype.kind == model.predict(toy.X).dtype.kind == "i"
    with pytest.raises(ValueError, match=r"labels such as 4\.5, but labels in y are integers"):
        toy.model().fit(toy.X, y, toy.table.set_axis([0.0, 1.0, 2.0, 3.0, 4.5], axis=0))
