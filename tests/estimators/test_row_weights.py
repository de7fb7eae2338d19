"""Weights of training rows: a whole number stands for copies, whatever the method."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

from tolerances import SOLUTION, SUMS, assert_close
from zskl import ClassMeansClassifier, Committee, ZeroShotKernelClassifier, baselines, scaling
from zskl.estimators.row_weights import TAKEN, row_weights

METHODS = {"class-means": ClassMeansClassifier, **baselines.BASELINES}
WEIGHTED = {name: kind for name, kind in METHODS.items() if has_fit_parameter(kind(), "sample_weight")}
each = pytest.mark.parametrize("name", WEIGHTED)
RNG = np.random.default_rng(2)
COPIES = RNG.integers(0, 4, 36)


def test_the_sentence_names_all_that_take_weights():
    assert sorted(WEIGHTED) == sorted(TAKEN.replace(" and ", ", ").split(", "))


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
    expected = scaling.fit(steps, toy.X.repeat(COPIES, axis=0)).apply(toy.X)
    assert_close(scaling.fit(steps, toy.X, weights=COPIES.astype(float)).apply(toy.X), expected, SUMS.double)
    monkeypatch.setattr(scaling, "BLOCK_VALUES", 7 * toy.X.shape[1])
    assert_close(scaling.fit(steps, toy.X, weights=COPIES.astype(float)).apply(toy.X), expected, SUMS.double)


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
