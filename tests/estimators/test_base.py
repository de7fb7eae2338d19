"""The contract of an estimator: scikit-learn's tools work, and nothing else changes or matters."""

import inspect
import math
import pickle
import sys
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss, get_scorer, get_scorer_names
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import textbook
import zskl
from fits import ALL, DATA, KERNEL_METHODS, ROWS, TRAINING, UNSEEN, estimator, fit_explained, fitted
from taught_models import SORTS
from tolerances import AFTER_FIT, SUMS, assert_close
from toy import CANDIDATES, assert_one_sentence
from zskl import (
    ClassMeansClassifier,
    Committee,
    DivergenceError,
    ZeroShotKernelClassifier,
    _arrays,
    baselines,
    methods,
    metrics,
)
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.explanation import ScoreParts
from zskl.kernels import Cauchy, Gaussian, Polynomial
from zskl.methods import build


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


# Labels
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
    assert model.seen_classes_.tolist() == ["ant", "cat", "dog"]
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
    assert model.seen_classes_.tolist() == [3, 7, 8]
    assert model.classes_.tolist() == model.candidates_.tolist() == [-2, 3, 5, 7, 8]
    assert model.predict(toy.X).dtype.kind in "iu"
    named = toy.fitted()
    np.testing.assert_array_equal(model.projection_, named.projection_)
    assert model.predict(toy.X_new).tolist() == [CODES[label] for label in named.predict(toy.X_new)]


def test_boolean_labels(toy):
    y = toy.y == "dog"
    model = toy.model().fit(toy.X, y, {False: [1.0, 0.0], True: [0.2, 1.0]})
    assert model.seen_classes_.tolist() == model.candidates_.tolist() == [False, True]
    assert model.predict(toy.X).dtype == bool
    assert model.decision_function(toy.X).shape == (len(y),)


def test_predicted_labels_have_the_type_of_the_labels_of_fit(toy):
    for y in (toy.y.astype(np.str_), toy.y.astype(object)):
        model = toy.model().fit(toy.X, y, toy.table)
        assert model.candidates_.dtype.kind == model.seen_classes_.dtype.kind == y.dtype.kind
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


# Calibration
# Scores and ranks, and the calibration constant that is subtracted from seen classes.


def test_decision_function_has_the_shape_of_scikit_learn(toy):
    model = toy.fitted()
    assert_close(model.decision_function(toy.X), model.compatibility(toy.X), SUMS.double)
    two = toy.y != "cat"
    model = toy.model().fit(toy.X[two], toy.y[two], toy.table)
    scores = model.compatibility(toy.X)
    assert scores.shape == (len(toy.X), 5)
    assert_close(model.decision_function(toy.X), scores, SUMS.double)
    two = model.decision_function(toy.X, candidates=model.seen_classes_)
    assert_close(two, scores[:, [0, 3]], SUMS.double)  # chosen ones have a column each
    model = toy.model().fit(toy.X[toy.y != "cat"], toy.y[toy.y != "cat"], toy.table.loc[["ant", "dog"]])
    scores = model.compatibility(toy.X)
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
def test_calibration_is_subtracted_from_seen_classes_where_both_kinds_compete(toy, calibration):
    model = toy.fitted()
    before = model.compatibility(toy.X)
    model.calibration_ = calibration
    np.testing.assert_array_equal(model.compatibility(toy.X), before)  # always raw
    lowered = before - calibration * np.array([1, 0, 1, 1, 0])
    assert_close(model.decision_function(toy.X), lowered, SUMS.double)
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


# Inspection
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
    monkeypatch.setattr(ScoreParts, "project", lambda self, X: pytest.fail("projected again"))
    monkeypatch.setattr(ZeroShotClassifier, "_scale_rows", lambda self, X: pytest.fail("scaled again"))
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


# Leaks
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


# Bad settings
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
    ("schedule", "exponental", "exponential", "constant, exponential, inverse-time, inverse-epochs"),
    ("schedule", "inverse_time", "inverse-time", "constant, exponential, inverse-time, inverse-epochs"),
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
def test_impossible_scalings_are_refused(toy, scaling):
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


