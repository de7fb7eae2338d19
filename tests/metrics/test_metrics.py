"""Every metric against a slow, obvious twin, on problems solved by hand, and with faults planted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from slow_accuracy import slow_mean, slow_per_class
from zskl import metrics

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


# Probabilities --------------------------------------------------------------------------------------------------------


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


def test_probabilities_that_are_none():
    with pytest.raises(ValueError, match="expected probabilities"):
        metrics.expected_calibration_error([1.5], [True])
    with pytest.raises(ValueError, match="two vectors of one length"):
        metrics.expected_calibration_error([0.5], [True, False])
    with pytest.raises(ValueError, match="expected an integer"):
        metrics.expected_calibration_error([0.5], [True], bins=0)
