"""A zero-shot problem small enough to fit in milliseconds: three classes with rows, two that are only described."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest

from zskl import ZeroShotKernelClassifier
from zskl.datasets import Dataset

# Toy ------------------------------------------------------------------------------------------------------------------

SEEN = ["ant", "cat", "dog"]  # sorted, as `seen_classes_` is
UNSEEN = ["emu", "bee"]  # in the order of the table
CANDIDATES = sorted([*SEEN, *UNSEEN])  # as `classes_` of a model that was fitted with the whole table
TABLE_ORDER = ["dog", "emu", "ant", "cat", "bee"]
ATTRIBUTES = ["size", "legs", "wings", "fur"]


@dataclass(frozen=True, repr=False)
class Toy:
    X: np.ndarray  # (36, 6) rows of seen classes
    y: np.ndarray  # (36,)
    X_new: np.ndarray  # (10, 6) rows of unseen classes
    y_new: np.ndarray  # (10,)
    table: pd.DataFrame  # (5, 4)

    def model(self, *kernel, **parameters):
        return ZeroShotKernelClassifier(*kernel, **{"epochs": 2, "random_state": 0, **parameters})

    def fitted(self, *kernel, **parameters):
        return self.model(*kernel, **parameters).fit(self.X, self.y, self.table)


@cache
def make_toy():
    rng = np.random.default_rng(7)
    table = pd.DataFrame(rng.normal(size=(5, 4)), index=TABLE_ORDER, columns=ATTRIBUTES)
    mixing = rng.normal(size=(4, 6))

    def rows(classes, each):
        y = np.repeat(classes, each)
        return table.loc[y].to_numpy() @ mixing + 0.3 * rng.normal(size=(len(y), 6)), y

    X, y = rows(SEEN, 12)
    order = rng.permutation(len(y))
    return Toy(X[order], y[order], *rows(UNSEEN, 5), table)


# Tiny dataset ---------------------------------------------------------------------------------------------------------
# The smallest dataset, and its fields to change one at a time.


def fields():
    """Classes ant, bee (seen) and cat (unseen), two rows each and three for cat."""
    return {
        "name": "toy",
        "X": np.arange(14, dtype=np.float32).reshape(7, 2),
        "y": np.array(["ant", "ant", "bee", "bee", "cat", "cat", "cat"]),
        "signatures": pd.DataFrame(
            [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], index=["cat", "ant", "bee"], columns=["legs", "fur"]
        ),
        "parts": {"trainval": [0, 2], "test_seen": [1, 3], "test_unseen": [4, 5]},
    }


def changed(**change):
    return Dataset(**(fields() | change))


def with_part(**parts):
    return {"parts": fields()["parts"] | parts}


def table(**change):
    frame = fields()["signatures"]
    return {
        "signatures": pd.DataFrame(**({"data": frame.values, "index": frame.index, "columns": frame.columns} | change))
    }


# Refusals -------------------------------------------------------------------------------------------------------------
# Wrong input made from the toy problem, and what a refusal must look like.


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
