"""The quick step in buffers, against the plain objective; the compiled update, against the one in blocks."""

import tracemalloc
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import textbook
from tolerances import DIFFERENCES, FIT, FORMULA, SUMS, assert_close
from training_batches import SHAPES, VARIANTS, lone, make_batch, settings_of
from zskl import ZeroShotKernelClassifier
from zskl.estimators import kernel_classifier
from zskl.kernels import Gaussian, Kernel
from zskl.training import _cpu_step, solver
from zskl.training._cpu_step import CpuStep
from zskl.training.objective import BALANCES, LOSSES, Objective


def quick(objective, batch, dtype=np.float64):
    n, d = batch.X.shape
    C, p = batch.Y.shape
    return CpuStep(objective, n, (d, p), C, batch.sizes.astype(dtype), dtype)


@pytest.mark.parametrize(("kernel", "loss", "balance", "incoherence", "shape"), VARIANTS)
def test_it_equals_the_plain_objective(kernel, loss, balance, incoherence, shape):
    batch = make_batch(shape)
    for setting, W in zip(settings_of(kernel, loss, balance, incoherence), batch.W, strict=True):
        objective = lone(setting)
        evaluate = quick(objective, batch)
        for scale in (1.0, 0.5):  # twice: the buffers of the first call must not show in the second
            found = evaluate(scale * W[None], batch.X, np.arange(len(batch.X)), batch.Y, batch.codes)
            expected = objective.evaluate(scale * W[None], *batch.data)
            assert_close(found.objective, expected.objective, SUMS.double)
            assert_close(found.gradient, expected.gradient, SUMS.double)
        wrong = replace(objective, repulsion=1.01 * objective.repulsion, temperature=1.01 * objective.temperature)
        fault = wrong.evaluate(0.5 * W[None], *batch.data).gradient
        assert np.abs(fault - found.gradient).max() > 1e-6 * np.abs(found.gradient).max()


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("loss", LOSSES)
def test_its_gradient_is_the_slope_of_its_objective(loss, shape):
    """Finite differences in float64."""
    batch = make_batch(shape)
    rows = np.arange(len(batch.X))
    for kernel in textbook.KERNELS:
        for balance in BALANCES:
            evaluate = quick(lone(settings_of(kernel, loss, balance, True)[0]), batch)
            W = batch.W[:1]
            gradient = evaluate(W, batch.X, rows, batch.Y, batch.codes).gradient.copy()
            direction = np.random.default_rng(1).standard_normal(W.shape)
            h = 1e-6
            ends = [evaluate(W + t * direction, batch.X, rows, batch.Y, batch.codes).objective[0] for t in (h, -h)]
            slope, allowed = np.vdot(gradient, direction), np.linalg.norm(gradient) * np.linalg.norm(direction)
            assert abs((ends[0] - ends[1]) / (2 * h) - slope) < DIFFERENCES * allowed
            assert abs((ends[0] - ends[1]) / (2 * h) - 1.01 * slope) > DIFFERENCES * allowed  # a planted fault


def test_rows_are_taken_from_all_features():
    batch = make_batch("C<p", n=6)
    rows = np.array([4, 0, 2])
    objective = Objective(Gaussian(0.8))
    evaluate = CpuStep(objective, 3, (6, 5), 3, batch.sizes, np.float64)
    found = evaluate(batch.W[:1], batch.X, rows, batch.Y, batch.codes[rows])
    expected = objective.evaluate(batch.W[:1], batch.X[rows], batch.Y, batch.codes[rows], batch.sizes)
    assert_close(found.gradient, expected.gradient, SUMS.double)


@dataclass(frozen=True)
class Aliasing(Kernel):
    """k(D) = D with the slope 1, handed back without a copy; and exp(D), whose slope is its value."""

    name: ClassVar[str] = "aliasing"
    exponential: bool = False

    def value(self, t):
        return np.exp(t) if self.exponential else t

    def slope(self, t, value=None):
        return value if self.exponential else np.ones_like(t)


