"""Rows, labels, weights and signatures as they come: every kind that is taken, and one sentence for the others."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

import zskl
from sparse_texts import CLASSES, UNSEEN, dense, texts
from tolerances import AFTER_FIT, FIT, SOLUTION, SUMS, assert_close, decided
from toy import assert_one_sentence, assert_refused, cases, frame, make_toy, mixed, recode, vectors
from toy import put as put_toy
from zskl import (
    ClassMeansClassifier,
    Committee,
    UncalibratedWarning,
    ZeroShotKernelClassifier,
    baselines,
    export,
    methods,
    scaling,
    selection,
)
from zskl._arrays import SparseRows
from zskl.baselines import ESZSL, Cosine, _linear_models
from zskl.batch.predict import Predictor
from zskl.estimators import _inputs, model_file
from zskl.estimators._inputs import combine_weights
from zskl.training import rows


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
    np.testing.assert_array_equal(model.predict(frame[names[::-1]]), model.predict(frame))  # matched by name
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.set_axis([*names[1:], "new"], axis=1))
    model.fit(toy.X, toy.y, toy.table)
    assert not hasattr(model, "feature_names_in_")


# Bad rows
# Wrong features and labels get one clear sentence with the value found, and nothing is lost.

# what is wrong: (the call on a fitted model `m` and the toy problem `t`, what the sentence must say)
FEATURES = {
    "NaN": (lambda m, t: m.fit(put_toy(t.X, 3, 1, np.nan), t.y, t.table), ["X contains NaN", "column 1", "row 3"]),
    "NaN among float32": (
        lambda m, t: m.fit(put_toy(t.X.astype(np.float32), 3, 1, np.nan), t.y, t.table),
        ["X contains NaN", "column 1", "row 3"],
    ),
    "infinity": (lambda m, t: m.fit(put_toy(t.X, 0, 5, np.inf), t.y, t.table), ["infinity", "column 5", "row 0"]),
    "minus infinity": (lambda m, t: m.predict(put_toy(t.X, 2, 0, -np.inf)), ["infinity", "column 0", "row 2"]),
    "both infinities": (
        lambda m, t: m.fit(put_toy(t.X, [1, 4], [2, 2], [np.inf, -np.inf]), t.y, t.table),
        ["infinity", "column 2", "row 1", "2 such"],
    ),
    "several columns": (
        lambda m, t: m.predict(put_toy(t.X, [1, 4], [4, 2], np.nan)),
        ["X contains NaN", "column 2, 4", "row 4", "2 such"],
    ),
    "NaN at predict": (lambda m, t: m.predict(put_toy(t.X, 3, 1, np.nan)), ["X contains NaN", "column 1", "row 3"]),
    "NaN in a named column": (
        lambda m, t: m.fit(frame(put_toy(t.X, 3, 2, np.nan)), t.y, t.table),
        ["X contains NaN", "column 'wing'", "row 3"],
    ),
    "NaN in a named column at predict": (
        lambda m, t: t.model().fit(frame(t.X), t.y, t.table).top_k(frame(put_toy(t.X, 0, 5, np.nan))),
        ["X contains NaN", "column 'song'", "row 0"],
    ),
    "NaN in many columns": (
        lambda m, t: m.fit(np.full((36, 300), np.nan), t.y, t.table),
        ["column 0, 1, 2, 3, 4 and 295 more", "10800 such"],
    ),
    "1-D": (lambda m, t: m.fit(t.X[0], t.y, t.table), ["(6,)", "2"]),
    "1-D at predict": (lambda m, t: m.predict(t.X[0]), ["(6,)", "2"]),
    "3-D": (lambda m, t: m.fit(t.X[None], t.y, t.table), ["dim 3", "2"]),
    "no rows": (lambda m, t: m.fit(t.X[:0], t.y[:0], t.table), ["0 sample", "(0, 6)"]),
    "no rows at predict": (lambda m, t: m.predict(t.X[:0]), ["0 sample", "(0, 6)"]),
    "no columns": (lambda m, t: m.fit(t.X[:, :0], t.y, t.table), ["0 feature", "(36, 0)"]),
    "an empty list": (lambda m, t: m.predict([[]]), ["0 feature", "(1, 0)"]),
    "fewer features": (lambda m, t: m.predict(t.X[:, :4]), ["X has 4 features", "expecting 6 features"]),
    "more features": (lambda m, t: m.compatibility(t.X.repeat(2, axis=1)), ["X has 12 features", "expecting 6"]),
    "fewer features for top_k": (lambda m, t: m.top_k(t.X[:, :4]), ["X has 4 features", "expecting 6 features"]),
    "fewer features to decide": (lambda m, t: m.decision_function(t.X[:, 1:]), ["X has 5 features", "expecting 6"]),
    "text": (lambda m, t: m.predict(np.full((2, 6), "large")), ["text", "'large'", "TextClassifier", "OneHotEncoder"]),
    "not fitted": (lambda m, t: t.model().predict(t.X), ["not fitted yet", "'fit'"]),
    "not fitted, to decide": (lambda m, t: t.model().decision_function(t.X), ["not fitted yet", "'fit'"]),
}
LABELS = {
    "another length": (lambda m, t: m.fit(t.X, t.y[:-1], t.table), ["36", "35"]),
    "one class": (lambda m, t: m.fit(t.X, ["ant"] * 36, t.table), ["1 class", "'ant'", "at least 2 classes"]),
    "one integer class": (lambda m, t: m.fit(t.X, np.full(36, 4)), ["1 class", "(4)"]),
    "no labels": (lambda m, t: m.fit(t.X, None, t.table), ["requires y"]),
    "2-D": (lambda m, t: m.fit(t.X, np.zeros((36, 2), int), t.table), ["y should be a 1d array", "(36, 2)"]),
    "mixed types in a list": (
        lambda m, t: m.fit(t.X, mixed(t).tolist(), t.table),
        ["y mixes", "1", "integer", "string"],
    ),
    "mixed types in a tuple": (lambda m, t: m.fit(t.X, tuple(mixed(t)), t.table), ["y mixes", "integer 1", "string"]),
    "mixed types in an array": (lambda m, t: m.fit(t.X, mixed(t), t.table), ["y mixes", "integer 1", "string"]),
    "mixed types in a Series": (lambda m, t: m.fit(t.X, pd.Series(mixed(t)), t.table), ["y mixes", "integer 1"]),
    "integers and booleans": (lambda m, t: m.fit(t.X, [True, 1] * 18, t.table), ["y mixes", "boolean", "integer"]),
    "None among them": (lambda m, t: m.fit(t.X, [None, *t.y[1:]], t.table), ["y has no label in row 0"]),
    "None alone": (lambda m, t: m.fit(t.X, [None] * 36, t.table), ["y has no label in row 0", "36 such rows"]),
    "NaN": (
        lambda m, t: m.fit(t.X, put_toy(recode(t, float)[:, None], 3, 0, np.nan)[:, 0], t.table),
        ["y contains NaN"],
    ),
    "bytes": (lambda m, t: m.fit(t.X, t.y.astype("S"), t.table), ["bytes", "strings or all integers"]),
    "measurements": (lambda m, t: m.fit(t.X, t.X[:, 0]), ["continuous"]),
    "integers in y, text in signatures": (
        lambda m, t: m.fit(t.X, recode(t, int), t.table),
        ["no signature for class 0, 1, 2", "y are integers", "signatures strings"],
    ),
    "text in y, integers in signatures": (
        lambda m, t: m.fit(t.X, recode(t, str), t.table.reset_index(drop=True)),
        ["no signature for class '0', '1', '2'", "y are strings", "signatures integers"],
    ),
}


@pytest.mark.parametrize(("call", "words"), cases(X=FEATURES, y=LABELS))
def test_bad_input_gets_one_clear_sentence_and_nothing_is_lost(toy, call, words):
    assert_refused(toy, call, words)


def test_sparse_features(toy):
    """scikit-learn wants a TypeError here."""
    for call in (lambda X: toy.fitted().fit(X, toy.y, toy.table), toy.fitted().predict):
        with pytest.raises(TypeError) as caught:
            call(sparse.csr_array(toy.X))
        assert_one_sentence(caught.value, ["sparse", "dense", "TruncatedSVD", "toarray"])


def test_missing_labels_of_pandas(toy):
    for dtype in ("string", "Int64", "category", object):
        y = pd.Series([None, *recode(toy, int)[1:].astype(str if dtype == "string" else int)], dtype=dtype)
        with pytest.raises(ValueError) as caught:
            toy.model().fit(toy.X, y)
        assert_one_sentence(caught.value, ["y"])


@pytest.mark.parametrize(("dtype", "large"), [(np.float32, 3e38), (np.float64, 1.7e308)])
def test_finite_values_whose_sum_is_not_are_not_called_infinite(toy, dtype, large):
    model = toy.fitted("polynomial", degree=1, feature_scaling="none")
    X = np.zeros((3, 6), dtype=dtype)
    X[:2, 1] = large
    model.projection_ = model.projection_ * np.float32(1e-30)
    assert np.isfinite(model.compatibility(X)).all()


def test_an_unfitted_model_is_scikit_learns_error(toy):
    with pytest.raises(NotFittedError):
        toy.model().compatibility(toy.X)


@pytest.mark.parametrize(
    ("monitor", "words"),
    [
        (lambda t: t.X, ["monitor", "ndarray", "(X, y)"]),
        (lambda t: (t.X, t.y, t.y), ["monitor", "(X, y)"]),
        (lambda t: {"held out": (t.X, t.y[:5])}, ["'held out'", "36", "5"]),
        (lambda t: (t.X[:, :2], t.y), ["2 features", "6"]),
        (lambda t: (put_toy(t.X, 2, 3, np.nan), t.y), ["NaN", "column 3"]),
        (lambda t: (t.X, ["wasp"] * 36), ["'wasp'"]),
    ],
)
def test_bad_monitors(toy, monitor, words):
    with pytest.raises(ValueError) as caught:
        toy.model().fit(toy.X, toy.y, toy.table, monitor=monitor(toy))
    assert_one_sentence(caught.value, words)


def test_bad_monitoring_interval(toy):
    with pytest.raises(ValueError, match="monitor_every is 0: expected an integer ≥ 1"):
        toy.model().fit(toy.X, toy.y, toy.table, monitor=(toy.X, toy.y), monitor_every=0)


# Row weights
# Weights of training rows: a whole number stands for copies, whatever the method.

METHODS = {"class-means": ClassMeansClassifier, **baselines.BASELINES}
WEIGHTED = {name: kind for name, kind in METHODS.items() if has_fit_parameter(kind(), "sample_weight")}
each = pytest.mark.parametrize("name", WEIGHTED)
RNG = np.random.default_rng(2)
COPIES = RNG.integers(0, 4, 36)


@each
def test_a_whole_weight_stands_for_copies_and_zero_for_none(toy, name):
    """With signatures, further classes and both kinds of weights; scikit-learn's checks ask it without these."""
    model = WEIGHTED[name]()
    weighted = clone(model).fit(toy.X, toy.y, toy.table, sample_weight=COPIES)
    copied = clone(model).fit(toy.X.repeat(COPIES, axis=0), toy.y.repeat(COPIES), toy.table)
    assert_close(weighted.compatibility(toy.X_new), copied.compatibility(toy.X_new), SOLUTION.single)
    plain = clone(model).fit(toy.X, toy.y, toy.table)
    with pytest.raises(AssertionError):
        assert_close(weighted.compatibility(toy.X_new), plain.compatibility(toy.X_new), SOLUTION.single)
    by_class = {"ant": 3, "cat": 2}
    factors = np.array([by_class.get(label, 1) for label in toy.y])
    both = clone(model).fit(toy.X, toy.y, toy.table, sample_weight=COPIES, class_weight=by_class)
    copied = clone(model).fit(toy.X.repeat(COPIES * factors, axis=0), toy.y.repeat(COPIES * factors), toy.table)
    assert_close(both.compatibility(toy.X_new), copied.compatibility(toy.X_new), SOLUTION.single)


