"""Scalings against the loop over rows; fitted on the rows given, and on no others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import textbook
from tolerances import SUMS, assert_close
from zskl import scaling as scalings
from zskl.scaling import SCALINGS, Scaling, fit_scaling, parse_scaling

NAMES = [*SCALINGS, "l2", "center", "sqrt", "sqrt-l2", "center-sqrt-l2", "l2-sqrt-center-l2"]


def rows(n=12, d=5, seed=0, dtype=np.float64):
    return (np.random.default_rng(seed).standard_normal((n, d)) * 3 + 1).astype(dtype)


def steps_of(name):
    return [] if name == "none" else name.split("-")


@pytest.mark.parametrize("name", NAMES)
def test_a_scaling_equals_the_loop(name):
    training, new = rows(), rows(6, seed=1)
    scaling = fit_scaling(name, training)
    assert_close(scaling.apply(training), textbook.scale(steps_of(name), training, training), SUMS.double)
    assert_close(scaling.apply(new), textbook.scale(steps_of(name), training, new), SUMS.double)
    assert (scaling.mean is None) == (not any(step in name for step in ("center", "standardize")))
    assert (scaling.deviation is None) == ("standardize" not in name)


@pytest.mark.parametrize("name", NAMES)
def test_precision_stays_and_the_mean_is_double(name):
    scaling = fit_scaling(name, rows(dtype=np.float32))
    assert scaling.apply(rows(dtype=np.float32)).dtype == np.float32
    assert scaling.apply(rows()).dtype == np.float64
    if scaling.mean is not None:
        assert scaling.mean.dtype == np.float64


def test_the_mean_is_summed_in_double_precision():
    """In float32 the sum of 2 × 10⁵ values near 1000 would lose what tells them apart."""
    training = (1000 + np.random.default_rng(0).random((200_000, 1))).astype(np.float32)
    mean = fit_scaling("center", training).mean
    assert_close(mean, training.astype(np.float64).mean(axis=0), SUMS.double)
    assert np.abs(training.sum(dtype=np.float32) / len(training) - mean[0]) > 1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["none", "l2", "sqrt", "sqrt-l2"])
def test_a_row_of_zeros_stays_zero(name, dtype):
    training = rows(dtype=dtype)
    training[3] = 0
    scaled = fit_scaling(name, training).apply(training)
    np.testing.assert_array_equal(scaled[3], 0)
    assert np.isfinite(scaled).all()


def test_a_row_at_the_mean_becomes_zero_and_stays_so():
    training = np.array([[1.0, 2.0], [3.0, 6.0], [2.0, 4.0]])
    np.testing.assert_array_equal(fit_scaling("center-l2", training).apply(training)[2], 0)


@settings(max_examples=50)
@given(arrays(np.float64, (4, 3), elements=st.floats(-1e3, 1e3).map(lambda v: round(v, 3))))
def test_rows_have_unit_length_or_none(training):
    for name in ("l2", "center-l2", "sqrt-center-l2", "l2-center-l2"):
        length = np.linalg.norm(fit_scaling(name, training).apply(training), axis=1)
        assert all(abs(value - 1) < 1e-9 or value == 0 for value in length)


def test_only_the_rows_given_are_fitted_on():
    """The mean that is kept is that of the training rows; new rows, near or far, leave it alone."""
    training, new = rows(), rows(50, seed=2) + 100
    scaling = fit_scaling("center-l2", training)
    before = scaling.mean.copy()
    alone = scaling.apply(new[:1])
    together = scaling.apply(new)
    np.testing.assert_array_equal(scaling.mean, before)
    assert_close(together[:1], alone, SUMS.double)
    assert_close(before, training.mean(axis=0), SUMS.double)
    leaked = fit_scaling("center-l2", np.concatenate([training, new]))
    assert np.abs(leaked.apply(new)[:1] - alone).max() > 0.01, "the comparison would not notice a leak"


@pytest.mark.parametrize("name", NAMES)
def test_the_input_is_left_alone(name):
    training = rows()
    fit_scaling(name, training).apply(training)
    np.testing.assert_array_equal(training, rows())


@pytest.mark.parametrize(
    "name",
    ["", "centre-l2", "center_l2", "center-l2-center", "none-l2", "l2-", "L2", "standard", None, 2, ("center", "l2")],
)
def test_bad_names_are_refused(name):
    with pytest.raises(ValueError, match=r"^feature_scaling is .*expected one of none, center-l2, sqrt-center-l2"):
        parse_scaling(name, "feature_scaling")
    with pytest.raises(ValueError, match=r"^scaling is "):
        fit_scaling(name, rows())


def test_names_are_their_steps():
    assert parse_scaling("none", "scaling") == ()
    assert parse_scaling("sqrt-center-l2", "scaling") == ("sqrt", "center", "l2")
    assert Scaling(()).apply(rows()).shape == (12, 5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_torch_equals_numpy(name, dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: scaling of tensors")
    training = rows(dtype=dtype)
    expected, found = fit_scaling(name, training), fit_scaling(name, torch.from_numpy(training))
    if expected.mean is not None:
        assert isinstance(found.mean, np.ndarray)
        assert_close(found.mean, expected.mean, SUMS.of(dtype))
    scaled = found.apply(torch.from_numpy(training))
    assert scaled.dtype == getattr(torch, dtype)
    assert_close(scaled.numpy(), expected.apply(training), SUMS.of(dtype))


def test_a_row_that_is_the_mean_up_to_rounding_becomes_zero():
    """0.1 + 0.3 over 2 is 0.2 up to rounding: unit length must not make a direction out of the difference."""
    rows = np.array([[0.1, 0.2, 0.7], [0.3, 0.6, 0.1], [0.2, 0.4, 0.4]])
    scaled = scalings.fit_scaling("center-l2", rows).apply(rows)
    np.testing.assert_array_equal(scaled[2], 0)
    np.testing.assert_allclose(np.linalg.norm(scaled[:2], axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_no_square_leaves_the_range_of_single_precision(scale):
    rows = np.random.default_rng(0).standard_normal((5, 4))
    expected = scalings.fit_scaling("center-l2", rows).apply(rows)
    large = (rows * scale).astype(np.float32)
    assert_close(scalings.fit_scaling("center-l2", large).apply(large), expected, SUMS.single)


def test_standardized_columns_do_not_depend_on_their_units():
    rows = np.random.default_rng(0).standard_normal((40, 4))
    units = np.array([1e-3, 1.0, 60.0, 1e6])
    expected = scalings.fit_scaling("standardize-l2", rows).apply(rows)
    assert_close(scalings.fit_scaling("standardize-l2", rows * units).apply(rows * units), expected, SUMS.double)


def test_a_constant_column_is_left_at_zero():
    rows = np.random.default_rng(0).standard_normal((40, 3))
    rows[:, 1] = 0.1
    scaled = scalings.fit_scaling("standardize-l2", rows).apply(rows)
    np.testing.assert_allclose(scaled[:, 1], 0, atol=1e-12)
    assert np.isfinite(scaled).all()


def test_two_fitted_steps_are_refused():
    with pytest.raises(ValueError, match="at most one 'center' or 'standardize'"):
        scalings.parse_scaling("center-standardize", "feature_scaling")
