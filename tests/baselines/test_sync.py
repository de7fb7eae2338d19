"""SynC: its objective over the phantoms, its smoothed loss, and the mixture of a candidate."""

import math

import numpy as np
import pytest

from baseline_problems import RAW, central
from tolerances import DIFFERENCES, SUMS, assert_close
from zskl import baselines
from zskl.baselines import _linear_models, sync


def test_the_structured_loss_nears_the_published_maximum():
    rng = np.random.default_rng(1)
    own = np.eye(4)[rng.integers(0, 4, 9)]
    D = rng.uniform(0.5, 2, size=(4, 4)) * (1 - np.eye(4))
    margins, F = own @ D, rng.normal(size=(9, 4))
    exact = np.mean([max(margins[i, c] + F[i, c] for c in range(4)) - F[i] @ own[i] for i in range(9)])
    assert sync.structured_loss(F, own, margins) == pytest.approx(exact, abs=1e-12)
    loss = sync.smoothed_structured_loss(own, margins, 0.05)
    value, gradient = loss(F)
    assert exact <= value <= exact + 0.05 * math.log(4)
    assert_close(gradient, central(lambda F: loss(F)[0], F), DIFFERENCES)
    assert sync.smoothed_structured_loss(own, margins, 1e-4)(F)[0] == pytest.approx(exact, abs=1e-3)


def nearest_mixture(z):
    """The point of the simplex (weights ≥ 0 of sum 1) nearest to z, by a search for what to subtract."""
    ordered = sorted(z.tolist(), reverse=True)
    cuts = [(math.fsum(ordered[: k + 1]) - 1) / (k + 1) for k in range(len(ordered))]
    cut = cuts[max(k for k in range(len(ordered)) if ordered[k] > cuts[k])]
    return np.maximum(z - cut, 0.0)


def slow_structured_minimum(X, codes, D, lam):
    """The minimum of the published objective between two bounds: its dual, one row after the other, solved exactly."""
    n, C = len(X), len(D)
    own = np.eye(C)[codes]
    alpha, margins = own.copy(), own @ D
    W = X.T @ (own - alpha) / (lam * n)
    for _ in range(3000):
        for i, x in enumerate(X):
            rest = W + np.outer(x, alpha[i]) / (lam * n)
            alpha[i] = nearest_mixture(lam * n / (x @ x) * (margins[i] + x @ rest))
            W = rest - np.outer(x, alpha[i]) / (lam * n)
        upper = sync.structured_loss(X @ W, own, margins) + lam / 2 * (W**2).sum()
        lower = (alpha * margins).sum() / n - lam / 2 * (W**2).sum()
        if upper - lower < 1e-9 * upper:
            break
    return lower, upper


@pytest.mark.parametrize("lam", [0.1, 0.003])
def test_the_structured_loss_is_at_its_published_minimum(small, lam):
    """The objective itself, without smoothing, against another solver of another problem: its dual."""
    X, codes, Y = small
    X, Y = (A / np.linalg.norm(A, axis=1, keepdims=True) for A in (X, Y))
    D = np.array([[((a - b) ** 2).sum() for b in Y] for a in Y])
    lower, upper = slow_structured_minimum(X, codes, D, lam)
    assert upper - lower < 1e-8 * upper

    def excess(tolerance):
        model = baselines.SynC(lam, 0.8, "structured", tolerance=tolerance, **RAW).fit(X, codes, Y)
        w = mixtures(Y, Y, 0.8) @ model.classifiers_
        total = sync.structured_loss(X @ w.T, np.eye(5)[codes], D[codes]) + lam / 2 * (w**2).sum()
        return (total - lower) / lower

    assert -1e-7 < excess(1e-6) < 1e-6
    assert excess(0.3) > 1e-4  # a planted fault: too much smoothing is noticed


def mixtures(A, B, sigma):
    S = np.array([[math.exp(-((a - b) ** 2).sum() / sigma**2) for b in B] for a in A])
    return S / S.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_sync_minimises_its_objective_over_the_phantoms(small, sigma):
    """In v, through the mixtures, as it is published: the gradient there is 0."""
    X, codes, Y = small
    Y = Y / np.linalg.norm(Y, axis=1, keepdims=True)
    lam = 0.1
    model = baselines.SynC(lam, sigma, tolerance=1e-8, **RAW).fit(X, codes, Y)
    S = mixtures(Y, Y, sigma)

    def objective(v):
        w, total = S @ v, 0.0
        for x, k in zip(X, codes, strict=True):
            total += sum(max(0.0, 1 - (1 if c == k else -1) * (w @ x)[c]) ** 2 for c in range(5))
        return total / len(X) + lam / 2 * (w**2).sum()

    v = model.classifiers_
    at_start = np.abs(central(objective, np.zeros_like(v))).max()
    assert np.abs(central(objective, v)).max() < 1e-3 * at_start
    assert np.abs(central(objective, 1.1 * v)).max() > 1e-3 * at_start  # a planted fault
    assert_close(model.compatibility(X), X @ (S @ v).T, SUMS.single)


@pytest.mark.parametrize("loss", sync.LOSSES)
def test_the_gap_bounds_what_is_left(small, loss, monkeypatch):
    """It is never below the true distance from the minimum, wherever training stops."""
    X, codes, _ = small
    rows, own, lam = _linear_models.rotate_rows(X), np.eye(5)[codes], 0.05
    margins = own @ (1 - np.eye(5))

    def fit(tolerance):
        if loss == "structured":
            return sync.fit_structured(rows, own, margins, lam, tolerance).astype(np.float64)
        return sync.fit_one_vs_other(rows, 2 * own - 1, lam, tolerance).astype(np.float64)

    def total(W):
        value = (
            sync.structured_loss(X @ W, own, margins)
            if loss == "structured"
            else sync.squared_hinge(2 * own - 1)(X @ W)[0]
        )
        return value + lam / 2 * (W**2).sum()

    best = total(fit(1e-7))
    monkeypatch.setattr(_linear_models, "PASSES", 2)
    monkeypatch.setattr(sync, "ROUNDS", 2)
    monkeypatch.setattr(sync, "ROUNDS_EACH", 1)
    W = fit(1e-7)
    if loss == "structured":
        _, slope = sync.smoothed_structured_loss(own, margins, sync.FIRST_SMOOTHING * sync.SHRINK)(X @ W)
        blur = sync.smoothing_gap(X @ W + margins, sync.FIRST_SMOOTHING * sync.SHRINK)
    else:
        (_, slope), blur = sync.squared_hinge(2 * own - 1)(X @ W), 0.0
    gap = blur + sync.gradient_gap(_linear_models.rotate_rows(X), slope, W, lam)
    assert 1e-6 < total(W) - best <= gap


def test_a_candidate_of_sync_mixes_by_distance(small):
    X, codes, Y = small
    model = baselines.SynC(0.1, 0.7, **RAW).fit(X, codes, Y)
    new = np.array([0.3, -0.2, 0.5, 0.1])
    s = np.array([math.exp(-sum((new - b) ** 2) / 0.7**2) for b in Y])
    expected = X @ (s / s.sum() @ model.classifiers_)
    assert_close(model.compatibility(X, [new], ["new"])[:, 0], expected, SUMS.single)
