"""Settings that differ in crowding alone are scored together on a device: as each would be alone."""

import gc
import weakref

import numpy as np
import pytest

from zskl import ClassMeansClassifier, datasets, selection
from zskl.estimators import stack_scores
from zskl.estimators.class_means.crowdings import Crowdings

GRID = {"crowding": [0.0, 0.2, 0.5], "description_weight": [2.0, 20.0], "shrinkage": [0.1, 0.5]}


@pytest.fixture(scope="module")
def rows():
    data = datasets.load("digits")
    some = data.parts["trainval"][::3]
    return data.X[some], data.y[some], data.signatures


@pytest.mark.parametrize("at_once", [1, stack_scores.AT_ONCE])
def test_a_search_on_tensors_finds_what_one_on_arrays_does(rows, at_once, monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setattr(stack_scores, "AT_ONCE", at_once)
    asked = []
    together = Crowdings.best_scores
    monkeypatch.setattr(
        Crowdings, "best_scores", lambda self, *rest: [asked.append(len(self.weights)), together(self, *rest)][1]
    )
    X, y, table = rows
    found = selection.search(ClassMeansClassifier(), torch.from_numpy(X), y, table, GRID, 2)
    assert asked == 8 * [3]  # 4 groups of settings on 2 folds, 3 settings each
    expected = selection.search(ClassMeansClassifier(), X, y, table, GRID, 2)
    assert asked == 8 * [3]
    assert found.settings == expected.settings
    rows_of_a_class = min(np.unique(y, return_counts=True)[1])
    for name in ("zsl", "gzsl"):  # another order of sums may move a row that is between two classes
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=2 / rows_of_a_class)
    assert np.ptp(expected.gzsl) > 4 / rows_of_a_class  # settings differ


def test_nothing_of_a_fold_outlives_it(rows):
    """Models that point at each other in a circle would keep their decomposition until garbage is collected."""
    X, y, table = rows
    settings = [{"crowding": 0.0}, {"crowding": 0.2}]
    seen = []
    gc.disable()
    try:
        ClassMeansClassifier()._fit_together(settings, X, y, table, lambda _, model: seen.append(weakref.ref(model)))
        assert len(seen) == 2
        assert [one() for one in seen] == [None, None]
    finally:
        gc.enable()
