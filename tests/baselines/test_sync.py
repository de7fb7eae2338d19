"""SynC: its objective over the phantoms, its smoothed loss, and the mixture of a candidate."""

import math

import numpy as np
import pytest

from baseline_problems import RAW, central
from tolerances import DIFFERENCES, SUMS, assert_close
from zskl import baselines, kernels
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


def test_subgradient_steps_gain_nothing_on_the_structured_loss(monkeypatch):
    """The published objective, without smoothing, from where training ended; one smoothing alone leaves 3 %."""
    rng, lam = np.random.default_rng(0), 3e-4
    Y = rng.normal(size=(20, 8))
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    own = np.repeat(np.eye(20), 10, axis=0)
    X = own @ Y @ rng.normal(size=(8, 30)) + 2 * rng.normal(size=(200, 30))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    margins = own @ kernels.pairwise_distances(Y, Y)
    rows = _linear_models.rotate_rows(X)

    def gain():
        """What share of the objective steps of falling length in the round coordinates win, at best."""
        W = sync.fit_structured(rows, own, margins, lam)
        scale = 1 / np.sqrt(rows.energy / len(X) / 20 + lam)[:, None]
        V, found = rows.basis.T @ W / scale, []
        for step in range(200):
            F = rows.rotated @ (scale * V)
            found.append(sync.structured_loss(F, own, margins) + lam / 2 * ((scale * V) ** 2).sum())
            slope = np.eye(20)[(F + margins).argmax(axis=1)] - own
            gradient = scale * (rows.rotated.T @ slope) / len(X) + lam * scale**2 * V
            V = V - 3e-3 * np.linalg.norm(V) / np.sqrt(step + 1) * gradient / np.linalg.norm(gradient)
        return (found[0] - min(found)) / min(found)

    assert gain() < 0.005
    monkeypatch.setattr(sync, "SMOOTHING", (0.05,))
    assert gain() > 0.02


@pytest.mark.parametrize("loss", sync.LOSSES)
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_sync_minimises_its_objective_over_the_phantoms(small, loss, sigma, monkeypatch):
    """In v, through the mixtures, as it is published: the gradient there is 0."""
    monkeypatch.setattr(_linear_models, "TOLERANCE", 1e-7)
    X, codes, Y = small
    Y = Y / np.linalg.norm(Y, axis=1, keepdims=True)
    lam = 0.1
    monkeypatch.setattr(sync, "SMOOTHING", (0.05,))
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
                total += 0.05 * math.log(sum(math.exp((D[k, c] + F[c] - F[k]) / 0.05) for c in range(5)))
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
