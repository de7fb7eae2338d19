"""The two evaluation protocols. Each picks test rows and candidate classes; the model only ranks these.
::

    zsl     rows test_unseen, candidates the unseen classes
    gzsl    rows test_seen and test_unseen, candidates all classes, a constant γ subtracted from seen ones:
            ŷ_i = argmax_j ( compatibility[i, j] − γ · [class j is seen] )

Both also score a model that was given examples of the unseen classes (`shots`), or the test rows without their labels
(`unlabelled`); see `zskl.evidence`. Such a result says so.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.datasets.dataset import Dataset
from zskl.estimators.candidates import calibrated
from zskl.evidence import Given, features, give, rows_of
from zskl.metrics import (
    coverage_accuracy,
    expected_calibration_error,
    harmonic_mean,
    mean_per_class_accuracy,
    per_class_accuracy,
    seen_unseen_curve,
    wrong_answers,
)
from zskl.metrics.results import Confidence, Result, ScoredRows, no_choice
from zskl.metrics.row_gaps import gaps

__all__ = ["Confidence", "Result", "confidence", "gzsl", "zsl"]
THRESHOLDS = tuple(i / 10 for i in range(10))


class Ranker(Protocol):
    """Scores rows (n, d) against the c classes of a table: (n, c), larger is better, in the table's order."""

    def compatibility(self, X: Any, signatures: pd.DataFrame) -> Any: ...


def zsl(model: Ranker, data: Dataset, shots: int = 0, seed: int = 0, unlabelled: str | None = None) -> Result:
    """
    Score a model by the zero-shot protocol: rows of unseen classes, only unseen classes as candidates.

    Parameters
    ----------
    model : estimator
        A fitted zero-shot classifier, or any object with its method `compatibility`.
    data : Dataset
        The dataset whose rows "test_unseen" are scored.
    shots : int, default=0
        How many examples of each unseen class the model is taught first, with its `add_examples`. They are drawn from
        "test_unseen" and not scored. A class always keeps at least one row to be scored, so a class with few rows
        gets fewer examples; the result names it in `short`.
    seed : int, default=0
        Draws the examples. More shots from the same seed add to the same examples.
    unlabelled : {"unseen", "all"} or None, default=None
        The rows that the model first adapts to without their labels, with its `adapt`: those of "test_unseen", or
        those of both test parts. Where the model declines, it is scored as it is, and the result says why.
        Not together with `shots`.

    Returns
    -------
    Result
        With `accuracy`, `per_class` and `mistaken`, and what the model was given. A single unseen class leaves
        nothing to choose, so there is no figure then: `accuracy` is None, and `alone` names the class.

    Examples
    --------
    >>> from zskl import ZeroShotKernelClassifier, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=6, n_unseen=3)
    >>> rows = data.parts["trainval"]
    >>> model = ZeroShotKernelClassifier(random_state=0).fit(data.X[rows], data.y[rows], data.signatures)
    >>> protocols.zsl(model, data).accuracy > 0.5
    True
    """
    return zero_shot(give(model, data, shots, seed, unlabelled), data)


def zero_shot(given: Given, data: Dataset) -> Result:
    """The result of `zsl` for a model that already has what it is given."""
    model, rows, candidates = given.model, given.scored(data, "test_unseen"), data.unseen_classes
    scores = _scores(model, data, rows, candidates)
    true, predicted = data.y[rows], candidates[np.argmax(scores, axis=1)]
    per_class, left_out = _by_class(true, predicted, candidates)
    if len(candidates) == 1:  # every answer is right, which says nothing
        per_class, left_out = {}, tuple(candidates.tolist())
    return Result(
        "zsl",
        accuracy=mean_per_class_accuracy(true, predicted) if per_class else None,
        per_class=per_class,
        left_out=left_out,
        mistaken=wrong_answers(true, predicted) if per_class else {},
        scored=ScoredRows(rows, predicted),
        **_told(given),
    )


def gzsl(
    model: Ranker,
    data: Dataset,
    calibration: float | str | None = None,
    shots: int = 0,
    seed: int = 0,
    unlabelled: str | None = None,
) -> Result:
    """
    Score a model by the generalised protocol: rows of seen and unseen classes, all classes as candidates.

    Parameters
    ----------
    model : estimator
        A fitted zero-shot classifier, or any object with its method `compatibility`.
    data : Dataset
        The dataset whose rows "test_seen" and "test_unseen" are scored.
    calibration : float, "model" or None, default=None
        The constant that is subtracted from the scores of seen classes. None is 0; "model" is the constant that
        selection chose for the model, its `calibration_`; a taught or adapted model has its own.
    shots : int, default=0
        How many examples of each unseen class the model is taught first; see `zsl`.
    seed : int, default=0
        Draws the examples.
    unlabelled : {"all"} or None, default=None
        "all" lets the model first adapt to the rows of both test parts without their labels. "unseen" is refused: it
        would tell the model which rows are of unseen classes, which is what this protocol asks.
        Not together with `shots`.

    Returns
    -------
    Result
        With `unseen`, `seen`, `harmonic`, `ausuc`, `calibration`, `per_class` and `curve`, and what the model was
        given.

    Examples
    --------
    >>> from zskl import ZeroShotKernelClassifier, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=6, n_unseen=3)
    >>> rows = data.parts["trainval"]
    >>> model = ZeroShotKernelClassifier(random_state=0).fit(data.X[rows], data.y[rows], data.signatures)
    >>> raw, calibrated = protocols.gzsl(model, data), protocols.gzsl(model, data, calibration=0.1)
    >>> calibrated.unseen >= raw.unseen
    True
    """
    _constant(model, calibration)  # a bad one is refused before any work
    if unlabelled == "unseen":
        raise ValueError(
            "unlabelled is 'unseen': expected 'all' or None, since the generalised protocol asks whether a row is of "
            "an unseen class, and rows that are known to be would answer it; use 'all', or zsl"
        )
    return generalised(give(model, data, shots, seed, unlabelled), data, calibration)


