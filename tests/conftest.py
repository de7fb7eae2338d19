"""A zero-shot problem small enough to fit in milliseconds: three classes with rows, two that are only described."""

import os
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

from zskl import ZeroShotKernelClassifier

if os.environ.get("ZSKL_DATA"):  # some tests change the working folder
    os.environ["ZSKL_DATA"] = os.path.abspath(os.environ["ZSKL_DATA"])

# The same examples on every machine, however long it takes over them.
settings.register_profile("any machine", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

SEEN = ["ant", "cat", "dog"]  # sorted, as `classes_` is
UNSEEN = ["emu", "bee"]  # in the order of the table
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


@pytest.fixture
def toy():
    made = _toy()
    return Toy(made.X.copy(), made.y.copy(), made.X_new.copy(), made.y_new.copy(), made.table.copy())


@cache
def _toy():
    rng = np.random.default_rng(7)
    table = pd.DataFrame(rng.normal(size=(5, 4)), index=TABLE_ORDER, columns=ATTRIBUTES)
    mixing = rng.normal(size=(4, 6))

    def rows(classes, each):
        y = np.repeat(classes, each)
        return table.loc[y].to_numpy() @ mixing + 0.3 * rng.normal(size=(len(y), 6)), y

    X, y = rows(SEEN, 12)
    order = rng.permutation(len(y))
    return Toy(X[order], y[order], *rows(UNSEEN, 5), table)


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    """A cache of the test's own, and no real data."""
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ZSKL_DATA", raising=False)


@pytest.fixture
def package(tmp_path):
    """A folder with a small CUB in it."""
    from package_files import tiny, write_package  # needs h5py, which a machine that runs other tests may lack

    write_package(tmp_path / "package" / "CUB", *tiny())
    return tmp_path / "package"