@each
def test_balanced_classes_weigh_the_same(toy, name):
    few = np.concatenate([np.flatnonzero(toy.y == "ant")[:4], np.flatnonzero(toy.y != "ant")])
    X, y = toy.X[few], toy.y[few]
    found = WEIGHTED[name]().fit(X, y, toy.table, class_weight="balanced")
    expected = WEIGHTED[name]().fit(X, y, toy.table, sample_weight=compute_sample_weight("balanced", y))
    assert_close(found.compatibility(toy.X_new), expected.compatibility(toy.X_new), SOLUTION.single)


def test_a_class_whose_rows_weigh_nothing_is_not_seen(toy):
    model = baselines.ESZSL().fit(toy.X, toy.y, toy.table, class_weight={"cat": 0})
    assert model.seen_classes_.tolist() == ["ant", "dog"]
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog", "emu"]
    with pytest.raises(ValueError, match="1 class only"):
        baselines.ESZSL().fit(toy.X, toy.y, toy.table, class_weight={"cat": 0, "dog": 0})


def test_pieces_with_weights_are_the_whole_with_weights(toy):
    whole = ClassMeansClassifier().fit(toy.X, toy.y, toy.table, sample_weight=COPIES)
    model = ClassMeansClassifier()
    for piece in (slice(0, 20), slice(20, 36)):
        model.partial_fit(toy.X[piece], toy.y[piece], toy.table, sample_weight=COPIES[piece])
    assert_close(model.compatibility(toy.X_new), whole.compatibility(toy.X_new), SUMS.single)
    sums = sum(model.sums(toy.X[k::2], toy.y[k::2], COPIES[k::2]) for k in range(2))
    again = ClassMeansClassifier().fit_sums(sums, toy.table)
    assert_close(again.compatibility(toy.X_new), whole.compatibility(toy.X_new), SUMS.single)


