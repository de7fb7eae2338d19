"""Rows of features → the best classes of each, as JSON has them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from zskl.arrays import to_numpy
from zskl.estimators.candidates import softmax
from zskl.estimators.explanation import Explanation
from zskl.estimators.panel import best_first
from zskl.serve.class_book import Book
from zskl.serve.options import Asked
from zskl.serve.refusal import Refusal, shown


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused
def predict(book: Book, X: np.ndarray[Any, Any], asked: Asked) -> dict[str, Any]:
    """The answer of POST /predict for checked rows X (n, d) float32."""
    if asked.candidates is not None and len(set(asked.candidates)) < len(asked.candidates):
        raise Refusal(422, "candidates names a class twice: name each once")
    panel = book.panel(asked.candidates)
    labels = panel.labels.tolist()
    if asked.explain:
        _check_explainable(labels, asked)
    seen = np.array([book.kinds[label] == "seen" for label in labels])
    constant = _constant(book, asked) if panel.situation == "mixed" else 0.0
    temperatures = book.model.temperatures_
    temperature = None if temperatures is None else temperatures[panel.situation]
    predictions: list[dict[str, Any]] = []
    for rows, found_scores in panel.blocks(X):
        raw = to_numpy(found_scores)
        scores = raw - (constant * seen).astype(raw.dtype) if constant else raw
        if not np.isfinite(scores).all():
            raise Refusal(
                422, "these features, or a class, are so large that no score can be computed: check their scale"
            )
        order, values = best_first(scores, min(max(asked.top, 2 if asked.explain else 1), len(labels)))
        likely = None
        if temperature is not None:
            likely = np.take_along_axis(to_numpy(softmax(scores / np.float32(temperature))), order, axis=1).tolist()
        found = [
            _prediction(book, [labels[k] for k in places], best, None if likely is None else likely[i])
            for i, (places, best) in enumerate(zip(order.tolist(), values.tolist(), strict=True))
        ]
        if asked.explain:
            _explain(book, X[rows], found, asked, constant)
        for one in found:
            del one["top"][asked.top :]
        predictions += found
    return {"version": book.version, "calibration": constant, "predictions": predictions}


def _prediction(book: Book, names: list[str], scores: list[float], likely: list[float] | None) -> dict[str, Any]:
    top = [
        {"class": name, "kind": book.kinds[name], "score": score, "probability": None if likely is None else likely[k]}
        for k, (name, score) in enumerate(zip(names, scores, strict=True))
    ]
    return {"class": names[0], "top": top, "explanation": None}


def _constant(book: Book, asked: Asked) -> float:
    if asked.calibration is not None:
        return asked.calibration
    return float(book.model.calibration_) if asked.calibrated else 0.0


def _check_explainable(labels: list[str], asked: Asked) -> None:
    if len(labels) < 2:
        raise Refusal(422, "an explanation compares two classes: name at least two candidates")
    if asked.against is not None and asked.against not in labels:
        raise Refusal(422, f"against is {shown(asked.against)}, which is none of the candidates")


def _explain(book: Book, X: np.ndarray[Any, Any], found: list[dict[str, Any]], asked: Asked, constant: float) -> None:
    """Fill in the explanations. Of all candidates only those matter that are first or second somewhere."""
    named = {one["class"] for answer in found for one in answer["top"][:2]} | {asked.against}
    model = copy.copy(book.model)
    model.calibration_ = constant
    try:
        explained = model.explain(
            X, asked.attributes, book.table, [name for name in book.kinds if name in named], against=asked.against
        )
    except (TypeError, ValueError) as error:
        raise Refusal(422, str(error)) from None
    for answer, one in zip(found, explained, strict=True):
        answer["explanation"] = _as_json(one)


def _as_json(one: Explanation) -> dict[str, Any]:
    return {
        "class": one.label,
        "against": one.against,
        "difference": one.difference,
        "calibration": one.calibration,
        "contributions": [
            {
                "attribute": one.attributes[m],
                "contribution": float(one.contributions[m]),
                "value": float(one.values[m]),
                "value_against": float(one.values_against[m]),
            }
            for m in one.order
        ],
        "rest": one.rest,
    }
