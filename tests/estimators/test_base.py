"""The contract of an estimator: scikit-learn's tools work, and nothing else changes or matters."""

import itertools
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import textbook
from fits import (
    ALL,
    DATA,
    KERNEL_METHODS,
    ROWS,
    TRAINING,
    UNSEEN,
    described_twice,
    estimator,
    fit_explained,
    fitted,
    slow_problem,
)
from taught_models import SORTS
from tolerances import AFTER_FIT, SUMS, assert_close
from toy import CANDIDATES, assert_one_sentence
from zskl import DivergenceError, ZeroShotKernelClassifier, _arrays, kernels, methods
from zskl.estimators._inputs import Training
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.explanation import ScoreParts
from zskl.estimators.kernel_classifier import draw_signatures, make_step
from zskl.kernels import Cauchy, Gaussian, Polynomial
from zskl.methods import build
from zskl.training.objective import BALANCES, Objective
from zskl.training.solver import polarise

# Estimator ------------------------------------------------------------------------------------------------------------


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


# Labels ---------------------------------------------------------------------------------------------------------------
# Labels as text, integers and booleans, in every form that users hand over.

LABELS = {
    "numpy text": lambda y: y,
    "object": lambda y: y.astype(object),
    "list": lambda y: y.tolist(),
    "list of numpy text": list,
    "Series": pd.Series,
    "Series with another index": lambda y: pd.Series(y, index=range(100, 100 + len(y))),
    "string Series": lambda y: pd.Series(y, dtype="string"),
    "object Series": lambda y: pd.Series(y, dtype=object),
    "categorical Series": lambda y: pd.Series(y, dtype="category"),
    "Categorical": pd.Categorical,
    "polars Series": lambda y: pl.Series(y.tolist()),
}
CODES = {"ant": 3, "cat": 7, "dog": 8, "emu": -2, "bee": 5}


@pytest.mark.parametrize("form", LABELS)
def test_text_labels_in_every_form(toy, form):
    expected = toy.fitted()
    model = toy.model().fit(toy.X, LABELS[form](toy.y), toy.table)
    assert model.classes_.tolist() == ["ant", "cat", "dog"]
    assert model.candidates_.tolist() == CANDIDATES
    np.testing.assert_array_equal(model.projection_, expected.projection_)
    predicted = model.predict(toy.X)
    assert isinstance(predicted, np.ndarray)
    assert predicted.tolist() == expected.predict(toy.X).tolist()
    assert all(isinstance(label, str) for label in predicted)
    assert model.score(toy.X, LABELS[form](toy.y)) == expected.score(toy.X, toy.y)


def test_text_of_variable_length(toy):
    model = toy.model().fit(toy.X, toy.y.astype(np.dtypes.StringDType()), toy.table)
    assert model.candidates_.tolist() == CANDIDATES
    assert model.predict(toy.X).tolist() == toy.fitted().predict(toy.X).tolist()


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, "Int64", "category", list])
def test_integer_labels(toy, dtype):
    codes = np.array([CODES[label] for label in toy.y])
    y = (
        codes.tolist()
        if dtype is list
        else pd.Series(codes, dtype=dtype)
        if isinstance(dtype, str)
        else codes.astype(dtype)
    )
    table = toy.table.set_axis([CODES[label] for label in toy.table.index])
    model = toy.model().fit(toy.X, y, table)
    assert model.classes_.tolist() == [3, 7, 8]
    assert model.candidates_.tolist() == [3, 7, 8, -2, 5]
    assert model.predict(toy.X).dtype.kind in "iu"
    named = toy.fitted()
    np.testing.assert_array_equal(model.projection_, named.projection_)
    assert model.predict(toy.X_new).tolist() == [CODES[label] for label in named.predict(toy.X_new)]


