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