# Devices


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
def test_an_unknown_device_is_refused(toy, device):
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


# Scorers
# Scorers of probabilities and ranks, scikit-learn's and those of `zskl.metrics`, each against a slow computation. Those
# of scikit-learn need rows of all classes; ours are also asked about a table with further classes.

ignore_uncalibrated = pytest.mark.filterwarnings("ignore::zskl.estimators.base.UncalibratedWarning")
SEEN = {"two": [0, 1], "three": [0, 1, 2]}
TEMPERATURES = {"seen": 0.4, "unseen": 0.5, "mixed": 0.6}
NAMES = sorted(name for name in get_scorer_names() if get_scorer(name)._response_method != "predict")
ONLY = {"roc_auc": "two", "top_k_accuracy": "three", **dict.fromkeys([n for n in NAMES if "_ov" in n], "three")}
if "scale_by_half" not in inspect.signature(brier_score_loss).parameters:  # scikit-learn below 1.7
    ONLY |= {"neg_brier_score": "two"}


def problem(classes, further=True):
    """Rows of some classes, close enough to be mistaken for each other, and a table of five, or of these alone."""
    rng = np.random.default_rng(5)
    table = dict(enumerate(rng.normal(size=(5, 4))))
    y = np.repeat(SEEN[classes], 12)
    X = np.array([table[label] for label in y]) @ rng.normal(size=(4, 6)) + 2.0 * rng.normal(size=(len(y), 6))
    return X, y, table if further else {label: table[label] for label in SEEN[classes]}


# Slow and obvious: y (n,) are places of classes, S (n, C) scores, P (n, C) probabilities


def wins(positive, negative):
    """The share of pairs in which a positive row has the larger number; half of a draw."""
    return np.mean([1.0 if p > q else 0.5 if p == q else 0.0 for p in positive for q in negative])


def precision(numbers, mine):
    """Σ over thresholds of (recall − recall before) · precision."""
    found, before = 0.0, 0.0
    for threshold in sorted(set(numbers), reverse=True):
        above = numbers >= threshold
        recall = np.sum(mine & above) / np.sum(mine)
        found, before = found + (recall - before) * np.sum(mine & above) / np.sum(above), recall
    return found


def shares(y, S):
    return [np.mean(y == k) for k in range(S.shape[1])]


def squares(y, P):
    return np.mean([sum((P[i, k] - (y[i] == k)) ** 2 for k in range(P.shape[1])) for i in range(len(y))])


def surprise(y, P):
    return np.mean([-math.log(P[i, y[i]]) for i in range(len(y))])


def against_rest(y, P):
    return [wins(P[y == k, k], P[y != k, k]) for k in range(P.shape[1])]


def pairs(y, P):
    """(mean of both directions, share of rows) of each pair of classes."""
    for a, b in combinations(range(P.shape[1]), 2):
        one, other = wins(P[y == a, a], P[y == b, a]), wins(P[y == b, b], P[y == a, b])
        yield (one + other) / 2, np.mean((y == a) | (y == b))


def guess(y, P):
    return np.tile(shares(y, P), (len(y), 1))


SLOW = {
    "average_precision": lambda y, S, P: (
        precision(S[:, 1] - S[:, 0], y == 1)
        if S.shape[1] == 2
        else np.mean([precision(S[:, k], y == k) for k in range(S.shape[1])])
    ),
    "d2_brier_score": lambda y, S, P: 1 - squares(y, P) / squares(y, guess(y, P)),
    "d2_log_loss_score": lambda y, S, P: 1 - surprise(y, P) / surprise(y, guess(y, P)),
    "neg_brier_score": lambda y, S, P: -squares(y, P) / (2 if S.shape[1] == 2 else 1),
    "neg_log_loss": lambda y, S, P: -surprise(y, P),
    "roc_auc": lambda y, S, P: wins((S[:, 1] - S[:, 0])[y == 1], (S[:, 1] - S[:, 0])[y == 0]),
    "roc_auc_ovo": lambda y, S, P: np.mean([value for value, _ in pairs(y, P)]),
    "roc_auc_ovo_weighted": lambda y, S, P: (
        sum(value * share for value, share in pairs(y, P)) / sum(share for _, share in pairs(y, P))
    ),
    "roc_auc_ovr": lambda y, S, P: np.mean(against_rest(y, P)),
    "roc_auc_ovr_weighted": lambda y, S, P: sum(a * b for a, b in zip(against_rest(y, P), shares(y, P), strict=True)),
    "top_k_accuracy": lambda y, S, P: np.mean([np.sum(S[i] > S[i, y[i]]) < 2 for i in range(len(y))]),
}


