"""SAE against its Sylvester equation and plain descent."""

import itertools
import math

import numpy as np
import pytest

from baseline_problems import RAW
from tolerances import SOLUTION, assert_close
from zskl import baselines


def sae_loss(X, S, W, lam):
    return ((X - S @ W.T) ** 2).sum() + lam * ((X @ W - S) ** 2).sum()


@pytest.mark.parametrize("lam", [0.05, 1.0, 20.0])
def test_sae_solves_its_sylvester_equation_and_its_problem(small, lam):
    X, codes, Y = small
    S = Y[codes]
    W = baselines.SAE(lam, **RAW).fit(X, codes, Y).projection_.astype(np.float64)
    residual = lam * X.T @ X @ W + W @ S.T @ S - (1 + lam) * X.T @ S
    assert np.abs(residual).max() < 1e-5 * np.abs((1 + lam) * X.T @ S).max()
    found = np.zeros((6, 4))
    H = 2 * (np.linalg.eigvalsh(S.T @ S)[-1] + lam * np.linalg.eigvalsh(X.T @ X)[-1])
    for _ in range(20000):  # gradient descent on the loss as it is printed
        found -= (-2 * (X - S @ found.T).T @ S + 2 * lam * X.T @ (X @ found - S)) / H
    assert_close(W, found, SOLUTION.single)
    with pytest.raises(AssertionError):
        assert_close(baselines.SAE(1.1 * lam, **RAW).fit(X, codes, Y).projection_, found, SOLUTION.single)
    assert sae_loss(X, S, W, lam) <= sae_loss(X, S, found, lam) * (1 + 1e-6)


def test_sae_scores_in_both_directions(small):
    X, codes, Y = small
    there, back = (baselines.SAE(1.0, way, **RAW).fit(X, codes, Y) for way in ("to-signatures", "to-features"))
    W = there.projection_.astype(np.float64)
    np.testing.assert_array_equal(there.projection_, back.projection_)

    def cosine(a, b):
        return float(a @ b / math.sqrt((a @ a) * (b @ b)))

    for i, j in itertools.product(range(0, 30, 7), range(5)):
        assert there.compatibility(X)[i, j] == pytest.approx(cosine(X[i] @ W, Y[j]), rel=1e-5)
        assert back.compatibility(X)[i, j] == pytest.approx(cosine(X[i], W @ Y[j]), rel=1e-5)
