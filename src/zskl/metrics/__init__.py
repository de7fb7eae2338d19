"""Scores of zero-shot predictions, and three numbers about kernels and projections: pure functions of arrays.

Accuracies are fractions between 0 and 1 and are averaged over classes, so that a large class counts no more than a
small one.
"""

from zskl.metrics.accuracy import (
    coverage_accuracy,
    expected_calibration_error,
    harmonic_mean,
    mean_per_class_accuracy,
    per_class_accuracy,
    wrong_answers,
)
from zskl.metrics.projections import alignment, incoherence, polarisation
from zskl.metrics.seen_unseen import Curve, seen_unseen_curve

__all__ = [
    "Curve",
    "alignment",
    "coverage_accuracy",
    "expected_calibration_error",
    "harmonic_mean",
    "incoherence",
    "mean_per_class_accuracy",
    "per_class_accuracy",
    "polarisation",
    "seen_unseen_curve",
    "wrong_answers",
]