def test_boolean_labels(toy):
    y = toy.y == "dog"
    model = toy.model().fit(toy.X, y, {False: [1.0, 0.0], True: [0.2, 1.0]})
    assert model.classes_.tolist() == model.candidates_.tolist() == [False, True]
    assert model.predict(toy.X).dtype == bool
    assert model.decision_function(toy.X).shape == (len(y),)


def test_predicted_labels_have_the_type_of_the_labels_of_fit(toy):
    for y in (toy.y.astype(np.str_), toy.y.astype(object)):
        model = toy.model().fit(toy.X, y, toy.table)
        assert model.candidates_.dtype.kind == model.classes_.dtype.kind == y.dtype.kind
        assert model.predict(toy.X).dtype.kind == y.dtype.kind
        assert model.predict(toy.X, toy.table.loc[["emu", "bee"]]).dtype.kind == y.dtype.kind


def test_boolean_labels_are_not_the_integers_0_and_1(toy):
    table = toy.table.head(3).set_axis([0, 1, 2], axis=0)
    with pytest.raises(ValueError, match="booleans, in signatures integers"):
        toy.model().fit(toy.X, toy.y == "dog", table)


def test_a_table_whose_integer_classes_were_read_as_floats(toy):
    codes = {label: k for k, label in enumerate(toy.table.index)}
    y = np.array([codes[label] for label in toy.y])
    model = toy.model().fit(toy.X, y, toy.table.set_axis(np.arange(5.0), axis=0))
    assert model.candidates_.dtype.kind == model.predict(toy.X).dtype.kind == "i"
    with pytest.raises(ValueError, match=r"labels such as 4\.5, but labels in y are integers"):
        toy.model().fit(toy.X, y, toy.table.set_axis([0.0, 1.0, 2.0, 3.0, 4.5], axis=0))


# Calibration ----------------------------------------------------------------------------------------------------------
# Scores and ranks, and the calibration constant that is subtracted from seen classes.


def test_decision_function_has_the_shape_of_scikit_learn(toy):
    model = toy.fitted()
    assert_close(model.decision_function(toy.X), model.compatibility(toy.X)[:, :3], SUMS.double)
    two = toy.y != "cat"
    model = toy.model().fit(toy.X[two], toy.y[two], toy.table)
    scores = model.compatibility(toy.X)
    assert scores.shape == (len(toy.X), 5)
    assert_close(model.decision_function(toy.X), scores[:, 1] - scores[:, 0], SUMS.double)


@pytest.mark.parametrize("k", [1, 3, np.int64(5)])
def test_top_k(toy, k):
    model = toy.fitted()
    labels, scores = model.top_k(toy.X_new, k, return_scores=True)
    assert labels.shape == scores.shape == (len(toy.X_new), k)
    assert labels[:, 0].tolist() == model.predict(toy.X_new).tolist()
    assert (np.diff(scores, axis=1) <= 0).all()
    assert all(len(set(row)) == k for row in labels.tolist())
    raw = model.compatibility(toy.X_new)
    for row, column in np.ndindex(*labels.shape):
        assert scores[row, column] == raw[row, CANDIDATES.index(labels[row, column])]
    assert labels.tolist() == model.top_k(toy.X_new, k).tolist()


def test_top_k_is_five_by_default(toy):
    assert toy.fitted().top_k(toy.X).shape == (len(toy.X), 5)


@pytest.mark.parametrize("calibration", [0.05, 10.0, -10.0])
def test_calibration_is_taken_off_seen_classes_where_both_kinds_compete(toy, calibration):
    model = toy.fitted()
    before = model.compatibility(toy.X)
    model.calibration_ = calibration
    np.testing.assert_array_equal(model.compatibility(toy.X), before)  # always raw
    assert_close(model.decision_function(toy.X), before[:, :3], SUMS.double)
    lowered = before - calibration * np.array([1, 1, 1, 0, 0])
    assert model.predict(toy.X).tolist() == [CANDIDATES[best] for best in lowered.argmax(axis=1)]
    labels, scores = model.top_k(toy.X, return_scores=True)
    assert labels[:, 0].tolist() == model.predict(toy.X).tolist()
    assert_close(scores, -np.sort(-lowered, axis=1), SUMS.double)
    if abs(calibration) > 1:  # more than any difference of scores
        kind = {"emu", "bee"} if calibration > 0 else {"ant", "cat", "dog"}
        assert set(model.predict(toy.X)) <= kind