def test_weights_through_a_pipeline_and_by_routing(toy):
    expected = baselines.ESZSL().fit(toy.X, toy.y, toy.table, sample_weight=COPIES).compatibility(toy.X_new)
    fit = {"eszsl__signatures": toy.table, "eszsl__sample_weight": COPIES}
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), baselines.ESZSL())
    np.testing.assert_array_equal(pipeline.fit(toy.X, toy.y, **fit)[-1].compatibility(toy.X_new), expected)
    with sklearn.config_context(enable_metadata_routing=True):
        model = baselines.ESZSL().set_fit_request(signatures=True, sample_weight=True, class_weight=True)
        plain = StandardScaler(with_mean=False, with_std=False).set_fit_request(sample_weight=False)
        routed = make_pipeline(plain, model).fit(toy.X, toy.y, signatures=toy.table, sample_weight=COPIES)
        np.testing.assert_array_equal(routed[-1].compatibility(toy.X_new), expected)


@pytest.mark.parametrize("steps", ["center-l2", "sqrt-center-l2", "standardize-l2", "l2"])
def test_a_scaling_of_weighted_rows_is_that_of_copies(toy, steps, monkeypatch):
    expected = scaling.fit_scaling(steps, toy.X.repeat(COPIES, axis=0)).apply(toy.X)
    assert_close(scaling.fit_scaling(steps, toy.X, weights=COPIES.astype(float)).apply(toy.X), expected, SUMS.double)
    monkeypatch.setattr(scaling, "BLOCK_VALUES", 7 * toy.X.shape[1])
    assert_close(scaling.fit_scaling(steps, toy.X, weights=COPIES.astype(float)).apply(toy.X), expected, SUMS.double)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            ([1.0, 2.0], None),
            r"sample_weight is of shape \(2,\) and type float64: expected a number for each of the 4 rows",
        ),
        ((np.ones((4, 2)), None), r"sample_weight is of shape \(4, 2\)"),
        ((["a", "b", "c", "d"], None), r"sample_weight is of shape \(4,\) and type <U1: expected a number"),
        (([1, 1, -1, 1], None), "sample_weight of row 2 is -1: expected finite numbers of at least 0"),
        (([1, np.nan, 1, 1], None), "sample_weight of row 1 is nan"),
        ((np.zeros(4), None), "the weight of every row is zero"),
        ((None, "even"), "class_weight is 'even': expected None, 'balanced' or a mapping"),
        ((None, {"owl": 1.0}), "class_weight names 'owl', which y does not hold: it has 'ant', 'bee'"),
        ((None, {"ant": -1}), "class_weight of 'ant' is -1: expected a finite number of at least 0"),
        ((None, {"ant": "much"}), "class_weight of 'ant' is 'much'"),
        ((None, {"ant": 0, "bee": 0}), "the weight of every row is zero"),
    ],
)
def test_weights_that_make_no_sense_are_refused(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        combine_weights(np.array(["ant", "bee", "bee", "bee"]), *given)


def test_balanced_counts_weights_not_rows():
    y = np.array(["ant", "bee", "bee", "cat"])
    found = combine_weights(y, pd.Series([3.0, 1.0, 0.0, 2.0]), "balanced")
    np.testing.assert_allclose(found, [2.0, 2.0, 0.0, 2.0], rtol=SUMS.double)
    assert combine_weights(y) is None
    np.testing.assert_array_equal(combine_weights(y, 2), [2.0, 2.0, 2.0, 2.0])


OTHERS = [ZeroShotKernelClassifier(), Committee(), *(kind() for name, kind in METHODS.items() if name not in WEIGHTED)]


@pytest.mark.parametrize("model", OTHERS, ids=lambda model: model.kind)
def test_methods_without_weights_name_those_that_have_them(toy, model):
    for weights in ({"sample_weight": COPIES}, {"class_weight": "balanced"}):
        name = next(iter(weights))
        with pytest.raises(TypeError, match=rf"\.fit takes no {name}.*class-means or eszsl, or repeat rows"):
            model.fit(toy.X, toy.y, toy.table, **weights)
    assert not hasattr(model, "classes_")


def test_every_method_accepts_weights_of_none():
    X, y = np.eye(4), ["a", "a", "b", "b"]
    model = baselines.SynC().fit(X, y, {"a": [0, 1], "b": [1, 0]}, sample_weight=None, class_weight=None)
    assert model.predict(X).tolist() == y


def test_a_class_is_weighed_by_either_spelling_of_its_name(toy):
    names = {"é": "cafe\u0301", "e\u0301": "caf\u00e9"}
    for mine, _ in names.items():
        y = np.where(toy.y == toy.y[0], mine, toy.y)
        other = "e\u0301" if mine == "é" else "é"
        first, second = (combine_weights(y, None, {name: 2.0}) for name in (mine, other))
        np.testing.assert_array_equal(first, second)


# Column kinds
# Dates and words among the features of a data frame: refused by name, with what to do.

DATED = pd.Timestamp("2026-01-05")


def dated(toy):
    return frame(toy.X).assign(found=DATED)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, t: m.fit(dated(t), t.y, t.table), ["dates in column 'found'", "the month"]),
        (lambda m, t: m.fit(dated(t).assign(found=DATED.tz_localize(0)), t.y, t.table), ["dates in column 'found'"]),
        (lambda m, t: m.fit(dated(t).assign(found=DATED - DATED), t.y, t.table), ["dates in column 'found'"]),
        (lambda m, t: m.fit(pl.from_pandas(dated(t)), t.y, t.table), ["dates in column 'found'"]),
        (lambda m, t: m.predict(t.X.astype("datetime64[D]")), ["X holds dates (datetime64[D])"]),
        (lambda m, t: m.predict(np.full(t.X.shape, DATED, object)), ["X holds dates: expected numbers"]),
        (
            lambda m, t: m.fit(frame(t.X).assign(colour="red"), t.y, t.table),
            ["'red' in column 'colour'", "OneHotEncoder before the model"],
        ),
        (lambda m, t: m.fit(pl.from_pandas(frame(t.X).assign(colour="red")), t.y, t.table), ["'red'", "OneHotEncoder"]),
        (
            lambda m, t: m.fit(frame(t.X).assign(colour=pd.Categorical(["red"] * len(t.X))), t.y, t.table),
            ["'red' in column 'colour'"],
        ),
        (lambda m, t: m.fit(np.where(t.X > 2, np.nan, t.X), t.y, t.table), ["NaN", "SimpleImputer before the model"]),
    ],
)
def test_dates_text_and_missing_values_are_refused_with_advice(call, words):
    assert_refused(make_toy(), call, words)


def test_truth_values_and_numbers_in_objects_are_numbers():
    toy = make_toy()
    X = frame(toy.X).assign(wet=toy.X[:, 0] > 0)
    as_numbers = baselines.ESZSL().fit(X.astype({"wet": float}), toy.y, toy.table).compatibility(X)
    np.testing.assert_array_equal(baselines.ESZSL().fit(X, toy.y, toy.table).compatibility(X), as_numbers)
    objects = frame(toy.X).astype({"bill": object})
    assert baselines.ESZSL().fit(objects, toy.y, toy.table).predict(objects).shape == (len(toy.X),)


