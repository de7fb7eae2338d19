"""Threads that share a step: the same step, whatever their number; and what becomes of errors and of other threads."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from batches import VARIANTS, lone, make_batch, settings_of
from tolerances import FIT, SUMS, assert_close
from zskl import ZeroShotKernelClassifier
from zskl.training import crew
from zskl.training.cpu_step import CpuStep


@pytest.fixture
def three(monkeypatch):
    """Three threads, however small the step and whatever the machine has."""
    monkeypatch.setattr(crew, "allowed", lambda libraries: 3)
    monkeypatch.setattr(crew, "MOST", 3)
    with crew.gathered(crew.WORTH) as workers:
        yield workers


def step_of(objective, batch, workers=None):
    (n, d), (C, p) = batch.X.shape, batch.Y.shape
    return CpuStep(objective, n, (d, p), C, batch.sizes, np.float64, workers)


@pytest.mark.parametrize(("kernel", "loss", "balance", "incoherence", "shape"), VARIANTS)
def test_a_shared_step_is_the_step_of_one_thread(kernel, loss, balance, incoherence, shape, three):
    batch = make_batch(shape)
    setting = settings_of(kernel, loss, balance, incoherence)[0]
    objective, rows = lone(setting), np.arange(len(batch.X))
    expected = objective.evaluate(batch.W[:1], *batch.data)
    for W in (batch.W[:1], 2 * batch.W[:1], batch.W[:1]):  # nothing of an earlier call must show
        found = (evaluate := step_of(objective, batch, three))(W, batch.X, rows, batch.Y, batch.codes)
    assert evaluate.crew.size == 3
    assert_close(found.objective, expected.objective, SUMS.double)
    assert_close(found.gradient, expected.gradient, SUMS.double)


@pytest.mark.parametrize("shape", ["C<p", "C>p"])
def test_a_shared_step_moves_W_and_V_as_one_thread_does(shape, three):
    batch = make_batch(shape)
    objective, rows = lone(settings_of("gaussian", "squared", "mean", True)[0]), np.arange(len(batch.X))
    ends = []
    for workers in (None, three):
        evaluate = step_of(objective, batch, workers)
        W, V, update = evaluate.place(batch.W[:1], np.zeros_like(batch.W[:1]), 0.9, 1e-2)
        for _ in range(3):
            gradient = evaluate(W, batch.X, rows, batch.Y, batch.codes).gradient
            update(gradient, None, 1e-2)
        ends.append((W, V))
    for mine, theirs in zip(*ends, strict=True):
        assert_close(mine, theirs, SUMS.double)
    assert np.abs(ends[0][0] - batch.W[:1]).min() > 1e-4  # every column was moved


@pytest.mark.parametrize("length", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("cost", [1.0, 1e6, 1e9])
def test_every_row_is_in_one_share(length, cost, three):
    shares = three.shares(length, cost)
    assert [k for share in shares for k in range(length)[share]] == list(range(length))
    assert len(shares) == 3


def test_this_thread_takes_more_while_others_wake_up(three):
    first, *others = (share.stop - share.start for share in three.shares(1000, 4 * crew.LATE))
    assert first > max(others)
    assert max(others) - min(others) <= 1
    first, *others = (share.stop - share.start for share in three.shares(1000, 1e4 * crew.LATE))
    assert abs(first - max(others)) <= 2


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_an_error_of_any_thread_is_raised_after_all_have_ended(failing, three):
    ended = []

    def work(k):
        if k == failing:
            raise ArithmeticError(f"thread {k}")
        ended.append(k)

    with pytest.raises(ArithmeticError, match=f"thread {failing}"):
        three.each(work)
    assert sorted(ended) == [k for k in range(3) if k != failing]


def test_small_steps_stay_in_one_thread():
    before = threading.active_count()
    with crew.gathered(crew.WORTH - 1) as workers:
        assert workers.size == 1
        names = []
        workers.each(lambda k: names.append((k, threading.current_thread())))
        assert names == [(0, threading.current_thread())]
        assert threading.active_count() == before


def test_products_use_one_thread_meanwhile_and_as_many_as_before_afterwards():
    def used():
        return {one["filepath"]: one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

    if not used():
        pytest.skip("no library of products here whose threads can be counted")
    threads = threading.active_count()
    with threadpool_limits(2):
        before = used()
        with crew.gathered(crew.WORTH) as workers:
            assert set(used().values()) == {1}
            assert workers.size == max(before.values())
            workers.each(lambda k: None)
        assert used() == before
        assert threading.active_count() == threads
    for count in (1, crew.MOST + 1):
        with threadpool_limits(count):
            if max((before := used()).values()) == count:  # a library may have been built for fewer
                with crew.gathered(crew.WORTH) as workers:
                    assert workers.size == 1
                    assert used() == before


def test_a_fit_by_three_threads_is_the_fit_of_one(monkeypatch):
    rng = np.random.default_rng(0)
    Y, y = rng.standard_normal((12, 30)), rng.integers(12, size=300)
    X = (Y[y] @ rng.standard_normal((30, 40)) + rng.standard_normal((300, 40))).astype(np.float32)
    projections, sizes = [], []
    gathered = crew.gathered
    for count in (1, 3):
        monkeypatch.setattr(crew, "allowed", lambda libraries, count=count: count)
        monkeypatch.setattr(crew, "WORTH", 0)
        monkeypatch.setattr(crew, "MOST", 3)
        model = ZeroShotKernelClassifier(epochs=2, random_state=0)
        with gathered(1) as workers:
            sizes.append(workers.size)
        projections.append(model.fit(X, y, dict(enumerate(Y))).projection_)
    assert sizes == [1, 3]
    assert_close(projections[1], projections[0], FIT.single)