@dataclass(frozen=True)
class Careless(Kernel):
    """k(D) = D whose slope 1 is a read-only view of one number, or of whole numbers."""

    name: ClassVar[str] = "careless"
    whole: bool = False

    def value(self, t):
        return t + 0

    def slope(self, t, value=None):
        return np.ones(t.shape, dtype=int) if self.whole else np.broadcast_to(np.float64(1), t.shape)


@pytest.mark.parametrize("whole", [True, False])
def test_a_kernel_may_hand_back_what_cannot_be_written_to(whole):
    batch = make_batch("C<p")
    objective = Objective(Careless(whole))
    found = quick(objective, batch)(batch.W[:1], batch.X, np.arange(6), batch.Y, batch.codes)
    assert_close(found.gradient, objective.evaluate(batch.W[:1], *batch.data).gradient, SUMS.double)


@pytest.mark.parametrize("exponential", [True, False])
def test_a_kernel_may_hand_back_what_it_was_given(exponential):
    batch = make_batch("C<p")
    objective = Objective(Aliasing(exponential))
    found = quick(objective, batch)(batch.W[:1], batch.X, np.arange(6), batch.Y, batch.codes)
    expected = objective.evaluate(batch.W[:1], *batch.data)
    assert_close(found.gradient, expected.gradient, SUMS.double)
    assert_close(found.objective, expected.objective, SUMS.double)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("square", [True, False])
def test_the_compiled_update_does_the_same_operations(square, dtype):
    walk = _cpu_step.compiled_update()
    if walk is None:
        pytest.skip("numba is not installed (extra 'fast'): blocks are used")
    rng = np.random.default_rng(0)
    w, v, g, g2 = (rng.standard_normal(_cpu_step.BLOCK + 17).astype(dtype) for _ in range(4))
    v, g2 = np.abs(v) * dtype(1e-3), g2 * g2
    constants = [dtype(number) for number in (3e-4, 0.99, 1 - 0.99, 1e-6)]
    mine, theirs = [w.copy(), v.copy()], [w.copy(), v.copy()]
    walk(*mine, g.copy(), g2, square, *constants)
    _cpu_step.update_in_blocks(*theirs, g.copy(), g2, square, *constants)
    for found, expected in zip(mine, theirs, strict=True):  # single operations on single entries: no order to differ in
        np.testing.assert_array_equal(found, expected)
    assert (mine[0] != w).all()


def test_an_update_without_numba_is_used_and_equal(monkeypatch):
    rng = np.random.default_rng(1)
    W, gradient = rng.standard_normal((2, 1, 200, 200)).astype(np.float32)
    V = W * W
    ends = []
    for walk in (_cpu_step.compiled_update, lambda: None):
        monkeypatch.setattr(solver, "compiled_update", walk)
        w, v = W.copy(), V.copy()
        solver.make_update(w, v, 0.9, 1e-6)(gradient.copy(), None, 1e-3)
        ends.append((w, v))
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    np.testing.assert_array_equal(ends[0][1], ends[1][1])
    expected = W - 1e-3 * gradient / (np.sqrt(0.9 * V + 0.1 * gradient**2) + 1e-6)
    assert_close(ends[0][0], expected, FORMULA.single)
    with pytest.raises(AssertionError):
        assert_close(ends[0][0], W, FORMULA.single)  # no update at all


LARGE = {"through images": (12, 60), "through WᵀW": (200, 40)}  # (C, p) for d = 1024


@pytest.mark.parametrize("kernel", ["gaussian", "cauchy", "polynomial"])
@pytest.mark.parametrize("shape", list(LARGE))
def test_a_step_allocates_nothing_of_the_size_of_the_projection(shape, kernel):
    """Peak of what NumPy and Python allocate in a step, against a W that is far larger than all small arrays."""
    C, p = LARGE[shape]
    d, n = 1024, 10
    rng = np.random.default_rng(0)
    X, Y, codes = rng.standard_normal((50, d)), rng.standard_normal((C, p)), rng.integers(0, C, 50)
    X, Y = (0.05 * X).astype(np.float32), (0.1 * Y).astype(np.float32)
    W = (0.1 * rng.standard_normal((1, d, p))).astype(np.float32)
    member = ZeroShotKernelClassifier(kernel=kernel)
    evaluate = CpuStep(member._objective(), n, (d, p), C, np.ones(C, np.float32), np.float32)
    update = solver.make_update(W, np.zeros_like(W), 0.99, 1e-6)

    def step():
        rows = rng.integers(0, 50, n)
        _, gradient, _ = evaluate(W, X, rows, Y, codes[rows])
        assert gradient.dtype == np.float32
        update(gradient, None, 1e-3)

    step()
    tracemalloc.start()
    for _ in range(3):
        step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < W.nbytes, f"{peak} bytes in a step for a W of {W.nbytes}"
    bound = 40 * n * C * 4 + 8 * _cpu_step.BLOCK  # small arrays (n, C), and the block of an update without numba
    assert peak < bound + 20_000, f"{peak} bytes"


