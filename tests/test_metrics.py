"""Every metric against a slow, obvious twin, on problems solved by hand, and with faults planted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from textbook import random_scores, slow_accuracies, slow_mean, slow_per_class, slow_point
from zskl import metrics
from zskl.metrics import (
    Sides,
    best_constant,
    best_scores,
    gaps_from_best,
    row_gaps,
    row_margins,
    trace_curves,
)

# Metrics

# accuracy per class


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1))
def test_accuracies_equal_the_loop(pairs):
    true, predicted = map(list, zip(*pairs, strict=True))
    found = metrics.per_class_accuracy(true, predicted)
    assert found == pytest.approx(slow_per_class(true, predicted), rel=1e-12)
    assert list(found) == sorted(found)
    np.testing.assert_allclose(metrics.mean_per_class_accuracy(true, predicted), slow_mean(true, predicted), rtol=1e-12)


def test_a_class_counts_once_whatever_its_size():
    true, predicted = ["big"] * 9 + ["small"], ["big"] * 10
    assert metrics.per_class_accuracy(true, predicted) == {"big": 1.0, "small": 0.0}
    assert metrics.mean_per_class_accuracy(true, predicted) == 0.5
    assert np.mean(np.array(true) == np.array(predicted)) == 0.9  # the fault this would catch: a mean over rows


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.str_, object])
def test_labels_are_plain_python_values(dtype):
    labels = np.array([1, 2, 2]).astype(dtype)
    found = metrics.per_class_accuracy(labels, labels)
    assert {type(label) for label in found} == {str if dtype is np.str_ else int}
    assert all(type(value) is float for value in found.values())


def test_strings_and_objects_compare():
    assert metrics.mean_per_class_accuracy(np.array(["a", "b"], dtype=object), np.array(["a", "c"])) == 0.5


@pytest.mark.parametrize(
    ("true", "predicted", "sentence"),
    [
        ([1, 2, 3], [1, 2], "3 labels and y_pred has 2"),
        ([], [], "0 labels and y_pred has 0"),
        ([[1]], [1], r"shape \(1, 1\) and y_pred \(1,\)"),
        ([1, 2], ["1", "2"], "labels like 1 and y_pred like '1'"),
    ],
)
def test_labels_that_do_not_pair_are_refused(true, predicted, sentence):
    for function in (metrics.per_class_accuracy, metrics.mean_per_class_accuracy):
        with pytest.raises(ValueError, match=sentence):
            function(true, predicted)


# harmonic mean


@settings(max_examples=40)
@given(st.floats(1e-6, 1), st.floats(1e-6, 1))
def test_harmonic_mean_is_the_inverse_of_the_mean_inverse(seen, unseen):
    expected = 1 / ((1 / seen + 1 / unseen) / 2)
    np.testing.assert_allclose(metrics.harmonic_mean(seen, unseen), expected, rtol=1e-12)


def test_harmonic_mean_of_nothing_is_zero():
    assert metrics.harmonic_mean(0, 0) == metrics.harmonic_mean(0, 1) == metrics.harmonic_mean(1, 0) == 0


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_harmonic_mean_refuses_what_is_no_accuracy(value):
    with pytest.raises(ValueError, match=f"unseen is {value}"):
        metrics.harmonic_mean(0.5, value)
    with pytest.raises(ValueError, match=f"^seen is {value}"):
        metrics.harmonic_mean(value, 0.5)


# kernels and projections


matrices = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    elements=st.integers(-10_000, 10_000).map(lambda k: k / 1000),
)


@settings(max_examples=40)
@given(matrices, st.randoms(use_true_random=False))
def test_alignment_equals_the_loop(K, random):
    L = np.array([[random.uniform(-1, 1) for _ in row] for row in K])
    expected = sum(K[i, j] * L[i, j] for i in range(K.shape[0]) for j in range(K.shape[1]))
    np.testing.assert_allclose(metrics.alignment(K, L), expected, rtol=1e-10, atol=1e-10)


def test_alignment_adds_up_in_float64():
    K = np.full((1000, 1000), 0.1, dtype=np.float32)
    expected = 1e6 * float(np.float32(0.1)) ** 2
    np.testing.assert_allclose(metrics.alignment(K, K), expected, rtol=1e-12)


@settings(max_examples=40)
@given(matrices, st.floats(0, 5), st.randoms(use_true_random=False))
def test_polarisation_equals_the_loop(K, repulsion, random):
    rows, columns = ([random.choice("abc") for _ in range(size)] for size in K.shape)
    expected = sum(
        K[i, j] if rows[i] == columns[j] else -repulsion * K[i, j] for i in range(K.shape[0]) for j in range(K.shape[1])
    )
    np.testing.assert_allclose(metrics.polarisation(K, rows, columns, repulsion), expected, rtol=1e-10, atol=1e-9)


def test_polarisation_by_hand():
    K = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert metrics.polarisation(K, [0, 1]) == 1 + 4 - 2 - 3
    assert metrics.polarisation(K, [0, 1], repulsion=0.5) == 2.5
    assert metrics.polarisation(K, [0, 1], [0, 0], repulsion=2.0) == 1 + 2 - 2 * (3 + 4)
    assert metrics.polarisation(K[:1], ["a"], ["a", "b"]) == -1


@settings(max_examples=40)
@given(matrices)
def test_incoherence_equals_the_loop(W):
    columns = [w / np.sqrt(w @ w) if np.sqrt(w @ w) > 0 else w for w in W.T]
    expected = sum((a @ b - (i == j)) ** 2 for i, a in enumerate(columns) for j, b in enumerate(columns))
    np.testing.assert_allclose(metrics.incoherence(W), expected, rtol=1e-10, atol=1e-12)


def test_incoherence_by_hand():
    assert metrics.incoherence(np.diag([3.0, -7.0])) == 0
    np.testing.assert_allclose(metrics.incoherence(np.ones((4, 3))), 6, rtol=1e-12)
    assert metrics.incoherence(np.array([[1.0, 0.0], [0.0, 0.0]])) == 1  # a zero column has no length of 1
    W = np.random.default_rng(0).standard_normal((50, 8)).astype(np.float32)
    np.testing.assert_allclose(metrics.incoherence(1e-3 * W), metrics.incoherence(W), rtol=1e-6)
    unscaled = np.sum((W.T @ W - np.eye(8)) ** 2)  # the fault this would catch: columns left as they are
    assert not np.isclose(metrics.incoherence(W), unscaled, rtol=0.1)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 3\) and L \(3, 2\)"):
        metrics.alignment(np.ones((2, 3)), np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"\(3,\) and L \(3,\)"):
        metrics.alignment(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match=r"K has shape \(2, 3\), the row labels \(2,\)"):
        metrics.polarisation(np.ones((2, 3)), [0, 1])
    with pytest.raises(ValueError, match=r"W has shape \(3,\)"):
        metrics.incoherence(np.ones(3))


# Probabilities


def test_expected_calibration_error_against_a_loop():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    right = rng.random(300) < p**2
    total = 0.0
    for b in range(15):
        inside = [i for i in range(300) if b / 15 <= p[i] < (b + 1) / 15]
        if inside:
            total += len(inside) / 300 * abs(np.mean(right[inside]) - np.mean(p[inside]))
    assert metrics.expected_calibration_error(p, right) == pytest.approx(total)
    assert metrics.expected_calibration_error([1.0, 1.0], [True, True]) == 0
    assert metrics.expected_calibration_error([1.0, 1.0], [False, False]) == 1


def test_coverage_and_accuracy_against_a_loop():
    rng = np.random.default_rng(1)
    p = np.round(rng.random(100), 1)
    right = rng.random(100) < p
    thresholds = [0.0, 0.3, 0.7, 1.0]
    shares, accuracies = metrics.coverage_accuracy(p, right, thresholds)
    for t, share, accuracy in zip(thresholds, shares, accuracies, strict=True):
        kept = p >= t
        assert share == pytest.approx(kept.mean())
        assert accuracy == pytest.approx(right[kept].mean())
    assert np.isnan(metrics.coverage_accuracy([0.5], [True], [0.9])[1][0])


def test_wrong_probabilities_are_refused():
    with pytest.raises(ValueError, match="expected probabilities"):
        metrics.expected_calibration_error([1.5], [True])
    with pytest.raises(ValueError, match="two vectors of one length"):
        metrics.expected_calibration_error([0.5], [True, False])
    with pytest.raises(ValueError, match="expected an integer"):
        metrics.expected_calibration_error([0.5], [True], bins=0)


# Row gaps
# What is kept of rows of scores: the same from tensors as from arrays, and as a slow loop finds it.

SEEN = np.array([True, False, True, False, False])
OWN = np.array([0, 1, 2, 3, 4, 0, 1, 2])


def drawn():
    scores = np.random.default_rng(0).integers(0, 4, size=(8, 5)).astype(np.float32)  # with equals
    scores[5, 3], scores[6, 0], scores[7, 4] = np.nan, np.inf, -np.inf
    return scores


def slow(scores):
    """(best seen, best unseen, whether the own side is right, whether all are finite) of each row."""
    found = []
    for row, own in zip(scores, OWN, strict=True):
        sides = [[c for c in range(5) if SEEN[c] == side] for side in (True, False)]
        winners = [max(side, key=lambda c: (row[c], -c)) for side in sides]  # of equals the first
        found.append((*(row[c] for c in winners), own in winners, bool(np.isfinite(row).all())))
    return found


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_best_scores_are_those_of_a_slow_loop(kind):
    scores = drawn()
    if kind == "torch":
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
        found = best_scores(torch.from_numpy(scores), Sides(OWN, SEEN, torch.from_numpy(scores))).numpy()
    else:
        found = best_scores(scores, Sides(OWN, SEEN, scores))
    expected = slow(scores)
    sound = [k for k, row in enumerate(expected) if row[3]]
    assert sound == [0, 1, 2, 3, 4]
    assert found[3].tolist() == [float(row[3]) for row in expected]
    for k in sound:
        assert found[:3, k].tolist() == [float(value) for value in expected[k][:3]]
    assert 0 < found[2, sound].sum() < len(sound)  # both answers occur


def test_gaps_are_read_from_best_scores():
    scores = drawn()[:5]
    gap, largest, right = row_gaps(scores, OWN[:5], SEEN)
    again = gaps_from_best(best_scores(scores, Sides(OWN[:5], SEEN, scores)))
    for mine, theirs in zip((gap, largest, right), again[:3], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    best = [(max(row[SEEN]), max(row[~SEEN])) for row in scores]
    assert gap.tolist() == [a - b for a, b in best]
    assert largest.tolist() == [max(a, b) for a, b in best]


# Seen unseen
# The seen–unseen curve and its margins against argmax: problems solved by hand, ties, planted faults.


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
        ({"y_true": ["a", "a", "b", "z"]}, "1 classes that are not candidates: 'z'"),
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
def test_wrong_arguments_of_a_curve_are_refused(change, sentence):
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
    m = row_margins(*case)
    for constant in (-3.03, -0.51, 0.013, 0.27, 1.11, 4.43):  # between scores: no ties of seen and unseen
        np.testing.assert_allclose(m.at(constant), slow_accuracies(*case, constant), atol=1e-12)
    scores, own, is_seen = case
    rows = ~is_seen[own]
    alone = np.flatnonzero(~is_seen)[np.argmax(scores[rows][:, ~is_seen], axis=1)]
    assert m.zsl == pytest.approx(metrics.mean_per_class_accuracy(own[rows], alone))


def test_a_row_whose_gap_is_the_constant_still_counts_as_seen():
    scores, is_seen = np.array([[0.75, 0.25], [0.75, 0.25]]), np.array([True, False])  # both gaps are 0.5, exactly
    found = row_margins(scores, np.array([0, 1]), is_seen)
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
    found = row_margins(scores, own, seen)
    for constant, kept, gained in zip(curve.calibration, curve.seen, curve.unseen, strict=True):
        assert constant not in gaps[np.isin(gaps, found.gap)]
        np.testing.assert_allclose(found.at(constant), (kept, gained), rtol=1e-12, atol=1e-15)


def test_several_parts_share_their_constants():
    cases = [random_scores(seed, n=40) for seed in range(3)]
    constants, kept, gained = trace_curves([row_margins(*case) for case in cases])
    assert kept.shape == gained.shape == (3, len(constants))
    assert np.all(np.diff(constants) > 0)
    for k in range(0, len(constants), 7):
        for part, case in enumerate(cases):
            point = kept[part, k], gained[part, k]
            np.testing.assert_allclose(point, slow_accuracies(*case, constants[k]), rtol=1e-12, atol=1e-15)


def test_gaps_of_two_parts_that_are_equal_up_to_rounding_are_one():
    one = row_margins(np.array([[0.9, 0.3]]), np.array([0]), np.array([True, False]))
    two = row_margins(np.array([[0.7, 0.1]]), np.array([0]), np.array([True, False]))
    assert one.gap != two.gap
    assert len(trace_curves([one, two])[0]) == 2  # before both gaps and after both


def test_without_a_point_that_gets_both_sides_right_the_constant_is_zero():
    curve = metrics.seen_unseen_curve(np.array([[3.0, 2.0], [3.0, 2.0]]), [0, 1], [0, 1], [True, False])
    assert curve.best() == (0.0, 0.0)


# Bootstrap
# The bootstrap against loops, against all draws of a tiny case, and against the known variance.


def test_the_constant_is_zero_if_no_answer_is_right():
    scores = np.array([[0.0, 1.0, 0.2, 0.1], [0.3, 0.1, 0.9, 0.2]])
    constant, harmonic = best_constant([row_margins(scores, np.array([1, 3]), np.array([True, True, False, False]))])
    assert (constant, harmonic.tolist()) == (0.0, [0.0])


@pytest.mark.parametrize("seed", range(5))
def test_the_constant_is_the_best_of_all_for_all_folds_together(seed):
    cases = [random_scores(10 * seed + k, n=40) for k in range(3)]
    constant, harmonic = best_constant([row_margins(*case) for case in cases])
    reached = [metrics.harmonic_mean(*slow_accuracies(*case, constant)) for case in cases]
    np.testing.assert_allclose(harmonic, reached, atol=1e-12)
    for other in np.arange(-6, 6, 0.05) + 0.013:
        assert (
            np.mean(reached)
            >= np.mean([metrics.harmonic_mean(*slow_accuracies(*case, other)) for case in cases]) - 1e-12
        )


def test_one_fold_agrees_with_the_curve():
    scores, own, is_seen = random_scores(1)
    curve = metrics.seen_unseen_curve(scores, own, np.arange(7), is_seen)
    assert best_constant([row_margins(scores, own, is_seen)])[1][0] == pytest.approx(curve.best()[1])


def test_the_constant_fits_any_scale_of_scores():
    cases = [random_scores(k) for k in range(3)]
    constant, harmonic = best_constant([row_margins(*case) for case in cases])
    for scale in (1e-6, 1e6):
        other, same = best_constant([row_margins(scores * scale, own, seen) for scores, own, seen in cases])
        assert other == pytest.approx(constant * scale)
        np.testing.assert_allclose(same, harmonic)


def test_constant_is_zero_if_unseen_rows_are_never_right():
    scores = np.array([[1.0, 0.0, 0.0, 0.0]])
    assert best_constant([row_margins(scores, np.array([1]), np.array([True, True, False, False]))])[0] == 0.0
