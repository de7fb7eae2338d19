"""Test rows and unseen classes never influence a fit."""

import numpy as np
import pytest

from fits import DATA, KERNEL_METHODS, ROWS, TRAINING, UNSEEN, estimator, fitted
from zskl.methods import build


def check_no_leak(train):
    """W is the same bit for bit, whatever the test rows and their labels are; `train` maps (X, y) of all rows to W."""
    expected = train(DATA.X, DATA.y)
    rng = np.random.default_rng(1)
    test_rows = np.concatenate([DATA.parts["test_seen"], UNSEEN])
    for chosen in (test_rows[:1], test_rows[-1:], rng.choice(test_rows, 5, replace=False), test_rows):
        X, y = DATA.X.copy(), DATA.y.copy()
        X[chosen] = 1e3 * rng.standard_normal((len(chosen), X.shape[1]))
        np.testing.assert_array_equal(train(X, DATA.y), expected)
        y[chosen] = rng.permutation(np.roll(y, 25)[chosen])
        np.testing.assert_array_equal(train(X, y), expected)


@pytest.mark.parametrize("name", KERNEL_METHODS)
def test_test_rows_leave_the_projection_alone(name):
    model = build(name, {"random_state": 0, "epochs": 1})
    check_no_leak(lambda X, y: model.fit(X[ROWS], y[ROWS], DATA.signatures).projection_)


def test_monitored_test_rows_leave_the_projection_alone():
    model = estimator(epochs=1)
    check_no_leak(
        lambda X, y: (
            model.fit(X[ROWS], y[ROWS], DATA.signatures, monitor=(X[UNSEEN], y[UNSEEN]), monitor_every=2).projection_
        )
    )


def test_the_leak_check_catches_training_on_test_rows():
    rows = np.append(ROWS, DATA.parts["test_seen"])
    with pytest.raises(AssertionError):
        check_no_leak(lambda X, y: estimator(epochs=1).fit(X[rows], y[rows], DATA.signatures).projection_)


def test_the_leak_check_catches_a_mean_over_all_rows():
    with pytest.raises(AssertionError):
        check_no_leak(
            lambda X, y: (
                estimator(epochs=1, feature_scaling="l2")
                .fit(X[ROWS] - X.mean(axis=0), y[ROWS], DATA.signatures)
                .projection_
            )
        )


def test_signatures_of_unseen_classes_count_only_where_asked_for():
    changed = DATA.signatures.copy()
    changed.loc[DATA.unseen_classes] *= 7
    for mean, equal in (("seen", True), ("all", False)):
        model = estimator(signature_mean=mean)
        one = model.fit(*TRAINING).projection_
        other = model.fit(*TRAINING[:2], changed).projection_
        assert np.array_equal(one, other) == equal


def test_prediction_changes_nothing():
    model = fitted()
    before, W = dict(vars(model)), model.projection_.copy()
    model.predict(DATA.X[UNSEEN])
    model.compatibility(DATA.X[UNSEEN], DATA.signatures.loc[DATA.unseen_classes])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    np.testing.assert_array_equal(model.projection_, W)