@pytest.mark.parametrize("loss", LOSSES)
def test_a_fit_through_buffers_is_the_fit_of_the_plain_step(loss, monkeypatch):
    from zskl import datasets

    data = datasets.load("digits")
    rows = data.parts["trainval"][::8]
    fitted, steps = [], []
    for way in ("quick", "plain"):
        if way == "plain":
            monkeypatch.setattr(
                kernel_classifier,
                "make_cpu_step",
                lambda m, t, seed: kernel_classifier.make_step(m._objective(), t, seed, False),
            )
        model = ZeroShotKernelClassifier(loss=loss, epochs=1, random_state=0)
        model.fit(
            data.X[rows], data.y[rows], data.signatures, callback=lambda now: steps.append(now.projection[0].copy())
        )
        fitted.append(model.projection_)
    assert_close(fitted[0], fitted[1], FIT.single)
    with pytest.raises(AssertionError):  # a step left out
        assert_close(fitted[0], steps[-2], FIT.single)


@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("init", ["polarised", "uniform", "orthogonal"])
def test_training_moves_a_projection_in_whatever_order_it_lies(init, warm):
    """A W whose columns lie one after the other was once moved in a copy, that is not at all."""
    rng = np.random.default_rng(0)
    Y, y = {c: rng.standard_normal(20) for c in range(6)}, rng.integers(6, size=200)
    X = rng.standard_normal((200, 8)).astype(np.float32)  # fewer features than attributes
    model = ZeroShotKernelClassifier(init=init, random_state=0, epochs=1, learning_rate=1e-2, warm_start=warm)
    before = model.fit(X, y, Y).projection_.copy()
    if warm:
        model.projection_ = np.asfortranarray(model.projection_)
        after = model.fit(X, y, Y).projection_
    else:
        after = model.set_params(epochs=3).fit(X, y, Y).projection_
    assert np.abs(after - before).max() > 1e-2


def test_an_update_of_arrays_that_do_not_lie_by_rows_is_refused():
    by_rows = np.ones((1, 4, 3), np.float32)
    by_columns = np.asfortranarray(by_rows[0])[None]
    with pytest.raises(ValueError, match="copy"):
        solver.make_update(by_columns, by_rows, 0.9, 1e-6)
    for W, gradient in ((by_rows, by_columns), (by_columns, by_rows)):
        with pytest.raises(ValueError, match="copy"):
            solver.make_update(W, np.zeros_like(W), 0.9, 1e-6)(gradient, None, 1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("terms", [1, 2])
def test_the_compiled_loss_is_the_plain_one(terms, dtype):
    if _cpu_step.compile_squared_loss() is None:
        pytest.skip("numba is not installed (extra 'fast'): single passes are used")
    rng = np.random.default_rng(0)
    n, C = 5, 7
    t, codes = rng.random((terms, n, C)).astype(dtype), rng.integers(0, C, n)
    weights = tuple(rng.random((2, C)).astype(dtype))
    objective = Objective(Gaussian(0.8))
    found, expected = (
        _cpu_step.Slopes(objective, weights, n, C, large)(t.copy(), codes, 0.2)
        for large in (_cpu_step.WORTH_COMPILING, 0)
    )
    bound = SUMS.double if dtype is np.float64 else SUMS.single
    for mine, theirs in list(zip(found, expected, strict=True))[: 2 + terms]:
        assert_close(mine, theirs, bound)
    with pytest.raises(AssertionError):  # the class of a row is another one
        assert_close(found[1], np.roll(expected[1], 1, axis=1), bound)
