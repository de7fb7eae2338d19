"""Ridge regression by conjugate gradients against the closed form in float64."""

import logging

import numpy as np
import pytest
from scipy import sparse

from texts import texts
from tolerances import STOPPED, assert_close
from zskl.baselines import sparse_ridge
from zskl.sparse_rows import SparseRows


def closed_form(X, codes, gamma):
    L = (codes[:, None] == np.arange(codes.max() + 1)).astype(float)
    return np.linalg.solve(X.T @ X + gamma * np.eye(X.shape[1]), X.T @ L)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("gamma", [0.01, 30.0])
def test_it_is_the_closed_form_on_either_side(wide, gamma, monkeypatch):
    monkeypatch.setattr(sparse_ridge, "VALUES", 200)  # a few classes at a time
    rows = SparseRows.of(texts().X)[:: 2 if wide else 1]  # 40 or 80 rows in 50 columns
    mean = rows.mean()
    X = texts().X.toarray()[:: 2 if wide else 1] - mean
    codes = np.repeat(np.arange(8), len(X) // 8)
    found, wanted = sparse_ridge.ridge(rows - mean, codes, 8, gamma), closed_form(X, codes, gamma)
    assert_close(found, wanted, 1e-2 * STOPPED)
    with pytest.raises(AssertionError):
        assert_close(sparse_ridge.ridge(rows - mean, codes, 8, 1.1 * gamma), wanted, 1e-2 * STOPPED)


def test_too_few_steps_are_said(monkeypatch, caplog):
    monkeypatch.setattr(sparse_ridge, "STEPS", 2)
    with caplog.at_level(logging.WARNING, logger="zskl"):
        sparse_ridge.ridge(SparseRows.of(texts().X), np.repeat(np.arange(8), 10), 8, 1e-3)
    assert "after 2 steps the map of 8 classes is still" in caplog.text


def test_a_class_without_words_has_no_map():
    rows = SparseRows.of(sparse.csr_array([[1.0, 0.0], [0.0, 0.0]]))
    found = sparse_ridge.ridge(rows, np.array([0, 1]), 2, 1.0)
    np.testing.assert_allclose(found, [[0.5, 0.0], [0.0, 0.0]])
