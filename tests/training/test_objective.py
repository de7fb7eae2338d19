"""The loss, its gradient and the scores of a batch equal the obvious loop and finite differences."""

import itertools
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import textbook
from tolerances import DIFFERENCES, SUMS, assert_close
from training_batches import SHAPES, VARIANTS, lone, make_batch, settings_of, stacked
from zskl import kernels
from zskl.kernels import Cauchy, Gaussian, Polynomial
from zskl.metrics import polarisation
from zskl.training.objective import BALANCES, LOSSES, Evaluation, Objective, _image_norms, _images, _loss, _pull

# Objective


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
        value, gradient = textbook.objective(setting, W, *batch.data)
        alone = lone(setting).evaluate(W, *batch.data)
        for found in (Evaluation(together.objective[k], together.gradient[k], None), alone):
            assert found.squares is None
            assert_close(found.objective, value, SUMS.double)
            assert_close(found.gradient, gradient, SUMS.double)


@pytest.mark.parametrize(("kernel", "loss", "balance", "incoherence", "shape"), VARIANTS)
def test_a_row_is_compared_with_its_own_signature(kernel, loss, balance, incoherence, shape):
    """Eq. 9 with a signature for each row: row by row that of its class is replaced, in the double loop."""
    batch = make_batch(shape)
    settings = settings_of(kernel, loss, balance, incoherence)
    own = np.random.default_rng(9).standard_normal((len(batch.X), batch.Y.shape[1])) / 2
    together = stacked(settings).evaluate(batch.W, batch.X, np.vstack([batch.Y, own]), *batch.data[2:], per_sample=True)
    for k, (setting, W) in enumerate(zip(settings, batch.W, strict=True)):
        parts, squares = [], []
        for i, code in enumerate(batch.codes):
            Y = batch.Y.copy()
            Y[code] = own[i]
            one = batch.X[i : i + 1], Y, batch.codes[i : i + 1], batch.sizes
            parts.append(textbook.objective(setting, W, *one))
            squares.append(textbook.per_sample_squares(setting, W, *one))
        values, gradients = zip(*parts, strict=True)
        assert_close(together.objective[k], np.mean(values), SUMS.double)
        assert_close(together.gradient[k], np.mean(gradients, axis=0), SUMS.double)
        assert_close(together.squares[k], np.mean(squares, axis=0), SUMS.double)
        drawn = textbook.objective(setting, W, *batch.data)[1]  # a fault: the own one is not kept
        assert np.abs(drawn - together.gradient[k]).max() > 1e-3 * np.abs(drawn).max()


@pytest.mark.parametrize("incoherence", [True, False])
@pytest.mark.parametrize("kernel", kernels.names())
def test_the_printed_balance_is_the_polarisation_of_all_rows(kernel, incoherence):
    """Eq. 6–8 and 11: each row against the signature of each row; and so is the mean over the batches of an epoch."""
    batch, codes = make_batch("C<p", n=12), np.repeat([0, 1, 2], [6, 2, 4])
    sizes = np.bincount(codes).astype(float)
    for setting in settings_of(kernel, "linear", "printed", incoherence):
        K = textbook.scores(setting, batch.W[0], batch.X, batch.Y[codes])
        expected = textbook.penalty(setting, batch.W[0])[0] - polarisation(K, codes, repulsion=setting.repulsion)
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
        expected = textbook.scores(setting, W, batch.X, batch.Y)
        assert_close(lone(setting).scores(W, batch.X, batch.Y), expected, SUMS.double)
        assert_close(together[k], expected, SUMS.double)


# Objective forms
# The two algebraic forms of the gradient agree, and so do per-sample second moments with a loop.


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
        assert_close(norms[k, 0], [textbook.inner(z, z) for z in (W @ batch.Y.T).T], SUMS.double)
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
    expected = textbook.per_sample_squares(settings[2], batch.W[2], *batch.data)
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


# Objective precision
# The objective in single precision and on PyTorch tensors.


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
    kernel = kernels.build(setting.kernel, setting.parameters)
    if kernel.radial:
        D = [((X @ W)[:, None, :] - Y).pow(2).sum(-1), (X[:, None, :] - Y @ W.T).pow(2).sum(-1)]
        values = [kernel.value(one) for one in (D if setting.incoherence else D[:1])]
    else:
        values = [kernel.value(X @ W @ Y.T)]
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
    if not kernel.radial:
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
