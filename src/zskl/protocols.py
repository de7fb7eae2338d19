"""The two evaluation protocols. Each picks test rows and candidate classes; the model only ranks these.

zsl     rows test_unseen, candidates the unseen classes
gzsl    rows test_seen and test_unseen, candidates all classes, a constant γ subtracted from seen ones:
        ŷ_i = argmax_j ( compatibility[i, j] − γ · [class j is seen] )
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.datasets.dataset import Dataset
from zskl.estimators.candidates import calibrated
from zskl.metrics import (
    Curve,
    coverage_accuracy,
    expected_calibration_error,
    harmonic_mean,
    mean_per_class_accuracy,
    per_class_accuracy,
    seen_unseen_curve,
    wrong_answers,
)


class Ranker(Protocol):
    """Scores rows (n, d) against the c classes of a table: (n, c), larger is better, columns in the order in
    which the classes first appear in the table."""

    def compatibility(self, X: Any, signatures: pd.DataFrame) -> Any: ...


@dataclass(frozen=True)
class Result:
    """What a protocol found; accuracies are means over classes, fractions between 0 and 1.

    accuracy belongs to zsl; unseen, seen, harmonic, ausuc (area under the seen–unseen curve), calibration
    (the constant in use) and curve to gzsl; fields of the other protocol are None. left_out are candidates
    without a test row: they can be answered, but have no accuracy and are no part of a mean. mistaken are, for each
    class of zsl, its most frequent wrong answers and their shares.
    """

    protocol: str
    accuracy: float | None = None
    unseen: float | None = None
    seen: float | None = None
    harmonic: float | None = None
    ausuc: float | None = None
    calibration: float | None = None
    per_class: dict[Any, float] = field(default_factory=dict)
    left_out: tuple[Any, ...] = ()
    curve: Curve | None = field(default=None, repr=False, compare=False)
    mistaken: dict[Any, tuple[tuple[Any, float], ...]] = field(default_factory=dict, repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON: the fields of this protocol without the curve and mistakes, classes as strings."""
        numbers = ("accuracy", "unseen", "seen", "harmonic", "ausuc", "calibration")
        found = {name: getattr(self, name) for name in numbers if getattr(self, name) is not None}
        per_class = {str(label): value for label, value in self.per_class.items()}
        left_out = [str(label) for label in self.left_out]
        return {"protocol": self.protocol, **found, "per_class": per_class, "left_out": left_out}


def zsl(model: Ranker, data: Dataset) -> Result:
    """Zero-shot: rows of unseen classes, only unseen classes as candidates."""
    rows, candidates = _rows(data, "test_unseen"), data.unseen_classes
    scores = _scores(model, data, rows, candidates)
    true, predicted = data.y[rows], candidates[np.argmax(scores, axis=1)]
    per_class, left_out = _by_class(true, predicted, candidates)
    accuracy = mean_per_class_accuracy(true, predicted)
    mistaken = wrong_answers(true, predicted)
    return Result("zsl", accuracy=accuracy, per_class=per_class, left_out=left_out, mistaken=mistaken)


def gzsl(model: Ranker, data: Dataset, calibration: float | str | None = None) -> Result:
    """Generalised zero-shot: rows of seen and unseen classes, all classes as candidates.

    calibration: the constant γ; None is 0, "model" takes the fitted `model.calibration_`.
    """
    constant = _constant(model, calibration)
    seen_rows, unseen_rows = _rows(data, "test_seen"), _rows(data, "test_unseen")
    rows, candidates = np.concatenate([seen_rows, unseen_rows]), data.class_names
    is_seen = np.isin(candidates, data.seen_classes)
    scores = _scores(model, data, rows, candidates)
    true = data.y[rows]
    curve = seen_unseen_curve(scores, true, candidates, is_seen)
    predicted = candidates[np.argmax(calibrated(scores.astype(np.float64), is_seen, constant), axis=1)]
    split = len(seen_rows)
    seen = mean_per_class_accuracy(true[:split], predicted[:split])
    unseen = mean_per_class_accuracy(true[split:], predicted[split:])
    per_class, left_out = _by_class(true, predicted, candidates)
    return Result(
        "gzsl",
        unseen=unseen,
        seen=seen,
        harmonic=harmonic_mean(seen, unseen),
        ausuc=curve.area,
        calibration=constant,
        per_class=per_class,
        left_out=left_out,
        curve=curve,
    )