def test_calibration_can_be_switched_off_and_never_touches_one_kind_alone(toy):
    model = toy.fitted()
    plain = {
        kind: model.top_k(toy.X, 2, candidates=kind, return_scores=True) for kind in (("ant", "dog"), ("emu", "bee"))
    }
    mixed = model.predict(toy.X).tolist()
    model.calibration_ = 10.0
    assert model.predict(toy.X).tolist() != mixed
    assert model.predict(toy.X, calibrated=False).tolist() == mixed
    assert model.top_k(toy.X, 1, calibrated=False)[:, 0].tolist() == mixed
    for kind, (labels, scores) in plain.items():
        again, same = model.top_k(toy.X, 2, candidates=kind, return_scores=True)
        assert again.tolist() == labels.tolist()
        np.testing.assert_array_equal(same, scores)


def test_calibration_knows_seen_classes_in_a_table_at_predict_time(toy):
    model = toy.fitted()
    model.calibration_ = 10.0
    new = pd.concat([toy.table.loc[["dog"]], toy.table.loc[["bee"]].rename(index={"bee": "wasp"})])
    assert set(model.predict(toy.X, new)) == {"wasp"}
    assert set(model.predict(toy.X, new, candidates=["dog"])) == {"dog"}


def test_a_fit_forgets_the_calibration(toy):
    model = toy.fitted()
    model.calibration_ = 10.0
    assert model.fit(toy.X, toy.y, toy.table).calibration_ == 0.0


def test_score_is_the_accuracy_of_predict(toy):
    model = toy.fitted()
    assert model.score(toy.X, toy.y) == (model.predict(toy.X) == toy.y).mean()
    weights = np.arange(1.0, len(toy.y) + 1)
    hits = model.predict(toy.X) == toy.y
    assert model.score(toy.X, toy.y, weights) == pytest.approx(np.average(hits, weights=weights), rel=1e-12)


# Several signatures ---------------------------------------------------------------------------------------------------
# Classes with several signatures: one is drawn for each step, and the best one scores.


def training_set(counts=(2, 3, 1), n=5, d=6, p=4):
    """Scaled float64 arrays as a method sees them, class k described by counts[k] rows."""
    rng = np.random.default_rng(0)
    owners = np.repeat(np.arange(len(counts)), counts)
    groups = [np.flatnonzero(owners == k) for k in range(len(counts))]
    rows = np.array([[*group, *[group[0]] * (max(counts) - len(group))] for group in groups])
    codes = np.arange(n) % len(counts)
    return Training(
        X=rng.standard_normal((n, d)) / 2,
        codes=codes,
        Y=rng.standard_normal((len(owners), p)) / 2,
        rows=rows,
        counts=np.array(counts),
        sizes=np.array([4, 2, 3]),
    )


def test_each_row_of_a_class_is_drawn_equally_often():
    training, times = training_set(), 6000
    drawn = np.array([draw_signatures(training, 5, t) for t in range(times)])  # (times, C)
    for k, count in enumerate(training.counts):
        found = np.bincount(drawn[:, k], minlength=len(training.Y))
        own = training.rows[k, :count]
        assert found.sum() == found[own].sum() == times, "a row of another class was drawn"
        spread = 5 * (times * (1 / count) * (1 - 1 / count)) ** 0.5
        assert np.abs(found[own] - times / count).max() <= spread
    together = np.bincount(3 * drawn[:, 0] + drawn[:, 1] - 2, minlength=6)  # rows 0–1 and 2–4: six pairs
    assert np.abs(together - times / 6).max() <= 5 * (times / 6) ** 0.5, "classes are not drawn independently"


