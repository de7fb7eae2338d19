"""The fitted temperature, and the probabilities that it gives."""

import itertools

import numpy as np
import pytest

from small_search import DATA, FOLDS, TRAINING, estimator
from tolerances import FORMULA, assert_close
from zskl import metrics, protocols, selection
from zskl.estimators._candidates import UncalibratedWarning
from zskl.selection import temperatures


@pytest.fixture(scope="module")
def calibrated():
    return selection.calibrate(estimator(sigma=1.0, learning_rate=1e-3).fit(*TRAINING), *TRAINING, FOLDS)


def test_the_temperature_is_the_most_likely_one():
    rng = np.random.default_rng(0)
    folds = [(rng.normal(size=(200, 6)), rng.integers(0, 6, 200)) for _ in range(2)]
    for scores, own in folds:
        scores[np.arange(200), own] += 1.0

    def loss(t):
        return np.mean(
            [np.mean(-np.log(np.exp(s / t)[np.arange(200), o] / np.exp(s / t).sum(axis=1))) for s, o in folds]
        )

    t = temperatures.fit_temperature(folds)
    assert all(loss(t) <= loss(t * factor) for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2))
    assert temperatures.fit_temperature([(1e-3 * s, o) for s, o in folds]) == pytest.approx(1e-3 * t, rel=1e-3)


def test_scores_that_tell_nothing_have_temperature_one():
    assert temperatures.fit_temperature([(np.zeros((4, 3)), np.zeros(4, dtype=int))]) == 1.0
    assert temperatures.fit_temperature([(np.zeros((0, 3)), np.zeros(0, dtype=int))]) == 1.0


def test_probabilities_are_the_softmax_of_scores_over_the_fitted_temperature(calibrated):
    X = DATA.X[DATA.parts["test_unseen"]]
    cases = {"seen": DATA.seen_classes, "unseen": DATA.unseen_classes, "mixed": DATA.class_names}
    for (situation, candidates), constant in itertools.product(cases.items(), (True, False)):  # without it the same T
        scores = calibrated.compatibility(X, candidates=candidates).astype(np.float64)
        if situation == "mixed" and constant:
            scores -= calibrated.calibration_ * np.isin(candidates, DATA.seen_classes)
        exponents = scores / calibrated.temperatures_[situation]  # the rounding of each is a relative error of exp
        e = np.exp(exponents)
        found = calibrated.predict_proba(X, candidates=candidates, calibrated=constant)
        assert_close(found, e / e.sum(axis=1, keepdims=True), FORMULA.single * np.abs(exponents).max())
        np.testing.assert_array_equal(
            np.asarray(candidates)[found.argmax(axis=1)],
            calibrated.predict(X, candidates=candidates, calibrated=constant),
        )


def test_rows_below_the_threshold_are_unknown(calibrated):
    X = DATA.X[DATA.parts["test_unseen"]]
    best = calibrated.predict_proba(X, candidates=calibrated.candidates_).max(axis=1)
    plain = calibrated.predict(X)
    for threshold in (0.0, float(np.median(best)), 1.0):
        answers = calibrated.predict(X, reject=threshold)
        np.testing.assert_array_equal(answers == "unknown", best < threshold)
        np.testing.assert_array_equal(answers[best >= threshold], plain[best >= threshold])
    for wrong in (-0.1, 1.5, True, "half"):
        with pytest.raises(ValueError, match="expected a probability between 0 and 1"):
            calibrated.predict(X, reject=wrong)


def test_uncalibrated_probabilities_come_with_a_warning():
    model = estimator().fit(*TRAINING)
    with pytest.warns(UncalibratedWarning, match=r"selection\.tune"):
        found = model.predict_proba(DATA.X[:5])
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)


def test_confidence_of_both_protocols(calibrated):
    for protocol, parts, candidates in (
        ("zsl", ["test_unseen"], DATA.unseen_classes),
        ("gzsl", ["test_seen", "test_unseen"], DATA.class_names),
    ):
        rows = np.concatenate([DATA.parts[part] for part in parts])
        p = calibrated.predict_proba(DATA.X[rows], candidates=candidates)
        right = np.asarray(candidates)[p.argmax(axis=1)] == DATA.y[rows]
        found = protocols.confidence(calibrated, DATA, protocol)
        assert found.ece == pytest.approx(metrics.expected_calibration_error(p.max(axis=1), right), abs=1e-6)
        assert found.accuracy == pytest.approx(right.mean())
        assert found.coverage[0][1:] == (1.0, pytest.approx(right.mean()))
        assert found.as_dict()["coverage"][0] == [0.0, 1.0, pytest.approx(right.mean())]
    with pytest.raises(ValueError, match="expected 'zsl' or 'gzsl'"):
        protocols.confidence(calibrated, DATA, "both")
