"""Small models of every sort that a service may meet, each with rows as the library takes them."""

from functools import cache

import numpy as np
import pandas as pd

import served
from zskl import ClassMeansClassifier
from zskl.baselines import BASELINES


def integers():
    model, data = served.digits()
    return model, np.asarray(data.X[::150], np.float32)


@cache
def strings():
    X, y, table = served.toy()
    return served.calibrated(served.kernel().fit(X, y, table)), X


def several_signatures():
    X, y, table = served.toy()
    more = pd.concat([table, table.loc[["dog", "emu"]] + 0.5])
    return served.calibrated(served.kernel().fit(X, y, more)), X


def unnamed_attributes():
    X, y, table = served.toy()
    seen = {name: table.loc[name].to_numpy() for name in table.index}
    return served.calibrated(served.kernel().fit(X, y, seen)), X


def named_columns():
    X, y, table = served.toy()
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(6)])
    return served.calibrated(served.kernel().fit(frame, y, table)), frame


def uncalibrated():
    X, y, table = served.toy()
    return served.kernel().fit(X, y, table), X


def not_explained():
    X, y, table = served.toy()
    return served.calibrated(BASELINES["conse"]().fit(X, y, table), 0.01), X


def bilinear():
    X, y, table = served.toy()
    return served.calibrated(BASELINES["eszsl"]().fit(X, y, table), 0.01), X


def class_means():
    """Integers as names, and a class that is known by its examples alone."""
    _, data = served.digits()
    model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    sixes = data.X[data.y == 6][:3]
    taught = model.add_examples(sixes, [6, 6, 6]).add_examples(sixes[:, ::-1], [66, 66, 66])
    return served.calibrated(taught, 0.02), np.asarray(data.X[::150], np.float32)


def of_kernel(name, **parameters):
    def built():
        X, y, table = served.toy()
        return served.calibrated(served.kernel(name, **parameters).fit(X, y, table)), X

    built.__name__ = name
    return built


CASES = [
    integers, strings, several_signatures, unnamed_attributes, named_columns, uncalibrated, not_explained, bilinear,
    class_means,
    of_kernel("cauchy"), of_kernel("polynomial", degree=3),
]  # fmt: skip


def values(X):
    """Rows as numbers alone."""
    return np.asarray(X, np.float32)
