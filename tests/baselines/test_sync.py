"""SynC: its objective over the phantoms, its smoothed loss, and the mixture of a candidate."""

import math

import numpy as np
import pytest

from closed_forms import RAW, central
from tolerances import DIFFERENCES, SUMS, assert_close
from zskl import baselines
from zskl.baselines import linear, sync


def test_the_structured_loss_nears_the_published_maximum(monkeypatch):
    rng = np.random.default_rng(1)
    own = np.eye(4)[rng.integers(0, 4, 9)]
    D = rng.uniform(0.5, 2, size=(4, 4)) * (1 - np.eye(4))
    margins, F = own @ D, rng.normal(size=(9, 4))
    exact = np.mean([max(margins[i, c] + F[i, c] for c in range(4)) - F[i] @ own[i] for i in range(9)])
    loss = sync.structured(own, margins)
    value, gradient = loss(F)
    assert exact <= value <= exact + sync.SMOOTHING * math.log(4)
    assert_close(gradient, central(lambda F: loss(F)[0], F), DIFFERENCES)
    monkeypatch.setattr(sync, "SMOOTHING", 1e-4)
    assert sync.structured(own, margins)(F)[0] == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("loss", sync.LOSSES)
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_sync_minimises_its_objective_over_the_phantoms(small, loss, sigma, monkeypatch):
    """In v, through the mixtures, as it is published: the gradient there is 0."""
    monkeypatch.setattr(linear, "TOLERANCE", 1e-7)
    X, codes, Y = small
    Y = Y / np.linalg.norm(Y, axis=1, keepdims=True)
    lam = 0.1
    model = baselines.SynC(lam, sigma, loss, **RAW).fit(X, codes, Y)
    D = np.array([[((a - b) ** 2).sum() for b in Y] for a in Y])
    S = np.exp(-D / sigma**2)
    S /= S.sum(axis=1, keepdims=True)

    def objective(v):
        w, total = S @ v, 0.0
        for x, k in zip(X, codes, strict=True):
            F = w @ x
            if loss == "one-vs-other":
                total += sum(max(0.0, 1 - (1 if c == k else -1) * F[c]) ** 2 for c in range(5))
            else:
                total += sync.SMOOTHING * math.log(
                    sum(math.exp((D[k, c] + F[c] - F[k]) / sync.SMOOTHING) for c in range(5))
                )
        return total / len(X) + lam / 2 * (w**2).sum()

    v = model.classifiers_
    at_start = np.abs(central(objective, np.zeros_like(v))).max()
    assert np.abs(central(objective, v)).max() < 1e-3 * at_start
    assert np.abs(central(objective, 1.1 * v)).max() > 1e-3 * at_start  # a planted fault
    assert_close(model.compatibility(X), X @ (S @ v).T, SUMS.single)


def test_a_candidate_of_sync_mixes_by_distance(small):
    X, codes, Y = small
    model = baselines.SynC(0.1, 0.7, **RAW).fit(X, codes, Y)
    new = np.array([0.3, -0.2, 0.5, 0.1])
    s = np.array([math.exp(-sum((new - b) ** 2) / 0.7**2) for b in Y])
    expected = X @ (s / s.sum() @ model.classifiers_)
    assert_close(model.compatibility(X, [new], ["new"])[:, 0], expected, SUMS.single)
