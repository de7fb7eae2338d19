"""The bootstrap against loops, against all draws of a tiny case, and against the known variance."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from tolerances import SUMS, assert_close
from zskl.metrics import bootstrap
from zskl.metrics.seen_unseen import seen_unseen_curve

SIZES = np.array([3, 1, 4, 2])


def _slow_means(outcomes, sizes, times):
    """One draw by loops: `times` says how often it takes each row."""
    total, row = 0.0, 0
    for size in sizes:
        for _ in range(size):
            total += times[row] * outcomes[row] / size / len(sizes)
            row += 1
    return total


def test_means_of_draws_are_those_of_a_loop_over_the_rows_drawn():
    rng = np.random.default_rng(0)
    outcomes = rng.random((10, 2))
    found = bootstrap.draw_means(outcomes, SIZES, seed=3, draws=20)
    (times,) = bootstrap.counts(SIZES, 3, 20)
    slow = [[_slow_means(outcomes[:, k], SIZES, times[draw]) for k in range(2)] for draw in range(20)]
    assert_close(found, np.array(slow), SUMS.single)


def test_a_draw_takes_as_many_classes_as_there_are_and_of_each_as_many_rows_as_it_has():
    (times,) = bootstrap.counts(SIZES, 0, 500)
    by_class = np.add.reduceat(times, [0, 3, 4, 8], axis=1)
    often = by_class / SIZES  # how often each class was drawn
    assert np.array_equal(often, often.round())
    assert np.all(often.sum(axis=1) == len(SIZES))
    assert often.min() == 0
    assert often.max() >= 3


def test_draws_do_not_depend_on_what_is_averaged_or_how_they_are_cut_into_blocks(monkeypatch):
    one = bootstrap.draw_means(np.eye(10), SIZES, seed=1, draws=30)
    assert np.array_equal(one[:, :3], bootstrap.draw_means(np.eye(10)[:, :3], SIZES, seed=1, draws=30))
    assert not np.array_equal(one, bootstrap.draw_means(np.eye(10), SIZES, seed=2, draws=30))
    monkeypatch.setattr(bootstrap, "BLOCK", 100)
    assert [len(block) for block in bootstrap.counts(SIZES, 1, 25)] == [10, 10, 5]


def test_frequencies_are_those_of_all_draws_of_a_tiny_case():
    """Classes of 2 and 1 rows, right: [1, 0] and [0]. All choices of classes, then of rows, are equally likely."""
    right, expected = [[1, 0], [0]], Counter()
    for classes in product(range(2), repeat=2):
        picks = [list(product(right[c], repeat=len(right[c]))) for c in classes]
        for rows in product(*picks):
            share = 1 / 4 / np.prod([len(one) for one in picks])
            expected[float(np.mean([np.mean(one) for one in rows]))] += share
    found = bootstrap.draw_means([[1], [0], [0]], [2, 1])[:, 0]
    assert set(found.tolist()) == set(expected)
    for value, share in expected.items():
        assert abs(np.mean(found == value) - share) < 4 * np.sqrt(share / len(found)), value


def _twelve():
    """Which rows of twelve classes are right, their accuracies, and the variance of the mean."""
    rng = np.random.default_rng(0)
    right = rng.random(96) < np.repeat(rng.random(12), 8)
    p = right.reshape(12, 8).mean(axis=1)
    return right, p, (p.var() + np.mean(p * (1 - p) / 8)) / 12


def test_the_variance_is_that_between_classes_and_within_them():
    sizes = np.full(12, 8)
    right, p, expected = _twelve()
    found = bootstrap.draw_means(right[:, None], sizes)[:, 0]
    assert found.var() == pytest.approx(expected, rel=0.06)  # 10 000 draws: a standard error of 0.014
    assert found.mean() == pytest.approx(p.mean(), abs=4 * np.sqrt(expected / len(found)))
    low, high = bootstrap.interval(found)
    assert low < p.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(expected), rel=0.1)


def test_draws_of_rows_alone_would_be_found(monkeypatch):
    """The planted fault: every draw takes each class once."""

    class Faulty:
        def __init__(self, *seed):
            self.rng = np.random.default_rng(seed)

        def integers(self, high, size, dtype=np.int64):
            every = np.arange(high) if isinstance(size, tuple) else self.rng.integers(high, size=size, dtype=dtype)
            return np.broadcast_to(every, size)

    monkeypatch.setattr(bootstrap, "generator", Faulty)
    right, _, expected = _twelve()
    assert bootstrap.draw_means(right[:, None], np.full(12, 8)).var() < expected / 2


def test_an_area_of_levels_is_that_of_the_curve():
    rng = np.random.default_rng(0)
    candidates, is_seen = np.arange(4), np.array([True, True, False, False])
    y, scores = np.repeat(candidates, 5), rng.random((20, 4))
    order = np.argsort(gap := scores[:, :2].max(axis=1) - scores[:, 2:].max(axis=1))
    side = np.where(is_seen[y][:, None], scores[:, :2], scores[:, 2:])
    right = np.argmax(side, axis=1) == y % 2
    lost, gained = (right & is_seen[y])[order] / 10, (right & ~is_seen[y])[order] / 10
    assert len(np.unique(gap)) == 20
    assert_close(bootstrap.area(lost, gained), seen_unseen_curve(scores, y, candidates, is_seen).area, SUMS.double)


def test_rows_without_a_class_are_refused():
    with pytest.raises(ValueError, match="shape \\(3, 1\\) for classes of 4 rows"):
        bootstrap.draw_means(np.zeros((3, 1)), [2, 2])
    with pytest.raises(ValueError, match="at least one row of each class"):
        bootstrap.draw_means(np.zeros((2, 1)), [2, 0])


@pytest.mark.parametrize(("classes", "share"), [(3, 25), (5, 16), (10, 10), (50, 6)])
def test_differences_that_are_nothing_look_clear_as_often_as_the_docs_say(classes, share):
    """docs/uncertainty.md; the noise of rows left out, since every class has one."""
    nothing = np.random.default_rng(classes).normal(size=(classes, 2000))
    low, high = np.percentile(bootstrap.draw_means(nothing, [1] * classes, draws=2000), [2.5, 97.5], axis=0)
    assert 100 * np.mean((low > 0) | (high < 0)) == pytest.approx(share, abs=2)
