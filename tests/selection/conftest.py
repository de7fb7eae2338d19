"""The search that several tests look at, done once."""

import pytest

from small_search import FOLDS, GRID, TRAINING, estimator
from zskl import selection


@pytest.fixture(scope="session")
def found():
    return selection.search(estimator(), *TRAINING, GRID, FOLDS)
