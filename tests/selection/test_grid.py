"""Grids become settings, and settings that one fit serves become groups."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from small_search import FOLDS, TRAINING, estimator
from zskl import selection
from zskl.estimators.default_grid import parts
from zskl.methods import METHODS, build, find
from zskl.selection.grid import combined, expand, group


def test_grids_expand_and_group():
    settings = expand(
        [{"sigma": (1, 2), "epochs": [1, 2]}, {"sigma": 1, "epochs": 1}, {"init": "uniform"}], estimator()
    )
    assert len(settings) == 5
    assert settings[-1] == {"init": "uniform"}
    groups = group(settings, ["epochs"])
    assert sorted(map(len, groups)) == [1, 2, 2]
    for places in groups:
        assert len({repr({k: v for k, v in settings[p].items() if k != "epochs"}) for p in places}) == 1


@pytest.mark.parametrize("part", [{}, {"b": [1, 2], "a": ["x", None]}, {"sigma": [2, 1], "C": [3]}])
def test_settings_come_in_the_order_of_scikit_learn(part):
    assert list(combined(part)) == list(ParameterGrid(part))


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"means-softmax"}))  # see test_committee_search.py
def test_every_method_has_a_default_grid_that_runs(name):
    grid = find(name).grid
    settings = expand(grid, build(name))
    assert len(settings) >= (5 if name == "conse" else 12)
    assert all("feature_scaling" in part for part in parts(grid))


def test_the_order_of_settings_in_a_group_does_not_matter(found):
    """The order of settings in a group, and their number, do not matter."""
    for order in itertools.islice(itertools.permutations(range(3)), 3):
        grid = [{"sigma": [0.6], "learning_rate": [1e-3], "epochs": [[1, 3, 4][i]]} for i in order]
        other = selection.search(clone(estimator()), *TRAINING, grid, FOLDS)
        for place, setting in enumerate(other.settings):
            np.testing.assert_array_equal(other.zsl[place], found.zsl[found.settings.index(setting)])
