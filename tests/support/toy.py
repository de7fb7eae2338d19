"""A zero-shot problem small enough to fit in milliseconds: three classes with rows, two that are only described."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from zskl import ZeroShotKernelClassifier

SEEN = ["ant", "cat", "dog"]  # sorted, as `classes_` is
UNSEEN = ["emu", "bee"]  # in the order of the table
CANDIDATES = [*SEEN, *UNSEEN]  # as `candidates_` of a model that was fitted with the whole table
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
