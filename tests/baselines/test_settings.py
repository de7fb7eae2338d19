"""Several settings and several descriptions of a class, for every published method."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from published_methods import each, make, trained, unseen
from tolerances import AFTER_FIT, SUMS, assert_close
from zskl import datasets, protocols
from zskl.baselines import BASELINES
from zskl.estimators.default_grid import parts

FEW = {"n_components": (3, 6, 12)}  # where 24 columns make all values of a grid the same


@each
def test_a_class_with_several_signatures_scores_the_best_of_them(name):
    data = datasets.make_synthetic(
        n_seen=8, n_unseen=3, samples_per_class=10, n_features=16, n_attributes=8, noise=0.2, descriptions=3
    )
    model = trained(name, data)
    assert protocols.zsl(model, data).accuracy > 0.4
    table = data.signatures.loc[data.unseen_classes]
    single = np.stack([model.compatibility(unseen(data), table.groupby(level=0, sort=False).nth(k)) for k in range(3)])
    assert_close(model.compatibility(unseen(data), table), single.max(axis=0), SUMS.single)
    with pytest.raises(AssertionError):
        assert_close(model.compatibility(unseen(data), table), single[0], SUMS.single)


@each
def test_settings_fitted_together_equal_those_fitted_alone(name, data):
    rows = data.parts["trainval"]
    X, y = data.X[rows], data.y[rows]
    estimator = make(name)
    free = estimator._free(X)
    whole = parts(BASELINES[name].GRID)[0]
    grid = {key: list(FEW.get(key, values))[:3] for key, values in whole.items() if key in free}
    settings = list(ParameterGrid(grid))[:9]
    found = {}

    def visit(place, model):
        found[place] = model.compatibility(unseen(data)), clone(model).get_params()

    estimator._fit_together(settings, X, y, data.signatures, visit)
    assert sorted(found) == list(range(len(settings)))
    for place, setting in enumerate(settings):
        alone = clone(estimator).set_params(**setting).fit(X, y, data.signatures)
        expected = alone.compatibility(unseen(data))
        assert_close(found[place][0], expected, AFTER_FIT.single)
        assert found[place][1] == alone.get_params()
        if place:
            with pytest.raises(AssertionError):  # the model of another setting
                assert_close(found[0][0], expected, AFTER_FIT.single)


@each
def test_a_fitted_model_scores_by_what_it_was_fitted_with(name, data, fitted):
    model = fitted(name)
    before = model.compatibility(unseen(data))
    for setting, values in parts(BASELINES[name].GRID)[0].items():
        for value in values:
            np.testing.assert_array_equal(
                clone_fitted(model).set_params(**{setting: value}).compatibility(unseen(data)), before
            )


def clone_fitted(model):
    twin = clone(model)
    vars(twin).update({key: value for key, value in vars(model).items() if key.endswith("_")})
    return twin
