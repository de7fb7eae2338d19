"""Mixtures against a generic quadratic programme."""

import numpy as np
import pytest
from scipy.optimize import minimize

from zskl.baselines import simplex


def generic(objective, start):
    """A point of the simplex by a solver that knows nothing of the problem."""
    constraint = {"type": "eq", "fun": lambda a: a.sum() - 1}
    options = {"ftol": 1e-14, "maxiter": 1000}
    return minimize(objective, start, bounds=[(0, 1)] * len(start), constraints=[constraint], options=options).x


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 1.0, 10.0])
def test_mixtures_are_those_of_a_generic_quadratic_programme(gamma):
    rng = np.random.default_rng(2)
    corners, points = rng.normal(size=(7, 4)), rng.normal(size=(6, 4))
    found = simplex.mixtures(points, corners, gamma)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    for point, mixture in zip(points, found, strict=True):

        def objective(a, point=point):
            return 0.5 * ((point - a @ corners) ** 2).sum() + 0.5 * gamma * (a @ a)

        expected = generic(objective, np.full(7, 1 / 7))
        assert objective(mixture) <= objective(expected) + 1e-9
        np.testing.assert_allclose(mixture, expected, atol=2e-3 if gamma < 0.01 else 1e-4)
    alone = np.vstack([simplex.mixtures(point[None], corners, gamma) for point in points])
    np.testing.assert_allclose(alone, found, atol=1e-5)


def test_the_nearest_point_of_the_simplex():
    rng = np.random.default_rng(4)
    A = np.vstack([3 * rng.normal(size=(5, 6)), np.eye(6), np.zeros((1, 6)), np.full((1, 6), 1 / 6)])
    for row, found in zip(A, simplex.project(A), strict=True):
        np.testing.assert_allclose(
            found, generic(lambda a, row=row: ((a - row) ** 2).sum(), np.full(6, 1 / 6)), atol=1e-5
        )
