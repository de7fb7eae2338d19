"""A model and data that need no file: digits described by the segments of a display."""

from __future__ import annotations

from zskl import datasets, methods, selection
from zskl.datasets import Dataset
from zskl.estimators.estimator import ZeroShotClassifier

METHOD = "gaussian-ort"
NAME = "digits"


def build() -> tuple[ZeroShotClassifier, Dataset]:
    """A calibrated model of the digits, with 3, 4 and 6 unseen; and the digits."""
    data = datasets.load(NAME)
    X, y = data.samples("trainval")
    model = methods.build(METHOD, {"random_state": 0}).fit(X, y, data.signatures)
    selection.calibrate(model, X, y, data.signatures, selection.folds(data))
    return model, data
