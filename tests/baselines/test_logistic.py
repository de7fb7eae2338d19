"""Smooth losses against slow loops, and logistic regressions against those of scikit-learn."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from closed_forms import central
from tolerances import DIFFERENCES, STOPPED, assert_close
from zskl.baselines import linear, logistic, sync
from zskl.estimators.candidates import softmax


def losses(n, k, rng):
    targets = np.eye(k)[rng.integers(0, k, n)]
    return {
        "cross-entropy": (
            logistic.cross_entropy(targets),
            lambda F: sum(math.log(sum(math.exp(f) for f in F[i])) - float(F[i] @ targets[i]) for i in range(n)) / n,
        ),
        "sigmoid": (
            logistic.sigmoid_loss(targets),
            lambda F: (
                sum(-math.log(1 / (1 + math.exp(-F[i, j] if targets[i, j] else F[i, j]))) for i, j in np.ndindex(n, k))
                / n
            ),
        ),
        "squared hinge": (
            sync.squared_hinge(2 * targets - 1),
            lambda F: sum(max(0, 1 - (2 * targets[i, j] - 1) * F[i, j]) ** 2 for i, j in np.ndindex(n, k)) / n,
        ),
    }


@pytest.mark.parametrize("name", ["cross-entropy", "sigmoid", "squared hinge"])
def test_losses_and_gradients_are_those_of_slow_loops(name):
    rng = np.random.default_rng(0)
    fast, slow = losses(7, 4, rng)[name]
    F = 2 * rng.normal(size=(7, 4))
    value, gradient = fast(F)
    assert value == pytest.approx(slow(F), rel=1e-12)
    assert_close(gradient, central(slow, F), DIFFERENCES)
    with pytest.raises(AssertionError):
        assert_close(1.01 * gradient, central(slow, F), DIFFERENCES)
    large = fast(1e4 * F)  # no overflow
    assert math.isfinite(large[0])
    assert np.isfinite(large[1]).all()


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_logistic_regressions_are_those_of_scikit_learn(small, C, monkeypatch):
    X, codes, _ = small
    rows = linear.rotate(X)
    monkeypatch.setattr(linear, "TOLERANCE", 1e-7)
    monkeypatch.setattr(linear, "PASSES", 10000)
    W, b = logistic.multinomial(rows, np.eye(5)[codes], C)
    theirs = LogisticRegression(C=C, tol=1e-9, max_iter=10000).fit(X, codes)
    assert_close(W, theirs.coef_.T, STOPPED)
    with pytest.raises(AssertionError):
        assert_close(logistic.multinomial(rows, np.eye(5)[codes], 1.1 * C)[0], theirs.coef_.T, STOPPED)
    assert_close(softmax(X @ W + b), theirs.predict_proba(X), STOPPED)
    weights = np.random.default_rng(0).uniform(size=len(X))
    W, b = logistic.multinomial(linear.rotate(X, weights), np.eye(5)[codes], C)
    theirs = LogisticRegression(C=C, tol=1e-9, max_iter=10000).fit(X, codes, sample_weight=weights)
    assert_close(W, theirs.coef_.T, STOPPED)
    targets = np.stack([codes < 2, codes % 2 == 0], axis=1).astype(float)
    W, b = logistic.binary(rows, targets, C)
    for m in range(2):
        theirs = LogisticRegression(C=C, tol=1e-9, max_iter=10000).fit(X, targets[:, m])
        assert_close(W[:, m], theirs.coef_[0], STOPPED)
        assert b[m] == pytest.approx(theirs.intercept_[0], rel=1e-3, abs=1e-4)
