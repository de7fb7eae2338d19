"""The table of tolerances: the check catches what it must, and the conditions it assumes are those of the problems."""

from pathlib import Path

import numpy as np
import pytest

import portable
from fits import TRAINING, estimator
from tolerances import EPSILON, FIT, SHAKEN, assert_close, distance, shaken
from zskl import kernels
from zskl.training.objective import LOSSES


def test_entries_are_judged_by_the_largest():
    expected = np.array([1e-9, 2.0])
    assert_close(expected + np.array([1e-6, 0]), expected, 1e-6)
    for fault in ([3e-6, 0], [0, -3e-6], [np.nan, 0], [np.inf, 0]):
        with pytest.raises(AssertionError, match="of the largest entry apart"):
            assert_close(expected + np.array(fault), expected, 1e-6)
    with pytest.raises(AssertionError, match="shapes"):
        assert_close(expected[:1], expected, 1e-6)
    with pytest.raises(AssertionError, match="not finite"):
        assert_close(expected, expected * np.nan, 1e-6)
    assert_close([], [], 0.0)
    assert_close([0.0], [0.0], 0.0)


def test_the_roundings_are_those_of_the_processor():
    for name, epsilon in EPSILON.items():
        assert np.finfo(name).eps == epsilon
    X = TRAINING[0]
    assert distance(shaken(X), X) == pytest.approx(SHAKEN * EPSILON["float32"], rel=0.1)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", kernels.names())
def test_the_condition_of_a_fit_is_that_of_the_table(kernel, loss):
    """And the table would notice one step more or less."""
    X, y, table = TRAINING
    steps = []
    model = estimator(kernel, loss=loss)
    W = model.fit(X, y, table, callback=lambda now: steps.append(now.projection[0].copy())).projection_
    moved = distance(model.fit(shaken(X), y, table).projection_, W)
    assert moved <= FIT.condition * SHAKEN * EPSILON["float32"]
    with pytest.raises(AssertionError):
        assert_close(steps[-2], W, FIT.single)


def test_other_arithmetic_is_tried_on_numerical_tests():
    tried = portable.numerical_tests()
    assert all(place.exists() for place in tried)
    assert Path(__file__) in tried
    assert Path(__file__).with_name("training") in tried
