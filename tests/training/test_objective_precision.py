"""The objective in single precision and on PyTorch tensors."""

import itertools

import numpy as np
import pytest

from batches import VARIANTS, lone, make_batch, settings_of, stacked
from tolerances import SUMS, assert_close
from zskl import kernels
from zskl.kernels import Gaussian
from zskl.training.objective import BALANCES, LOSSES, Objective, _loss


@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", kernels.names())
def test_single_precision_stays(kernel, loss, per_sample):
    batch = make_batch("C>p")
    for balance, incoherence in itertools.product(BALANCES, (True, False)):
        objective = lone(settings_of(kernel, loss, balance, incoherence)[0])
        exact = objective.evaluate(batch.W[0], *batch.data, per_sample)
        X, Y, codes, sizes = batch.data
        small = [array.astype(np.float32) for array in (batch.W[0], X, Y)]
        found = objective.evaluate(*small, codes, sizes.astype(np.float32), per_sample)
        for name in ("objective", "gradient", "squares")[: 3 if per_sample else 2]:
            one, other = getattr(found, name), getattr(exact, name)
            assert one.dtype == np.float32
            assert_close(one, other, SUMS.single)
            with pytest.raises(AssertionError):  # ten bits, as in TF32 or half precision, are too few
                assert_close(one * (1 + 2**-10), other, SUMS.single)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_perfect_fit_in_single_precision_is_finite(loss):
    """Where Wᵀx = y, rounding would make distances negative and kernel values larger than 1."""
    W = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0].astype(np.float32)[None]
    X = 100 * np.random.default_rng(1).standard_normal((5, 6)).astype(np.float32)
    objective = Objective(Gaussian(1.0), loss)
    found = objective.evaluate(W, X, (X @ W[0]), np.arange(5), np.ones(5, dtype=np.float32), True)
    assert all(np.isfinite(part).all() for part in found)
    assert objective.scores(W, X, X @ W[0]).max() <= 2


@pytest.mark.parametrize(("kernel", "loss", "balance", "incoherence", "shape"), VARIANTS)
def test_torch_equals_numpy(kernel, loss, balance, incoherence, shape):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: objective on tensors")
    batch, settings = make_batch(shape), settings_of(kernel, loss, balance, incoherence)
    tensors = [torch.from_numpy(array) for array in (batch.W, *batch.data)]
    objective = stacked(settings)
    on_tensors = stacked(settings, lambda values: torch.tensor(values, dtype=torch.float64).reshape(-1, 1, 1))
    found, expected = on_tensors.evaluate(*tensors, True), objective.evaluate(batch.W, *batch.data, True)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.float64
        assert_close(one.numpy(), other, SUMS.double)
    scores = on_tensors.scores(*tensors[:3])
    assert_close(scores.numpy(), objective.scores(batch.W, batch.X, batch.Y), SUMS.double)


def dense_loss(torch, setting, W, X, Y, codes, sizes):
    """The objective in PyTorch as METHOD.md states it, every distance from a difference of vectors."""
    n, C = X.shape[0], Y.shape[0]
    if setting.kernel == "polynomial":
        values = [(X @ W @ Y.T + setting.parameters["bias"]) ** setting.parameters["degree"]]
    else:
        sigma = setting.parameters["sigma"]
        D = [((X @ W)[:, None, :] - Y).pow(2).sum(-1), (X[:, None, :] - Y @ W.T).pow(2).sum(-1)]
        k = {"gaussian": lambda D: torch.exp(-D / (2 * sigma**2)), "cauchy": lambda D: 1 / (1 + sigma * D)}
        values = [k[setting.kernel](one) for one in (D if setting.incoherence else D[:1])]
    T = torch.nn.functional.one_hot(codes, C).to(X.dtype)
    ones, N = torch.ones_like(sizes), sizes.sum()
    own = {"mean": ones, "paper": ones * N / C, "sizes": sizes, "printed": N * sizes}[setting.balance]
    others = {"mean": ones / (C - 1), "printed": N * sizes}.get(setting.balance, ones)
    w = T * own + (1 - T) * setting.repulsion * others
    if setting.loss == "softmax":
        loss = torch.nn.functional.cross_entropy(sum(values) / setting.temperature, codes)
    elif setting.loss == "linear":
        loss = sum((w * (1 - 2 * T) * k).sum() for k in values) / n
    else:
        loss = sum((w * (k - T) ** 2).sum() for k in values) / n
    if setting.kernel == "polynomial":
        loss = loss + setting.incoherence_weight * ((W.T @ W).pow(2).sum() - torch.trace(W.T @ W))
    return loss


@pytest.mark.parametrize(("kernel", "loss", "balance", "incoherence", "shape"), VARIANTS)
def test_gradient_equals_automatic_differentiation(kernel, loss, balance, incoherence, shape):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: automatic differentiation")
    batch = make_batch(shape)
    setting = settings_of(kernel, loss, balance, incoherence)[0]
    found = lone(setting).evaluate(batch.W[0], *batch.data)
    W = torch.from_numpy(batch.W[0]).requires_grad_()
    value = dense_loss(torch, setting, W, *(torch.from_numpy(array) for array in batch.data))
    value.backward()
    assert_close(found.objective, value.item(), SUMS.double)
    assert_close(found.gradient, W.grad.numpy(), SUMS.double)


def test_the_softmax_slope_keeps_its_digits_in_single_precision():
    """Near the solution q of the true class is 1 − tiny, and q − 1 must not be rounded to a multiple of epsilon."""
    values = np.array([[[1.0, 0.0, 0.0]]])
    codes, sizes = np.array([0]), np.ones(3)
    o = Objective(Gaussian(1.0), loss="softmax", temperature=0.05)
    loss, (exact,) = _loss(o, [values], codes, sizes)
    single_loss, (single,) = _loss(o, [values.astype(np.float32)], codes, sizes.astype(np.float32))
    assert_close(single_loss, loss, SUMS.single)
    assert_close(single, exact, SUMS.single)
    assert exact[0, 0, 0] == -exact[0, 0, 1:].sum()
