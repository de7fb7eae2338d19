"""Mini-batch RMSprop: updates, schedules, batches, continuation, progress."""

import itertools
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import textbook
from tolerances import AFTER_FIT, FIT, SOLUTION, assert_close
from zskl import DivergenceError, ZeroShotKernelClassifier, datasets, kernels, metrics
from zskl.estimators.kernel_classifier import fit_stack
from zskl.training import solver
from zskl.training.objective import Objective
from zskl.training.solver import (
    CHECK_EVERY,
    INITIALISATIONS,
    SCHEDULES,
    State,
    batch_indices,
    draw_orthogonal,
    draw_uniform,
    minimise,
    polarise,
    start_state,
)

# Solver

N, D, P, C = 23, 5, 4, 3
RUN = {"n_rows": N, "batch_size": 4, "seed": 7, "learning_rate": 0.01}
PER_EPOCH = N // 4


def problem():
    """A step function on real batches, and a stack of two starting points in float64."""
    rng = np.random.default_rng(0)
    X, Y, codes = rng.standard_normal((N, D)) / 2, rng.standard_normal((C, P)) / 2, np.arange(N) % C
    sizes = np.bincount(codes).astype(np.float64)
    objective = Objective(kernels.Gaussian(1.2))

    def step(W, rows, t, per_sample=False):
        return objective.evaluate(W, X[rows], Y, codes[rows], sizes, per_sample)

    return step, 0.3 * rng.standard_normal((2, D, P))


def recorded(**changes):
    """(Solution, [W after each step], [Progress]) of a run on the problem."""
    step, W = problem()
    seen, progress = [], []

    def callback(now):
        seen.append(now.projection.copy())
        progress.append(now)

    return minimise(step, start_state(W), callback=callback, **{**RUN, "epochs": 2, **changes}), seen, progress


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("per_sample", [False, True])
def test_minimise_equals_the_loop(schedule, per_sample):
    step, W = problem()
    rates = np.array([0.01, 0.03]).reshape(2, 1, 1)
    numbers = {"schedule": schedule, "decay": 0.05, "smoothing": 0.9, "epsilon": 1e-3}
    found = minimise(
        lambda W, rows, t: step(W, rows, t, per_sample),
        start_state(W),
        **{**RUN, "learning_rate": rates, "epochs": 3, **numbers},
    )
    order = [rows for epoch in range(3) for rows in batch_indices(N, 4, 7, epoch)]
    for k in range(2):

        def lone(W, rows, t):
            _, gradient, squares = step(W, rows, t, per_sample)
            return gradient, squares

        projection, moment = textbook.rmsprop(lone, W[k], order, float(rates[k, 0, 0]), **numbers, epoch=PER_EPOCH)
        assert_close(found.state.W[k], projection, FIT.double)
        assert_close(found.state.V[k], moment, FIT.double)
    assert found.state.steps == 3 * PER_EPOCH
    assert found.state.epochs == 3


def test_the_two_second_moments_differ():
    step, W = problem()
    one, other = (
        minimise(lambda W, rows, t, flag=flag: step(W, rows, t, flag), start_state(W), **RUN, epochs=1)
        for flag in (False, True)
    )
    assert np.abs(one.state.W - other.state.W).max() > 1e-3


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_equal_their_formulas(name):
    for place in itertools.product((0, 1, 10, 500), (0.0, 3e-4, 0.1), (1, 70)):
        assert SCHEDULES[name](*place) == pytest.approx(textbook.SCHEDULES[name](*place), rel=1e-12)
        assert 0 < SCHEDULES[name](*place) <= 1
    assert set(textbook.SCHEDULES) == set(SCHEDULES)


def test_the_state_handed_in_is_left_alone():
    step, W = problem()
    state = State(W.copy(), np.ones_like(W))
    minimise(step, state, **RUN, epochs=1)
    np.testing.assert_array_equal(state.W, W)
    np.testing.assert_array_equal(state.V, 1)


