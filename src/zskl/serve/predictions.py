"""Rows of features → the best classes of each, as POST /predict answers them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import cast

import numpy as np
from pydantic_core import to_json

from zskl.arrays import to_numpy
from zskl.estimators.candidates import calibrated, softmax
from zskl.estimators.panel import best_first
from zskl.serve.bodies import Features
from zskl.serve.class_book import Book
from zskl.serve.refusal import Refusal, shown
from zskl.serve.schemas.predictions import ExplanationAnswer, Prediction, PredictionOptions, Predictions, RankedClass

CALIBRATE = "fit the model with zskl fit --calibrate"


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused
def predict(book: Book, X: Features, options: PredictionOptions) -> Predictions:
    """The answer for checked rows X (n, d) and checked options."""
    if options.against is not None:
        options = options.model_copy(update={"against": book.called(options.against)})
    panel = book.panel(None if options.candidates is None else tuple(options.candidates))
    labels = panel.labels.tolist()
    if options.explain:
        _check_explainable(labels, options)
    constant = _constant(book, options) if panel.situation == "mixed" else 0.0
    temperatures = book.model.temperatures_
    temperature = None if temperatures is None else temperatures[panel.situation]
    if options.reject is not None and temperature is None:
        raise Refusal(422, f"reject is {options.reject}, and the model's probabilities are not calibrated: {CALIBRATE}")
    predictions: list[Prediction] = []
    for rows, raw in panel.blocks(X):
        scores = to_numpy(raw)
        if options.calibration is not None:  # may be large: single precision would round the scores away
            scores = scores.astype(np.float64)
        scores = calibrated(scores, panel.seen, constant)
        if not np.isfinite(scores).all():
            raise Refusal(
                422, "these features, or a class, are so large that no score can be computed: check their scale"
            )
        order, values = best_first(scores, min(max(options.top, 2 if options.explain else 1), len(labels)))
        likely = None
        if temperature is not None:
            likely = np.take_along_axis(
                to_numpy(softmax(scores / scores.dtype.type(temperature))), order, axis=1
            ).tolist()
        found = [
            _prediction(book, [labels[k] for k in places], best, None if likely is None else likely[i], average)
            for i, (places, best, average) in enumerate(
                zip(order.tolist(), values.tolist(), scores.mean(axis=1).tolist(), strict=True)
            )
        ]
        if options.explain:
            _explain(book, X[rows], found, options, constant)
        for one in found:
            del one["top"][options.top :]
            if options.reject is not None:
                one["none_of_these"] = (one["top"][0]["probability"] or 0.0) < options.reject
        predictions += found
    return {
        "version": book.version,
        "calibration": constant,
        "predictions": predictions,
        "features": X.tolist() if options.features else None,
    }


def apart(answer: Predictions) -> Iterator[Predictions]:
    """The answers for each row alone."""
    features = answer["features"]
    for k, one in enumerate(answer["predictions"]):
        yield {**answer, "predictions": [one], "features": None if features is None else [features[k]]}


def encoded(parts: Iterable[Predictions]) -> bytes:
    """The JSON of the answers for parts of the rows, as one answer. Of a part only its JSON is kept: as Python's
    objects, a large answer would take many times the memory."""
    told, features, about = bytearray(), bytearray(), b""
    for part in parts:
        about = to_json({name: part[name] for name in ("version", "calibration")})  # the same of all
        told += b"," * bool(told) + to_json(part["predictions"])[1:-1]
        if part["features"] is not None:
            features += b"," * bool(features) + to_json(part["features"])[1:-1]
    last = (b"[", features, b"]") if features else (b"null",)
    return b"".join((about[:-1], b',"predictions":[', told, b'],"features":', *last, b"}"))


def _prediction(
    book: Book, names: list[str], scores: list[float], likely: list[float] | None, average: float
) -> Prediction:
    top: list[RankedClass] = [
        {"class": name, "kind": book.kinds[name], "score": score, "probability": None if likely is None else likely[k]}
        for k, (name, score) in enumerate(zip(names, scores, strict=True))
    ]
    return {
        "class": names[0],
        "top": top,
        "average": average,
        "none_of_these": None,
        "explanation": None,
        "nearest": None,
    }


def _constant(book: Book, options: PredictionOptions) -> float:
    if options.calibration is not None:
        return options.calibration
    return float(book.model.calibration_) if options.calibrated else 0.0


def _check_explainable(labels: list[str], options: PredictionOptions) -> None:
    if len(labels) < 2:
        raise Refusal(422, "an explanation compares two classes: name at least two candidates")
    if options.against is not None and options.against not in labels:
        raise Refusal(422, f"against is {shown(options.against)}: expected one of the candidates")


def _explain(book: Book, X: Features, found: list[Prediction], options: PredictionOptions, constant: float) -> None:
    """Fill in the explanations. Only those candidates matter that are first or second somewhere."""
    named = {one["class"] for answer in found for one in answer["top"][:2]} | {options.against}
    model = copy.copy(book.model)
    model.calibration_ = constant
    try:
        explained = model.explain(
            *(X, options.attributes, book.table, [name for name in book.kinds if name in named]),
            against=options.against,
            raw=options.raw,
        )
    except (TypeError, ValueError) as error:
        raise Refusal(422, str(error)) from None
    for answer, one in zip(found, explained, strict=True):
        answer["explanation"] = cast(ExplanationAnswer, one.record())