def test_a_draw_is_a_function_of_seed_and_step():
    training = training_set((4, 4, 4))
    draws = {(seed, t): tuple(draw_signatures(training, seed, t)) for seed in range(3) for t in range(30)}
    assert all(tuple(draw_signatures(training, seed, t)) == rows for (seed, t), rows in draws.items())
    assert len({draws[0, t] for t in range(30)}) > 10
    assert [draws[0, t] for t in range(30)] != [draws[1, t] for t in range(30)]


def test_a_step_takes_the_drawn_rows():
    training = training_set()
    objective = Objective(kernels.Gaussian(1.1))
    step = make_step(objective, training, seed=5, per_sample=False)
    W, rows = np.random.default_rng(2).standard_normal((1, 6, 4)), np.array([0, 3])
    sizes = training.sizes.astype(np.float64)
    for t in range(10):
        Y = training.Y[draw_signatures(training, 5, t)]
        expected = objective.evaluate(W, training.X[rows], Y, training.codes[rows], sizes)
        np.testing.assert_array_equal(step(W, rows, t)[1], expected.gradient)


def mean_over_draws(setting, training, W, drawn_from):
    """The mean gradient over all combinations of one row per class."""
    objective = Objective(
        kernels.build(setting.kernel, setting.parameters),
        setting.loss,
        setting.balance,
        setting.incoherence,
        setting.repulsion,
    )
    gradients = []
    for combination in itertools.product(*drawn_from):
        Y = training.Y[list(combination)]
        gradients.append(objective.evaluate(W, training.X, Y, training.codes, training.sizes.astype(float)).gradient)
    return np.mean(gradients, axis=0)


@pytest.mark.parametrize("incoherence", [True, False])
@pytest.mark.parametrize("balance", BALANCES)
@pytest.mark.parametrize("loss", ["squared", "linear"])
@pytest.mark.parametrize("kernel", kernels.names())
def test_the_expected_gradient_is_that_of_the_full_sum(kernel, loss, balance, incoherence):
    training = training_set()
    setting = textbook.Setting(kernel, textbook.KERNELS[kernel].settings[0], loss, balance, incoherence, 0.7)
    W = 0.4 * np.random.default_rng(1).standard_normal((6, 4))
    own = [training.rows[k, :count] for k, count in enumerate(training.counts)]
    descriptions = [training.Y[rows] for rows in own]
    _, expected = textbook.full_sum(setting, W, training.X, descriptions, training.codes, training.sizes)
    found = mean_over_draws(setting, training, W, own)
    assert_close(found, expected, SUMS.double)
    padded = mean_over_draws(setting, training, W, training.rows)  # a fault: the padding counts as rows
    assert np.abs(padded - expected).max() > 1e-4


def test_a_class_scores_the_best_of_its_rows():
    X, y, table = described_twice()
    table = pd.concat([table, table.iloc[:1] + 0.1]).sample(frac=1, random_state=0)  # 2 or 3 rows, not side by side
    model = estimator(feature_scaling="none", signature_scaling="none").fit(X, y, table)
    setting = textbook.Setting("gaussian", {"sigma": 1.0})
    found = model.compatibility(X[:7])
    for column, label in enumerate(model.candidates_):
        rows = table.loc[[label]].to_numpy()
        each = textbook.scores(setting, model.projection_, X[:7], rows)
        assert_close(found[:, column], each.max(axis=1), SUMS.single)
        with pytest.raises(AssertionError):  # and not of the worst
            assert_close(found[:, column], each.min(axis=1), SUMS.single)
    np.testing.assert_array_equal(model.predict(X[:7]), model.candidates_[found.argmax(axis=1)])