# Half precision
# Rows in half precision are those rows in float32: they are scaled block by block, never held whole in it.

MODELS = [
    ClassMeansClassifier(),
    ZeroShotKernelClassifier(epochs=1, random_state=0),
    baselines.ESZSL(),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 4
    X = rng.normal(size=(4, 8))[y] + 0.3 * rng.normal(size=(60, 8))
    return X.astype(np.float16), y, rng.normal(size=(4, 5))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "tensor float16", "tensor bfloat16"])
def test_the_same_model_as_in_float32(data, model, kind, monkeypatch):
    monkeypatch.setattr(rows, "BLOCK_BYTES", 400)  # several blocks
    X, y, table = data
    if kind == "bfloat16":
        half = X.astype(pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16)
    elif kind == "float16":
        half = X
    else:
        torch = pytest.importorskip("torch", reason="the extra torch is not installed")
        half = torch.from_numpy(X).to(getattr(torch, kind.split()[1]))
    single = half.float() if kind.startswith("tensor") else half.astype(np.float32)
    scores = model.fit(half, y, table).compatibility(half)
    assert scores.dtype == single.dtype
    expected = model.fit(single, y, table).compatibility(single)
    assert np.array_equal(np.asarray(scores), np.asarray(expected))
    bad = half.clone() if kind.startswith("tensor") else half.copy()
    bad[37, 2] = float("nan")
    for call in (lambda: model.fit(bad, y, table), lambda: model.predict(bad)):
        with pytest.raises(ValueError, match="NaN in column 2, first at row 37"):
            call()


def test_only_a_block_is_ever_in_another_type(data, monkeypatch):
    """The largest array that becomes float32 before it is scaled is a block, not X."""
    monkeypatch.setattr(rows, "BLOCK_BYTES", 400)
    for name, value in (("BLOCK_VALUES", 96), ("BLOCK_ROWS", 12)):  # of products, which scale their rows themselves
        monkeypatch.setattr(_linear_models, name, value)
    sizes = []
    original = rows.to_float_type
    monkeypatch.setattr(rows, "to_float_type", lambda rows: sizes.append(len(rows)) or original(rows))
    baselines.ESZSL().fit(*data)
    assert max(sizes) == 12
    monkeypatch.setattr(_linear_models, "BLOCK_ROWS", 60)  # a planted fault: all rows at once
    baselines.ESZSL().fit(*data)
    assert max(sizes) == 60


# Sparse rows and signatures in the three methods that take them: the same answers as for dense ones, and files.

# Sparse models

SPARSE_MODELS = {  # with shrinkage 1 the whole scatter says as much as its diagonal
    "cosine": (Cosine, SUMS.double),
    "eszsl": (ESZSL, SOLUTION.single),
    "eszsl signs": (lambda **settings: ESZSL(3.0, 0.3, "signs", **settings), SOLUTION.single),
    "class-means": (lambda **settings: ClassMeansClassifier(shrinkage=1.0, **settings), SOLUTION.single),
    "class-means identity": (
        lambda **settings: ClassMeansClassifier("linear", shrinkage=1.0, prior="identity", **settings),
        SOLUTION.single,
    ),
    "class-means cosine": (lambda **settings: ClassMeansClassifier(prior="cosine", **settings), SOLUTION.single),
}
SCALINGS = [
    *((one, one) for one in scaling.SCALINGS if "unit" not in one),  # which is for dense rows
    ("sqrt-l2", "center-l2"),
    ("l2-center-l2", "l2"),
]


def both(model, feature_scaling="l2-center-l2", signature_scaling="center-l2"):
    """The model of sparse rows and signatures, and that of the same as dense arrays."""
    some, make = texts(), SPARSE_MODELS[model][0]
    settings = {"feature_scaling": feature_scaling, "signature_scaling": signature_scaling}
    return make(**settings).fit(some.X, some.y, some.table), make(**settings).fit(
        dense(some.X), some.y, some.dense_table
    )


@pytest.mark.parametrize(
    ("model", "scalings"),
    [(model, one) for model in SPARSE_MODELS for one in (SCALINGS[-1:] if " " in model else SCALINGS)],
)
def test_every_scaling_scores_as_dense_rows_do(model, scalings):
    found, expected = both(model, *scalings)
    some, tolerance = texts(), SPARSE_MODELS[model][1]
    wanted = expected.compatibility(dense(some.X_new))
    assert found.candidates_.tolist() == expected.candidates_.tolist() == CLASSES
    assert_close(found.compatibility(some.X_new), wanted, tolerance)
    assert_close(found.compatibility(dense(some.X_new)), wanted, tolerance)  # dense rows for the sparse model
    assert_close(expected.compatibility(some.X_new), wanted, tolerance)  # and the other way round
    with pytest.raises(AssertionError):
        assert_close(found.compatibility(some.X_new[::-1]), wanted, tolerance)


@pytest.mark.parametrize("model", ["cosine", "eszsl", "class-means identity"])
def test_every_answer_is_that_of_dense_rows(model, tmp_path):
    found, expected = both(model)
    some, tolerance = texts(), SPARSE_MODELS[model][1]
    table = {label: some.table[label] for label in ("x", "b")}
    array = {"signatures": some.signatures[[8, 1]], "candidates": ["x", "b"]}
    found.save(tmp_path / "model.zskl")
    loaded = zskl.load(tmp_path / "model.zskl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncalibratedWarning)
        calls = {
            "proba": lambda m, X: m.predict_proba(X),
            "decision": lambda m, X: m.decision_function(X),
            "top_k": lambda m, X: m.top_k(X, 3, return_scores=True)[1],
            "unseen": lambda m, X: m.compatibility(X, candidates=UNSEEN),
            "table": lambda m, X: m.compatibility(X, table),
            "dense table": lambda m, X: m.compatibility(X, {one: dense(row) for one, row in table.items()}),
            "array": lambda m, X: m.compatibility(X, **array),
            "blocks": lambda m, X: np.concatenate([one for _, one in m.iter_compatibility(X, block_rows=4)]),
            "out": lambda m, X: m.compatibility(X, out=np.empty((X.shape[0], len(CLASSES)))),
            "nearest": lambda m, X: m.nearest_classes(2)["similarity"].to_numpy(),
        }
        for call in calls.values():
            wanted = call(expected, dense(some.X_new))
            assert_close(call(found, some.X_new), wanted, tolerance)
            np.testing.assert_array_equal(call(loaded, some.X_new), call(found, some.X_new))
    clear = decided(expected.compatibility(dense(some.X_new)), tolerance)
    assert clear.mean() > 0.9
    for X in (some.X_new, sparse.csr_matrix(some.X_new), some.X_new.tocsc(), some.X_new.tocoo()):
        assert (found.predict(X) == expected.predict(dense(some.X_new)))[clear].all()
    assert found.score(some.X_new, some.y_new, candidates=UNSEEN) > 0.6
    single = some.X_new.astype(np.float32)
    assert found.compatibility(single).dtype == np.float32
    assert_close(found.compatibility(single), wanted_of(expected, single), SOLUTION.single)


def wanted_of(model, rows):
    return model.compatibility(dense(rows).astype(np.float64))


def test_scikit_learn_s_checks_of_sparse_rows():
    """All checks of cosine and ESZSL, these among them, are in tests/baselines/test_all_baselines.py."""
    assert all(make().__sklearn_tags__().input_tags.sparse for make in (Cosine, ESZSL, ClassMeansClassifier))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncalibratedWarning)
        for check in ("sparse_tag", "sparse_array", "sparse_matrix"):
            getattr(estimator_checks, f"check_estimator_{check}")("ClassMeansClassifier", ClassMeansClassifier())


