"""EXEM against explicit loops, and its limits."""

import math

import numpy as np
import pytest
from sklearn.base import clone

import zskl
from baseline_problems import RAW
from tolerances import SOLUTION, assert_close
from zskl.baselines import EXEM
from zskl.baselines.exem import DISTANCES


def by_hand(X, codes, Y, k, sigma, lam, distance):
    """Scores (n, C) in float64: components one by one, a linear system for each coordinate, distances pair by pair."""
    n, C = len(X), len(Y)
    center = sum(X) / n
    values, vectors = np.linalg.eig(sum(np.outer(x - center, x - center) for x in X))
    order = sorted(range(len(values)), key=lambda place: -values[place].real)[:k]
    Z = np.array([[(x - center) @ vectors[:, place].real for place in order] for x in X])
    means = [np.mean([z for z, c in zip(Z, codes, strict=True) if c == own], axis=0) for own in range(C)]
    spreads = [np.std([z for z, c in zip(Z, codes, strict=True) if c == own], axis=0) for own in range(C)]
    divisor = np.mean(spreads, axis=0) if distance == "standardized" else np.ones(len(order))
    middle = np.mean(means, axis=0)

    def kernel(a, b):
        return math.exp(-sum((s - t) ** 2 for s, t in zip(a, b, strict=True)) / sigma**2)

    K = np.array([[kernel(a, b) for b in Y] for a in Y])
    predicted = np.empty((C, len(order)))
    for j in range(len(order)):
        a = np.linalg.solve(K + lam * np.eye(C), [mean[j] - middle[j] for mean in means])
        for c in range(C):
            predicted[c, j] = middle[j] + sum(a[other] * K[c, other] for other in range(C))
    return np.array([[-math.sqrt(sum(((z - mu) / divisor) ** 2)) for mu in predicted] for z in Z])


@pytest.mark.parametrize("distance", ["euclidean", "standardized"])
@pytest.mark.parametrize("k", [2, 6])
def test_scores_by_hand(small, k, distance):
    X, codes, Y = small
    model = EXEM(k, 1.5, 0.2, distance, **RAW).fit(X, codes, Y)
    expected = by_hand(X, codes, Y, k, 1.5, 0.2, distance)
    assert_close(model.compatibility(X), expected, SOLUTION.single)
    for other in ({"sigma": 1.6}, {"lam": 0.3}, {"n_components": k - 1}):
        changed = clone(model).set_params(**other).fit(X, codes, Y)
        with pytest.raises(AssertionError):
            assert_close(changed.compatibility(X), expected, SOLUTION.single)


def test_as_many_components_as_there_are(small):
    X, codes, Y = small
    few, many = (EXEM(k, **RAW).fit(X, codes, Y) for k in (6, 500))
    np.testing.assert_array_equal(few.basis_, many.basis_)


@pytest.mark.parametrize("rounding", [0, 1e-7])
def test_classes_whose_rows_are_equal(small, rounding):
    """Nothing varies within classes, or only by rounding: nothing is standardised."""
    X, _, Y = small
    rows = np.repeat(X[:5], 2, axis=0) * (1 + rounding * (-1) ** np.arange(10)[:, None])
    fits = (EXEM(3, distance=name, **RAW).fit(rows, np.repeat(range(5), 2), Y) for name in DISTANCES)
    plain, other = (model.compatibility(X) for model in fits)
    np.testing.assert_array_equal(plain, other)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("center_", np.ones(2, dtype=np.float32), r"center_ has shape \(2,\), expected \(k\) = \[\[3\]\]"),
        ("sigma_", -1.0, "sigma is -1.0: expected a finite number > 0"),
    ],
)
def test_damaged_model_files(small, name, value, sentence, tmp_path):
    X, codes, Y = small
    model = EXEM(3, **RAW).fit(X, codes, Y)
    setattr(model, name, value)
    model.save(tmp_path / "model.zskl")
    with pytest.raises(ValueError, match=f"is damaged: .*{sentence}"):
        zskl.load(tmp_path / "model.zskl")