def by_hand(model, X, y, name):
    """The scorer's value from raw scores of the classes, all of which have rows."""
    S = np.column_stack([model.compatibility(X, candidates=[label]) for label in model.seen_classes_])
    T = 1.0 if model.temperatures_ is None else model.temperatures_["seen"]
    e = [[math.exp(score / T) for score in row] for row in S]
    return SLOW[name](np.searchsorted(model.seen_classes_, y), S, np.array([np.array(row) / sum(row) for row in e]))


@ignore_uncalibrated
def test_every_scorer_of_probabilities_or_ranks_has_a_slow_twin():
    assert len(NAMES) >= 10
    assert [name for name in NAMES if name not in SLOW] == []


@ignore_uncalibrated
@pytest.mark.parametrize(("name", "classes"), [(n, k) for n in NAMES for k in SEEN if ONLY.get(n, k) == k])
def test_a_scorer_says_what_a_slow_computation_says(name, classes):
    X, y, table = problem(classes, further=False)
    model = baselines.ESZSL().fit(X[::2], y[::2], table)
    model.calibration_, model.temperatures_ = 0.3, TEMPERATURES
    found, expected = get_scorer(name)(model, X[1::2], y[1::2]), by_hand(model, X[1::2], y[1::2], name)
    assert found == pytest.approx(expected, rel=SUMS.double)
    assert by_hand(model, X[1::2], np.roll(y[1::2], 5), name) != pytest.approx(expected, rel=1e-3)  # other classes


@ignore_uncalibrated
@pytest.mark.parametrize("name", NAMES)
def test_a_scorer_in_cross_validation(name):
    """Every fold trains on some rows of each class."""
    X, y, table = problem(ONLY.get(name, "three"), further=False)
    folds = StratifiedKFold(2)
    found = cross_val_score(baselines.ESZSL(), X, y, scoring=name, cv=folds, params={"signatures": table})
    for value, (train, test) in zip(found, folds.split(X, y), strict=True):
        model = baselines.ESZSL().fit(X[train], y[train], table)
        assert value == pytest.approx(by_hand(model, X[test], y[test], name), rel=SUMS.double)


# Ours, for rows of some of the classes: the twins look at columns of classes with rows, of a softmax over all columns


def mean_f1(y, answers):
    found = []
    for k in sorted({*y, *answers}):
        hits = np.sum((y == k) & (answers == k))
        found.append(2 * hits / (np.sum(y == k) + np.sum(answers == k)))
    return np.mean(found)


OURS = {
    "accuracy": lambda y, S, P: np.mean(S.argmax(axis=1) == y),
    "per_class_accuracy": lambda y, S, P: np.mean([np.mean(S[y == k].argmax(axis=1) == k) for k in set(y)]),
    "balanced_accuracy": lambda y, S, P: np.mean([np.mean(S[y == k].argmax(axis=1) == k) for k in set(y)]),
    "f1_macro": lambda y, S, P: mean_f1(y, S.argmax(axis=1)),
    "neg_log_loss": lambda y, S, P: -surprise(y, P),
    "neg_brier_score": lambda y, S, P: -squares(y, P) / (2 if S.shape[1] == 2 else 1),
    "top_k_accuracy": lambda y, S, P: np.mean([np.sum(S[i] > S[i, y[i]]) < 2 for i in range(len(y))]),
    "roc_auc_ovr": lambda y, S, P: np.mean([wins(P[y == k, k], P[y != k, k]) for k in set(y)]),
    "average_precision": lambda y, S, P: np.mean([precision(P[:, k], y == k) for k in set(y)]),
}