def test_a_fit_starts_from_the_mean_of_a_class_s_own_rows():
    """A class with fewer rows than others is padded with its first, which must not count twice."""
    X, y, Y = slow_problem()
    table = {0: Y[:1], 1: np.stack([Y[1], Y[1] + 1, Y[1] - 3]), 2: np.stack([Y[2], 5 * Y[2]])}
    model = estimator(learning_rate=1e-12, feature_scaling="none", signature_scaling="none").fit(X, y, table)
    means = np.stack([rows.mean(axis=0) for rows in table.values()])
    assert_close(model.projection_, polarise(X, means[y], 0), SUMS.single)
    padded = np.stack([table[0].mean(axis=0), means[1], (2 * table[2][0] + table[2][1]) / 3])
    with pytest.raises(AssertionError):
        assert_close(model.projection_, polarise(X, padded[y], 0), SUMS.single)


# Inspection -----------------------------------------------------------------------------------------------------------
# What a fitted model shows of itself: attribute space, kept projections, nearest classes.


@pytest.mark.parametrize("name", ["gaussian, True", "polynomial-2, True", "eszsl"])
def test_attribute_space(toy, monkeypatch, name):
    model = fit_explained(name, toy)
    expected = [textbook.project(model.projection_, x) for x in model.feature_scaling_.apply(toy.X)]
    assert_close(model.attribute_space(toy.X), expected, SUMS.double)
    assert model.attribute_space(toy.X.astype(np.float32)).dtype == np.float32
    assert model.attribute_space(toy.X.round().astype(int)).dtype == np.float64
    monkeypatch.setattr("zskl.estimators.search_vectors.BLOCK_BYTES", (200, 200))
    assert_close(model.attribute_space(toy.X), expected, SUMS.double)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_gallery_scores_as_compatibility_does(toy, name, dtype):
    table = pd.concat([toy.table, toy.table.loc[["cat"]] + 0.3])
    model, X = fit_explained(name, toy, table), toy.X.astype(dtype)
    gallery = model.gallery(X)
    assert len(gallery) == len(X)
    asked = [(), (None, ["emu", "cat"]), ({"new": [0.1, -0.5, 0.7, 0.2]},), (toy.table.iloc[:2],)]
    for question in asked:
        scores, expected = gallery.scores(*question), model.compatibility(X, *question)
        assert (scores.dtype, scores.shape) == (expected.dtype, expected.shape)
        assert_close(scores, expected, SUMS.of(dtype))


def test_a_gallery_keeps_the_model_it_was_made_of(toy):
    for name in ("gaussian, True", "dap"):
        model = fit_explained(name, toy)
        gallery, before = model.gallery(toy.X), model.compatibility(toy.X)
        model.fit(toy.X[::-1] + 1.0, toy.y, toy.table)
        assert not np.allclose(model.compatibility(toy.X), before, rtol=1e-3)
        assert_close(gallery.scores(), before, SUMS.double)


def test_a_gallery_does_not_project_again(toy, monkeypatch):
    model = toy.fitted()
    gallery = model.gallery(toy.X)
    monkeypatch.setattr(ScoreParts, "projected", lambda self, X: pytest.fail("projected again"))
    monkeypatch.setattr(ZeroShotClassifier, "_scaled", lambda self, X: pytest.fail("scaled again"))
    assert gallery.scores({"new": [0.1, -0.5, 0.7, 0.2]}).shape == (36, 1)


