"""Classes with several signatures: one is drawn for each step, and the best one scores."""

import itertools

import numpy as np
import pandas as pd
import pytest

import naive
from fits import described_twice, estimator, slow_problem
from tolerances import SUMS, assert_close
from zskl import kernels
from zskl.estimators.estimator import Training
from zskl.estimators.stack import draw, step_function
from zskl.training.initialisation import polarised
from zskl.training.objective import BALANCES, Objective


def training_set(counts=(2, 3, 1), n=5, d=6, p=4):
    """Scaled float64 arrays as a method sees them, class k described by counts[k] rows."""
    rng = np.random.default_rng(0)
    owners = np.repeat(np.arange(len(counts)), counts)
    groups = [np.flatnonzero(owners == k) for k in range(len(counts))]
    rows = np.array([[*group, *[group[0]] * (max(counts) - len(group))] for group in groups])
    codes = np.arange(n) % len(counts)
    return Training(
        X=rng.standard_normal((n, d)) / 2,
        codes=codes,
        Y=rng.standard_normal((len(owners), p)) / 2,
        rows=rows,
        counts=np.array(counts),
        sizes=np.array([4, 2, 3]),
    )


def test_each_row_of_a_class_is_drawn_equally_often():
    training, times = training_set(), 6000
    drawn = np.array([draw(training, 5, t) for t in range(times)])  # (times, C)
    for k, count in enumerate(training.counts):
        found = np.bincount(drawn[:, k], minlength=len(training.Y))
        own = training.rows[k, :count]
        assert found.sum() == found[own].sum() == times, "a row of another class was drawn"
        spread = 5 * (times * (1 / count) * (1 - 1 / count)) ** 0.5
        assert np.abs(found[own] - times / count).max() <= spread
    together = np.bincount(3 * drawn[:, 0] + drawn[:, 1] - 2, minlength=6)  # rows 0–1 and 2–4: six pairs
    assert np.abs(together - times / 6).max() <= 5 * (times / 6) ** 0.5, "classes are not drawn independently"


def test_a_draw_is_a_function_of_seed_and_step():
    training = training_set((4, 4, 4))
    draws = {(seed, t): tuple(draw(training, seed, t)) for seed in range(3) for t in range(30)}
    assert all(tuple(draw(training, seed, t)) == rows for (seed, t), rows in draws.items())
    assert len({draws[0, t] for t in range(30)}) > 10
    assert [draws[0, t] for t in range(30)] != [draws[1, t] for t in range(30)]


def test_a_step_takes_the_drawn_rows():
    training = training_set()
    objective = Objective(kernels.Gaussian(1.1))
    step = step_function(objective, training, seed=5, per_sample=False)
    W, rows = np.random.default_rng(2).standard_normal((1, 6, 4)), np.array([0, 3])
    sizes = training.sizes.astype(np.float64)
    for t in range(10):
        Y = training.Y[draw(training, 5, t)]
        expected = objective.evaluate(W, training.X[rows], Y, training.codes[rows], sizes)
        np.testing.assert_array_equal(step(W, rows, t)[1], expected.gradient)


def mean_over_draws(setting, training, W, drawn_from):
    """The mean gradient over all combinations of one row per class."""
    objective = Objective(
        kernels.build(setting.kernel, setting.parameters),
        setting.loss,
        setting.balance,
        setting.incoherence,
        setting.repulsion,
    )
    gradients = []
    for combination in itertools.product(*drawn_from):
        Y = training.Y[list(combination)]
        gradients.append(objective.evaluate(W, training.X, Y, training.codes, training.sizes.astype(float)).gradient)
    return np.mean(gradients, axis=0)


@pytest.mark.parametrize("incoherence", [True, False])
@pytest.mark.parametrize("balance", BALANCES)
@pytest.mark.parametrize("loss", ["squared", "linear"])
@pytest.mark.parametrize("kernel", kernels.names())
def test_the_expected_gradient_is_that_of_the_full_sum(kernel, loss, balance, incoherence):
    training = training_set()
    setting = naive.Setting(kernel, naive.KERNELS[kernel].settings[0], loss, balance, incoherence, 0.7)
    W = 0.4 * np.random.default_rng(1).standard_normal((6, 4))
    own = [training.rows[k, :count] for k, count in enumerate(training.counts)]
    descriptions = [training.Y[rows] for rows in own]
    _, expected = naive.full_sum(setting, W, training.X, descriptions, training.codes, training.sizes)
    found = mean_over_draws(setting, training, W, own)
    assert_close(found, expected, SUMS.double)
    padded = mean_over_draws(setting, training, W, training.rows)  # a fault: the padding counts as rows
    assert np.abs(padded - expected).max() > 1e-4


def test_a_class_scores_the_best_of_its_rows():
    X, y, table = described_twice()
    table = pd.concat([table, table.iloc[:1] + 0.1]).sample(frac=1, random_state=0)  # 2 or 3 rows, not side by side
    model = estimator(feature_scaling="none", signature_scaling="none").fit(X, y, table)
    setting = naive.Setting("gaussian", {"sigma": 1.0})
    found = model.compatibility(X[:7])
    for column, label in enumerate(model.candidates_):
        rows = table.loc[[label]].to_numpy()
        each = naive.scores(setting, model.projection_, X[:7], rows)
        assert_close(found[:, column], each.max(axis=1), SUMS.single)
        with pytest.raises(AssertionError):  # and not of the worst
            assert_close(found[:, column], each.min(axis=1), SUMS.single)
    np.testing.assert_array_equal(model.predict(X[:7]), model.candidates_[found.argmax(axis=1)])


def test_a_fit_starts_from_the_mean_of_a_class_s_own_rows():
    """A class with fewer rows than others is padded with its first, which must not count twice."""
    X, y, Y = slow_problem()
    table = {0: Y[:1], 1: np.stack([Y[1], Y[1] + 1, Y[1] - 3]), 2: np.stack([Y[2], 5 * Y[2]])}
    model = estimator(learning_rate=1e-12, feature_scaling="none", signature_scaling="none").fit(X, y, table)
    means = np.stack([rows.mean(axis=0) for rows in table.values()])
    assert_close(model.projection_, polarised(X, means[y], 0), SUMS.single)
    padded = np.stack([table[0].mean(axis=0), means[1], (2 * table[2][0] + table[2][1]) / 3])
    with pytest.raises(AssertionError):
        assert_close(model.projection_, polarised(X, padded[y], 0), SUMS.single)
