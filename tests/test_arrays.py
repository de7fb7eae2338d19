"""Sparse rows against the same rows as dense arrays: products, lengths, sums, and every scaling."""

import numpy as np
import pytest
from scipy import sparse

from sparse_texts import texts
from tolerances import FORMULA, SUMS, assert_close
from zskl import scaling
from zskl._arrays import SparseRows, convert_like, is_sparse, namespace, stack_rows, to_dense, to_numpy

SCALINGS = [*scaling.SCALINGS, "sqrt-l2", "l2", "center", "sqrt", "standardize", "l2-standardize"]


def pair(shifts, seed=0):
    """Rows with that many rows subtracted, and the same as an array."""
    rng = np.random.default_rng(seed)
    found = SparseRows.from_scipy(texts().X)
    expected = texts().X.toarray()
    for _ in range(shifts):
        row, factor = rng.normal(size=50), rng.uniform(0.5, 2, size=50)
        found, expected = (found - row) * factor, (expected - row) * factor
    return found.to_unit_length(), expected / np.linalg.norm(expected, axis=1, keepdims=True)


@pytest.mark.parametrize("shifts", [0, 1, 2])
def test_every_operation_equals_that_of_the_dense_array(shifts):
    rows, expected = pair(shifts)
    other, matrix = pair(1, seed=1)
    rng = np.random.default_rng(2)
    W, V = rng.normal(size=(50, 4)), rng.normal(size=(3, 80))
    codes = rng.integers(0, 5, 80)
    weights = rng.normal(size=(6, 80))
    for found, wanted in [
        (to_dense(rows), expected),
        (rows @ W, expected @ W),
        (V @ rows, V @ expected),
        (rows.T @ V.T, expected.T @ V.T),
        (W.T @ rows.T, W.T @ expected.T),
        (rows @ other.T, expected @ matrix.T),
        (rows.squares(), (expected**2).sum(axis=1)),
        (rows.column_squares(), (expected**2).sum(axis=0)),
        (rows.mean(), expected.mean(axis=0)),
        (rows.sum_by_class(codes, 5), [expected[codes == code].sum(axis=0) for code in range(5)]),
        (to_dense(rows.combine(weights)), weights @ expected),
        (to_dense(rows[[3, 1, 1]]), expected[[3, 1, 1]]),
        (to_dense(rows[codes == 2]), expected[codes == 2]),
        (to_dense(rows[5:9]), expected[5:9]),
        (to_dense(stack_rows(rows[:5], rows[9:])), np.delete(expected, np.arange(5, 9), axis=0)),
        (to_dense(SparseRows.from_parts(rows.parts(), rows.shape)), expected),
    ]:
        assert isinstance(found, np.ndarray)
        assert_close(found, wanted, SUMS.double)
    assert len(rows.subtracted) == shifts
    if shifts:
        with pytest.raises(AssertionError):  # without what is subtracted
            assert_close(rows.values @ W, expected @ W, SUMS.double)


@pytest.mark.parametrize("name", [*(name for name in SCALINGS if "unit" not in name), "auto"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_scaling_of_sparse_rows_is_that_of_dense_ones(name, dtype):
    some = texts(dtype)
    signed = some.X.copy()
    signed.data[::3] *= -1
    fitted, expected = (
        scaling.fit_scaling(name, SparseRows.from_scipy(signed)),
        scaling.fit_scaling(name, signed.toarray()),
    )
    rows = SparseRows.from_scipy(some.X_new)
    found = fitted.apply(rows)
    assert (found.dtype, found.values.nnz) == (np.dtype(dtype), some.X_new.nnz)
    assert_close(to_dense(found), expected.apply(some.X_new.toarray()), SUMS.of(dtype))
    for mine, theirs in ((fitted.mean, expected.mean), (fitted.deviation, expected.deviation)):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert_close(mine, theirs, SUMS.of(dtype))  # steps before the mean are in the precision of the rows


def test_rows_that_are_all_equal_are_zero_after_centring_and_empty_ones_are_the_mean():
    rows = sparse.csr_array(np.tile([0.1, 0.0, 0.3], (7, 1)))
    for dtype in ("float32", "float64"):
        fitted = scaling.fit_scaling("center-l2", SparseRows.from_scipy(rows.astype(dtype)))
        assert not to_dense(fitted.apply(SparseRows.from_scipy(rows.astype(dtype)))).any()
    empty = SparseRows.from_scipy(sparse.csr_array((1, 3)))
    assert_close(to_dense(fitted.apply(empty)), [[-0.1 / 0.1**0.5, 0, -0.3 / 0.1**0.5]], FORMULA.double)
    assert not to_dense(scaling.fit_scaling("l2", empty).apply(empty)).any()
    huge = SparseRows.from_scipy(sparse.csr_array([[1e200, 0.0, 1e200]]))
    assert_close(to_dense(huge.to_unit_length()), [[0.5**0.5, 0, 0.5**0.5]], FORMULA.double)


def test_square_roots_after_centring_are_refused():
    with pytest.raises(ValueError, match=r"place of sparse rows: expected 'sqrt' first, as in 'sqrt-center-l2'"):
        scaling.fit_scaling("center-sqrt", SparseRows.from_scipy(texts().X)).apply(SparseRows.from_scipy(texts().X))


def test_all_formats_and_repeated_places_are_read():
    expected = texts().X.toarray()
    for name in ("csr", "csc", "coo", "lil", "dok", "bsr"):
        for kind in ("array", "matrix"):
            given = getattr(sparse, f"{name}_{kind}")(texts().X)
            assert is_sparse(given)
            np.testing.assert_array_equal(to_dense(SparseRows.from_scipy(given)), expected)
    twice = sparse.csr_array(([4.0, 5.0, 1.0], [1, 1, 0], [0, 3]), shape=(1, 3))
    np.testing.assert_array_equal(to_dense(SparseRows.from_scipy(twice).take_square_roots()), [[1.0, 3.0, 0.0]])
    assert twice.nnz == 3  # the caller's array stays as it is
    assert to_dense(SparseRows.from_scipy(sparse.coo_array([0.0, 2.0]))).tolist() == [[0.0, 2.0]]
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: sparse frames")
    frame = pandas.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(texts().X))
    np.testing.assert_array_equal(to_dense(SparseRows.from_scipy(frame)), expected)
    assert not is_sparse(frame.sparse.to_dense())


def test_array_functions_leave_sparse_rows_sparse():
    rows = SparseRows.from_scipy(texts().X)
    assert namespace(rows) is namespace(np.empty(0))
    assert to_numpy(rows) is rows
    assert convert_like(rows, np.empty(0, np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("columns", lambda one: one + 1000),
        ("columns", lambda one: one - 50),
        ("columns", lambda one: one[:-1]),
        ("starts", lambda one: one[::-1]),
        ("starts", lambda one: one[:-1]),
        ("starts", lambda one: one + 1),
        ("values", lambda one: one * np.nan),
        ("weights", lambda one: one[:-1]),
        ("subtracted", lambda one: one[:, :-1]),
    ],
)
def test_parts_that_do_not_fit_are_refused(part, change):
    rows, _ = pair(1)
    parts = rows.parts()
    with pytest.raises(ValueError, match=r"sparse rows of shape \(80, 50\) whose parts do not fit together"):
        SparseRows.from_parts({**parts, part: change(parts[part])}, rows.shape)