@pytest.mark.parametrize("model", ["cosine", "eszsl", "class-means"])
def test_sparse_rows_with_dense_signatures_and_the_other_way_round(model):
    some, (make, tolerance) = texts(), SPARSE_MODELS[model]
    wanted = make().fit(dense(some.X), some.y, some.dense_table).compatibility(dense(some.X_new))
    for X, X_new, table in (
        (some.X, some.X_new, some.dense_table),
        (dense(some.X), dense(some.X_new), some.table),
        (some.X, some.X_new, None),
    ):
        found = make().fit(X, some.y, table).compatibility(X_new)
        if table is None:
            wanted = make().fit(dense(some.X), some.y).compatibility(dense(some.X_new))
        assert_close(found, wanted, max(tolerance, SUMS.single) if table is None else tolerance)


def test_several_signatures_of_a_class_and_a_frame_of_sparse_columns():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: sparse frames")
    some = texts()
    rows = sparse.csr_array(sparse.vstack([some.signatures, some.signatures[[0, 1]] * 0.5 + some.signatures[[4, 5]]]))
    names = [*CLASSES, "a", "b"]
    frame = pandas.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(rows), index=names).rename(columns=str)
    for model, (make, tolerance) in SPARSE_MODELS.items():
        if " " in model:
            continue
        found = make().fit(some.X, some.y, frame)
        wanted = make().fit(dense(some.X), some.y, frame.sparse.to_dense())
        assert isinstance(found.signature_table_.matrix, SparseRows)
        assert_close(found.compatibility(some.X_new), wanted.compatibility(dense(some.X_new)), tolerance)
        turned = frame[frame.columns[::-1]]
        np.testing.assert_array_equal(found.compatibility(some.X_new, turned), found.compatibility(some.X_new, frame))


@pytest.mark.parametrize("model", ["cosine", "eszsl", "class-means"])
def test_tuning_and_calibration_are_those_of_dense_rows(model):
    some, make = texts(), SPARSE_MODELS[model][0]
    grid = {"feature_scaling": ["l2", "center-l2"], **({"gamma": [0.5, 2.0], "lam": [0.3]} if model == "eszsl" else {})}
    grid |= {"crowding": [0.0, 0.2]} if model == "class-means" else {}
    X = some.X.tocoo() if model == "cosine" else some.X  # whose rows cannot be taken
    found = selection.tune(make(), X, some.y, some.table, grid, folds=2, engine=None)
    wanted = selection.tune(make(), dense(some.X), some.y, some.dense_table, grid, folds=2, engine=None)
    np.testing.assert_allclose(found.scores, wanted.scores, atol=0.05)  # one row of a small class may change
    assert found.settings == wanted.settings
    assert found.best == wanted.best
    one, two = found.model, wanted.model
    assert one.calibration_ == pytest.approx(two.calibration_, abs=1e-3)
    for name, value in two.temperatures_.items():
        assert one.temperatures_[name] == pytest.approx(value, rel=1e-2)
    assert_close(one.predict_proba(some.X_new), two.predict_proba(dense(some.X_new)), 0.02)


