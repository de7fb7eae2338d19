"""The contract of an estimator: scikit-learn's tools work, and nothing else changes or matters."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tolerances import AFTER_FIT, SUMS, assert_close
from toy import CANDIDATES
from zskl import DivergenceError, ZeroShotKernelClassifier
from zskl.kernels import Cauchy, Gaussian, Polynomial


@pytest.mark.parametrize("kernel", ["cauchy", Gaussian(0.5), Cauchy(2.0), Polynomial(3, 0.5)])
def test_clone_and_parameters(toy, kernel):
    model = toy.fitted(kernel, loss="softmax", sigma=0.7)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.get_params()["kernel"] == kernel
    assert not hasattr(twin, "projection_")
    np.testing.assert_array_equal(twin.fit(toy.X, toy.y, toy.table).projection_, model.projection_)
    assert twin.set_params(repulsion=2.0, kernel="gaussian").get_params() == {
        **model.get_params(),
        "repulsion": 2.0,
        "kernel": "gaussian",
    }


def test_the_defaults_of_the_contract():
    defaults = ZeroShotKernelClassifier().get_params()
    expected = {
        "kernel": "gaussian", "sigma": 1.0, "degree": 2, "bias": 1.0, "repulsion": 1.0, "incoherence": True,
        "incoherence_weight": 1.0, "loss": "squared", "temperature": 0.05, "balance": "mean", "batch_size": 10,
        "epochs": 6, "learning_rate": 3e-4, "schedule": "constant", "smoothing": 0.99, "epsilon": 1e-6,
        "second_moment": "batch", "feature_scaling": "center-l2", "signature_scaling": "center-l2",
        "signature_mean": "seen", "device": None, "warm_start": False, "random_state": None,
    }  # fmt: skip
    assert {name: defaults[name] for name in expected} == expected
    assert set(defaults) - set(expected) == {"init", "decay", "streaming"}  # one measured better, two added: CHANGELOG


def test_a_kernel_object_brings_its_own_parameters(toy):
    by_object, by_name = toy.fitted(Gaussian(0.5), sigma=3.0), toy.fitted("gaussian", sigma=0.5)
    np.testing.assert_array_equal(by_object.compatibility(toy.X), by_name.compatibility(toy.X))


def test_pipeline(toy):
    pipeline = make_pipeline(StandardScaler(), toy.model(feature_scaling="none"))
    pipeline.fit(toy.X, toy.y, zeroshotkernelclassifier__signatures=toy.table)
    by_hand = toy.model(feature_scaling="none")
    scaled = StandardScaler().fit(toy.X)
    by_hand.fit(scaled.transform(toy.X), toy.y, toy.table)
    assert pipeline.predict(toy.X).tolist() == by_hand.predict(scaled.transform(toy.X)).tolist()
    assert pipeline.score(toy.X, toy.y) > 0.5
    unseen = pipeline.predict(toy.X_new, signatures=toy.table.loc[["emu", "bee"]])
    assert set(unseen) <= {"emu", "bee"}
    np.testing.assert_array_equal(pipeline.decision_function(toy.X), by_hand.decision_function(scaled.transform(toy.X)))


def test_cross_validation_and_grid_search(toy):
    scores = cross_val_score(toy.model(), toy.X, toy.y, cv=3, params={"signatures": toy.table}, error_score="raise")
    assert scores.shape == (3,)
    assert scores.mean() > 0.5
    search = GridSearchCV(toy.model(), {"sigma": [0.5, 2.0]}, cv=3, error_score="raise")
    search.fit(toy.X, toy.y, signatures=toy.table)
    assert search.best_params_["sigma"] in (0.5, 2.0)
    assert search.best_estimator_.candidates_.tolist() == CANDIDATES
    assert set(search.best_estimator_.predict(toy.X_new, candidates=["emu", "bee"])) <= {"emu", "bee"}
    assert search.predict(toy.X).shape == toy.y.shape


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mean", ["seen", "all"])
def test_the_order_of_the_table_orders_columns_only(toy, seed, mean):
    model = toy.fitted(signature_mean=mean)
    shuffled = toy.table.sample(frac=1, random_state=seed)
    other = toy.model(signature_mean=mean).fit(toy.X, toy.y, shuffled)
    if mean == "seen":
        np.testing.assert_array_equal(other.projection_, model.projection_)
    columns = [CANDIDATES.index(label) for label in other.candidates_]
    assert_close(other.compatibility(toy.X), model.compatibility(toy.X)[:, columns], AFTER_FIT.single)
    order = [CANDIDATES.index(label) for label in shuffled.index]
    assert_close(model.compatibility(toy.X, shuffled), model.compatibility(toy.X)[:, order], SUMS.double)


def test_fit_and_predict_leave_their_inputs_alone(toy):
    X, y, table = toy.X.copy(), toy.y.copy(), toy.table.copy()
    model = toy.model(feature_scaling="sqrt-center-l2")
    parameters = model.get_params()
    model.fit(X, y, table).top_k(X, 2, table)
    for dtype in (np.float32, np.float64):
        single = toy.X.astype(dtype)
        model.fit(single, y, table.to_numpy()[:3]).compatibility(single)
        np.testing.assert_array_equal(single, toy.X.astype(dtype))
    np.testing.assert_array_equal(X, toy.X)
    np.testing.assert_array_equal(y, toy.y)
    pd.testing.assert_frame_equal(table, toy.table)
    assert model.get_params() == parameters


def test_same_seed_same_model_and_predictions_are_repeatable(toy):
    one, two = toy.fitted(init="uniform"), toy.fitted(init="uniform")
    np.testing.assert_array_equal(one.projection_, two.projection_)
    np.testing.assert_array_equal(one.compatibility(toy.X), one.compatibility(toy.X))
    assert not np.array_equal(toy.fitted(init="uniform", random_state=1).projection_, one.projection_)


class Stop(BaseException):
    """Stands for the keyboard interrupt of an impatient user."""


def stop(progress):
    if progress.step == 2:
        raise Stop


FAILURES = {
    "NaN": (ValueError, lambda m, t: m.fit(np.where(t.X > 1, np.nan, t.X), t.y, t.table)),
    "other width and a label without signature": (ValueError, lambda m, t: m.fit(t.X[:, :2], t.y, t.table.iloc[:2])),
    "one class": (ValueError, lambda m, t: m.fit(t.X[:, :3], ["emu"] * len(t.y), t.table)),
    "other attributes, one of them missing": (ValueError, lambda m, t: m.fit(t.X, t.y, t.table[["fur"]] * np.nan)),
    "interrupted": (Stop, lambda m, t: m.fit(t.X[:, :4], t.y, t.table[["fur"]], callback=stop)),
    "bad monitor": (ValueError, lambda m, t: m.fit(t.X[:, :4], t.y, t.table, monitor=(t.X, t.y))),
    "bad learning rate": (ValueError, lambda m, t: m.set_params(learning_rate=0).fit(t.X, t.y, t.table)),
    "diverged": (DivergenceError, lambda m, t: m.set_params(learning_rate=1e9).fit(t.X, t.y, t.table)),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_fit_that_fails_leaves_the_fitted_model_as_it_was(toy, failure):
    error, attempt = FAILURES[failure]
    model = toy.fitted("polynomial", loss="linear")
    model.calibration_ = 0.25
    before, fitted = model.compatibility(toy.X), {n: v for n, v in vars(model).items() if n.endswith("_")}
    with pytest.raises(error):
        attempt(model, toy)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert after.keys() == fitted.keys()
    assert all(after[name] is fitted[name] for name in fitted)
    np.testing.assert_array_equal(model.compatibility(toy.X), before)


def test_a_first_fit_that_fails_leaves_an_unfitted_model(toy):
    model = toy.model()
    before = dict(vars(model))
    with pytest.raises(ValueError, match="no signature"):
        model.fit(toy.X, toy.y, toy.table.iloc[:2])
    assert vars(model) == before


@pytest.mark.parametrize(
    ("parameter", "value"), [("sigma", 0), ("sigma", 3.0), ("kernel", "gausian"), ("incoherence", False)]
)
def test_a_fitted_model_scores_with_the_kernel_it_was_trained_with(toy, parameter, value):
    model = toy.fitted()
    before = model.compatibility(toy.X)
    model.set_params(**{parameter: value})  # takes effect at the next fit
    np.testing.assert_array_equal(model.compatibility(toy.X), before)
