"""Fits that diverge: what is marked, what is said, what is left as it was."""

import numpy as np
import pytest
from sklearn.base import clone

from fits import DATA, STEPS_40, TRAINING, UNSEEN, WILD, check_exchanged, check_members, estimator, fitted
from zskl import DivergenceError
from zskl.estimators.kernel_classifier import fit_stack


def test_a_diverging_member_is_marked_and_the_others_go_on():
    settings = [{"learning_rate": rate} for rate in (3e-4, 50.0, 1e-3)]
    model = estimator(**WILD, **STEPS_40)
    members = fit_stack(model, settings, *TRAINING)
    assert [member.diverged_ for member in members] == [None, members[1].diverged_, None]
    assert 0 <= members[1].diverged_ < 10
    assert all(len(member.history_.objective) == 40 for member in members)
    lone = [clone(model).set_params(**setting).fit(*TRAINING) for setting in settings[::2]]
    check_members(members[::2], lone)
    check_exchanged(members[::2], lone)
    with pytest.raises(DivergenceError) as caught:
        clone(model).set_params(**settings[1]).fit(*TRAINING)
    assert caught.value.step == members[1].diverged_


def test_a_stack_whose_members_all_diverge_ends_early():
    members = fit_stack(estimator(**WILD, **STEPS_40), [{"learning_rate": 50.0}, {"learning_rate": 90.0}], *TRAINING)
    assert all(member.diverged_ is not None for member in members)
    assert len(members[0].history_.objective) < 40


def test_a_lone_fit_that_diverges_names_step_and_remedy():
    with pytest.raises(DivergenceError, match=r"at step \d+.*lower learning_rate \(now 50\), lower degree") as caught:
        fitted(**WILD, learning_rate=50.0)
    assert f"step {caught.value.step}:" in str(caught.value)


def test_a_fit_that_diverges_leaves_the_fit_before_it():
    model = fitted(**WILD)
    before = dict(vars(model), learning_rate=50.0)
    scores, W = model.compatibility(DATA.X[UNSEEN]), model.projection_.copy()
    with pytest.raises(DivergenceError):
        model.set_params(learning_rate=50.0).fit(*TRAINING)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] or vars(model)[name] == before[name] for name in before)
    np.testing.assert_array_equal(model.projection_, W)
    np.testing.assert_array_equal(model.compatibility(DATA.X[UNSEEN]), scores)


def test_a_fit_that_diverges_before_the_first_look_of_a_monitor_says_so():
    with pytest.raises(DivergenceError, match="learning_rate"):
        estimator(**WILD, learning_rate=50.0, epochs=20).fit(*TRAINING, monitor=(DATA.X[UNSEEN], DATA.y[UNSEEN]))


def test_a_first_fit_that_diverges_leaves_no_trace():
    model = estimator(**WILD, learning_rate=50.0)
    before = dict(vars(model))
    with pytest.raises(DivergenceError):
        model.fit(*TRAINING)
    assert vars(model) == before
