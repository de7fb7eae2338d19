"""Bad input gets one clear sentence with the value found, and nothing is lost."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from zskl import arrays, methods


def put(X, row, column, value):
    X = X.copy()
    X[row, column] = value
    return X


def frame(X):
    return pd.DataFrame(X, columns=["bill", "tail", "wing", "eye", "foot", "song"])


def recode(toy, dtype):
    return np.searchsorted(np.unique(toy.y), toy.y).astype(dtype)


def mixed(toy, dtype=object):
    return np.array([1 if label == "ant" else label for label in toy.y], dtype=dtype)


def vectors(toy, **changes):
    return {**dict(zip(toy.table.index, toy.table.to_numpy().tolist(), strict=True)), **changes}


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
    "None among them": (lambda m, t: m.fit(t.X, [None, *t.y[1:]], t.table), ["y mixes", "None", "string"]),
    "None alone": (lambda m, t: m.fit(t.X, [None] * 36, t.table), ["NoneType", "strings or all integers"]),
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
        lambda m, t: m.fit(t.X, t.y, t.table.mul([1, 0, 1, 1, 1], axis=0)),
        ["all-zero signature", "'emu'"],
    ),
    "all zero at predict": (lambda m, t: m.predict(t.X, {"wasp": [0, 0, 0, 0]}), ["all-zero signature", "'wasp'"]),
    "all zero among several": (
        lambda m, t: m.fit(t.X, t.y, vectors(t, dog=[[1, 2, 3, 4], [0, 0, 0, 0]])),
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
    "text in a column": (lambda m, t: m.fit(t.X, t.y, t.table.assign(song="loud")), ["'song' is String", "numbers"]),
    "dates in a column": (
        lambda m, t: m.fit(t.X, t.y, t.table.assign(found=pd.Timestamp("2026-01-01"))),
        ["'found' is Datetime", "numbers"],
    ),
    "text in two columns": (
        lambda m, t: m.fit(t.X, t.y, t.table.reset_index(names="animal").assign(song="loud")),
        ["'animal' is String", "'song' is String"],
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
        ["index of signatures mixes", "string 'dog'", "nan"],
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
    "one column": (lambda m, t: m.fit(t.X, t.y, t.table["legs"]), ["type Series", "data frame"]),
}
CANDIDATES = {
    "an unknown class": (
        lambda m, t: m.predict(t.X, candidates=["cat", "wasp"]),
        ["candidate 'wasp'", "'ant', 'cat', 'dog', 'emu', 'bee'"],
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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        pytest.param(*case, id=f"{table}: {what}")
        for table, cases in {"X": FEATURES, "y": LABELS, "signatures": SIGNATURES, "candidates": CANDIDATES}.items()
        for what, case in cases.items()
    ],
)
def test_bad_input_gets_one_clear_sentence_and_nothing_is_lost(toy, call, words):
    model = toy.fitted()
    before = model.compatibility(toy.X)
    with pytest.raises(ValueError) as caught:
        call(model, toy)
    assert_one_sentence(caught.value, words)
    np.testing.assert_array_equal(model.compatibility(toy.X), before)


def assert_one_sentence(error, words):
    message = str(error)
    assert "\n" not in message
    assert len(message) < 400
    assert [word for word in words if word not in message] == [], message


def test_sparse_features(toy):
    """scikit-learn wants a TypeError here."""
    for call in (lambda X: toy.fitted().fit(X, toy.y, toy.table), toy.fitted().predict):
        with pytest.raises(TypeError) as caught:
            call(sparse.csr_array(toy.X))
        assert_one_sentence(caught.value, ["Sparse", "dense", "toarray"])


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


# Parameters ----------------------------------------------------------------------------------------------------------

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
    ("balance", "size", "sizes", "mean, paper, sizes"),
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
        assert_one_sentence(caught.value, [f"device={device!r}", "device='cpu'"])


@pytest.mark.parametrize("device", ["gpu", "nonsense", "cuda:x", "", 5])
def test_a_device_that_is_none(toy, device):
    with pytest.raises(ValueError) as caught:
        toy.fitted(device=device)
    assert_one_sentence(caught.value, [f"device={str(device)!r}", "'cpu'"])


@pytest.mark.parametrize("device", ["xpu" if sys.platform == "darwin" else "mps", "meta"])
def test_a_device_of_another_kind(toy, device):
    with pytest.raises(ValueError) as caught:
        toy.fitted(device=device)
    assert_one_sentence(caught.value, [f"device={device!r}", "'cpu'"])


def test_a_device_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # what an import that fails leaves behind
    with pytest.raises(ValueError) as caught:
        arrays.check_device("cuda")
    assert_one_sentence(caught.value, ["device='cuda'", "PyTorch", "zskl[torch]", "device='cpu'"])
    arrays.check_device("cpu")
    arrays.check_device(None)


def test_an_unfitted_model_is_scikit_learns_error(toy):
    with pytest.raises(NotFittedError):
        toy.model().compatibility(toy.X)


# Monitored rows ------------------------------------------------------------------------------------------------------


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
