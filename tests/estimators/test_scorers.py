"""scikit-learn's probability and ranking scorers, each against a slow computation, for a table with further classes."""

import inspect
import math
from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss, get_scorer, get_scorer_names
from sklearn.model_selection import StratifiedKFold, cross_val_score

from tolerances import SUMS
from zskl import ClassMeansClassifier, Committee, ZeroShotKernelClassifier, baselines

pytestmark = pytest.mark.filterwarnings("ignore::zskl.estimators.base.UncalibratedWarning")
SEEN = {"two": [0, 1], "three": [0, 1, 2]}
TEMPERATURES = {"seen": 0.4, "unseen": 0.5, "mixed": 0.6}
NAMES = sorted(name for name in get_scorer_names() if get_scorer(name)._response_method != "predict")
ONLY = {"roc_auc": "two", "top_k_accuracy": "three", **dict.fromkeys([n for n in NAMES if "_ov" in n], "three")}
if "scale_by_half" not in inspect.signature(brier_score_loss).parameters:  # scikit-learn below 1.7
    ONLY |= {"neg_brier_score": "two"}


def problem(classes):
    """Rows of some classes, close enough to be mistaken for each other, and a table of five."""
    rng = np.random.default_rng(5)
    table = dict(enumerate(rng.normal(size=(5, 4))))
    y = np.repeat(SEEN[classes], 12)
    X = np.array([table[label] for label in y]) @ rng.normal(size=(4, 6)) + 2.0 * rng.normal(size=(len(y), 6))
    return X, y, table


# Slow and obvious: y (n,) are places of classes, S (n, C) scores, P (n, C) probabilities -----------------------------


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
    """The scorer's value from raw scores of the classes with rows."""
    S = np.column_stack([model.compatibility(X, candidates=[label]) for label in model.classes_])
    T = 1.0 if model.temperatures_ is None else model.temperatures_["seen"]
    e = [[math.exp(score / T) for score in row] for row in S]
    return SLOW[name](np.searchsorted(model.classes_, y), S, np.array([np.array(row) / sum(row) for row in e]))


def test_every_scorer_that_reads_more_than_answers_is_here():
    assert len(NAMES) >= 10
    assert [name for name in NAMES if name not in SLOW] == []


@pytest.mark.parametrize(("name", "classes"), [(n, k) for n in NAMES for k in SEEN if ONLY.get(n, k) == k])
def test_a_scorer_says_what_a_slow_computation_says(name, classes):
    X, y, table = problem(classes)
    model = baselines.ESZSL().fit(X[::2], y[::2], table)
    model.calibration_, model.temperatures_ = 0.3, TEMPERATURES
    found, expected = get_scorer(name)(model, X[1::2], y[1::2]), by_hand(model, X[1::2], y[1::2], name)
    assert found == pytest.approx(expected, rel=SUMS.double)
    assert by_hand(model, X[1::2], np.roll(y[1::2], 5), name) != pytest.approx(expected, rel=1e-3)  # other classes


@pytest.mark.parametrize("name", NAMES)
def test_a_scorer_in_cross_validation(name):
    """Every fold trains on some rows of each class, and knows the further classes of the table."""
    X, y, table = problem(ONLY.get(name, "three"))
    folds = StratifiedKFold(2)
    found = cross_val_score(baselines.ESZSL(), X, y, scoring=name, cv=folds, params={"signatures": table})
    for value, (train, test) in zip(found, folds.split(X, y), strict=True):
        model = baselines.ESZSL().fit(X[train], y[train], table)
        assert value == pytest.approx(by_hand(model, X[test], y[test], name), rel=SUMS.double)


def test_top_k_accuracy_is_that_of_top_k_among_the_same_classes():
    X, y, table = problem("three")
    model = baselines.ESZSL().fit(X, y, table)
    among = model.top_k(X, 2, candidates=model.classes_)
    right = [label in row for label, row in zip(y, among, strict=True)]
    assert get_scorer("top_k_accuracy")(model, X, y) == pytest.approx(np.mean(right), rel=SUMS.double)
    assert {3, 4} & set(model.top_k(X, 2).ravel())  # by itself it names the further classes too


MODELS = [
    baselines.ESZSL(),
    ClassMeansClassifier(),
    Committee([("means", ClassMeansClassifier()), ("eszsl", baselines.ESZSL())]),
    ZeroShotKernelClassifier(epochs=1, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_columns_are_the_classes_with_rows_unless_you_choose(model):
    X, y, table = problem("three")
    model = clone(model).fit(X, y, table)
    if hasattr(model, "add_examples"):  # a class of examples alone is a candidate, and no class of `fit`
        model = model.add_examples(X[:2], [9, 9])
    model.calibration_, model.temperatures_ = 0.3, TEMPERATURES
    every = model.candidates_
    assert len(every) > len(model.classes_) == 3
    for method in (model.predict_proba, model.decision_function):
        assert method(X).shape == (len(X), 3)
        np.testing.assert_array_equal(method(X), method(X, candidates=model.classes_))
        assert method(X, candidates=every).shape == (len(X), len(every))
        assert method(X, {label: table[label] for label in (3, 1)}).shape == (len(X), 2)
        np.testing.assert_array_equal(every[method(X, candidates=every).argmax(axis=1)], model.predict(X))
    for chosen in (None, every, [3, 4]):
        np.testing.assert_allclose(model.predict_proba(X, candidates=chosen).sum(axis=1), 1, rtol=SUMS.double)
    assert set(np.unique(model.top_k(X, len(every)))) == set(every)


def test_classifiers_of_scikit_learn_that_read_probabilities():
    X, y, table = problem("three")
    model = CalibratedClassifierCV(baselines.ESZSL(), cv=2).fit(X, y, signatures=table)
    assert model.predict_proba(X).shape == (len(X), 3)
    assert model.score(X, y) > 0.4
