"""The seen–unseen curve and its margins against argmax: problems solved by hand, ties, planted faults."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from slow_accuracy import random_scores, slow_accuracies, slow_point
from zskl import metrics
from zskl.metrics.seen_unseen import curves, margins


def slow_points(scores, y_true, candidates, seen):
    """One point per interval between neighbouring gaps of all rows, from −∞ to +∞, repeats left out."""
    seen = np.asarray(seen)
    gaps = np.unique([max(row[seen]) - max(row[~seen]) for row in np.asarray(scores, dtype=float)])
    constants = [gaps[0] - 1, *(gaps[1:] + gaps[:-1]) / 2, gaps[-1] + 1]
    points = [slow_point(scores, y_true, candidates, seen, constant) for constant in constants]
    return [p for k, p in enumerate(points) if k == 0 or not np.allclose(p, points[k - 1], rtol=1e-12, atol=0)]


def slow_area(points):
    return sum((u1 - u0) * (s0 + s1) / 2 for (s0, u0), (s1, u1) in pairwise(points))


@st.composite
def problems(draw):
    """Scores in eighths: sums are exact, ties are frequent. Every side has a column and a row."""
    c = draw(st.integers(2, 5))
    split = draw(st.integers(1, c - 1))
    seen = np.array(draw(st.permutations([True] * split + [False] * (c - split))))
    own = draw(st.lists(st.integers(0, c - 1), max_size=12))
    own += [int(np.flatnonzero(seen)[0]), int(np.flatnonzero(~seen)[0])]
    scores = draw(hnp.arrays(np.float64, (len(own), c), elements=st.integers(-8, 8).map(lambda k: k / 8)))
    candidates = np.array([f"class {j}" for j in range(c)])
    return scores, candidates[own], candidates, seen


def small_problem():
    """Two rows of a (seen) with gaps 2 and 4, two of b (unseen) with gaps 1 and 3, all right on their side."""
    scores = np.array([[3.0, 1.0], [5.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    return scores, np.array(["a", "a", "b", "b"]), np.array(["a", "b"]), np.array([True, False])


# the seen–unseen curve


def test_curve_solved_by_hand():
    curve = metrics.seen_unseen_curve(*small_problem())
    np.testing.assert_allclose(curve.seen, [1, 1, 0.5, 0.5, 0], rtol=1e-12)
    np.testing.assert_allclose(curve.unseen, [0, 0.5, 0.5, 1, 1], rtol=1e-12)
    np.testing.assert_allclose(curve.calibration[1:-1], [1.5, 2.5, 3.5], rtol=1e-12)
    np.testing.assert_allclose(curve.area, 0.75, rtol=1e-12)
    constant, harmonic = curve.best()
    assert constant == 1.5  # 3.5 is as good: the smaller correction wins
    np.testing.assert_allclose(harmonic, 2 / 3, rtol=1e-12)


@settings(max_examples=100)
@given(problems())
def test_curve_equals_brute_force(problem):
    curve = metrics.seen_unseen_curve(*problem)
    points = slow_points(*problem)
    found = np.column_stack([curve.seen, curve.unseen])
    changes = [k for k in range(len(found)) if k == 0 or not np.allclose(found[k], found[k - 1], rtol=1e-12, atol=0)]
    np.testing.assert_allclose(found[changes], points, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(curve.area, slow_area(points), rtol=1e-12, atol=1e-15)
    for constant, seen, unseen in zip(curve.calibration, curve.seen, curve.unseen, strict=True):
        np.testing.assert_allclose((seen, unseen), slow_point(*problem, constant), rtol=1e-12, atol=1e-15)


@settings(max_examples=50)
@given(problems())
def test_best_is_the_highest_and_holds_under_rounding(problem):
    constant, harmonic = metrics.seen_unseen_curve(*problem).best()
    expected = max(metrics.harmonic_mean(*point) for point in slow_points(*problem))
    np.testing.assert_allclose(harmonic, expected, rtol=1e-12)
    assert np.isfinite(constant)
    for nudged in (constant - 1e-9, constant + 1e-9):
        again = metrics.harmonic_mean(*slow_point(*problem, nudged))
        np.testing.assert_allclose(again, harmonic, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_curve_of_many_rows_at_any_scale(dtype, scale):
    n, c = 300, 7
    rng = np.random.default_rng(0)
    own = rng.integers(0, c, n)
    scores = (scale * (rng.standard_normal((n, c)) + 1.5 * np.eye(c)[own])).astype(dtype)
    seen = np.arange(c) < 4
    curve = metrics.seen_unseen_curve(scores, own, np.arange(c), seen)
    assert curve.seen[0] > 0.3
    assert curve.unseen[0] == curve.seen[-1] == 0
    assert np.all(np.diff(curve.seen) <= 0)
    assert np.all(np.diff(curve.unseen) >= 0)
    for k in range(0, len(curve.calibration), 10):
        point = slow_point(scores.astype(np.float64), own.tolist(), list(range(c)), seen, curve.calibration[k])
        np.testing.assert_allclose((curve.seen[k], curve.unseen[k]), point, rtol=1e-12, atol=1e-15)


def test_gaps_equal_up_to_rounding_are_one():
    scores = np.array([[0.9, 0.3], [0.7, 0.1]])  # 0.9 − 0.3 > 0.7 − 0.1 in float64, by one bit
    assert 0.9 - 0.3 != 0.7 - 0.1
    curve = metrics.seen_unseen_curve(scores, ["a", "b"], ["a", "b"], [True, False])
    np.testing.assert_allclose(curve.seen, [1, 0], rtol=0)
    np.testing.assert_allclose(curve.area, 0.5, rtol=1e-12)


def test_a_model_that_is_never_right_has_a_flat_curve():
    curve = metrics.seen_unseen_curve(np.zeros((2, 4)), [1, 3], [0, 1, 2, 3], [True, True, False, False])
    assert curve.area == 0
    assert curve.best()[1] == 0
    assert np.all(np.isfinite(curve.calibration))


def test_a_perfect_model_fills_the_square():
    own = np.arange(6)
    curve = metrics.seen_unseen_curve(9 * np.eye(6), own, own, own < 3)
    assert curve.area == 1.0
    assert curve.best()[1] == 1.0
    assert abs(curve.best()[0]) < 9


def test_planted_fault_forgetting_the_class_sizes_is_caught():
    scores, _, candidates, seen = small_problem()
    scores = np.vstack([scores, [[9.0, 1.0]] * 4])
    true = np.array(["a", "a", "b", "b", "a", "a", "a", "a"])
    curve = metrics.seen_unseen_curve(scores, true, candidates, seen)
    by_rows = [np.mean((scores[:, 0] - constant > 1) & (true == "a")) for constant in curve.calibration]
    by_class = [slow_point(scores, true, candidates, seen, constant)[0] for constant in curve.calibration]
    np.testing.assert_allclose(curve.seen, by_class, rtol=1e-12)
    assert not np.allclose(curve.seen, by_rows, rtol=1e-2)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y_true": ["a", "a", "b", "z"]}, "1 classes that are no candidates: 'z'"),
        ({"y_true": ["a"] * 4}, "1 candidates and 0 rows are of unseen"),
        ({"y_true": ["b"] * 4}, "1 candidates and 0 rows are of seen"),
        ({"seen": [True, True]}, "0 candidates and 0 rows are of unseen"),
        ({"seen": [False, False]}, "0 candidates and 0 rows are of seen"),
        ({"seen": [1, 0]}, "seen holds int64"),
        ({"seen": [True]}, "expected one row per label and one column"),
        ({"candidates": ["a", "b", "c"]}, r"scores have shape \(4, 2\)"),
        ({"candidates": ["a", "a"]}, "2 candidates name 1 classes"),
        ({"scores": np.full((4, 2), np.nan)}, "8 scores are NaN"),
        ({"scores": np.zeros(4)}, r"scores have shape \(4,\)"),
    ],
)
def test_curve_refuses(change, sentence):
    arguments = dict(zip(("scores", "y_true", "candidates", "seen"), small_problem(), strict=True))
    with pytest.raises(ValueError, match=sentence):
        metrics.seen_unseen_curve(**(arguments | change))


def test_curve_object_is_checked_and_frozen():
    with pytest.raises(ValueError, match=r"\(2,\), \(1,\), \(2,\)"):
        metrics.Curve([0, 1], [1], [0, 1])
    with pytest.raises(ValueError, match="at least 1"):
        metrics.Curve([], [], [])
    with pytest.raises(ValueError, match="must rise"):
        metrics.Curve([1, 0], [0, 1], [1, 0])
    mine = np.array([0.0, 1.0])
    curve = metrics.Curve(mine, [1, 0], [0, 1])
    with pytest.raises(ValueError, match="read-only"):
        curve.seen[0] = 2
    mine[0] = -1  # the caller's array stays the caller's


# margins


@pytest.mark.parametrize("seed", range(5))
def test_margins_judge_any_constant_as_argmax_does(seed):
    case = random_scores(seed)
    m = margins(*case)
    for constant in (-3.03, -0.51, 0.013, 0.27, 1.11, 4.43):  # between scores: no ties of seen and unseen
        np.testing.assert_allclose(m.at(constant), slow_accuracies(*case, constant), atol=1e-12)
    scores, own, is_seen = case
    rows = ~is_seen[own]
    alone = np.flatnonzero(~is_seen)[np.argmax(scores[rows][:, ~is_seen], axis=1)]
    assert m.zsl == pytest.approx(metrics.mean_per_class_accuracy(own[rows], alone))


def test_a_row_whose_gap_is_the_constant_still_counts_as_seen():
    scores, is_seen = np.array([[0.75, 0.25], [0.75, 0.25]]), np.array([True, False])  # both gaps are 0.5, exactly
    found = margins(scores, np.array([0, 1]), is_seen)
    assert found.at(0.5) == slow_accuracies(scores, np.array([0, 1]), is_seen, 0.5) == (1.0, 0.0)
    assert found.at(np.nextafter(0.5, 1)) == (0.0, 1.0)
    assert found.at(np.nextafter(0.5, 0)) == (1.0, 0.0)


@settings(max_examples=50)
@given(problems())
def test_no_point_of_a_curve_lies_on_a_tie(problem):
    scores, true, candidates, seen = problem
    gaps = scores[:, seen].max(axis=1) - scores[:, ~seen].max(axis=1)
    curve = metrics.seen_unseen_curve(*problem)
    own = np.array([candidates.tolist().index(label) for label in true])
    found = margins(scores, own, seen)
    for constant, kept, gained in zip(curve.calibration, curve.seen, curve.unseen, strict=True):
        assert constant not in gaps[np.isin(gaps, found.gap)]
        np.testing.assert_allclose(found.at(constant), (kept, gained), rtol=1e-12, atol=1e-15)


def test_several_parts_share_their_constants():
    cases = [random_scores(seed, n=40) for seed in range(3)]
    constants, kept, gained = curves([margins(*case) for case in cases])
    assert kept.shape == gained.shape == (3, len(constants))
    assert np.all(np.diff(constants) > 0)
    for k in range(0, len(constants), 7):
        for part, case in enumerate(cases):
            point = kept[part, k], gained[part, k]
            np.testing.assert_allclose(point, slow_accuracies(*case, constants[k]), rtol=1e-12, atol=1e-15)


def test_gaps_of_two_parts_that_are_equal_up_to_rounding_are_one():
    one = margins(np.array([[0.9, 0.3]]), np.array([0]), np.array([True, False]))
    two = margins(np.array([[0.7, 0.1]]), np.array([0]), np.array([True, False]))
    assert one.gap != two.gap
    assert len(curves([one, two])[0]) == 2  # before both gaps and after both


def test_without_a_point_that_gets_both_sides_right_the_constant_is_zero():
    curve = metrics.seen_unseen_curve(np.array([[3.0, 2.0], [3.0, 2.0]]), [0, 1], [0, 1], [True, False])
    assert curve.best() == (0.0, 0.0)
