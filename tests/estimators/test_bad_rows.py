"""Wrong features and labels get one clear sentence with the value found, and nothing is lost."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from refusals import assert_one_sentence, assert_refused, cases, frame, mixed, put, recode

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
