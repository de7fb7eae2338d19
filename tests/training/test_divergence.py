"""A run that has left for infinity is told from one that learns, also where the loss itself stays bounded."""

import pickle
import re

import numpy as np
import pytest

from tolerances import FIT, assert_close
from zskl import DivergenceError, ZeroShotKernelClassifier, datasets
from zskl.estimators.kernel_classifier import fit_stack
from zskl.training.solver import LOOK_EVERY, minimise, start

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

    return step, start(np.ones((members, 2, 2)))


LONG = {"n_rows": 100, "batch_size": 1, "seed": 0, "learning_rate": 1e-3, "epochs": 2}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2e6, -2e6])
@pytest.mark.parametrize("at", [0, 1, LOOK_EVERY - 1, LOOK_EVERY, 37, 150, 199])
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

    found = minimise(step, start(np.ones((1, 2, 2))), **LONG)
    assert found.diverged.tolist() == [40]
    assert found.state.steps < 100


def test_a_run_stops_when_all_members_are_gone():
    step, state = failing({0: 10, 1: 50, 2: 37}, np.nan)
    found = minimise(step, state, **LONG)
    assert found.diverged.tolist() == [10, 50, 37]
    assert 50 < found.state.steps <= 50 + LOOK_EVERY
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

    assert minimise(step, start(np.ones((2, 2, 2))), **LONG).diverged.tolist() == [-1, 199]


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