def test_memory_depends_on_the_values_that_are_there_not_on_the_columns():
    """A dense copy of the rows would take 64 MB, a square of the columns 13 GB."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((200, 40_000), density=5e-4, rng=rng, format="csr")
    y = np.repeat([*"abcdefghij"], 20)
    table = {label: sparse.random_array((1, 40_000), density=1e-3, rng=rng, format="csr") for label in "abcdefghijkl"}
    for make in (Cosine, ESZSL, ClassMeansClassifier):
        tracemalloc.start()
        model = make(feature_scaling="l2-center-l2").fit(X, y, table)
        assert model.predict(X).shape == (200,)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16 * 8 * 12 * 40_000  # sixteen arrays of the size of columns × classes


# Sparse refusals
# Sparse rows where they cannot be taken: one sentence that says what to do.

DENSE_METHODS = [name for name, method in methods.METHODS.items() if not method.estimator.SPARSE]


@pytest.mark.parametrize("name", DENSE_METHODS)
def test_other_methods_name_truncated_svd(name):
    some, model = texts(), methods.build(name)
    with pytest.raises(TypeError) as caught:
        model.fit(some.X, some.y, some.dense_table)
    assert_one_sentence(caught.value, ["X is a sparse csr_array", "make_pipeline(TruncatedSVD(300), model)", "eszsl"])
    with pytest.raises(ValueError) as caught:
        model.fit(dense(some.X), some.y, some.table)
    assert_one_sentence(caught.value, ["signatures are sparse", "TruncatedSVD(300).fit_transform(signatures)"])


def test_a_fitted_model_of_another_method_refuses_them_too():
    some = texts()
    model = methods.build("sae").fit(dense(some.X), some.y, some.dense_table)
    with pytest.raises(TypeError, match=r"X is a sparse coo_array, and SAE needs dense rows"):
        model.predict(some.X_new.tocoo())
    with pytest.raises(ValueError, match=r"signatures are sparse, and SAE needs dense ones"):
        model.predict(dense(some.X_new), some.table)
    with pytest.raises(TypeError, match=r"Committee needs dense rows: put a step before it"):
        Committee().fit(some.X, some.y, some.dense_table)
    with pytest.raises(TypeError, match=r"TruncatedSVD"):
        selection.tune(methods.build("sae"), some.X, some.y, some.dense_table, {"lam": [1.0]}, engine=None)


@pytest.fixture(scope="module")
def fitted():
    some = texts()
    return {make.__name__: make().fit(some.X, some.y, some.table) for make in (Cosine, ESZSL, ClassMeansClassifier)} | {
        "dense table": ESZSL().fit(some.X, some.y, some.dense_table)
    }


def test_what_needs_dense_rows_says_so(fitted):
    some, means, eszsl = texts(), fitted["ClassMeansClassifier"], fitted["dense table"]
    calls = {
        "attribute_space": lambda: eszsl.attribute_space(some.X_new),
        "a gallery": lambda: means.gallery(some.X_new),
        "a map of rows": lambda: means.ranking_map().samples(some.X_new),
    }
    for what, call in calls.items():
        with pytest.raises(TypeError) as caught:
            call()
        assert_one_sentence(caught.value, [f"X is sparse, and {what} needs dense rows", "toarray()"])


def test_what_needs_dense_signatures_says_so(fitted, tmp_path):
    rows = dense(texts().X_new)
    for name in ("Cosine", "ESZSL", "ClassMeansClassifier"):
        if name == "ClassMeansClassifier":
            continue
        for call in (fitted[name].explain, fitted[name].attribute_space):
            with pytest.raises(ValueError) as caught:
                call(rows)
            assert_one_sentence(caught.value, ["the signatures are sparse", "TruncatedSVD(300)"])
        np.testing.assert_allclose(fitted[name].gallery(rows).scores(), fitted[name].compatibility(rows), atol=1e-6)
    with pytest.raises(ValueError, match=r"the signatures are sparse, and an ONNX file needs dense ones"):
        export.to_onnx(fitted["ESZSL"], tmp_path / "model.onnx")
    serve = pytest.importorskip("zskl.serve.service", reason="zskl[serve] is not installed: the service")
    from zskl.serve.limits import Limits

    with pytest.raises(ValueError, match=r"the signatures are sparse, and the service needs dense ones"):
        serve.Service(fitted["ESZSL"], "texts", Limits())


BAD = {
    "not a number": (lambda X: put(X, np.nan), r"Input X contains NaN in column 3, first at row 2 \(1 such"),
    "infinity": (lambda X: put(X, np.inf), r"Input X contains infinity \(inf\) in column 3, first at row 2"),
    "too few columns": (lambda X: X[:, :40], r"X has 40 features, but ESZSL is expecting 50"),
}


def put(X, value):
    X = X.tolil()
    X[2, 3] = value
    return X.tocsr()


@pytest.mark.parametrize("fault", BAD)
def test_wrong_values_are_named(fitted, fault):
    change, words = BAD[fault]
    with pytest.raises(ValueError, match=words):
        fitted["ESZSL"].predict(change(texts().X_new))


def test_wrong_signatures_are_named():
    some = texts()
    table = dict(some.table)
    with pytest.raises(ValueError, match=r"signatures contains NaN at class 'c', attribute 3 \(1 such"):
        ESZSL().fit(some.X, some.y, {**table, "c": put(sparse.csr_array(np.ones((3, 50))), np.nan)})
    with pytest.raises(ValueError, match=r"signatures has 10 rows for 8 classes"):
        ESZSL().fit(some.X, some.y, some.signatures[:10])
    with pytest.raises(ValueError, match=r"the signature of class 'd' has 40 values, that of class 'a' 50"):
        ESZSL().fit(some.X, some.y, {**table, "d": some.signatures[[3]][:, :40]})
    with pytest.raises(ValueError, match=r"without class names: pass candidates"):
        ESZSL().fit(some.X, some.y, table).predict(some.X_new, some.signatures)
    with pytest.raises(ValueError, match=r"device is 'cuda' and X is sparse: expected None or 'cpu'"):
        _inputs.check_sparse_rows(Cosine(device="cuda"), some.X)
    with pytest.raises(ValueError, match=r"expected 'sqrt' first"):
        Cosine(feature_scaling="center-sqrt").fit(some.X, some.y, table)


def test_a_model_file_with_faulty_sparse_parts_is_refused(fitted, tmp_path):
    path = tmp_path / "model.zskl"
    fitted["ClassMeansClassifier"].save(path)
    header, arrays = model_file.read_model(path)
    assert header["sparse"].keys() == {"signatures", "learned.kept_rows_"}
    faults = {
        r"whose parts do not fit": (header, {**arrays, "signatures.columns": arrays["signatures.columns"] + 99}),
        r"is not whole": (header, {name: one for name, one in arrays.items() if name != "signatures.starts"}),
        r"sparse array learned.center_ is": (
            {**header, "sparse": {**header["sparse"], "learned.center_": [1, 50]}},
            arrays,
        ),
    }
    for words, (head, body) in faults.items():
        model_file.write_model(
            path, {key: value for key, value in head.items() if key not in ("format", "version")}, body
        )
        with pytest.raises(ValueError, match=rf"is damaged: .*{words}"):
            zskl.load(path)
    assert len(CLASSES) == len(fitted["ESZSL"].candidates_)


def test_rows_to_label_next_may_be_sparse(fitted):
    some = texts()
    for model in (fitted["ESZSL"], fitted["ClassMeansClassifier"]):
        for strategy in ("margin", "change") if model.kind == "class-means" else ("margin",):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UncalibratedWarning)
                found, wanted = (model.label_next(X, 4, strategy) for X in (some.X_new, dense(some.X_new)))
            np.testing.assert_array_equal(found, wanted)


PRIORS = [
    {},
    {"kernel": "linear"},
    {"prior": "identity"},
    {"prior": "identity", "kernel": "linear"},
    {"prior": "cosine"},
]


@pytest.mark.parametrize("settings", PRIORS, ids=str)
def test_sparse_rows_can_be_explained(settings):
    some = texts()
    model = ClassMeansClassifier(**settings).fit(some.X, some.y, some.table)
    scores = model.compatibility(some.X_new)
    for by in ("attributes", "scaled"):
        pairs = zip(model.explain(some.X_new, by=by), model.explain(dense(some.X_new), by=by), strict=True)
        for row, (found, wanted) in enumerate(pairs):
            own = dict(zip(CLASSES, scores[row], strict=True))
            assert found.difference == pytest.approx(own[found.label] - own[found.against], abs=1e-5)
            assert found.contributions.sum() + found.offset == pytest.approx(found.difference, abs=1e-6)
            np.testing.assert_allclose(found.contributions, wanted.contributions, atol=1e-9)
    with_table = model.explain(some.X_new[:1], signatures=some.dense_table)[0]
    assert with_table.difference == pytest.approx(model.explain(some.X_new[:1])[0].difference, abs=1e-6)


def test_methods_in_closed_form_explain_sparse_rows_with_dense_signatures(fitted):
    some, model = texts(), fitted["dense table"]
    for given in (None, some.table):
        found, wanted = (model.explain(X, signatures=given) for X in (some.X_new, dense(some.X_new)))
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.contributions, other.contributions, atol=1e-9)


def test_sparse_rows_can_be_taught(fitted, tmp_path):
    some, model = texts(), fitted["ClassMeansClassifier"]
    few, labels = some.X_new[:9], some.y_new[:9]
    before = model.compatibility(some.X_new)
    for found, wanted in (
        (model.add_examples(few, labels), model.add_examples(dense(few), labels)),
        (model.adapt(some.X_new, force=True), model.adapt(dense(some.X_new), force=True)),
    ):
        scores = found.compatibility(some.X_new)
        assert_close(scores, wanted.compatibility(some.X_new), SOLUTION.single)
        assert np.abs(scores - before).max() > 0.01
    taught = model.add_examples(few, labels)
    taught.save(tmp_path / "taught.zskl")
    np.testing.assert_array_equal(zskl.load(tmp_path / "taught.zskl").predict(some.X_new), taught.predict(some.X_new))
    np.testing.assert_array_equal(taught.remove_examples(few, labels).compatibility(some.X_new), before)


def test_columns_of_a_sparse_frame_are_found_by_name():
    some = texts()
    frame = pd.DataFrame.sparse.from_spmatrix(some.X, columns=[f"w{k}" for k in range(some.X.shape[1])])
    model = ESZSL().fit(frame, some.y, some.table)
    np.testing.assert_array_equal(model.compatibility(frame[frame.columns[::-1]]), model.compatibility(frame))


# Signature inputs
# Wrong signatures and candidates get one clear sentence with the value found, and nothing is lost.

# what is wrong: (the call on a fitted model `m` and the toy problem `t`, what the sentence must say)
SIGNATURES = {
    "a label without signature": (
        lambda m, t: m.fit(t.X, t.y, t.table.drop(index="cat")),
        ["no signature for class 'cat'", "'dog', 'emu', 'ant', 'bee'"],
    ),
    "a label without signature in a mapping": (lambda m, t: m.fit(t.X, t.y, {"dog": [1], "cat": [2]}), ["class 'ant'"]),
    "duplicate columns": (
        lambda m, t: m.fit(t.X, t.y, t.table.set_axis(["size", "legs", "legs", "fur"], axis=1)),
        ["more than once", "'legs'"],
    ),
    "a number and its text as columns": (
        lambda m, t: m.fit(t.X, t.y, t.table.set_axis([1, "1", 2, 3], axis=1)),
        ["more than once", "'1'"],
    ),
    "duplicate columns at predict": (
        lambda m, t: m.predict(t.X, t.table[["size", "legs", "wings", "fur", "fur"]]),
        ["more than once", "'fur'"],
    ),
    "a missing column": (lambda m, t: m.predict(t.X, t.table.drop(columns="legs")), ["lacks 'legs'", "4 attribute"]),
    "an extra column": (lambda m, t: m.predict(t.X, t.table.assign(song=1.0)), ["unknown 'song'", "4 attribute"]),
    "a renamed column": (
        lambda m, t: m.predict(t.X, t.table.rename(columns={"legs": "feet"})),
        ["lacks 'legs'", "unknown 'feet'", "4 attribute"],
    ),
    "a renamed column, polars": (
        lambda m, t: m.predict(t.X, pl.DataFrame({"class": ["a"], "size": [1], "feet": [2], "wings": [2], "fur": [1]})),
        ["lacks 'legs'", "unknown 'feet'"],
    ),
    "a missing attribute in a mapping": (
        lambda m, t: m.predict(t.X, {"wasp": {"size": 1, "legs": 6, "wings": 4}}),
        ["lacks 'fur'", "4 attribute"],
    ),
    "all zero": (
        lambda m, t: t.model(signature_scaling="none").fit(t.X, t.y, t.table.mul([1, 0, 1, 1, 1], axis=0)),
        ["all-zero signature", "'emu'"],
    ),
    "all zero at predict": (
        lambda m, t: t.fitted(signature_scaling="l2").predict(t.X, {"wasp": [0, 0, 0, 0]}),
        ["all-zero signature", "'wasp'", "signature_scaling='l2'", "center-l2"],
    ),
    "all zero among several": (
        lambda m, t: t.model(signature_scaling="none").fit(t.X, t.y, vectors(t, dog=[[1, 2, 3, 4], [0, 0, 0, 0]])),
        ["all-zero signature", "'dog'"],
    ),
    "NaN": (
        lambda m, t: m.fit(t.X, t.y, t.table.where(t.table != t.table.loc["ant", "wings"])),
        ["NaN", "class 'ant'", "attribute 'wings'"],
    ),
    "infinity": (
        lambda m, t: m.predict(t.X, t.table.replace(t.table.loc["bee", "fur"], -np.inf)),
        ["infinity", "class 'bee'", "attribute 'fur'"],
    ),
    "NaN in an array": (
        lambda m, t: m.predict(t.X, [[1, 2, np.nan, 4]], candidates=["wasp"]),
        ["NaN", "class 'wasp'", "attribute 2"],
    ),
    "null": (
        lambda m, t: m.fit(t.X, t.y, pl.DataFrame({"class": ["ant", "cat", "dog"], "u": [1, None, 3], "v": [1, 2, 3]})),
        ["NaN", "class 'cat'", "attribute 'u'"],
    ),
    "dates in a column": (
        lambda m, t: m.fit(t.X, t.y, t.table.assign(found=pd.Timestamp("2026-01-01"))),
        ["dates in column 'found'", "expected numbers or words"],
    ),
    "text in two columns": (
        lambda m, t: m.fit(t.X, t.y, t.table.reset_index(names="animal").assign(song="loud")),
        ["does not say which class each row describes", "one column 'class'", "'animal'"],
    ),
    "text in a vector": (
        lambda m, t: m.fit(t.X, t.y, vectors(t, emu=["a", 1, 2, 3])),
        ["class 'emu'", "numbers", "'a'"],
    ),
    "no class column": (
        lambda m, t: m.fit(t.X, t.y, pl.DataFrame({"legs": [4, 6, 4], "fur": [1, 0, 1]})),
        ["which class", "'class'", "'legs', 'fur'"],
    ),
    "two text columns, polars": (
        lambda m, t: m.fit(t.X, t.y, pl.DataFrame({"animal": ["ant"], "song": ["loud"], "fur": [1]})),
        ["which class", "'class'", "'animal', 'song', 'fur'"],
    ),
    "mixed types in the index": (
        lambda m, t: m.fit(t.X, t.y, t.table.rename(index={"emu": 3})),
        ["index of signatures mixes", "string 'dog'", "integer 3"],
    ),
    "mixed types in a mapping": (
        lambda m, t: m.fit(t.X, t.y, {**vectors(t), 3: [1, 2, 3, 4]}),
        ["signatures mixes", "string 'dog'", "integer 3"],
    ),
    "a missing class name": (
        lambda m, t: m.fit(t.X, t.y, t.table.rename(index={"emu": None})),
        ["index of signatures has no label in row 1"],
    ),
    "two levels of index": (
        lambda m, t: m.fit(t.X, t.y, t.table.set_axis(pd.MultiIndex.from_product([t.table.index, ["a"]]))),
        ["tuple", "strings or all integers"],
    ),
    "another length in a mapping": (
        lambda m, t: m.fit(t.X, t.y, vectors(t, emu=[1, 2, 3])),
        ["class 'emu' has 3 values", "class 'dog' 4"],
    ),
    "other attributes in a mapping": (
        lambda m, t: m.fit(t.X, t.y, {"ant": {"legs": 6}, "cat": {"fur": 1}, "dog": {"legs": 4}}),
        ["class 'cat'", "'fur'", "'legs'"],
    ),
    "rows of unequal length": (
        lambda m, t: m.fit(t.X, t.y, [[1, 2], [3], [4, 5]]),
        ["signatures", "length"],
    ),
    "rows of unequal length in a mapping": (
        lambda m, t: m.fit(t.X, t.y, vectors(t, dog=[[1, 2, 3, 4], [1, 2]])),
        ["class 'dog'", "length"],
    ),
    "three dimensions in a mapping": (
        lambda m, t: m.fit(t.X, t.y, {label: np.ones((2, 2, 2)) for label in t.table.index}),
        ["class 'dog'", "(2, 2, 2)"],
    ),
    "an array with too many rows": (lambda m, t: m.fit(t.X, t.y, t.table.to_numpy()), ["5 rows", "3 classes"]),
    "an array with too few rows": (lambda m, t: m.fit(t.X, t.y, [[1, 2], [2, 1]]), ["2 rows", "3 classes"]),
    "a 1-D array": (lambda m, t: m.fit(t.X, t.y, [1, 2, 3]), ["(3,)", "2-D"]),
    "a 3-D array": (lambda m, t: m.fit(t.X, t.y, np.ones((3, 2, 2))), ["(3, 2, 2)", "2-D"]),
    "an array of other width at predict": (
        lambda m, t: m.predict(t.X, [[1, 2, 3]], candidates=["wasp"]),
        ["3 attributes", "fitted with 4"],
    ),
    "vectors of other width at predict": (lambda m, t: m.predict(t.X, {"wasp": [1, 2]}), ["2 attributes", "with 4"]),
    "an array without names at predict": (
        lambda m, t: m.predict(t.X, t.table.to_numpy()),
        ["array of 5 rows", "candidates="],
    ),
    "an array with fewer names at predict": (
        lambda m, t: m.predict(t.X, t.table.to_numpy(), candidates=["emu"]),
        ["5 rows", "1 class"],
    ),
    "names of another type at predict": (
        lambda m, t: t.model().fit(t.X, recode(t, int)).predict(t.X, {"1": [1, 2, 3], "9": [3, 2, 1]}),
        ["strings such as '1'", "integers"],
    ),
    "an empty table": (lambda m, t: m.fit(t.X, t.y, t.table.iloc[:0]), ["empty", "(0, 4)"]),
    "a table without attributes": (lambda m, t: m.fit(t.X, t.y, t.table[[]]), ["empty", "one attribute"]),
    "an empty mapping": (lambda m, t: m.fit(t.X, t.y, {}), ["empty mapping"]),
    "empty vectors": (lambda m, t: m.fit(t.X, t.y, {label: [] for label in t.table.index}), ["empty", "attribute"]),
    "an empty array": (lambda m, t: m.predict(t.X, np.empty((1, 0)), candidates=["wasp"]), ["empty", "(1, 0)"]),
    "a file name": (lambda m, t: m.fit(t.X, t.y, "table.csv"), ["type str", "data frame"]),
    "a number": (lambda m, t: m.predict(t.X, 5), ["type int", "data frame"]),
}
CANDIDATES = {
    "an unknown class": (
        lambda m, t: m.predict(t.X, candidates=["cat", "wasp"]),
        ["candidate 'wasp'", "'ant', 'bee', 'cat', 'dog', 'emu'"],
    ),
    "a class that is not in the table": (
        lambda m, t: m.predict(t.X, t.table.loc[["emu"]], candidates=["bee"]),
        ["candidate 'bee'", "signatures", "'emu'"],
    ),
    "a misspelt class": (lambda m, t: m.compatibility(t.X, candidates=["Cat"]), ["candidate 'Cat'", "'cat'"]),
    "integers for text": (lambda m, t: m.top_k(t.X, 1, candidates=[0, 1]), ["candidate 0, 1", "'ant'"]),
    "mixed types": (
        lambda m, t: m.predict(t.X, candidates=["cat", 1]),
        ["candidates mixes", "string 'cat'", "integer 1"],
    ),
    "none at all": (lambda m, t: m.predict(t.X, candidates=[]), ["candidates is empty", "at least one"]),
    "2-D": (lambda m, t: m.predict(t.X, candidates=np.array([["cat"]])), ["candidates", "(1, 1)"]),
    "lists": (lambda m, t: m.predict(t.X, candidates=[["cat"], ["dog"]]), ["candidates", "list"]),
    "one name, not in a list": (lambda m, t: m.predict(t.X, candidates="cat"), ["candidates is 'cat'", "list"]),
    "one number, not in a list": (lambda m, t: m.predict(t.X, candidates=3), ["candidates is 3", "list"]),
    "k of zero": (lambda m, t: m.top_k(t.X, 0), ["k is 0", "1 to 5"]),
    "a negative k": (lambda m, t: m.top_k(t.X, -1), ["k is -1", "1 to 5"]),
    "k beyond the candidates": (lambda m, t: m.top_k(t.X, 6), ["k is 6", "1 to 5"]),
    "k beyond the chosen candidates": (lambda m, t: m.top_k(t.X, 3, candidates=["emu", "bee"]), ["k is 3", "1 to 2"]),
    "k beyond a new table": (lambda m, t: m.top_k(t.X, signatures={"wasp": [1, 2, 3, 4]}), ["k is 5", "1 to 1"]),
    "a fractional k": (lambda m, t: m.top_k(t.X, 2.0), ["k is 2.0", "integer"]),
    "k as text": (lambda m, t: m.top_k(t.X, "2"), ["k is '2'", "integer"]),
    "k as truth": (lambda m, t: m.top_k(t.X, True), ["k is True", "integer"]),
}


@pytest.mark.parametrize(("call", "words"), cases(signatures=SIGNATURES, candidates=CANDIDATES))
def test_bad_signatures_and_candidates_get_one_clear_sentence(toy, call, words):
    assert_refused(toy, call, words)


@pytest.mark.parametrize("scaling", ["center-l2", "standardize-l2", "l2-center-l2"])
def test_zeros_describe_a_class_where_the_mean_is_subtracted(toy, scaling):
    zeros = toy.table.mul([1, 0, 1, 1, 1], axis=0)  # in whatever units attributes are, one class has none of them
    found = toy.model(signature_scaling=scaling).fit(toy.X, toy.y, zeros)
    assert np.isfinite(found.compatibility(toy.X)).all()
    assert found.predict(toy.X, {"wasp": [0, 0, 0, 0], "bee": zeros.loc["bee"]}).shape == (len(toy.X),)
    if not scaling.startswith("l2"):  # a mean is subtracted, so it does not matter where zero is
        moved = toy.model(signature_scaling=scaling).fit(toy.X, toy.y, zeros + 5.0)
        assert_close(found.compatibility(toy.X), moved.compatibility(toy.X), AFTER_FIT.single)


def test_rejection_is_refused_where_a_class_is_called_unknown(toy):
    y, table = np.where(toy.y == "cat", "unknown", toy.y), toy.table.rename(index={"cat": "unknown"})
    model = toy.model().fit(toy.X, y, table)
    model.temperatures_ = {"seen": 1.0, "unseen": 1.0, "mixed": 1.0}
    assert "unknown" in model.predict(toy.X)
    assert "unknown" in model.predict(toy.X, candidates=["ant", "dog"], min_probability=1.0)
    for ask in (lambda: model.predict(toy.X, min_probability=0.5), lambda: Predictor(model, min_probability=0.5)):
        with pytest.raises(ValueError, match="a candidate class is called 'unknown', which is also the answer for"):
            ask()
