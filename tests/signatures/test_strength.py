"""Whether descriptions explain anything: the closed form against a loop, and how often it is wrong."""

import logging

import numpy as np
import pytest

from zskl import ClassMeansClassifier
from zskl.signatures import strength


def problem(seed, C=20, d=12, p=6, rows=8):
    draw = np.random.default_rng(seed)
    S, W = draw.standard_normal((C, p)), draw.standard_normal((p, d))
    y = np.repeat(np.arange(C), rows)
    return S[y] @ W + draw.standard_normal((len(y), d)), y, S


def unit(v):
    return v / np.linalg.norm(v)


def slow_mean_cosine(K, directions):
    """Of each class, predicted by a process that has never seen it."""
    found = []
    for k in range(len(K)):
        others = [i for i in range(len(K)) if i != k]
        weights = np.linalg.inv(K[np.ix_(others, others)] + strength.NOISE * np.eye(len(others)))
        found.append(unit(K[k, others] @ weights @ directions[others]) @ directions[k])
    return np.mean(found)


def test_strength_equals_the_loop():
    draw = np.random.default_rng(0)
    Y, directions = draw.standard_normal((9, 4)), draw.standard_normal((9, 5))
    directions = np.array([unit(v) for v in directions + Y @ draw.standard_normal((4, 5))])
    K = np.exp(-((Y[:, None] - Y[None]) ** 2).sum(axis=2) / 4)
    chance, draw = [], np.random.default_rng(0)
    for _ in range(strength.PERMUTATIONS):
        order = draw.permutation(9)
        chance.append(slow_mean_cosine(K, directions[order]))
    slow = (slow_mean_cosine(K, directions) - np.mean(chance)) / np.std(chance)
    assert strength.description_strength(K, directions) == pytest.approx(slow, abs=1e-9)


def judge(X, y, S):
    return strength.find_weak_table(lambda places: X[places], y, S, np.arange(len(S)))


def test_a_table_that_explains_is_seldom_called_weak_and_a_permuted_one_nearly_always():
    alarms, found = 0, 0
    for seed in range(40):
        X, y, S = problem(seed)
        alarms += bool(judge(X, y, S))
        found += bool(judge(X, y, S[np.random.default_rng(seed).permutation(len(S))]))
    assert alarms == 0
    assert found >= 34


def test_few_classes_say_nothing():
    X, y, S = problem(0, C=strength.LEAST_CLASSES - 1)
    assert judge(X, y, np.random.default_rng(1).standard_normal(S.shape)) == ""


def test_fit_says_that_descriptions_explain_nothing(caplog):
    X, y, S = problem(0)
    with caplog.at_level(logging.WARNING, logger="zskl"):
        ClassMeansClassifier().fit(X, y, dict(enumerate(S)))
        ClassMeansClassifier().fit(X, y)  # which needs no descriptions
        assert not caplog.records
        ClassMeansClassifier().fit(X, y, dict(enumerate(S[::-1])))
    (record,) = caplog.records
    assert "the descriptions explain nothing of the 20 training classes" in record.message


def test_several_descriptions_of_a_class_count_as_their_mean():
    X, y, S = problem(0)
    twice = strength.find_weak_table(lambda places: X[places], y, np.repeat(S, 2, axis=0), np.repeat(np.arange(20), 2))
    assert twice == judge(X, y, S) == ""