@pytest.mark.parametrize("small", [True, False])
def test_nearest_classes(toy, monkeypatch, small):
    if small:
        monkeypatch.setattr("zskl.estimators._candidates.BLOCK_BYTES", (1, 1))
    table = pd.concat(
        [toy.table, toy.table.loc[["cat"]] * -1, toy.table.loc[["emu"]] + 0.2, toy.table.loc[["emu"]] - 1]
    )
    model = toy.model().fit(toy.X, toy.y, table)
    scaled = pd.DataFrame(model.signature_scaling_.apply(table.to_numpy()), index=table.index)
    found = model.nearest_classes(top=3)
    assert found.columns.tolist() == ["class", "nearest", "similarity"]
    assert found["class"].tolist() == [label for label in model.candidates_ for _ in range(3)]
    for label, rows in found.groupby("class"):
        expected = {
            other: max(
                textbook.cosine(a, b) for a in scaled.loc[[label]].to_numpy() for b in scaled.loc[[other]].to_numpy()
            )
            for other in model.candidates_
            if other != label
        }
        best = sorted(expected, key=lambda other: -expected[other])[:3]
        assert rows["nearest"].tolist() == best
        assert_close(rows["similarity"], [expected[other] for other in best], SUMS.double)
    assert len(model.nearest_classes(top=99)) == 5 * 4
    few = model.nearest_classes(1, {"a": [1, 0, 0, 2], "b": [0, 1, 0, 0]})
    assert few[["class", "nearest"]].to_numpy().tolist() == [["a", "b"], ["b", "a"]]
    with pytest.raises(ValueError, match="the only candidate is 'cat'"):
        model.nearest_classes(candidates=["cat"])
    with pytest.raises(ValueError, match="top is 0: expected an integer"):
        model.nearest_classes(0)


@pytest.mark.parametrize("sort", ["gaussian", "linear, several signatures", "gaussian identity", "gaussian, taught"])
def test_a_gallery_of_class_means_keeps_directions(toy, sort):
    model = SORTS[sort](toy)
    for X in (toy.X, toy.X.astype(np.float32)):
        gallery = model.gallery(X)
        assert (len(gallery), gallery._X.shape[0]) == (len(X), 1)  # the rows themselves are not kept
        expected = model.compatibility(X)
        assert_close(gallery.scores(), expected, SUMS.of(X.dtype))
        assert gallery.scores().dtype == expected.dtype
        new = model.signature_table_.matrix[:2] + 0.3
        assert_close(gallery.scores(new, ["cow", "ant"]), model.compatibility(X, new, ["cow", "ant"]), SUMS.of(X.dtype))
    with pytest.raises(ValueError, match=r"^ClassMeansClassifier has no attribute space: "):
        model.attribute_space(toy.X)


# Leaks ----------------------------------------------------------------------------------------------------------------
# Test rows and unseen classes never influence a fit.


def check_no_leak(train):
    """W is the same bit for bit, whatever the test rows and their labels are; `train` maps (X, y) of all rows to W."""
    expected = train(DATA.X, DATA.y)
    rng = np.random.default_rng(1)
    test_rows = np.concatenate([DATA.parts["test_seen"], UNSEEN])
    for chosen in (test_rows[:1], test_rows[-1:], rng.choice(test_rows, 5, replace=False), test_rows):
        X, y = DATA.X.copy(), DATA.y.copy()
        X[chosen] = 1e3 * rng.standard_normal((len(chosen), X.shape[1]))
        np.testing.assert_array_equal(train(X, DATA.y), expected)
        y[chosen] = rng.permutation(np.roll(y, 25)[chosen])
        np.testing.assert_array_equal(train(X, y), expected)


@pytest.mark.parametrize("name", KERNEL_METHODS)
def test_test_rows_leave_the_projection_alone(name):
    model = build(name, {"random_state": 0, "epochs": 1})
    check_no_leak(lambda X, y: model.fit(X[ROWS], y[ROWS], DATA.signatures).projection_)


def test_monitored_test_rows_leave_the_projection_alone():
    model = estimator(epochs=1)
    check_no_leak(
        lambda X, y: (
            model.fit(X[ROWS], y[ROWS], DATA.signatures, monitor=(X[UNSEEN], y[UNSEEN]), monitor_every=2).projection_
        )
    )


def test_the_leak_check_catches_training_on_test_rows():
    rows = np.append(ROWS, DATA.parts["test_seen"])
    with pytest.raises(AssertionError):
        check_no_leak(lambda X, y: estimator(epochs=1).fit(X[rows], y[rows], DATA.signatures).projection_)


