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
    assert (scaling.units is None) == ("log" not in name)
    assert (scaling.sizes is None) == ("unit" not in name)


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


UNITS = 10.0 ** np.random.default_rng(7).uniform(0, 9, 30)


def ranged(n=200, d=30, seed=0):
    return rows(n, d, seed), rows(n, d, seed) * UNITS


@pytest.mark.parametrize("name", ["unit-center-l2", "log-unit-center-l2"])
def test_columns_that_range_over_orders_of_magnitude_equal_the_loop(name):
    training, new = (10 ** rows(40, 4, seed) for seed in (0, 1))
    training[:, 0] = rows(40, 1)[:, 0]
    scaling = fit_scaling(name, training)
    assert_close(scaling.apply(new), textbook.scale(steps_of(name), training, new), SUMS.double)
    if scaling.units is not None:
        assert [bool(unit) for unit in scaling.units] == [False, True, True, True]


def few_on(n=300, d=30):
    """Like pixels or features of a network: seldom on, some columns hardly ever."""
    draw = np.random.default_rng(0)
    return np.maximum(draw.standard_normal((n, d)) - np.linspace(0.5, 2.6, d), 0)


def counts(n=400, d=60):
    return np.random.default_rng(0).poisson(20 / np.arange(1, d + 1), (n, d)).astype(float)


@pytest.mark.parametrize(
    ("training", "features"),
    [
        (rows(200, 30), "l2"),
        (rows(3, 30), "l2"),
        (np.abs(rows(200, 30)), "sqrt-l2"),
        (rows(200, 1), "l2"),
        (few_on(), "sqrt-l2"),
        (counts(), "sqrt-l2"),
        (counts()[:7], "sqrt-l2"),
        (rows(200, 30) * np.where(np.arange(30) == 4, 1e-33, 1), "l2"),
        (rows(200, 30) * np.linspace(1, 30, 30), "l2"),
        (np.ones((20, 3)), "sqrt-l2"),
        (np.zeros((20, 3)), "sqrt-l2"),
    ],
)
def test_auto_leaves_columns_of_one_unit(training, features):
    for signs in (training, training.astype(np.float32)):
        found = fit_scaling("auto", signs, "feature_scaling")
        assert (found.name, found.reason) == (features, "")
    assert fit_scaling("auto", training, "signature_scaling").name == "center-l2"


def test_auto_finds_columns_in_different_units():
    training, uneven = ranged()
    for parameter in ("feature_scaling", "signature_scaling"):
        found = fit_scaling("auto", uneven, parameter)
        assert found.name == "unit-center-l2"
        assert found.reason.startswith("columns differ in spread by a factor of ")
        expected = fit_scaling("unit-center-l2", training).apply(training)
        assert_close(found.apply(uneven), expected, SUMS.double)
    one = training * np.where(np.arange(30) == 4, 1e9, 1)
    assert fit_scaling("auto", one, "feature_scaling").reason == "columns differ in spread by a factor of 1e9"
    ranging = fit_scaling("auto", 10 ** (2 * rows(200, 30)), "feature_scaling")
    assert ranging.name == "log-unit-center-l2"


def test_auto_does_not_depend_on_the_order_of_a_few_rows_nor_on_rows_between():
    _, uneven = ranged()
    first, second = (fit_scaling("auto", some, "feature_scaling") for some in (uneven, uneven[::-1]))
    assert_close(first.sizes / second.sizes, np.ones(30), SUMS.double)
    many = np.repeat(uneven, 50, axis=0)
    assert fit_scaling("auto", many, "feature_scaling").name == first.name


@pytest.mark.parametrize("name", ["standardize-l2", "unit-center-l2", "auto"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_no_unit(name, dtype):
    """A column of rounding must not be blown up to the size of the others."""
    training = ranged()[1].astype(dtype)
    training[:, 3] = 1e9 + np.spacing(dtype(1e9)) * (np.arange(len(training)) % 2).astype(dtype)
    training[:, 5] = 1e-33 * rows(200, 1)[:, 0]
    scaled = fit_scaling(name, training, "feature_scaling").apply(training)
    assert np.abs(scaled[:, [3, 5]]).max() < 1e-5
    assert np.isfinite(scaled).all()
    others = np.delete(np.abs(scaled).mean(axis=0), [3, 5])
    assert others.min() > 0.01


def test_sparse_rows_have_no_units():
    from scipy import sparse

    from zskl._arrays import SparseRows

    some = SparseRows.from_scipy(sparse.csr_array(counts()))
    assert fit_scaling("auto", some, "feature_scaling").name == "sqrt-l2"
    with pytest.raises(ValueError, match="rows are sparse: expected dense ones; use 'sqrt-l2'"):
        fit_scaling("unit-center-l2", some, "feature_scaling")


@pytest.mark.parametrize("name", ["l2-unit", "center-log-l2", "unit-log", "unit-unit-l2"])
def test_steps_that_look_at_raw_columns_come_first(name):
    with pytest.raises(ValueError, match="'log' and 'unit' in front"):
        parse_scaling(name, "feature_scaling")