def by_our_hand(model, X, y, name):
    seen = np.isin(model.classes_, model.seen_classes_)
    S = model.compatibility(X) - model.calibration_ * (seen & ~seen.all())
    T = 1.0 if model.temperatures_ is None else model.temperatures_["seen" if seen.all() else "mixed"]
    e = [[math.exp(score / T) for score in row] for row in S]
    P = np.array([np.array(row) / sum(row) for row in e])
    return OURS[name](np.searchsorted(model.classes_, y), S, P)


def ask_for(name):
    return metrics.scorer(name, k=2)


def test_every_scorer_of_ours_has_a_slow_twin():
    assert sorted(OURS) == sorted(metrics._SCORERS)


@pytest.mark.parametrize("further", [True, False])
@pytest.mark.parametrize("name", OURS)
def test_our_scorers_know_all_classes(name, further):
    X, y, table = problem("three", further)
    model = baselines.ESZSL().fit(X[::2], y[::2], table)
    model.calibration_, model.temperatures_ = 0.01, TEMPERATURES
    for kept in (slice(1, None, 2), slice(1, 24, 2)):  # rows of all seen classes, and of two of them
        found, expected = ask_for(name)(model, X[kept], y[kept]), by_our_hand(model, X[kept], y[kept], name)
        assert found == pytest.approx(expected, rel=SUMS.double)
        wrong = np.roll(y[kept], 5)
        assert by_our_hand(model, X[kept], wrong, name) != pytest.approx(expected, rel=1e-3)  # other classes
        doubled = ask_for(name)(model, X[kept], y[kept], sample_weight=np.arange(len(y[kept])) % 3)
        rows = np.repeat(np.arange(len(y[kept])), np.arange(len(y[kept])) % 3)
        assert doubled == pytest.approx(ask_for(name)(model, X[kept][rows], y[kept][rows]), rel=SUMS.double)


@ignore_uncalibrated
@pytest.mark.parametrize("name", ["neg_log_loss", "roc_auc_ovr", "top_k_accuracy", "average_precision"])
def test_scorers_of_scikit_learn_refuse_rows_of_some_classes(name):
    X, y, table = problem("three")
    model = baselines.ESZSL().fit(X, y, table)
    with pytest.raises(ValueError):
        get_scorer(name)(model, X, y)
    assert np.isfinite(ask_for(name)(model, X, y))


@ignore_uncalibrated
@pytest.mark.parametrize("name", OURS)
def test_our_scorers_agree_with_scikit_learn_where_all_classes_have_rows(name):
    X, y, table = problem("three", further=False)
    model = baselines.ESZSL().fit(X, y, table)
    theirs = get_scorer({"per_class_accuracy": "balanced_accuracy"}.get(name, name))
    if name in ("neg_brier_score", "roc_auc_ovr", "average_precision") and name in ONLY and ONLY[name] == "two":
        pytest.skip("this scikit-learn has no such scorer of several classes")
    mine = ask_for(name)(model, X, y)
    if name == "average_precision":  # theirs reads scores, which order rows in another way than probabilities
        assert abs(mine - theirs(model, X, y)) < 0.1
    else:
        assert mine == pytest.approx(theirs(model, X, y), rel=SUMS.double)


