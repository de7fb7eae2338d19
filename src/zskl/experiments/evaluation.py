"""A fitted model on the test rows of a dataset: the results of both protocols as parts of a record."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from zskl import protocols
from zskl.datasets import Dataset
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.experiments import model_summary
from zskl.experiments.record_parts import Confidence, Generalised, Probabilities, SeenUnseenCurve, ZeroShot

CURVE_POINTS = 200  # of a seen–unseen curve in a record


def zero_shot(model: ZeroShotClassifier, data: Dataset) -> ZeroShot:
    """The zero-shot result with its mistakes."""
    result = protocols.zsl(model, data)
    return ZeroShot(
        accuracy=result.accuracy,
        per_class=_named(result.per_class),
        left_out=tuple(map(str, result.left_out)),
        mistaken=model_summary.mistakes(result),
    )


def generalised(model: ZeroShotClassifier, data: Dataset, calibration: str | None) -> Generalised:
    """The generalised result with its curve, thinned; the area is that of the whole curve."""
    result = protocols.gzsl(model, data, calibration=calibration)
    assert result.curve is not None
    curve = result.curve.thinned(CURVE_POINTS)
    return Generalised(
        unseen=result.unseen,
        seen=result.seen,
        harmonic=result.harmonic,
        ausuc=result.ausuc,
        calibration=result.calibration,
        per_class=_named(result.per_class),
        left_out=tuple(map(str, result.left_out)),
        curve=SeenUnseenCurve(_rounded(curve.calibration), _rounded(curve.seen), _rounded(curve.unseen)),
    )


def probabilities(plain: ZeroShotClassifier, calibrated: ZeroShotClassifier, data: Dataset) -> Probabilities:
    """How far probabilities can be trusted; all None where the model has no temperatures."""
    if plain.temperatures_ is None:
        return Probabilities()
    return Probabilities(_confidence(plain, data, "zsl"), _confidence(calibrated, data, "gzsl"))


def _confidence(model: ZeroShotClassifier, data: Dataset, protocol: str) -> Confidence:
    found = protocols.confidence(model, data, protocol)
    return Confidence(protocol, found.ece, found.accuracy, found.mean_confidence, found.coverage)


def _named(per_class: Mapping[object, float]) -> dict[str, float]:
    return {str(label): value for label, value in per_class.items()}


def _rounded(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values.tolist())
