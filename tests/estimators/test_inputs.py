"""Arrays as they come: precision, layout, lists, data frames."""

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
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

from tolerances import AFTER_FIT, FIT, SOLUTION, SUMS, assert_close
from toy import assert_one_sentence, assert_refused, cases, frame, make_toy, mixed, put, recode
from zskl import ClassMeansClassifier, Committee, ZeroShotKernelClassifier, baselines, scaling
from zskl.baselines import _linear_models
from zskl.estimators._inputs import row_weights
from zskl.training import rows

# Inputs ---------------------------------------------------------------------------------------------------------------


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


# Bad rows -------------------------------------------------------------------------------------------------------------
# Wrong features and labels get one clear sentence with the value found, and nothing is lost.

# what is wrong: (the call on a fitted model `m` and the toy problem `t`, what the sentence must say)
FEATURES = {
    "NaN": (lambda m, t: m.fit(put(t.X, 3, 1, np.nan), t.y, t.table), ["X contains NaN", "column 1", "row 3"]),
    "NaN among float32": (
        lambda m, t: m.fit(put(t.X.astype(np.float32), 3, 1, np.nan), t.y, t.table),
        ["X contains NaN", "column 1", "row 3"],
    ),
    "infinity": (lambda m, t: m.fit(put(t.X, 0, 5, np.inf), t.y, t.table), ["infinity", "column 5", "row 0"]),
    "minus infinity": (lambda m, t: m.predict(put(t.X, 2, 0, -np.inf)), ["infinity", "column 0", "row 2"]),
    "both infinities": (
        lambda m, t: m.fit(put(t.X, [1, 4], [2, 2], [np.inf, -np.inf]), t.y, t.table),
        ["infinity", "column 2", "row 1", "2 such"],
    ),
    "several columns": (
        lambda m, t: m.predict(put(t.X, [1, 4], [4, 2], np.nan)),
        ["X contains NaN", "column 2, 4", "row 4", "2 such"],
    ),
    "NaN at predict": (lambda m, t: m.predict(put(t.X, 3, 1, np.nan)), ["X contains NaN", "column 1", "row 3"]),
    "NaN in a named column": (
        lambda m, t: m.fit(frame(put(t.X, 3, 2, np.nan)), t.y, t.table),
        ["X contains NaN", "column 'wing'", "row 3"],
    ),
    "NaN in a named column at predict": (
        lambda m, t: t.model().fit(frame(t.X), t.y, t.table).top_k(frame(put(t.X, 0, 5, np.nan))),
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
    "text": (lambda m, t: m.predict(np.full((2, 6), "large")), ["convert", "'large'"]),
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
    "None alone": (lambda m, t: m.fit(t.X, [None] * 36, t.table), ["y has no label in row 0", "36 such row(s)"]),
    "NaN": (lambda m, t: m.fit(t.X, put(recode(t, float)[:, None], 3, 0, np.nan)[:, 0], t.table), ["y contains NaN"]),
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
        (lambda t: (put(t.X, 2, 3, np.nan), t.y), ["NaN", "column 3"]),
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


# Row weights ----------------------------------------------------------------------------------------------------------
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
    assert model.classes_.tolist() == ["ant", "dog"]
    assert model.candidates_.tolist() == ["ant", "dog", "emu", "cat", "bee"]
    with pytest.raises(ValueError, match="1 class only"):
        baselines.ESZSL().fit(toy.X, toy.y, toy.table, class_weight={"cat": 0, "dog": 0})


def test_pieces_with_weights_are_the_whole_with_weights(toy):
    whole = ClassMeansClassifier().fit(toy.X, toy.y, toy.table, sample_weight=COPIES)
    model = ClassMeansClassifier()
    for rows in (slice(0, 20), slice(20, 36)):
        model.partial_fit(toy.X[rows], toy.y[rows], toy.table, sample_weight=COPIES[rows])
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
        row_weights(np.array(["ant", "bee", "bee", "bee"]), *given)


def test_balanced_counts_weights_not_rows():
    y = np.array(["ant", "bee", "bee", "cat"])
    found = row_weights(y, pd.Series([3.0, 1.0, 0.0, 2.0]), "balanced")
    np.testing.assert_allclose(found, [2.0, 2.0, 0.0, 2.0], rtol=SUMS.double)
    assert row_weights(y) is None
    np.testing.assert_array_equal(row_weights(y, 2), [2.0, 2.0, 2.0, 2.0])


OTHERS = [ZeroShotKernelClassifier(), Committee(), *(kind() for name, kind in METHODS.items() if name not in WEIGHTED)]


@pytest.mark.parametrize("model", OTHERS, ids=lambda model: model.kind)
def test_methods_without_weights_name_those_that_have_them(toy, model):
    for weights in ({"sample_weight": COPIES}, {"class_weight": "balanced"}):
        name = next(iter(weights))
        with pytest.raises(TypeError, match=rf"\.fit takes no {name}.*class-means, eszsl.*or repeat rows"):
            model.fit(toy.X, toy.y, toy.table, **weights)
    assert not hasattr(model, "classes_")


def test_no_weights_may_be_handed_to_any_method():
    X, y = np.eye(4), ["a", "a", "b", "b"]
    model = baselines.SynC().fit(X, y, {"a": [0, 1], "b": [1, 0]}, sample_weight=None, class_weight=None)
    assert model.predict(X).tolist() == y


def test_a_class_is_weighed_by_either_spelling_of_its_name(toy):
    names = {"é": "cafe\u0301", "e\u0301": "caf\u00e9"}
    for mine, _ in names.items():
        y = np.where(toy.y == toy.y[0], mine, toy.y)
        other = "e\u0301" if mine == "é" else "é"
        first, second = (row_weights(y, None, {name: 2.0}) for name in (mine, other))
        np.testing.assert_array_equal(first, second)


# Column kinds ---------------------------------------------------------------------------------------------------------
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
def test_dates_words_and_holes_are_refused_with_what_to_put_before(call, words):
    assert_refused(make_toy(), call, words)


def test_truth_values_and_numbers_in_objects_are_numbers():
    toy = make_toy()
    X = frame(toy.X).assign(wet=toy.X[:, 0] > 0)
    as_numbers = baselines.ESZSL().fit(X.astype({"wet": float}), toy.y, toy.table).compatibility(X)
    np.testing.assert_array_equal(baselines.ESZSL().fit(X, toy.y, toy.table).compatibility(X), as_numbers)
    objects = frame(toy.X).astype({"bill": object})
    assert baselines.ESZSL().fit(objects, toy.y, toy.table).predict(objects).shape == (len(toy.X),)


# Half precision -------------------------------------------------------------------------------------------------------
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