@ignore_uncalibrated
@pytest.mark.parametrize("name", OURS)
def test_our_scorers_in_cross_validation_and_searches(name):
    X, y, table = problem("three")
    folds, ask = StratifiedKFold(2), pickle.loads(pickle.dumps(ask_for(name)))
    assert repr(ask) == (f"scorer({name!r}, k=2)" if name == "top_k_accuracy" else f"scorer({name!r})")
    found = cross_val_score(baselines.ESZSL(), X, y, scoring=ask, cv=folds, params={"signatures": table})
    for value, (train, test) in zip(found, folds.split(X, y), strict=True):
        model = baselines.ESZSL().fit(X[train], y[train], table)
        assert value == pytest.approx(by_our_hand(model, X[test], y[test], name), rel=SUMS.double)
    pipeline = zskl.make_pipeline(StandardScaler(), baselines.ESZSL())
    search = GridSearchCV(pipeline, {"eszsl__gamma": [0.1, 1.0]}, scoring=ask, cv=folds, error_score="raise")
    search.fit(X, y, signatures=table)
    assert ask(search, X, y) == ask(search.best_estimator_, X, y)


def test_scorers_that_cannot_score_say_why():
    X, y, table = problem("three")
    model = baselines.ESZSL().fit(X, y, table)
    model.temperatures_ = TEMPERATURES
    with pytest.raises(ValueError, match=r"name is 'log_loss': expected one of accuracy.*did you mean 'neg_log_loss'"):
        metrics.scorer("log_loss")
    with pytest.raises(ValueError, match="k is 0: expected an integer"):
        metrics.scorer("top_k_accuracy", k=0)
    with pytest.raises(ValueError, match="k is 5, and the model knows 5 classes"):
        metrics.scorer("top_k_accuracy")(model, X, y)
    with pytest.raises(ValueError, match="y holds 9, for which the model has no column: it knows 0, 1, 2"):
        metrics.scorer("neg_log_loss")(model, X[:2], [0, 9])
    with pytest.raises(ValueError, match=r"y holds 1 class only \(0\): roc_auc_ovr compares"):
        metrics.scorer("roc_auc_ovr")(model, X[:2], [0, 0])


@ignore_uncalibrated
def test_top_k_accuracy_is_that_of_top_k():
    X, y, table = problem("three")
    model = baselines.ESZSL().fit(X, y, table)
    right = [label in row for label, row in zip(y, model.top_k(X, 2), strict=True)]
    assert metrics.scorer("top_k_accuracy", k=2)(model, X, y) == pytest.approx(np.mean(right), rel=SUMS.double)
    assert {3, 4} & set(model.top_k(X, 2).ravel())  # further classes compete


MODELS = [
    baselines.ESZSL(),
    ClassMeansClassifier(),
    Committee([("means", ClassMeansClassifier()), ("eszsl", baselines.ESZSL())]),
    ZeroShotKernelClassifier(epochs=1, random_state=0),
]


@ignore_uncalibrated
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_columns_are_the_classes_unless_you_choose(model):
    X, y, table = problem("three")
    model = clone(model).fit(X, y, table)
    if hasattr(model, "add_examples"):  # a class of examples alone has a column, and no training rows
        model = model.add_examples(X[:2], [-9, -9])
    model.calibration_, model.temperatures_ = 0.3, TEMPERATURES
    every = model.classes_
    assert len(every) > len(model.seen_classes_) == 3
    for method in (model.predict_proba, model.decision_function):
        np.testing.assert_array_equal(method(X), method(X, candidates=every))
        assert method(X, candidates=every[::-1]).shape == method(X).shape == (len(X), len(every))
        assert method(X, candidates=model.seen_classes_).shape == (len(X), 3)
        assert method(X, {label: table[label] for label in (3, 1)}).shape == (len(X), 2)
    for chosen in (None, model.seen_classes_, [3, 4]):
        np.testing.assert_allclose(model.predict_proba(X, candidates=chosen).sum(axis=1), 1, rtol=SUMS.double)
    assert set(np.unique(model.top_k(X, len(every)))) == set(every)


@ignore_uncalibrated
def test_classifiers_of_scikit_learn_that_read_probabilities():
    X, y, table = problem("three", further=False)  # they know the classes of y alone
    model = CalibratedClassifierCV(baselines.ESZSL(), cv=2).fit(X, y, signatures=table)
    assert model.predict_proba(X).shape == (len(X), 3)
    assert model.score(X, y) > 0.4