def test_torch_equals_numpy():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: solver on tensors")
    W = problem()[1]
    target = np.random.default_rng(1).standard_normal((N, D, P))

    def on_numpy(W, rows, t):
        gradient = W - target[rows].mean(axis=0)
        return (gradient**2).sum(axis=(1, 2)), gradient, None

    def on_torch(W, rows, t):
        gradient = W - torch.from_numpy(target)[rows].mean(dim=0)
        return (gradient**2).sum(dim=(1, 2)), gradient, None

    expected = minimise(on_numpy, start_state(W), **RUN, epochs=4)
    found = minimise(on_torch, start_state(torch.from_numpy(W)), **RUN, epochs=4)
    assert_close(found.state.W.numpy(), expected.state.W, FIT.double)
    assert_close(found.objective, expected.objective, AFTER_FIT.double)


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(1, 80), st.integers(0, 2**31 - 2), st.integers(0, 5))
def test_every_row_at_most_once_and_the_short_batch_left_out(n_rows, batch_size, seed, epoch):
    found = list(batch_indices(n_rows, batch_size, seed, epoch))
    size = min(batch_size, n_rows)
    assert len(found) == n_rows // size
    assert all(len(rows) == size for rows in found)
    visited = np.concatenate(found)
    assert len(set(visited.tolist())) == len(visited)
    assert set(visited.tolist()) <= set(range(n_rows))
    for rows, again in zip(found, batch_indices(n_rows, batch_size, seed, epoch), strict=True):
        np.testing.assert_array_equal(rows, again)


def test_epochs_and_seeds_have_their_own_order():
    orders = {tuple(np.concatenate(list(batch_indices(20, 5, seed, epoch)))) for seed in range(3) for epoch in range(3)}
    assert len(orders) == 9
    assert all(sorted(order) == list(range(20)) for order in orders)


def test_the_rows_left_out_change_from_epoch_to_epoch():
    visited = [set(np.concatenate(list(batch_indices(23, 10, 0, epoch))).tolist()) for epoch in range(20)]
    assert set.union(*visited) == set(range(23))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_prefix_of_a_run_is_a_shorter_run(schedule):
    long, seen, _ = recorded(epochs=5, schedule=schedule, decay=0.02)
    for epochs in (1, 3):
        short, _, _ = recorded(epochs=epochs, schedule=schedule, decay=0.02)
        np.testing.assert_array_equal(short.state.W, seen[epochs * PER_EPOCH - 1])
        np.testing.assert_array_equal(short.objective, long.objective[: epochs * PER_EPOCH])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_run_continued_from_its_state_is_the_longer_run(schedule):
    step, W = problem()
    numbers = {**RUN, "schedule": schedule, "decay": 0.02}
    whole = minimise(step, start_state(W), epochs=5, **numbers)
    first = minimise(step, start_state(W), epochs=2, **numbers)
    second = minimise(step, first.state, epochs=3, **numbers)
    np.testing.assert_array_equal(second.state.W, whole.state.W)
    np.testing.assert_array_equal(second.state.V, whole.state.V)
    np.testing.assert_array_equal(np.concatenate([first.objective, second.objective]), whole.objective)
    assert (second.state.steps, second.state.epochs) == (whole.state.steps, whole.state.epochs) == (5 * PER_EPOCH, 5)


def test_the_continuation_check_catches_a_lost_second_moment():
    step, W = problem()
    whole = minimise(step, start_state(W), epochs=5, **RUN)
    first = minimise(step, start_state(W), epochs=2, **RUN)
    forgetful = State(first.state.W, np.zeros_like(W), first.state.steps, first.state.epochs)
    assert not np.array_equal(minimise(step, forgetful, epochs=3, **RUN).state.W, whole.state.W)


def test_the_callback_sees_every_step():
    found, seen, progress = recorded(epochs=3)
    assert [now.step for now in progress] == list(range(1, 3 * PER_EPOCH + 1))
    assert {now.steps for now in progress} == {3 * PER_EPOCH}
    assert [now.epoch for now in progress] == [0] * PER_EPOCH + [1] * PER_EPOCH + [2] * PER_EPOCH
    assert [now.step for now in progress if now.epoch_ends] == [PER_EPOCH, 2 * PER_EPOCH, 3 * PER_EPOCH]
    np.testing.assert_array_equal([now.objective for now in progress], found.objective)
    np.testing.assert_array_equal(seen[-1], found.state.W)
    assert found.objective.shape == (3 * PER_EPOCH, 2)
    assert not np.array_equal(seen[0], seen[1])


def test_the_callback_does_not_change_the_run():
    step, W = problem()
    np.testing.assert_array_equal(
        minimise(step, start_state(W), **RUN, epochs=2).state.W, recorded(epochs=2)[0].state.W
    )


def test_a_batch_larger_than_the_data_is_all_of_it():
    found, _, progress = recorded(batch_size=1000, epochs=3)
    assert found.state.steps == 3
    assert all(now.epoch_ends for now in progress)


def test_the_objective_falls():
    objective = recorded(epochs=40)[0].objective
    assert (objective[-PER_EPOCH:].mean(axis=0) < 0.9 * objective[:PER_EPOCH].mean(axis=0)).all()


def test_second_moments_are_named():
    assert solver.SECOND_MOMENTS == ("batch", "per_sample")


# Initialisation
# Where a projection starts: the range, the orthogonality and the optimality that each initialisation claims.


