"""Linear maps in the coordinates of the rows' own spread."""

import math

import numpy as np
import pytest

from closed_forms import RAW
from tolerances import SOLUTION, assert_close
from zskl import baselines
from zskl.baselines import linear


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
    rows = linear.rotate(X)
    assert_close(rows.rotated @ rows.basis.T, X, SOLUTION.double)
    assert_close(rows.basis * rows.energy @ rows.basis.T, X.T @ X, SOLUTION.double)


@pytest.mark.parametrize("shape", [(30, 6), (4, 6)])
def test_the_spectrum_of_weighted_rows_about_a_center(shape, monkeypatch):
    rng = np.random.default_rng(0)
    X, weights, center = rng.normal(size=shape), rng.uniform(size=shape[0]), rng.normal(size=6)
    expected = sum(w * np.outer(x - center, x - center) for w, x in zip(weights, X, strict=True))
    for values in (linear.BLOCK_VALUES, 7 * 6):
        monkeypatch.setattr(linear, "BLOCK_VALUES", values)
        monkeypatch.setattr(linear, "BLOCK_ROWS", 1)
        basis, energy = linear.spectrum(X, weights, center)
        assert_close(basis * energy @ basis.T, expected, SOLUTION.double)
    with pytest.raises(AssertionError):
        assert_close(basis * energy @ basis.T, (X - center).T @ (X - center), SOLUTION.double)
