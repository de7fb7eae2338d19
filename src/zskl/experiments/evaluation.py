"""A fitted model on the test rows of a dataset: the results of both protocols as parts of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl import protocols
from zskl.datasets import Dataset
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.evidence import Given, give
from zskl.experiments import jsonl_log, model_summary
from zskl.experiments.answers import Answers, ClassRows, levels, pack
from zskl.experiments.record_parts import (
    Adapted,
    Confidence,
    Generalised,
    Probabilities,
    SeenUnseenCurve,
    Taught,
    ZeroShot,
)
from zskl.metrics.results import Result

CURVE_POINTS = 200  # of a seen–unseen curve in a record


@dataclass(frozen=True)
class Results:
    """Of both protocols, as far as they apply; `short` names classes with fewer examples than were asked for."""

    zsl: ZeroShot
    gzsl: Generalised | None = None
    gzsl_calibrated: Generalised | None = None
    short: tuple[str, ...] = ()


def results(
    plain: ZeroShotClassifier,
    calibrated: ZeroShotClassifier | None,
    data: Dataset,
    shots: int = 0,
    seed: int = 0,
    unlabelled: str | None = None,
) -> Results:
    """Of the `plain` model both protocols, and the generalised one of the `calibrated` model if there is one.

    Each model is given examples or unlabelled rows first, where asked for.
    """
    given = give(plain, data, shots, seed, unlabelled)
    zsl = zero_shot(given, data)
    if unlabelled == "unseen":  # rows that the generalised protocol does not tell apart
        return Results(zsl)
    after = None
    if calibrated is not None:
        again = given if calibrated is plain else give(calibrated, data, shots, seed, unlabelled)
        after = generalised(again, data, "model")
    return Results(zsl, generalised(given, data, None), after, tuple(map(str, given.short)))


def zero_shot(given: Given, data: Dataset) -> ZeroShot:
    """The zero-shot result with its mistakes."""
    result = protocols.zero_shot(given, data)
    return ZeroShot(
        accuracy=result.accuracy,
        per_class=_named(result.per_class),
        left_out=tuple(map(str, result.left_out)),
        mistaken=model_summary.mistakes(result),
        declined=result.declined,
        adaptation=None if result.adaptation is None else jsonl_log.plain(result.adaptation),
        answers=answers(result, given, data),
    )


def generalised(given: Given, data: Dataset, calibration: str | None) -> Generalised:
    """The generalised result with its curve, thinned; the area is that of the whole curve."""
    result = protocols.generalised(given, data, calibration=calibration)
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
        declined=result.declined,
        adaptation=None if result.adaptation is None else jsonl_log.plain(result.adaptation),
        answers=answers(result, given, data),
    )


def answers(result: Result, given: Given, data: Dataset) -> Answers:
    """What each row was answered; with what the area needs, of a model that was given nothing and is not calibrated."""
    scored = result.scored
    assert scored is not None
    place = np.full(len(data.y), -1)
    place[scored.rows] = np.arange(len(scored.rows))
    names = pd.Index([*result.per_class, *result.left_out])
    codes = np.where(scored.answers == data.y[scored.rows], 0, 1 + names.get_indexer(pd.Index(scored.answers)))

    def packed(part: str, values: NDArray[np.int64]) -> str:
        return pack(np.append(values, 1)[place[by_class(data, part)]])  # a row that is not scored has place -1

    unseen = packed("test_unseen", codes)
    examples = pack(place[by_class(data, "test_unseen")] < 0) if len(given.drawn) else None
    if scored.gaps is None or scored.right is None:
        return Answers(unseen, examples=examples)
    seen = packed("test_seen", codes)
    if result.calibration or given.shots or given.unlabelled:
        return Answers(unseen, seen, examples=examples)
    found = levels(scored.gaps, scored.right)
    return Answers(unseen, seen, packed("test_unseen", found), packed("test_seen", found))


def class_rows(data: Dataset) -> ClassRows:
    """How many test rows each class has."""
    counts = (np.bincount(data.codes[data.parts[part]]) for part in ("test_unseen", "test_seen"))
    return ClassRows(*(pack(count[count > 0]) for count in counts))


def by_class(data: Dataset, part: str) -> NDArray[np.int64]:
    """The rows of a part, class by class."""
    rows = data.parts[part]
    return rows[np.argsort(data.codes[rows], kind="stable")]


def taught(
    plain: ZeroShotClassifier, calibrated: ZeroShotClassifier | None, data: Dataset, shots: Sequence[int], seed: int
) -> tuple[Taught, ...] | None:
    """The results after each number of examples; None where none is asked for."""
    found = []
    for number in shots:
        after = results(plain, calibrated, data, shots=number, seed=seed)
        assert after.gzsl is not None
        found.append(Taught(number, after.zsl, after.gzsl, after.gzsl_calibrated, after.short))
    return tuple(found) or None


def adapted(
    plain: ZeroShotClassifier, calibrated: ZeroShotClassifier | None, data: Dataset, unlabelled: Sequence[str]
) -> tuple[Adapted, ...] | None:
    """The results after adaptation to each choice of unlabelled rows; None where none is asked for."""
    found = []
    for rows in unlabelled:
        after = results(plain, calibrated, data, unlabelled=rows)
        found.append(Adapted(rows, after.zsl, after.gzsl, after.gzsl_calibrated))
    return tuple(found) or None


def probabilities(plain: ZeroShotClassifier, calibrated: ZeroShotClassifier, data: Dataset) -> Probabilities:
    """How far probabilities can be trusted; all None where the model has no temperatures."""
    if plain.temperatures_ is None:
        return Probabilities()
    zsl = _confidence(plain, data, "zsl") if len(data.unseen_classes) > 1 else None
    return Probabilities(zsl, _confidence(calibrated, data, "gzsl"))


def _confidence(model: ZeroShotClassifier, data: Dataset, protocol: str) -> Confidence:
    found = protocols.confidence(model, data, protocol)
    return Confidence(protocol, found.ece, found.accuracy, found.mean_confidence, found.coverage)


def _named(per_class: Mapping[object, float]) -> dict[str, float]:
    return {str(label): value for label, value in per_class.items()}


def _rounded(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values.tolist())