def problem_initialisation(n=60, d=7, p=4, classes=5, dtype=np.float64):
    """Centred rows (n, d), the signatures of their classes (n, p), the codes and the signatures (C, p)."""
    rng = np.random.default_rng(0)
    codes, Y = np.arange(n) % classes, rng.standard_normal((classes, p))
    X = Y[codes] @ rng.standard_normal((p, d)) + rng.standard_normal((n, d))
    X -= X.mean(axis=0)
    return X.astype(dtype), Y[codes].astype(dtype), codes, Y


@pytest.mark.parametrize("name", INITIALISATIONS)
def test_shape_precision_and_seed(name):
    for dtype in (np.float32, np.float64):
        X, targets, *_ = problem_initialisation(dtype=dtype)
        W = INITIALISATIONS[name](X, targets, 3)
        assert W.shape == (7, 4)
        assert W.dtype == dtype
        np.testing.assert_array_equal(W, INITIALISATIONS[name](X, targets, 3))
        assert np.array_equal(W, INITIALISATIONS[name](X, targets, 4)) == (name == "polarised")


@pytest.mark.parametrize("name", INITIALISATIONS)
def test_torch_equals_numpy_initialisation(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: initialisation on tensors")
    X, targets, *_ = problem_initialisation()
    found = INITIALISATIONS[name](torch.from_numpy(X), torch.from_numpy(targets), 3)
    assert found.dtype == torch.float64
    assert_close(found.numpy(), INITIALISATIONS[name](X, targets, 3), SOLUTION.double)


def test_uniform_lies_in_the_authors_range():
    d = 200
    W = draw_uniform(np.empty((1, d)), np.empty((1, 300)), 0)
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
    W = draw_orthogonal(np.empty((1, d)), np.empty((1, p)), 1)
    assert W.shape == (d, p)
    check_orthonormal(W)


def test_the_orthogonality_check_catches_a_scaled_column():
    W = draw_orthogonal(np.empty((1, 9)), np.empty((1, 4)), 1)
    W[:, 2] *= 1.001
    with pytest.raises(AssertionError):
        check_orthonormal(W)


def test_orthogonal_is_drawn_without_a_preferred_direction():
    """The mean over seeds goes to zero only if the signs of the QR decomposition are put right."""
    mean = np.mean([draw_orthogonal(np.empty((1, 3)), np.empty((1, 3)), seed) for seed in range(2000)], axis=0)
    assert np.abs(mean).max() < 5 * (1 / 3 / 2000) ** 0.5


def test_polarised_is_the_best_direction():
    """Of all W of one length, none polarises the linear kernel XWYᵀ more, whatever λ."""
    X, targets, codes, Y = problem_initialisation()
    W = polarise(X, targets, 0)

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
    X, targets, *_ = problem_initialisation()
    W = polarise(X, targets, 0)
    factors = np.linspace(0.5, 1.5, 1001)
    errors = [np.sum((a * X @ W - targets) ** 2) for a in factors]
    assert factors[np.argmin(errors)] == pytest.approx(1.0, abs=1e-9)


def test_polarised_of_nothing_is_zero():
    np.testing.assert_array_equal(polarise(np.zeros((5, 3)), np.ones((5, 2)), 0), 0)


# Divergence
# A run that has left for infinity is told from one that learns, also where the loss itself stays bounded.

DATA = datasets.load("digits")
ROWS = DATA.parts["trainval"]
TRAINING = DATA.X[ROWS], DATA.y[ROWS], DATA.signatures


@pytest.mark.parametrize("loss", ["squared", "linear", "softmax"])
@pytest.mark.parametrize("kernel", ["gaussian", "cauchy"])
def test_a_bounded_loss_cannot_hide_a_projection_that_ran_away(kernel, loss):
    with pytest.raises(
        DivergenceError, match=r"diverged at step \d+.*lower learning_rate \(now 1000\), or widen"
    ) as caught:
        ZeroShotKernelClassifier(kernel, loss=loss, learning_rate=1e3, epochs=1, random_state=0).fit(*TRAINING)
    assert caught.value.step < 100


@pytest.mark.parametrize("loss", ["squared", "linear", "softmax"])
def test_a_kernel_that_has_vanished_everywhere_is_reported(loss):
    with pytest.raises(DivergenceError, match="widen the kernel"):
        ZeroShotKernelClassifier(sigma=0.01, loss=loss, epochs=1, random_state=0).fit(*TRAINING)


def test_in_a_stack_only_the_member_that_ran_away_is_marked():
    stacked = fit_stack(ZeroShotKernelClassifier(epochs=1, random_state=0), [{}, {"learning_rate": 1e5}], *TRAINING)
    assert stacked[0].diverged_ is None
    assert stacked[1].diverged_ is not None
    alone = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(*TRAINING)
    assert_close(stacked[0].projection_, alone.projection_, FIT.single)
    with pytest.raises(AssertionError):
        assert_close(stacked[0].projection_, alone.set_params(random_state=1).fit(*TRAINING).projection_, FIT.single)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_features_of_any_size_are_no_divergence(scale):
    """Unscaled features make W large or small from the start: only growth beyond that counts."""
    model = ZeroShotKernelClassifier(
        "polynomial", degree=1, loss="squared", feature_scaling="none", epochs=1, incoherence_weight=0, random_state=0
    )
    X = (DATA.X[ROWS] - DATA.X[ROWS].mean(axis=0)) * np.float32(scale / 16)
    assert model.fit(X, *TRAINING[1:]).diverged_ is None


def failing(at, value, members=3):
    """W shrinks; the objective of member k is 1, and from step at[k] on value."""

    def step(W, rows, t):
        objective = np.ones(members)
        for k, first in at.items():
            if t >= first:
                objective[k] = value
        return objective, 0.1 * W, None

    return step, start_state(np.ones((members, 2, 2)))


LONG = {"n_rows": 100, "batch_size": 1, "seed": 0, "learning_rate": 1e-3, "epochs": 2}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2e6, -2e6])
@pytest.mark.parametrize("at", [0, 1, CHECK_EVERY - 1, CHECK_EVERY, 37, 150, 199])
def test_the_step_of_a_divergence_is_found_and_the_others_go_on(at, value):
    step, state = failing({1: at}, value)
    found = minimise(step, state, **LONG)
    healthy = minimise(failing({}, value)[0], state, **LONG)
    beyond_the_first = at > 0 or not np.isfinite(value)  # a finite objective is judged against its first value
    assert found.diverged.tolist() == [-1, at if beyond_the_first else -1, -1]
    assert found.state.steps == 200
    np.testing.assert_array_equal(found.state.W[[0, 2]], healthy.state.W[[0, 2]])
    np.testing.assert_array_equal(found.objective[:, [0, 2]], healthy.objective[:, [0, 2]])


