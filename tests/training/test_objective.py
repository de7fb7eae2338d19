"""The loss, its gradient and the scores of a batch equal the obvious loop and finite differences."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import naive
from batches import SHAPES, VARIANTS, lone, make_batch, settings_of, stacked
from tolerances import DIFFERENCES, SUMS, assert_close
from zskl import kernels
from zskl.kernels import Cauchy, Gaussian, Polynomial
from zskl.metrics import polarisation
from zskl.training.objective import BALANCES, LOSSES, Evaluation, Objective


def gradient_error(evaluate, W, h=1e-5):
    """‖gradient − central differences‖ / ‖central differences‖ of one W (d, p), or the largest in a stack."""
    d, p = W.shape[-2:]
    expected = np.zeros_like(W)
    for i, j in itertools.product(range(d), range(p)):
        step = np.zeros((d, p))
        step[i, j] = h
        expected[..., i, j] = (evaluate(W + step).objective - evaluate(W - step).objective) / (2 * h)
    difference = np.linalg.norm(evaluate(W).gradient - expected, axis=(-2, -1))
    return np.max(difference / np.linalg.norm(expected, axis=(-2, -1)))


@pytest.mark.parametrize(("kernel", "loss", "balance", "incoherence", "shape"), VARIANTS)
def test_gradient_equals_finite_differences(kernel, loss, balance, incoherence, shape):
    batch = make_batch(shape)
    settings = settings_of(kernel, loss, balance, incoherence)
    assert gradient_error(lambda W: lone(settings[1]).evaluate(W, *batch.data), batch.W[1]) < DIFFERENCES
    assert gradient_error(lambda W: stacked(settings).evaluate(W, *batch.data), batch.W) < DIFFERENCES


@pytest.mark.parametrize(("kernel", "loss", "balance", "incoherence", "shape"), VARIANTS)
def test_value_and_gradient_equal_the_double_loop(kernel, loss, balance, incoherence, shape):
    batch = make_batch(shape)
    settings = settings_of(kernel, loss, balance, incoherence)
    together = stacked(settings).evaluate(batch.W, *batch.data)
    for k, (setting, W) in enumerate(zip(settings, batch.W, strict=True)):
        value, gradient = naive.objective(setting, W, *batch.data)
        alone = lone(setting).evaluate(W, *batch.data)
        for found in (Evaluation(together.objective[k], together.gradient[k], None), alone):
            assert found.squares is None
            assert_close(found.objective, value, SUMS.double)
            assert_close(found.gradient, gradient, SUMS.double)


@pytest.mark.parametrize("incoherence", [True, False])
@pytest.mark.parametrize("kernel", kernels.names())
def test_the_printed_balance_is_the_polarisation_of_all_rows(kernel, incoherence):
    """Eq. 6–8 and 11: each row against the signature of each row; and so is the mean over the batches of an epoch."""
    batch, codes = make_batch("C<p", n=12), np.repeat([0, 1, 2], [6, 2, 4])
    sizes = np.bincount(codes).astype(float)
    for setting in settings_of(kernel, "linear", "printed", incoherence):
        K = naive.scores(setting, batch.W[0], batch.X, batch.Y[codes])
        expected = naive.penalty(setting, batch.W[0])[0] - polarisation(K, codes, repulsion=setting.repulsion)
        evaluate = lone(setting).evaluate
        assert_close(evaluate(batch.W[0], batch.X, batch.Y, codes, sizes).objective, expected, SUMS.double)
        order = np.random.default_rng(0).permutation(12).reshape(3, 4)
        parts = [evaluate(batch.W[0], batch.X[rows], batch.Y, codes[rows], sizes).objective for rows in order]
        assert_close(np.mean(parts), expected, SUMS.double)
        other = replace(lone(setting), balance="sizes").evaluate(batch.W[0], batch.X, batch.Y, codes, sizes).objective
        assert abs(12 * float(other) - expected) > 0.1 * abs(expected)  # λ instead of λ N_c


@pytest.mark.parametrize("degree", range(1, 7))
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_every_degree_of_the_polynomial(degree, loss, bias):
    batch = make_batch("C>p")
    objective = Objective(Polynomial(degree, bias), loss, temperature=0.5)
    assert gradient_error(lambda W: objective.evaluate(W, *batch.data), batch.W[0]) < DIFFERENCES


@pytest.mark.parametrize(
    ("degree", "loss", "balance", "bounded"),
    [(2, "linear", balance, True) for balance in BALANCES]
    + [(4, "linear", balance, balance == "mean") for balance in BALANCES]
    + [(6, "linear", "mean", False), (6, "squared", "mean", True), (6, "softmax", "mean", True)],
)
def test_where_the_penalty_bounds_the_polynomial_objective(degree, loss, balance, bounded):
    """Along t·x yᵀ of one row and its class, where s = t and ‖WᵀW‖² = t⁴: the objective falls without end, or not."""
    batch = make_batch("C<p", n=1)
    objective = Objective(Polynomial(degree), loss, balance, repulsion=0.1, incoherence_weight=1.1)
    W = np.outer(batch.X[0], batch.Y[batch.codes[0]])
    values = [float(objective.evaluate(t * W, *batch.data).objective) for t in (100.0, 1000.0)]
    assert (min(values) >= -W.shape[1] / 4) == bounded
    assert bounded or values[1] < 100 * values[0]


def test_incoherence_changes_nothing_for_the_polynomial_kernel():
    batch = make_batch("C<p")
    with_it, without = (Objective(Polynomial(2), incoherence=flag).evaluate(batch.W[0], *batch.data) for flag in (1, 0))
    np.testing.assert_array_equal(with_it.gradient, without.gradient)


@pytest.mark.parametrize("kernel", ["gaussian", "cauchy"])
def test_incoherence_and_balance_are_not_without_effect(kernel):
    batch = make_batch("C<p")
    variants = [settings_of(kernel, "squared", balance, flag)[0] for balance in BALANCES for flag in (True, False)]
    values = [float(lone(setting).evaluate(batch.W[0], *batch.data).objective) for setting in variants]
    assert len({round(value, 9) for value in values}) == len(variants)


class UphillGaussian(Gaussian):
    def slope(self, t, value=None):
        return -super().slope(t, value)


class UphillCauchy(Cauchy):
    def slope(self, t, value=None):
        return -super().slope(t, value)


class UphillPolynomial(Polynomial):
    def slope(self, t, value=None):
        return -super().slope(t, value)


@pytest.mark.parametrize("kernel", [UphillGaussian(0.7), UphillCauchy(0.7), UphillPolynomial(3)])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_gradient_check_catches_a_wrong_sign(kernel, loss):
    batch = make_batch("C<p")
    objective = Objective(kernel, loss, temperature=0.5, incoherence_weight=0.1)
    assert gradient_error(lambda W: objective.evaluate(W, *batch.data), batch.W[0]) > 0.1


@pytest.mark.parametrize("member", range(3))
def test_the_gradient_check_catches_one_wrong_entry_of_one_member(member):
    batch = make_batch("C>p")
    objective = stacked(settings_of("gaussian", "squared", "mean", True))

    def perturbed(W):
        found = objective.evaluate(W, *batch.data)
        found.gradient[member, 2, 1] *= 1 + 1e-3
        return found

    assert gradient_error(lambda W: objective.evaluate(W, *batch.data), batch.W) < DIFFERENCES
    assert gradient_error(perturbed, batch.W) > DIFFERENCES


def test_the_gradient_check_catches_a_forgotten_term():
    """Without W Yᵀ diag(b) Y, which only a kernel with incoherence has."""
    batch = make_batch("C<p")
    objective = lone(settings_of("cauchy", "squared", "mean", True)[0])

    def forgetful(W):
        found = objective.evaluate(W, *batch.data)
        half = replace(objective, incoherence=False).evaluate(W, *batch.data)
        return found._replace(gradient=half.gradient)

    assert gradient_error(forgetful, batch.W[0]) > 0.1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("incoherence", [True, False])
@pytest.mark.parametrize("kernel", kernels.names())
def test_scores_equal_the_loop(kernel, incoherence, shape):
    batch = make_batch(shape)
    settings = settings_of(kernel, "squared", "mean", incoherence)
    together = stacked(settings).scores(batch.W, batch.X, batch.Y)
    for k, (setting, W) in enumerate(zip(settings, batch.W, strict=True)):
        expected = naive.scores(setting, W, batch.X, batch.Y)
        assert_close(lone(setting).scores(W, batch.X, batch.Y), expected, SUMS.double)
        assert_close(together[k], expected, SUMS.double)
