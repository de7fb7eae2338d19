"""ESZSL against a Kronecker system, and files of 0.1, which had no targets."""

import math

import numpy as np
import pytest

from closed_forms import RAW
from tolerances import SOLUTION, SUMS, assert_close
from zskl import baselines, methods
from zskl.estimators import model_file


@pytest.mark.parametrize(
    ("gamma", "lam", "targets"), [(1.0, 1.0, "zero-one"), (0.01, 10.0, "signs"), (30.0, 0.1, "zero-one")]
)
def test_eszsl_is_the_solution_of_a_kronecker_system(small, gamma, lam, targets):
    """The four terms are one sum of squares, ‖[X; √γ I] W [Y; √λ I]ᵀ − [L 0; 0 0]‖²: least squares in vec W."""
    X, codes, Y = small
    L = np.where(codes[:, None] == np.arange(5), 1.0, -1.0 if targets == "signs" else 0.0)
    left, right = np.vstack([X, math.sqrt(gamma) * np.eye(6)]), np.vstack([Y, math.sqrt(lam) * np.eye(4)])
    target = np.zeros((len(left), len(right)))
    target[:30, :5] = L
    W = np.linalg.lstsq(np.kron(left, right), target.ravel(), rcond=None)[0].reshape(6, 4)
    model = baselines.ESZSL(gamma, lam, targets, **RAW).fit(X, codes, Y)
    assert_close(model.projection_, W, SOLUTION.single)
    assert_close(model.compatibility(X), X @ model.projection_.astype(float) @ Y.T, SUMS.single)
    other = "zero-one" if targets == "signs" else "signs"
    for fault in ((gamma, 1.1 * lam, targets), (gamma, lam, other)):
        wrong = baselines.ESZSL(*fault, **RAW).fit(X, codes, Y)
        with pytest.raises(AssertionError):
            assert_close(wrong.projection_, W, SOLUTION.single)


def test_a_model_of_0_1_had_signs(small, tmp_path):
    X, codes, Y = small
    model = methods.build("eszsl-signs").fit(X, codes, Y)
    model.save(tmp_path / "a.zskl")
    header, arrays = model_file.read(tmp_path / "a.zskl")
    del header["parameters"]["targets"]
    old = baselines.ESZSL._restore(header, arrays)
    assert old.get_params() == model.get_params()
    np.testing.assert_array_equal(old.compatibility(X), model.compatibility(X))
    assert baselines.ESZSL().targets == "zero-one"
