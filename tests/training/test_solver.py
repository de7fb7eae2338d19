"""Mini-batch RMSprop: updates, schedules, batches, continuation, progress."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from tolerances import AFTER_FIT, FIT, assert_close
from zskl import kernels
from zskl.training import solver
from zskl.training.objective import Objective
from zskl.training.solver import SCHEDULES, State, batches, minimise, start

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

    return minimise(step, start(W), callback=callback, **{**RUN, "epochs": 2, **changes}), seen, progress


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("per_sample", [False, True])
def test_minimise_equals_the_loop(schedule, per_sample):
    step, W = problem()
    rates = np.array([0.01, 0.03]).reshape(2, 1, 1)
    numbers = {"schedule": schedule, "decay": 0.05, "smoothing": 0.9, "epsilon": 1e-3}
    found = minimise(
        lambda W, rows, t: step(W, rows, t, per_sample),
        start(W),
        **{**RUN, "learning_rate": rates, "epochs": 3, **numbers},
    )
    order = [rows for epoch in range(3) for rows in batches(N, 4, 7, epoch)]
    for k in range(2):

        def lone(W, rows, t):
            _, gradient, squares = step(W, rows, t, per_sample)
            return gradient, squares

        projection, moment = naive.rmsprop(lone, W[k], order, float(rates[k, 0, 0]), **numbers)
        assert_close(found.state.W[k], projection, FIT.double)
        assert_close(found.state.V[k], moment, FIT.double)
    assert found.state.steps == 3 * PER_EPOCH
    assert found.state.epochs == 3


def test_the_two_second_moments_differ():
    step, W = problem()
    one, other = (
        minimise(lambda W, rows, t, flag=flag: step(W, rows, t, flag), start(W), **RUN, epochs=1)
        for flag in (False, True)
    )
    assert np.abs(one.state.W - other.state.W).max() > 1e-3


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_equal_their_formulas(name):
    for t, decay in itertools.product((0, 1, 10, 500), (0.0, 3e-4, 0.1)):
        assert SCHEDULES[name](t, decay) == pytest.approx(naive.SCHEDULES[name](t, decay), rel=1e-12)
        assert 0 < SCHEDULES[name](t, decay) <= 1
    assert set(naive.SCHEDULES) == set(SCHEDULES)


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

    expected = minimise(on_numpy, start(W), **RUN, epochs=4)
    found = minimise(on_torch, start(torch.from_numpy(W)), **RUN, epochs=4)
    assert_close(found.state.W.numpy(), expected.state.W, FIT.double)
    assert_close(found.objective, expected.objective, AFTER_FIT.double)


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(1, 80), st.integers(0, 2**31 - 2), st.integers(0, 5))
def test_every_row_at_most_once_and_the_short_batch_left_out(n_rows, batch_size, seed, epoch):
    found = list(batches(n_rows, batch_size, seed, epoch))
    size = min(batch_size, n_rows)
    assert len(found) == n_rows // size
    assert all(len(rows) == size for rows in found)
    visited = np.concatenate(found)
    assert len(set(visited.tolist())) == len(visited)
    assert set(visited.tolist()) <= set(range(n_rows))
    for rows, again in zip(found, batches(n_rows, batch_size, seed, epoch), strict=True):
        np.testing.assert_array_equal(rows, again)


def test_epochs_and_seeds_have_their_own_order():
    orders = {tuple(np.concatenate(list(batches(20, 5, seed, epoch)))) for seed in range(3) for epoch in range(3)}
    assert len(orders) == 9
    assert all(sorted(order) == list(range(20)) for order in orders)


def test_the_rows_left_out_change_from_epoch_to_epoch():
    visited = [set(np.concatenate(list(batches(23, 10, 0, epoch))).tolist()) for epoch in range(20)]
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
    whole = minimise(step, start(W), epochs=5, **numbers)
    first = minimise(step, start(W), epochs=2, **numbers)
    second = minimise(step, first.state, epochs=3, **numbers)
    np.testing.assert_array_equal(second.state.W, whole.state.W)
    np.testing.assert_array_equal(second.state.V, whole.state.V)
    np.testing.assert_array_equal(np.concatenate([first.objective, second.objective]), whole.objective)
    assert (second.state.steps, second.state.epochs) == (whole.state.steps, whole.state.epochs) == (5 * PER_EPOCH, 5)


def test_the_continuation_check_catches_a_lost_second_moment():
    step, W = problem()
    whole = minimise(step, start(W), epochs=5, **RUN)
    first = minimise(step, start(W), epochs=2, **RUN)
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
    np.testing.assert_array_equal(minimise(step, start(W), **RUN, epochs=2).state.W, recorded(epochs=2)[0].state.W)


def test_a_batch_larger_than_the_data_is_all_of_it():
    found, _, progress = recorded(batch_size=1000, epochs=3)
    assert found.state.steps == 3
    assert all(now.epoch_ends for now in progress)


def test_the_objective_falls():
    objective = recorded(epochs=40)[0].objective
    assert (objective[-PER_EPOCH:].mean(axis=0) < 0.9 * objective[:PER_EPOCH].mean(axis=0)).all()


def test_second_moments_are_named():
    assert solver.SECOND_MOMENTS == ("batch", "per_sample")
