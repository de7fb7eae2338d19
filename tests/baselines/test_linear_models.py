"""Linear maps in the coordinates of the rows' own spread."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from baseline_problems import RAW, central
from tolerances import DIFFERENCES, SOLUTION, STOPPED, SUMS, assert_close
from zskl import baselines, datasets
from zskl.baselines import _linear_models, sync
from zskl.baselines._linear_models import class_membership, class_signatures, class_sums_and_spectrum, sum_by_class
from zskl.estimators._candidates import softmax

# Linear


@pytest.mark.parametrize("estimator", [baselines.ESZSL, baselines.SAE])
def test_more_features_than_rows(small, estimator):
    """The thin decomposition is that of the whole space: features that are copies share what one had."""
    X, codes, Y = small
    few, wide = X[::6], np.repeat(X[::6], 3, axis=1) / math.sqrt(3)
    narrow, broad = (estimator(**RAW).fit(rows, codes[::6], Y).compatibility(rows) for rows in (few, wide))
    assert_close(broad, narrow, SOLUTION.single)


@pytest.mark.parametrize("shape", [(30, 6), (4, 6)])
def test_the_rotation_keeps_the_rows(shape):
    X = np.random.default_rng(0).normal(size=shape)
    rows = _linear_models.rotate_rows(X)
    assert_close(rows.rotated @ rows.basis.T, X, SOLUTION.double)
    assert_close(rows.basis * rows.energy @ rows.basis.T, X.T @ X, SOLUTION.double)


@pytest.mark.parametrize("shape", [(30, 6), (4, 6)])
def test_the_spectrum_of_weighted_rows_about_a_center(shape, monkeypatch):
    rng = np.random.default_rng(0)
    X, weights, center = rng.normal(size=shape), rng.uniform(size=shape[0]), rng.normal(size=6)
    expected = sum(w * np.outer(x - center, x - center) for w, x in zip(weights, X, strict=True))
    for values in (_linear_models.BLOCK_VALUES, 7 * 6):
        monkeypatch.setattr(_linear_models, "BLOCK_VALUES", values)
        monkeypatch.setattr(_linear_models, "BLOCK_ROWS", 1)
        basis, energy = _linear_models.row_spectrum(X, weights, center)
        assert_close(basis * energy @ basis.T, expected, SOLUTION.double)
    with pytest.raises(AssertionError):
        assert_close(basis * energy @ basis.T, (X - center).T @ (X - center), SOLUTION.double)


# Logistic
# Smooth losses against slow loops, and logistic regressions against those of scikit-learn.


def losses(n, k, rng):
    targets = np.eye(k)[rng.integers(0, k, n)]
    return {
        "cross-entropy": (
            _linear_models.cross_entropy(targets),
            lambda F: sum(math.log(sum(math.exp(f) for f in F[i])) - float(F[i] @ targets[i]) for i in range(n)) / n,
        ),
        "sigmoid": (
            _linear_models.sigmoid_loss(targets),
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
    rows = _linear_models.rotate_rows(X)
    monkeypatch.setattr(_linear_models, "TOLERANCE", 1e-7)
    monkeypatch.setattr(_linear_models, "PASSES", 10000)
    W, b = _linear_models.fit_multinomial(rows, np.eye(5)[codes], C)
    theirs = LogisticRegression(C=C, tol=1e-9, max_iter=10000).fit(X, codes)
    assert_close(W, theirs.coef_.T, STOPPED)
    with pytest.raises(AssertionError):
        assert_close(_linear_models.fit_multinomial(rows, np.eye(5)[codes], 1.1 * C)[0], theirs.coef_.T, STOPPED)
    assert_close(softmax(X @ W + b), theirs.predict_proba(X), STOPPED)
    weights = np.random.default_rng(0).uniform(size=len(X))
    W, b = _linear_models.fit_multinomial(_linear_models.rotate_rows(X, weights), np.eye(5)[codes], C)
    theirs = LogisticRegression(C=C, tol=1e-9, max_iter=10000).fit(X, codes, sample_weight=weights)
    assert_close(W, theirs.coef_.T, STOPPED)
    targets = np.stack([codes < 2, codes % 2 == 0], axis=1).astype(float)
    W, b = _linear_models.fit_binary(rows, targets, C)
    for m in range(2):
        theirs = LogisticRegression(C=C, tol=1e-9, max_iter=10000).fit(X, targets[:, m])
        assert_close(W[:, m], theirs.coef_[0], STOPPED)
        assert b[m] == pytest.approx(theirs.intercept_[0], rel=1e-3, abs=1e-4)


# Shared fit
# Means and sums over classes.


def test_means_and_sums_over_classes():
    data = datasets.make_synthetic(
        n_seen=4, n_unseen=2, samples_per_class=5, n_features=3, n_attributes=3, descriptions=2
    )
    table = data.signatures.iloc[1:]  # the first class now has one description, the others two
    model = baselines.ESZSL(**RAW)
    rows = data.parts["trainval"]
    X, y = data.X[rows], data.y[rows]
    training = model._prepare(X, y, table)
    assert_close(class_signatures(training), [table.loc[[k]].mean() for k in model.seen_classes_], SUMS.single)
    assert_close(sum_by_class(training), [X[y == k].sum(axis=0) for k in model.seen_classes_], SUMS.single)
    assert (class_membership(training).argmax(axis=1) == np.searchsorted(model.seen_classes_, y)).all()


@pytest.mark.parametrize("rows", [60, 4])
def test_one_pass_gives_class_sums_and_spectrum(monkeypatch, rows):
    monkeypatch.setattr(_linear_models, "BLOCK_VALUES", 7 * 6)
    monkeypatch.setattr(_linear_models, "BLOCK_ROWS", 1)
    rng = np.random.default_rng(0)
    X, y, Y = rng.normal(size=(rows, 6)), np.arange(rows) % 2, np.eye(2)
    weights = rng.uniform(0.5, 2, size=rows)
    training = baselines.ESZSL(**RAW)._prepare(X, y, Y, weights=(weights, None))
    sums, basis, energy = class_sums_and_spectrum(training)
    assert_close(sums, sum_by_class(training), SUMS.double)
    assert_close(basis * energy @ basis.T, (X * weights[:, None]).T @ X, SOLUTION.single)
    assert_close(sums, [(X * weights[:, None])[y == k].sum(axis=0) for k in range(2)], SUMS.single)
