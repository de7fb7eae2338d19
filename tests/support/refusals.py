"""Wrong input made from the toy problem, and what a refusal must look like."""

import numpy as np
import pandas as pd
import pytest


def put(X, row, column, value):
    X = X.copy()
    X[row, column] = value
    return X


def frame(X):
    return pd.DataFrame(X, columns=["bill", "tail", "wing", "eye", "foot", "song"])


def recode(toy, dtype):
    return np.searchsorted(np.unique(toy.y), toy.y).astype(dtype)


def mixed(toy, dtype=object):
    return np.array([1 if label == "ant" else label for label in toy.y], dtype=dtype)


def vectors(toy, **changes):
    return {**dict(zip(toy.table.index, toy.table.to_numpy().tolist(), strict=True)), **changes}


def assert_one_sentence(error, words):
    message = str(error)
    assert "\n" not in message
    assert len(message) < 400
    assert [word for word in words if word not in message] == [], message


def assert_refused(toy, call, words):
    """The call on a fitted model and the toy problem gets one clear sentence, and the model is as it was."""
    model = toy.fitted()
    before = model.compatibility(toy.X)
    with pytest.raises(ValueError) as caught:
        call(model, toy)
    assert_one_sentence(caught.value, words)
    np.testing.assert_array_equal(model.compatibility(toy.X), before)


def cases(**tables):
    """A parameter for each entry of the tables: (the call on a fitted model and the toy problem, the words)."""
    return [
        pytest.param(*case, id=f"{table}: {what}") for table, found in tables.items() for what, case in found.items()
    ]
