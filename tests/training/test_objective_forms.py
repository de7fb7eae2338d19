"""The two algebraic forms of the gradient agree, and so do per-sample second moments with a loop."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import naive
from batches import SHAPES, lone, make_batch, settings_of, stacked
from tolerances import SUMS, assert_close
from zskl import kernels
from zskl.training.objective import LOSSES, _image_norms, _images, _pull


@pytest.mark.parametrize("shape", SHAPES)
def test_both_forms_equal_the_dense_formula(shape):
    batch = make_batch(shape)
    C = len(batch.Y)
    b = np.random.default_rng(1).standard_normal((3, 1, C))
    for Z in (None, batch.W @ batch.Y.T):
        check_forms(batch, b, Z)


def check_forms(batch, b, Z):
    norms, pull = _image_norms(batch.W, batch.Y, Z), _pull(batch.W, batch.Y, Z, b)
    assert norms.shape == (3, 1, len(batch.Y))
    for k, W in enumerate(batch.W):
        assert_close(norms[k, 0], [naive.inner(z, z) for z in (W @ batch.Y.T).T], SUMS.double)
        assert_close(pull[k], W @ batch.Y.T @ np.diag(b[k, 0]) @ batch.Y, SUMS.double)
        z = None if Z is None else Z[k]
        assert_close(_image_norms(W, batch.Y, z), norms[k], SUMS.double)
        assert_close(_pull(W, batch.Y, z, b[k]), pull[k], SUMS.double)


def peak_of(function, *arguments):
    """The most memory in float64 numbers that NumPy held at once during the call."""
    tracemalloc.start()
    function(*arguments)
    peak = tracemalloc.get_traced_memory()[1] / 8
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(("C", "p"), [(4, 400), (400, 4)])
def test_the_cheaper_form_is_taken(C, p):
    """Through W Yᵀ (d, C) or through WᵀW (p, p): the memory shows which."""
    d = 400
    W, Y, b = np.ones((d, p)), np.ones((C, p)), np.ones((1, C))
    dear = d * C if p < C else p * p  # the array that only the other form makes
    assert peak_of(lambda: _image_norms(W, Y, _images(W, Y))) < 0.5 * dear
    assert peak_of(lambda: _pull(W, Y, _images(W, Y), b)) < d * p + 0.5 * dear


@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", kernels.names())
def test_both_forms_give_the_same_gradient(kernel, loss, per_sample):
    """Attributes that are zero everywhere change nothing, but turn C > p into C ≤ p."""
    batch = make_batch("C>p")
    C, p = batch.Y.shape
    objective = stacked(settings_of(kernel, loss, "paper", True))
    short = objective.evaluate(batch.W, *batch.data, per_sample)
    wide_W = np.concatenate([batch.W, np.zeros((3, 6, C - p + 1))], axis=2)
    wide_Y = np.concatenate([batch.Y, np.zeros((C, C - p + 1))], axis=1)
    wide = objective.evaluate(wide_W, batch.X, wide_Y, batch.codes, batch.sizes, per_sample)
    assert_close(wide.objective, short.objective, SUMS.double)
    assert_close(wide.gradient[:, :, :p], short.gradient, SUMS.double)
    np.testing.assert_array_equal(wide.gradient[:, :, p:], 0)
    if per_sample:
        assert_close(wide.squares[:, :, :p], short.squares, SUMS.double)


def check_squares(evaluate, batch, W):
    """G₂ is the mean of the squared gradients of the batches of one sample each."""
    squares = evaluate(W, *batch.data, per_sample=True).squares
    each = []
    for i in range(len(batch.X)):
        one = slice(i, i + 1)
        each.append(evaluate(W, batch.X[one], batch.Y, batch.codes[one], batch.sizes).gradient ** 2)
    assert_close(squares, np.mean(each, axis=0), SUMS.double)


@pytest.mark.parametrize("shape", ["C<p", "C>p"])
@pytest.mark.parametrize("incoherence", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", kernels.names())
def test_second_moment_equals_the_loop_over_samples(kernel, loss, incoherence, shape):
    batch = make_batch(shape)
    settings = settings_of(kernel, loss, "sizes", incoherence)
    objective = stacked(settings)
    check_squares(objective.evaluate, batch, batch.W)
    check_squares(lone(settings[2]).evaluate, batch, batch.W[2])
    expected = naive.per_sample_squares(settings[2], batch.W[2], *batch.data)
    found = objective.evaluate(batch.W, *batch.data, per_sample=True)
    assert_close(found.squares[2], expected, SUMS.double)
    assert_close(found.gradient, objective.evaluate(batch.W, *batch.data).gradient, SUMS.double)


@pytest.mark.parametrize("kernel", kernels.names())
def test_the_second_moment_check_catches_the_square_of_the_mean(kernel):
    batch = make_batch("C<p")
    objective = stacked(settings_of(kernel, "squared", "mean", True))

    def common_practice(*arguments, per_sample=False):
        found = objective.evaluate(*arguments)
        return found._replace(squares=found.gradient**2)

    with pytest.raises(AssertionError):
        check_squares(common_practice, batch, batch.W)


def test_the_second_moment_check_catches_a_forgotten_penalty():
    batch = make_batch("C<p")
    objective = stacked(settings_of("polynomial", "linear", "mean", True))

    def without_penalty(*arguments, per_sample=False):
        found = objective.evaluate(*arguments)
        return found._replace(squares=replace(objective, incoherence_weight=0.0).evaluate(*arguments, True).squares)

    with pytest.raises(AssertionError):
        check_squares(without_penalty, batch, batch.W)