def generalised(given: Given, data: Dataset, calibration: float | str | None = None) -> Result:
    """The result of `gzsl` for a model that already has what it is given."""
    model, constant = given.model, _constant(given.model, calibration)
    seen_rows, unseen_rows = given.scored(data, "test_seen"), given.scored(data, "test_unseen")
    rows, candidates = np.concatenate([seen_rows, unseen_rows]), data.class_names
    is_seen = np.isin(candidates, data.seen_classes)
    scores = _scores(model, data, rows, candidates)
    true = data.y[rows]
    curve = seen_unseen_curve(scores, true, candidates, is_seen)
    gap, _, right = gaps(scores, data.codes[rows], is_seen)
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
        scored=ScoredRows(rows, predicted, gap, right),
        **_told(given),
    )


def confidence(model: Any, data: Dataset, protocol: str = "zsl") -> Confidence:
    """
    Compare the probabilities of a model with how often it is right.

    Parameters
    ----------
    model : estimator
        A fitted zero-shot classifier with `predict_proba`.
    data : Dataset
        The dataset whose test rows are scored.
    protocol : {"zsl", "gzsl"}, default="zsl"
        Which rows and candidates: those of `zsl`, or those of `gzsl` with the model's own calibration.

    Returns
    -------
    Confidence
        The figures.

    Examples
    --------
    >>> import warnings
    >>> from zskl import ZeroShotKernelClassifier, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=6, n_unseen=3)
    >>> rows = data.parts["trainval"]
    >>> model = ZeroShotKernelClassifier(random_state=0).fit(data.X[rows], data.y[rows], data.signatures)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # nobody has fitted this model's temperature
    ...     found = protocols.confidence(model, data)
    >>> 0 <= found.ece <= 1
    True
    """
    if protocol not in ("zsl", "gzsl"):
        raise ValueError(f"protocol is {protocol!r}: expected 'zsl' or 'gzsl'")
    zero_shot = protocol == "zsl"
    parts = ("test_unseen",) if zero_shot else ("test_seen", "test_unseen")
    rows = np.concatenate([rows_of(data, part) for part in parts])
    candidates = data.unseen_classes if zero_shot else data.class_names
    if len(candidates) == 1:
        raise ValueError(f"protocol is 'zsl', but there is {no_choice(candidates[0])}: use 'gzsl'")
    table = data.signatures.loc[data.signatures.index.isin(candidates)]
    probabilities = np.asarray(model.predict_proba(features(model, data, rows), table), np.float64)
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


def _told(given: Given) -> dict[str, Any]:
    """What a result says about what the model was given."""
    found = given.adaptation
    return {
        "shots": given.shots,
        "unlabelled": given.unlabelled,
        "short": given.short,
        "declined": given.declined,
        "adaptation": None if found is None else dict(found),
    }


def _scores(
    model: Ranker, data: Dataset, rows: NDArray[np.int64], candidates: NDArray[Any]
) -> NDArray[np.floating[Any]]:
    """Compatibility (n, c). The table keeps the order of its rows, and so the columns that of the classes."""
    table = data.signatures.loc[data.signatures.index.isin(candidates)]
    scores: NDArray[np.floating[Any]] = np.asarray(model.compatibility(features(model, data, rows), table))
    if scores.shape != (len(rows), len(candidates)):
        raise ValueError(
            f"{type(model).__name__}.compatibility gave shape {scores.shape} for {len(rows)} rows and "
            f"{len(candidates)} classes: expected one row each and one column per class"
        )
    if not np.all(np.isfinite(scores)):
        raise ValueError(
            f"{type(model).__name__}.compatibility gave {np.sum(~np.isfinite(scores))} scores that are NaN "
            "or infinite: expected finite scores; has the training diverged?"
        )
    return scores


def _constant(model: Ranker, calibration: float | str | None) -> float:
    if isinstance(calibration, str):
        if calibration != "model":
            raise ValueError(f"calibration is {calibration!r}: expected None, 'model' or a number")
        if not hasattr(model, "calibration_"):
            raise ValueError(f"{type(model).__name__} has no calibration_: fit it first, or hand the constant to gzsl")
        calibration = model.calibration_
    constant = 0.0 if calibration is None else float(calibration)
    if not math.isfinite(constant):
        raise ValueError(f"the calibration constant is {constant}: expected a finite number")
    return constant


def _by_class(
    true: NDArray[Any], predicted: NDArray[Any], candidates: NDArray[Any]
) -> tuple[dict[Any, float], tuple[Any, ...]]:
    """Accuracy of each candidate that has rows, in the order of the candidates, and the other candidates."""
    found, labels = per_class_accuracy(true, predicted), candidates.tolist()
    per_class = {label: found[label] for label in labels if label in found}
    return per_class, tuple(label for label in labels if label not in found)
