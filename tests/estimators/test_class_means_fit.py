"""Which rows stay with a model, and that keeping them needs little room."""

import tracemalloc

import numpy as np
import pytest

from tolerances import assert_close
from zskl import ClassMeansClassifier
from zskl.estimators import _class_means_fit
from zskl.estimators._class_means_fit import KeptRows, RowKeeper, Space, hash_rows

CLASSES, D = 5, 7
HALF = 2.0**-10  # a half-precision number may be rounded to its neighbour


def rows_of(n):
    """Rows, some of them twice, and their classes; the last class has few."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, D), dtype=np.float32)
    X[n // 2 : n // 2 + 20], codes = X[:20], rng.integers(0, CLASSES - 1, n)
    codes[n // 2 : n // 2 + 20] = codes[:20]
    codes[-3:] = CLASSES - 1
    return X, codes


@pytest.mark.parametrize("height", [1, 13, 64, 1000])
def test_blocks_keep_the_rows_of_one_pass(monkeypatch, height):
    monkeypatch.setattr(_class_means_fit, "KEPT", 60)
    monkeypatch.setattr(_class_means_fit, "WAITING", 40)
    monkeypatch.setattr(_class_means_fit, "_COLUMNS", 3)
    X, codes = rows_of(400)
    keeping = RowKeeper(D, np.bincount(codes))
    for start in range(0, len(X), height):
        block = slice(start, start + height)
        keeping.add(X[block], hash_rows(X[block]), codes[block])
    found, expected = keeping.finish(), KeptRows.empty(D).add(X, hash_rows(X), codes, CLASSES)
    for name in ("rows", "hashes", "codes"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert len(found.rows) == 4 * 12 + 3


def test_kept_rows_are_not_copied(monkeypatch):
    monkeypatch.setattr(_class_means_fit, "KEPT", 2000)
    monkeypatch.setattr(_class_means_fit, "WAITING", 100)
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((8000, 256), dtype=np.float32), np.arange(8000) % CLASSES
    known = hash_rows(X)
    tracemalloc.start()
    keeping = RowKeeper(256, np.bincount(codes))
    for start in range(0, len(X), 100):
        block = slice(start, start + 100)
        keeping.add(X[block], known[block], codes[block])
    found = keeping.finish()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.rows) == 2000
    assert peak < 1.5 * found.rows.nbytes


def test_fit_rotates_kept_rows_in_blocks(monkeypatch, toy):
    at_once = ClassMeansClassifier().fit(toy.X, toy.y, toy.table).kept_rows_
    sizes, rotate = [], Space.center_and_rotate

    def watched(self, X):
        sizes.append(len(X))
        return rotate(self, X)

    monkeypatch.setattr(_class_means_fit, "KEPT_BLOCK", 8)
    monkeypatch.setattr(Space, "center_and_rotate", watched)
    in_blocks = ClassMeansClassifier().fit(toy.X, toy.y, toy.table).kept_rows_
    assert max(sizes) == 8
    assert sum(sizes) == len(in_blocks)
    assert_close(in_blocks.astype(float), at_once.astype(float), HALF)


def test_hashes_ignore_layout_and_precision():
    rows = np.random.default_rng(0).normal(size=(50, 700)).astype(np.float32)
    assert np.array_equal(hash_rows(rows), hash_rows(np.asfortranarray(rows).astype(np.float64)))
    assert len(np.unique(hash_rows(rows))) == 50


# Matrices that rounding makes singular


def test_an_indefinite_kernel_has_an_inverse():
    """Rounding next to entries of 10¹⁸ is far larger than ν: negative eigenvalues count as 0."""
    Y = np.random.default_rng(0).standard_normal((12, 3)) * 1e9
    K = Y @ Y.T
    found = _class_means_fit.regularised_inverse(K, 0.1)
    assert np.isfinite(found).all()
    energy, basis = np.linalg.eigh(K)
    slow = sum(np.outer(v, v) / (max(e, 0.0) + 0.1) for e, v in zip(energy, basis.T, strict=True))
    np.testing.assert_allclose(found, slow, atol=1e-3 * np.abs(slow).max())
    small = np.cov(np.random.default_rng(1).standard_normal((5, 20)))
    np.testing.assert_allclose(_class_means_fit.regularised_inverse(small, 0.1), np.linalg.inv(small + 0.1 * np.eye(5)))


def test_the_median_distance_is_never_rounding():
    median = _class_means_fit.median_distance
    assert median(np.array([1.0, 2.0, 4.0])) == 2
    assert median(np.array([1e-33, 1e-33, 1e-30, 2.0])) == 2
    assert median(np.zeros(3)) == median(np.empty(0)) == 1


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
@pytest.mark.parametrize("scaling", ["auto", "none", "l2", "center", "standardize-l2"])
@pytest.mark.filterwarnings("ignore::zskl.signatures.table.SignatureWarning")
def test_descriptions_that_are_nearly_equal_do_not_fail(kernel, scaling):
    draw = np.random.default_rng(0)
    X, y, S = draw.standard_normal((60, 5)), np.arange(60) % 6, draw.standard_normal((6, 4))
    tables = [np.ones((6, 4)), 1 + 1e-15 * S, np.repeat(S[:2], 3, axis=0), S * 1e-40, S * 10.0 ** np.arange(0, 12, 3)]
    for signatures in [*tables, np.where(np.arange(6)[:, None] == 3, S, 1e-17 * S)]:
        model = ClassMeansClassifier(kernel=kernel, signature_scaling=scaling, noise=1e-9)
        assert np.isfinite(model.fit(X, y, dict(enumerate(signatures))).compatibility(X)).all()


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_numbers_beyond_single_precision_are_refused(size):
    draw = np.random.default_rng(0)
    X, y, S = draw.standard_normal((60, 5)), np.arange(60) % 6, draw.standard_normal((6, 4))
    with pytest.raises(ValueError, match=r"rows scaled by 'none' have squares of .*use feature_scaling='auto'"):
        ClassMeansClassifier(feature_scaling="none").fit(X * size, y, dict(enumerate(S)))
    if size > 1:
        with pytest.raises(ValueError, match=r"scaled signatures have squares of .*use signature_scaling='auto'"):
            ClassMeansClassifier(signature_scaling="none").fit(X, y, dict(enumerate(S * 1e17)))
    ClassMeansClassifier().fit(X * size, y, dict(enumerate(S * size)))
