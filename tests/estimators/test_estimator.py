"""What every estimator promises: labels, candidates and their order, calibration, scikit-learn's tools, kept inputs."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tolerances import AFTER_FIT, FIT, SUMS, assert_close
from zskl import DivergenceError, ZeroShotKernelClassifier
from zskl.kernels import Cauchy, Gaussian, Polynomial

CANDIDATES = ["ant", "cat", "dog", "emu", "bee"]
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


# Labels --------------------------------------------------------------------------------------------------------------


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


# Candidates ----------------------------------------------------------------------------------------------------------


def test_columns_follow_candidates(toy):
    model = toy.fitted()
    scores = model.compatibility(toy.X_new)
    assert scores.shape == (len(toy.X_new), 5)
    for column, label in enumerate(model.candidates_):
        alone = model.compatibility(toy.X_new, candidates=[label])
        assert_close(alone, scores[:, [column]], SUMS.double)
    assert model.predict(toy.X_new).tolist() == [CANDIDATES[best] for best in scores.argmax(axis=1)]


@pytest.mark.parametrize(
    "chosen", [["emu", "bee"], ["bee", "emu"], ["dog", "ant", "cat"], ["bee", "dog"], ["emu"], CANDIDATES[::-1]]
)
@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Index, pd.Series, lambda c: np.array(c, dtype=object)])
def test_a_choice_of_candidates_selects_and_orders_columns(toy, chosen, form):
    model = toy.fitted()
    columns = [CANDIDATES.index(label) for label in chosen]
    scores = model.compatibility(toy.X_new)[:, columns]
    assert_close(model.compatibility(toy.X_new, candidates=form(chosen)), scores, SUMS.double)
    expected = [chosen[best] for best in scores.argmax(axis=1)]
    assert model.predict(toy.X_new, candidates=form(chosen)).tolist() == expected
    assert model.top_k(toy.X_new, 1, candidates=form(chosen))[:, 0].tolist() == expected


def test_candidates_default_to_the_classes_of_a_table_at_predict_time(toy):
    model = toy.fitted()
    unseen = toy.table.loc[["emu", "bee"]]
    assert_close(
        model.compatibility(toy.X_new, unseen), model.compatibility(toy.X_new, candidates=["emu", "bee"]), SUMS.double
    )
    assert set(model.predict(toy.X_new, unseen)) <= {"emu", "bee"}


def test_classes_unknown_at_training(toy):
    blind = toy.model().fit(toy.X, toy.y, toy.table.loc[["ant", "cat", "dog"]])
    assert blind.candidates_.tolist() == ["ant", "cat", "dog"]
    unseen = toy.table.loc[["emu", "bee"]]
    assert blind.predict(toy.X_new, unseen).tolist() == toy.fitted().predict(toy.X_new, unseen).tolist()
    assert blind.predict(toy.X_new, unseen, candidates=["bee"]).tolist() == ["bee"] * len(toy.X_new)
    assert blind.candidates_.tolist() == ["ant", "cat", "dog"]  # a prediction changes nothing


def test_a_table_at_predict_time_redescribes_seen_classes(toy):
    model = toy.fitted()
    swapped = toy.table.rename(index={"ant": "cat", "cat": "ant"})
    assert_close(
        model.compatibility(toy.X, swapped, candidates=["ant", "cat"]),
        model.compatibility(toy.X, candidates=["cat", "ant"]),
        SUMS.double,
    )


def test_an_array_at_predict_time_takes_its_names_from_candidates(toy):
    model = toy.fitted()
    rows = toy.table.loc[["bee", "cat"]].to_numpy()
    np.testing.assert_array_equal(
        model.compatibility(toy.X, rows, candidates=["bee", "cat"]),
        model.compatibility(toy.X, toy.table, candidates=["bee", "cat"]),
    )
    assert set(model.predict(toy.X, rows, candidates=["x", "y"])) <= {"x", "y"}
    with pytest.raises(ValueError, match="array of 2 rows without class names: pass candidates="):
        model.predict(toy.X, rows)


def test_signature_means_of_seen_classes_ignore_what_else_is_described(toy):
    narrow = toy.model().fit(toy.X, toy.y, toy.table.loc[["ant", "cat", "dog"]])
    np.testing.assert_array_equal(toy.fitted().projection_, narrow.projection_)
    everything = toy.fitted(signature_mean="all")
    assert not np.array_equal(everything.projection_, narrow.projection_)
    assert_close(everything.signature_scaling_.mean, toy.table.to_numpy().mean(axis=0), SUMS.double)


# Scores, ranks, calibration ------------------------------------------------------------------------------------------


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


# scikit-learn's tools ------------------------------------------------------------------------------------------------


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


# Arrays as they come -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["gaussian", "cauchy", "polynomial"])
def test_scores_have_the_precision_of_the_input_and_agree(toy, kernel):
    model = toy.fitted(kernel)
    single, double = (model.compatibility(toy.X_new.astype(dtype)) for dtype in (np.float32, np.float64))
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    assert_close(single, double, SUMS.single)
    again = toy.model(kernel).fit(toy.X.astype(np.float32), toy.y, toy.table)
    assert again.projection_.dtype == model.projection_.dtype == np.float32
    assert_close(again.compatibility(toy.X_new), double, AFTER_FIT.single)


def test_integers_and_lists_of_numbers(toy):
    X = (10 * toy.X).astype(int)
    expected = toy.model().fit(X.astype(float), toy.y, toy.table).compatibility(X.astype(float))
    for form in (X, X.astype(np.int8), X.tolist()):
        scores = toy.model().fit(form, toy.y, toy.table).compatibility(form)
        assert scores.dtype == np.float64
        np.testing.assert_array_equal(scores, expected)


def read_only(X, folder):
    X = X.copy()
    X.flags.writeable = False
    return X


def memory_mapped(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


LAYOUTS = {
    "Fortran order": lambda X, folder: np.asfortranarray(X),
    "read-only": read_only,
    "memory-mapped": memory_mapped,
    "every second row of a larger array": lambda X, folder: np.repeat(X, 2, axis=0)[::2],
    "columns of a larger array": lambda X, folder: np.hstack([X, X])[:, : X.shape[1]],
    "reversed twice": lambda X, folder: X[::-1].copy()[::-1],
    "big-endian": lambda X, folder: X.astype(X.dtype.newbyteorder(">")),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layout_in_memory_does_not_matter(toy, layout, dtype, tmp_path):
    X = toy.X.astype(dtype)
    expected = toy.model().fit(X, toy.y, toy.table)
    other = LAYOUTS[layout](X, tmp_path)
    model = toy.model().fit(other, toy.y, toy.table)
    assert_close(model.projection_, expected.projection_, FIT.single)
    scores = model.compatibility(other)
    assert type(scores) is np.ndarray
    assert_close(scores, expected.compatibility(X), AFTER_FIT.single)


def test_one_row_at_a_time(toy):
    model = toy.fitted()
    rows = np.vstack([model.compatibility(row[None]) for row in toy.X_new])
    assert_close(rows, model.compatibility(toy.X_new), SUMS.double)


def test_feature_names(toy):
    names = list("uvwxyz")
    frame = pd.DataFrame(toy.X, columns=names)
    model = toy.model().fit(frame, toy.y, toy.table)
    assert model.feature_names_in_.tolist() == names
    assert model.n_features_in_ == 6
    assert_close(model.compatibility(frame), toy.fitted().compatibility(toy.X), AFTER_FIT.single)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[names[::-1]])
    model.fit(toy.X, toy.y, toy.table)
    assert not hasattr(model, "feature_names_in_")


# Nothing else matters, nothing else changes --------------------------------------------------------------------------


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
    "other attributes, one of them zero": (ValueError, lambda m, t: m.fit(t.X, t.y, t.table[["fur"]] * 0)),
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


def test_a_candidate_named_twice_is_refused(toy):
    with pytest.raises(ValueError, match="names a class twice"):
        toy.fitted().compatibility(toy.X, candidates=["cat", "dog", "cat"])
