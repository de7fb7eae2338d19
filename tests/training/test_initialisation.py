"""Where a projection starts: the range, the orthogonality and the optimality that each initialisation claims."""

import numpy as np
import pytest

from tolerances import SOLUTION, assert_close
from zskl import metrics
from zskl.training.initialisation import INITIALISATIONS, orthogonal, polarised, uniform


def problem(n=60, d=7, p=4, classes=5, dtype=np.float64):
    """Centred rows (n, d), the signatures of their classes (n, p), the codes and the signatures (C, p)."""
    rng = np.random.default_rng(0)
    codes, Y = np.arange(n) % classes, rng.standard_normal((classes, p))
    X = Y[codes] @ rng.standard_normal((p, d)) + rng.standard_normal((n, d))
    X -= X.mean(axis=0)
    return X.astype(dtype), Y[codes].astype(dtype), codes, Y


@pytest.mark.parametrize("name", INITIALISATIONS)
def test_shape_precision_and_seed(name):
    for dtype in (np.float32, np.float64):
        X, targets, *_ = problem(dtype=dtype)
        W = INITIALISATIONS[name](X, targets, 3)
        assert W.shape == (7, 4)
        assert W.dtype == dtype
        np.testing.assert_array_equal(W, INITIALISATIONS[name](X, targets, 3))
        assert np.array_equal(W, INITIALISATIONS[name](X, targets, 4)) == (name == "polarised")


@pytest.mark.parametrize("name", INITIALISATIONS)
def test_torch_equals_numpy(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: initialisation on tensors")
    X, targets, *_ = problem()
    found = INITIALISATIONS[name](torch.from_numpy(X), torch.from_numpy(targets), 3)
    assert found.dtype == torch.float64
    assert_close(found.numpy(), INITIALISATIONS[name](X, targets, 3), SOLUTION.double)


def test_uniform_lies_in_the_authors_range():
    d = 200
    W = uniform(np.empty((1, d)), np.empty((1, 300)), 0)
    assert W.min() >= 0
    assert W.max() < 2 / d
    np.testing.assert_allclose(W.mean(), 1 / d, rtol=0.01)
    np.testing.assert_allclose(W.std(), 2 / d / 12**0.5, rtol=0.01)


def check_orthonormal(W):
    """WᵀW = I where there are no more columns than rows, WWᵀ = I otherwise."""
    gram = W.T @ W if W.shape[0] >= W.shape[1] else W @ W.T
    assert_close(gram, np.eye(len(gram)), SOLUTION.double)


@pytest.mark.parametrize(("d", "p"), [(9, 4), (4, 4), (3, 8), (5, 1)])
def test_orthogonal_has_orthonormal_columns_or_rows(d, p):
    W = orthogonal(np.empty((1, d)), np.empty((1, p)), 1)
    assert W.shape == (d, p)
    check_orthonormal(W)


def test_the_orthogonality_check_catches_a_scaled_column():
    W = orthogonal(np.empty((1, 9)), np.empty((1, 4)), 1)
    W[:, 2] *= 1.001
    with pytest.raises(AssertionError):
        check_orthonormal(W)


def test_orthogonal_is_drawn_without_a_preferred_direction():
    """The mean over seeds goes to zero only if the signs of the QR decomposition are put right."""
    mean = np.mean([orthogonal(np.empty((1, 3)), np.empty((1, 3)), seed) for seed in range(2000)], axis=0)
    assert np.abs(mean).max() < 5 * (1 / 3 / 2000) ** 0.5


def test_polarised_is_the_best_direction():
    """Of all W of one length, none polarises the linear kernel XWYᵀ more, whatever λ."""
    X, targets, codes, Y = problem()
    W = polarised(X, targets, 0)

    def polarisation(W, repulsion):
        K = X @ (W / np.linalg.norm(W)) @ Y.T
        return metrics.polarisation(K, codes, np.arange(len(Y)), repulsion)

    rng = np.random.default_rng(1)
    for repulsion in (0.0, 1.0, 3.0):
        best = polarisation(W, repulsion)
        anywhere = [polarisation(rng.standard_normal(W.shape), repulsion) for _ in range(200)]
        spread = 0.05 * np.linalg.norm(W)
        nearby = [polarisation(W + spread * rng.standard_normal(W.shape), repulsion) for _ in range(200)]
        assert best > max(anywhere + nearby)
        assert best > polarisation(W * np.where(np.arange(4) == 2, -1, 1), repulsion)


def test_polarised_has_the_least_squares_length():
    X, targets, *_ = problem()
    W = polarised(X, targets, 0)
    factors = np.linspace(0.5, 1.5, 1001)
    errors = [np.sum((a * X @ W - targets) ** 2) for a in factors]
    assert factors[np.argmin(errors)] == pytest.approx(1.0, abs=1e-9)


def test_polarised_of_nothing_is_zero():
    np.testing.assert_array_equal(polarised(np.zeros((5, 3)), np.ones((5, 2)), 0), 0)
