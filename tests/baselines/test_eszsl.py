"""ESZSL against a Kronecker system."""

import math

import numpy as np
import pytest

from closed_forms import RAW
from tolerances import SOLUTION, SUMS, assert_close
from zskl import baselines


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (0.01, 10.0), (30.0, 0.1)])
def test_eszsl_is_the_solution_of_a_kronecker_system(small, gamma, lam):
    """The four terms are one sum of squares, ‖[X; √γ I] W [Y; √λ I]ᵀ − [L 0; 0 0]‖²: least squares in vec W."""
    X, codes, Y = small
    L = np.where(codes[:, None] == np.arange(5), 1.0, -1.0)
    left, right = np.vstack([X, math.sqrt(gamma) * np.eye(6)]), np.vstack([Y, math.sqrt(lam) * np.eye(4)])
    target = np.zeros((len(left), len(right)))
    target[:30, :5] = L
    W = np.linalg.lstsq(np.kron(left, right), target.ravel(), rcond=None)[0].reshape(6, 4)
    model = baselines.ESZSL(gamma, lam, **RAW).fit(X, codes, Y)
    assert_close(model.projection_, W, SOLUTION.single)
    assert_close(model.compatibility(X), X @ model.projection_.astype(float) @ Y.T, SUMS.single)
    wrong = baselines.ESZSL(gamma, 1.1 * lam, **RAW).fit(X, codes, Y)  # a planted fault
    with pytest.raises(AssertionError):
        assert_close(wrong.projection_, W, SOLUTION.single)