def test_the_leak_check_catches_a_mean_over_all_rows():
    with pytest.raises(AssertionError):
        check_no_leak(
            lambda X, y: (
                estimator(epochs=1, feature_scaling="l2")
                .fit(X[ROWS] - X.mean(axis=0), y[ROWS], DATA.signatures)
                .projection_
            )
        )


def test_signatures_of_unseen_classes_count_only_where_asked_for():
    changed = DATA.signatures.copy()
    changed.loc[DATA.unseen_classes] *= 7
    for mean, equal in (("seen", True), ("all", False)):
        model = estimator(signature_mean=mean)
        one = model.fit(*TRAINING).projection_
        other = model.fit(*TRAINING[:2], changed).projection_
        assert np.array_equal(one, other) == equal


def test_prediction_changes_nothing():
    model = fitted()
    before, W = dict(vars(model)), model.projection_.copy()
    model.predict(DATA.X[UNSEEN])
    model.compatibility(DATA.X[UNSEEN], DATA.signatures.loc[DATA.unseen_classes])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    np.testing.assert_array_equal(model.projection_, W)


# Bad settings ---------------------------------------------------------------------------------------------------------
# Settings, methods and devices that cannot be: the name, the value and what was expected in one sentence.

POSITIVE, NOT_NEGATIVE, WHOLE = "finite number > 0", "finite number ≥ 0", "integer ≥ 1"
PARAMETERS = [
    *(("sigma", value, POSITIVE) for value in (0, 0.0, -1, -0.5, np.nan, np.inf, None, "1", True, [1.0])),
    *(("bias", value, NOT_NEGATIVE) for value in (-1, -1e-9, np.nan, -np.inf, "a")),
    *(("degree", value, WHOLE) for value in (0, -2, 1.5, 2.0, True, "2", None)),
    *(("repulsion", value, NOT_NEGATIVE) for value in (-1, np.nan)),
    *(("incoherence_weight", value, NOT_NEGATIVE) for value in (-1, np.inf)),
    *(("temperature", value, POSITIVE) for value in (0, -1)),
    *(("learning_rate", value, POSITIVE) for value in (0, -1e-3)),
    *(("epsilon", value, POSITIVE) for value in (0, -1e-6)),
    *(("decay", value, NOT_NEGATIVE) for value in (-1, None)),
    *(("smoothing", value, "") for value in (-0.1, 1, 1.5, "x")),
    *(("batch_size", value, WHOLE) for value in (0, 2.5)),
    *(("epochs", value, WHOLE) for value in (0, -1, 1e3)),
    *(("incoherence", value, "True or False") for value in ("yes", None, 2)),
    *(("warm_start", value, "True or False") for value in ("no", None)),
]


@pytest.mark.parametrize(("name", "value", "expected"), PARAMETERS, ids=repr)
def test_a_number_out_of_range(toy, name, value, expected):
    for kernel in ("gaussian", "polynomial"):
        with pytest.raises(ValueError) as caught:
            toy.fitted(kernel, **{name: value})
        assert_one_sentence(caught.value, [f"{name} is {value!r}: expected", expected])


CHOICES = [
    ("kernel", "gausian", "gaussian", "cauchy, polynomial"),
    ("kernel", "Cauchy", "cauchy", "gaussian, cauchy, polynomial"),
    ("loss", "square", "squared", "squared, linear, softmax"),
    ("loss", "soft-max", "softmax", "squared, linear, softmax"),
    ("balance", "size", "sizes", "mean, paper, sizes, printed"),
    ("schedule", "exponental", "exponential", "constant, exponential, inverse-time"),
    ("schedule", "inverse_time", "inverse-time", "constant, exponential, inverse-time"),
    ("init", "unifrom", "uniform", "uniform, orthogonal"),
    ("init", "polarized", "polarised", "uniform, orthogonal"),
    ("second_moment", "per-sample", "per_sample", "batch, per_sample"),
    ("signature_mean", "al", "all", "seen, all"),
    ("feature_scaling", "centre-l2", "center-l2", "none, center-l2, sqrt-center-l2, l2-center-l2"),
    ("feature_scaling", "sqrt-centre-l2", "sqrt-center-l2", "none, center-l2, sqrt-center-l2, l2-center-l2"),
    ("signature_scaling", "centerl2", "center-l2", "none, center-l2, sqrt-center-l2, l2-center-l2"),
]


