"""The search that several tests look at, done once."""

import pytest

from paper_runs import untried
from small_search import FOLDS, GRID, TRAINING, estimator
from zskl import selection


@pytest.fixture(scope="session")
def found():
    return selection.search(estimator(), *TRAINING, GRID, FOLDS)


@pytest.fixture
def no_trials(monkeypatch):
    """Tuning without trials of examples and unlabelled rows, for tests of what is chosen before them."""
    monkeypatch.setattr("zskl.selection.grid_search.FoldScorer.few_shot_trial", untried)
