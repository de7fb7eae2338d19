"""A warm start continues the run where the last fit ended."""

import numpy as np
import pytest

from fits import TRAINING, described_twice, estimator, fitted
from tolerances import FIT, assert_close
from zskl import kernels
from zskl.training.solver import SCHEDULES


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kernel", kernels.names())
def test_a_warm_start_goes_on_where_the_fit_ended(kernel, schedule):
    settings = {"schedule": schedule, "decay": 0.01}
    whole = fitted(kernel, epochs=6, **settings)
    model = estimator(kernel, epochs=3, warm_start=True, **settings)
    first = model.fit(*TRAINING).history_.objective
    second = model.fit(*TRAINING).history_.objective
    np.testing.assert_array_equal(model.projection_, whole.projection_)
    np.testing.assert_array_equal(np.concatenate([first, second]), whole.history_.objective)
    np.testing.assert_array_equal(estimator(kernel, **settings).fit(*TRAINING).fit(*TRAINING).history_.objective, first)


def test_a_warm_start_draws_new_signatures():
    data = described_twice()
    whole = estimator(epochs=4).fit(*data)
    model = estimator(epochs=2, warm_start=True).fit(*data).fit(*data)
    np.testing.assert_array_equal(model.projection_, whole.projection_)


def test_a_warm_start_from_another_shape_is_refused():
    model = fitted(warm_start=True)
    W = model.projection_
    X, y, table = TRAINING
    with pytest.raises(
        ValueError, match=r"projection of shape \(20, 8\), but the data need \(19, 8\).*warm_start=False"
    ):
        model.fit(X[:, :19], y, table)
    with pytest.raises(ValueError, match=r"projection of shape \(20, 8\), but the data need \(20, 7\)"):
        model.fit(X, y, table.iloc[:, :7])
    assert model.projection_ is W
    assert model.n_features_in_ == 20
    model.predict(X)


def test_a_warm_start_of_a_loaded_model_begins_at_its_projection(tmp_path):
    from zskl import load

    fitted(warm_start=True).save(tmp_path / "model.zskl")
    model = load(tmp_path / "model.zskl").set_params(learning_rate=1e-12)
    W = model.projection_.copy()
    assert_close(model.fit(*TRAINING).projection_, W, FIT.single)
