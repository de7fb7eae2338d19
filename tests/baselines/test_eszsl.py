"""ESZSL against a Kronecker system, and files of 0.1, which had no targets."""

import logging
import math

import numpy as np
import pytest
from scipy import sparse

from baseline_problems import RAW
from sparse_texts import texts
from tolerances import SOLUTION, STOPPED, SUMS, assert_close
from zskl import baselines, methods
from zskl._arrays import SparseRows
from zskl.baselines import eszsl
from zskl.estimators import model_file

# Eszsl


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
    header, arrays = model_file.read_model(tmp_path / "a.zskl")
    del header["parameters"]["targets"]
    old = baselines.ESZSL._restore(header, arrays)
    assert old.get_params() == model.get_params()
    np.testing.assert_array_equal(old.compatibility(X), model.compatibility(X))
    assert baselines.ESZSL().targets == "zero-one"


# Sparse ridge
# Ridge regression by conjugate gradients against the closed form in float64.


def closed_form(X, codes, gamma):
    L = (codes[:, None] == np.arange(codes.max() + 1)).astype(float)
    return np.linalg.solve(X.T @ X + gamma * np.eye(X.shape[1]), X.T @ L)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("gamma", [0.01, 30.0])
def test_it_is_the_closed_form_on_either_side(wide, gamma, monkeypatch):
    monkeypatch.setattr(eszsl, "VALUES", 200)  # a few classes at a time
    rows = SparseRows.from_scipy(texts().X)[:: 2 if wide else 1]  # 40 or 80 rows in 50 columns
    mean = rows.mean()
    X = texts().X.toarray()[:: 2 if wide else 1] - mean
    codes = np.repeat(np.arange(8), len(X) // 8)
    found, wanted = eszsl.fit_sparse_ridge(rows - mean, codes, 8, gamma), closed_form(X, codes, gamma)
    assert_close(found, wanted, 1e-2 * STOPPED)
    with pytest.raises(AssertionError):
        assert_close(eszsl.fit_sparse_ridge(rows - mean, codes, 8, 1.1 * gamma), wanted, 1e-2 * STOPPED)


def test_too_few_steps_are_said(monkeypatch, caplog):
    monkeypatch.setattr(eszsl, "STEPS", 2)
    with caplog.at_level(logging.WARNING, logger="zskl"):
        eszsl.fit_sparse_ridge(SparseRows.from_scipy(texts().X), np.repeat(np.arange(8), 10), 8, 1e-3)
    assert "after 2 steps the map of 8 classes is still" in caplog.text


def test_a_class_without_words_has_no_map():
    rows = SparseRows.from_scipy(sparse.csr_array([[1.0, 0.0], [0.0, 0.0]]))
    found = eszsl.fit_sparse_ridge(rows, np.array([0, 1]), 2, 1.0)
    np.testing.assert_allclose(found, [[0.5, 0.0], [0.0, 0.0]])