@pytest.mark.parametrize(("name", "value", "nearest", "options"), CHOICES)
def test_an_unknown_choice_names_the_nearest(toy, name, value, nearest, options):
    with pytest.raises(ValueError) as caught:
        toy.fitted(**{name: value})
    assert_one_sentence(caught.value, [name, repr(value), f"did you mean {nearest!r}?", options])


@pytest.mark.parametrize(
    "name",
    ["kernel", "loss", "balance", "schedule", "init", "second_moment", "signature_mean", "feature_scaling",
     "signature_scaling"],
)  # fmt: skip
def test_a_choice_that_is_none_of_them(toy, name):
    for value in (None, 3, ["gaussian"], "", "qqqqqqq"):
        with pytest.raises(ValueError) as caught:
            toy.fitted(**{name: value})
        assert_one_sentence(caught.value, [name, repr(value), "expected one of"])
        assert value not in (3, "", "qqqqqqq") or "did you mean" not in str(caught.value)


@pytest.mark.parametrize("scaling", ["center-center", "center-l2-center", "-", "center-", "none-l2"])
def test_scalings_that_cannot_be(toy, scaling):
    with pytest.raises(ValueError) as caught:
        toy.fitted(feature_scaling=scaling)
    assert_one_sentence(caught.value, [f"feature_scaling is {scaling!r}", "at most one 'center'"])


def test_parameters_are_checked_before_the_data(toy):
    with pytest.raises(ValueError, match="sigma is 0"):
        toy.model(sigma=0).fit(np.full((2, 2), np.nan), [])


def test_unknown_methods_and_settings_name_the_nearest():
    with pytest.raises(ValueError) as caught:
        methods.build("gausian-ort")
    assert_one_sentence(caught.value, ["method 'gausian-ort'", "did you mean 'gaussian-ort'?", "cauchy-softmax"])
    with pytest.raises(ValueError) as caught:
        methods.build("gaussian", {"sigmas": 1})
    assert_one_sentence(caught.value, ["'gaussian'", "'sigmas'", "did you mean 'sigma'?"])


# Devices -------------------------------------------------------------------------------------------------------------


def has_gpu():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


@pytest.mark.skipif(has_gpu(), reason="there is a GPU here")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:7"])
def test_cuda_without_a_gpu(toy, device):
    for call in (
        lambda: toy.fitted(device=device),
        lambda: toy.fitted().set_params(device=device).predict(toy.X),
    ):
        with pytest.raises(ValueError) as caught:
            call()
        assert_one_sentence(caught.value, [f"device is {device!r}", "device='cpu'"])


@pytest.mark.parametrize("device", ["gpu", "nonsense", "cuda:x", "", 5])
def test_a_device_that_is_none(toy, device):
    with pytest.raises(ValueError) as caught:
        toy.fitted(device=device)
    assert_one_sentence(caught.value, [f"device is {str(device)!r}", "'cpu'"])


@pytest.mark.parametrize("device", ["xpu" if sys.platform == "darwin" else "mps", "meta"])
def test_a_device_of_another_kind(toy, device):
    with pytest.raises(ValueError) as caught:
        toy.fitted(device=device)
    assert_one_sentence(caught.value, [f"device is {device!r}", "'cpu'"])


def test_a_device_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # what an import that fails leaves behind
    with pytest.raises(ValueError) as caught:
        _arrays.check_device("cuda")
    assert_one_sentence(caught.value, ["device is 'cuda'", "PyTorch", "zskl[torch]", "device='cpu'"])
    _arrays.check_device("cpu")
    _arrays.check_device(None)
