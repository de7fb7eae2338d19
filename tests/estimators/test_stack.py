"""Stacks: many settings trained in one run, each member equal to its lone fit."""

import numpy as np
import pytest
from sklearn.base import clone

from fits import STEPS_40, TRAINING, check_exchanged, check_members, described_twice, estimator, fitted
from tolerances import FIT, assert_close, distance, shaken
from zskl import kernels
from zskl.estimators.kernel_classifier import fit_stack
from zskl.estimators.stack import STACKABLE
from zskl.training.objective import BALANCES, LOSSES
from zskl.training.solver import SCHEDULES, SECOND_MOMENTS

CHANGES = {
    "sigma": 0.6,
    "bias": 1.5,
    "repulsion": 2.0,
    "temperature": 0.2,
    "learning_rate": 1e-3,
    "incoherence_weight": 0.5,
}


def test_a_fit_is_a_stack_of_one():
    (member,) = fit_stack(estimator(), [{}], *TRAINING)
    np.testing.assert_array_equal(member.projection_, fitted().projection_)
    assert member.diverged_ is None


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", kernels.names())
def test_a_member_equals_its_lone_fit(kernel, loss):
    assert set(CHANGES) == set(STACKABLE)
    model = estimator(kernel, loss=loss, **STEPS_40)
    settings = [{}] + [{name: value} for name, value in CHANGES.items()] + [CHANGES]
    members = fit_stack(model, settings, *TRAINING)
    moved = fit_stack(model, settings, shaken(TRAINING[0]), *TRAINING[1:])
    lone = [clone(model).set_params(**setting).fit(*TRAINING) for setting in settings]
    assert all(len(member.history_.objective) == 40 for member in members)
    check_members(members, lone, moved)
    assert not hasattr(model, "projection_"), "the estimator handed in was fitted"
    check_exchanged(members, lone, moved)


@pytest.mark.parametrize("balance", BALANCES)
@pytest.mark.parametrize("second_moment", SECOND_MOMENTS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_stacks_of_every_solver_setting(schedule, second_moment, balance):
    model = estimator(schedule=schedule, second_moment=second_moment, balance=balance, decay=0.01)
    settings = [{"sigma": 0.6, "repulsion": 0.5}, {"sigma": 1.4, "learning_rate": 1e-3}]
    members = fit_stack(model, settings, *TRAINING)
    lone = [clone(model).set_params(**setting).fit(*TRAINING) for setting in settings]
    check_members(members, lone)
    check_exchanged(members, lone)


def test_settings_that_cannot_stack_are_split_and_come_back_in_order():
    settings = [
        {"sigma": 0.6},
        {"kernel": "cauchy"},
        {"sigma": 1.4},
        {"loss": "softmax", "temperature": 0.2},
        {"kernel": "polynomial", "degree": 2},
        {"epochs": 2},
        {"kernel": "polynomial", "degree": 3, "bias": 0.5},
        {"kernel": "cauchy", "sigma": 0.6},
        {"random_state": 5},
        {"incoherence": False},
        {"kernel": kernels.Gaussian(0.6)},
        {"kernel": kernels.Gaussian(1.4)},
    ]
    runs = []
    members = fit_stack(
        estimator(), settings, *TRAINING, callback=lambda now: runs.append((now.step, len(now.objective)))
    )
    lone = [estimator().set_params(**setting).fit(*TRAINING) for setting in settings]
    check_members(members, lone)
    with pytest.raises(AssertionError):
        check_members([members[2], *members[1:]], lone)
    for member, setting in zip(members, settings, strict=True):
        assert {name: member.get_params()[name] for name in setting} == setting
    assert sorted(size for step, size in runs if step == 1) == [1] * 8 + [2] * 2  # two pairs could train together
    assert_close(members[0].projection_, members[10].projection_, FIT.single)


def test_no_settings_give_no_members():
    assert fit_stack(estimator(), [], *TRAINING) == []


def test_a_bad_setting_of_any_member_is_refused():
    with pytest.raises(ValueError, match=r"sigma=-1\.0: expected a finite number > 0"):
        fit_stack(estimator(), [{}, {"sigma": -1.0}], *TRAINING)


def test_members_share_nothing_that_they_could_change():
    one, other = fit_stack(estimator(), [{}, {}], *TRAINING)
    one.projection_[:] = 0
    one.calibration_ = 3.0
    assert distance(one.projection_, other.projection_) == 1
    assert_close(other.projection_, fitted().projection_, FIT.single)
    assert other.calibration_ == 0


def test_a_stack_with_several_signatures_equals_lone_fits():
    data = described_twice()
    settings = [{"sigma": 0.6}, {"sigma": 1.4}]
    members = fit_stack(estimator(), settings, *data)
    lone = [estimator(**setting).fit(*data) for setting in settings]
    check_members(members, lone)
    check_exchanged(members, lone)