@dataclass(frozen=True)
class Confidence:
    """How far probabilities can be trusted, over rows: expected calibration error, and accuracy of the rows answered.

    `coverage` are (threshold, share of rows answered, accuracy of these or None) for rejection below each threshold.
    """

    protocol: str
    ece: float
    accuracy: float
    mean_confidence: float
    coverage: tuple[tuple[float, float, float | None], ...]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**vars(self), "coverage": [list(point) for point in self.coverage]}


THRESHOLDS = tuple(i / 10 for i in range(10))


def confidence(model: Any, data: Dataset, protocol: str = "zsl") -> Confidence:
    """The probabilities of `model` on the rows and candidates of "zsl" or "gzsl" (calibrated)."""
    if protocol not in ("zsl", "gzsl"):
        raise ValueError(f"protocol is {protocol!r}; expected 'zsl' or 'gzsl'")
    zero_shot = protocol == "zsl"
    parts = ("test_unseen",) if zero_shot else ("test_seen", "test_unseen")
    rows = np.concatenate([_rows(data, part) for part in parts])
    candidates = data.unseen_classes if zero_shot else data.class_names
    table = data.signatures.loc[data.signatures.index.isin(candidates)]
    probabilities = np.asarray(model.predict_proba(_features(model, data, rows), table), np.float64)
    correct = candidates[np.argmax(probabilities, axis=1)] == data.y[rows]
    best = probabilities.max(axis=1)
    shares, accuracies = coverage_accuracy(best, correct, THRESHOLDS)
    points = zip(THRESHOLDS, shares.tolist(), accuracies.tolist(), strict=True)
    return Confidence(
        protocol,
        expected_calibration_error(best, correct),
        float(correct.mean()),
        float(best.mean()),
        tuple((t, share, None if math.isnan(right) else right) for t, share, right in points),
    )


def _rows(data: Dataset, part: str) -> NDArray[np.int64]:
    rows = data.parts[part]
    if not len(rows):
        raise ValueError(f"dataset {data.name!r} has no rows in {part!r}; this protocol needs at least one")
    return rows


def _scores(
    model: Ranker, data: Dataset, rows: NDArray[np.int64], candidates: NDArray[Any]
) -> NDArray[np.floating[Any]]:
    """Compatibility (n, c). The table keeps the order of its rows, and so the columns that of the classes."""
    table = data.signatures.loc[data.signatures.index.isin(candidates)]
    scores: NDArray[np.floating[Any]] = np.asarray(model.compatibility(_features(model, data, rows), table))
    if scores.shape != (len(rows), len(candidates)):
        raise ValueError(
            f"{type(model).__name__}.compatibility gave shape {scores.shape} for {len(rows)} rows and "
            f"{len(candidates)} classes; expected one row each and one column per class"
        )
    if not np.all(np.isfinite(scores)):
        raise ValueError(
            f"{type(model).__name__}.compatibility gave {np.sum(~np.isfinite(scores))} scores that are NaN "
            "or infinite; expected finite scores: has the training diverged?"
        )
    return scores


def _features(model: Ranker, data: Dataset, rows: NDArray[np.int64]) -> Any:
    """The rows of X; under their column names where the model was fitted with names and the data have them."""
    if data.feature_names is None or getattr(model, "feature_names_in_", None) is None:
        return data.X[rows]
    return pd.DataFrame(data.X[rows], columns=data.feature_names, copy=False)


def _constant(model: Ranker, calibration: float | str | None) -> float:
    if isinstance(calibration, str):
        if calibration != "model":
            raise ValueError(f"calibration is {calibration!r}; expected None, 'model' or a number")
        if not hasattr(model, "calibration_"):
            raise ValueError(f"{type(model).__name__} has no calibration_; fit it first or hand the constant to gzsl")
        calibration = model.calibration_
    constant = 0.0 if calibration is None else float(calibration)
    if not math.isfinite(constant):
        raise ValueError(f"the calibration constant is {constant}; expected a finite number")
    return constant


def _by_class(
    true: NDArray[Any], predicted: NDArray[Any], candidates: NDArray[Any]
) -> tuple[dict[Any, float], tuple[Any, ...]]:
    """Accuracy of each candidate that has rows, in the order of the candidates, and the other candidates."""
    found, labels = per_class_accuracy(true, predicted), candidates.tolist()
    per_class = {label: found[label] for label in labels if label in found}
    return per_class, tuple(label for label in labels if label not in found)