def test_a_member_that_recovers_stays_marked_at_its_first_step():
    def step(W, rows, t):
        return np.array([np.nan if t in (40, 120) else 1.0]), 0 * W, None

    found = minimise(step, start_state(np.ones((1, 2, 2))), **LONG)
    assert found.diverged.tolist() == [40]
    assert found.state.steps < 100


def test_a_run_stops_when_all_members_are_gone():
    step, state = failing({0: 10, 1: 50, 2: 37}, np.nan)
    found = minimise(step, state, **LONG)
    assert found.diverged.tolist() == [10, 50, 37]
    assert 50 < found.state.steps <= 50 + CHECK_EVERY
    assert len(found.objective) == found.state.steps


def test_an_objective_is_judged_against_its_first_value():
    step, state = failing({0: 20}, 2e6, members=1)

    def times(factor):
        return lambda W, rows, t: (factor * step(W, rows, t)[0], 0 * W, None)

    assert minimise(times(1), state, **LONG).diverged.tolist() == [20]
    assert minimise(times(1e3), state, **LONG).diverged.tolist() == [20]
    assert minimise(times(1e-3), state, **LONG).diverged.tolist() == [-1]  # a first value below 1 counts as 1
    assert minimise(lambda W, rows, t: (np.array([2e6]), 0 * W, None), state, **LONG).diverged.tolist() == [-1]


def test_a_projection_that_breaks_in_the_last_step_is_found():
    def step(W, rows, t):
        return np.ones(2), W * np.array([1.0, np.nan if t == 199 else 1.0]).reshape(2, 1, 1), None

    assert minimise(step, start_state(np.ones((2, 2, 2))), **LONG).diverged.tolist() == [-1, 199]


def test_the_step_of_a_continued_run_counts_from_its_beginning():
    step, state = failing({0: 230}, np.nan, members=1)
    first = minimise(step, state, **LONG)
    assert first.diverged.tolist() == [-1]
    assert minimise(step, first.state, **LONG).diverged.tolist() == [230]


def test_the_error_names_step_and_remedy():
    error = DivergenceError(412, 0.05, ", or else")
    assert error.step == 412
    assert re.search(r"diverged at step 412.*lower learning_rate \(now 0\.05\), or else$", str(error))
    assert isinstance(error, ArithmeticError)


def test_the_error_travels_between_processes():
    error = pickle.loads(pickle.dumps(DivergenceError(412, 0.05, ", or else")))
    assert error.step == 412
    assert "step 412" in str(error)
