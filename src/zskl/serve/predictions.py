"""Rows of features → the best classes of each, as POST /predict answers them."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_json

from zskl._arrays import to_numpy
from zskl.estimators._candidates import calibrate_scores, softmax, top_columns
from zskl.serve import schemas
from zskl.serve.classes import ClassSnapshot
from zskl.serve.errors import Refusal, quote_value
from zskl.serve.gallery import LoadedRows
from zskl.serve.limits import QUICK_OPERATIONS
from zskl.serve.requests import Features

# Predictions ----------------------------------------------------------------------------------------------------------

CALIBRATE_HINT = "fit the model with zskl fit --calibrate"


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused
def predict_rows(snapshot: ClassSnapshot, X: Features, options: schemas.PredictionOptions) -> schemas.Predictions:
    """The answer for checked rows X (n, d) and checked options."""
    if options.against is not None:
        options = options.model_copy(update={"against": snapshot.resolve_name(options.against)})
    panel = snapshot.panel(None if options.candidates is None else tuple(options.candidates))
    labels = panel.labels.tolist()
    if options.explain:
        _check_explainable(labels, options)
    constant = _calibration_constant(snapshot, options) if panel.situation == "mixed" else 0.0
    temperatures = snapshot.model.temperatures_
    temperature = None if temperatures is None else temperatures[panel.situation]
    if options.reject is not None and temperature is None:
        raise Refusal(
            422, f"reject is {options.reject}, and the model's probabilities are not calibrated: {CALIBRATE_HINT}"
        )
    predictions: list[schemas.Prediction] = []
    for rows, raw in panel.blocks(X):
        scores = to_numpy(raw)
        if options.calibration is not None:  # may be large: single precision would round the scores away
            scores = scores.astype(np.float64)
        scores = calibrate_scores(scores, panel.seen, constant)
        if not np.isfinite(scores).all():
            raise Refusal(
                422, "these features, or a class, are so large that no score can be computed: check their scale"
            )
        order, values = top_columns(scores, min(max(options.top, 2 if options.explain else 1), len(labels)))
        likely = None
        if temperature is not None:
            likely = np.take_along_axis(
                to_numpy(softmax(scores / scores.dtype.type(temperature))), order, axis=1
            ).tolist()
        found = [
            _make_prediction(
                snapshot, [labels[k] for k in places], best, None if likely is None else likely[i], average
            )
            for i, (places, best, average) in enumerate(
                zip(order.tolist(), values.tolist(), scores.mean(axis=1).tolist(), strict=True)
            )
        ]
        if options.explain:
            _explain(snapshot, X[rows], found, options, constant)
        for one in found:
            del one["top"][options.top :]
            if options.reject is not None:
                one["none_of_these"] = (one["top"][0]["probability"] or 0.0) < options.reject
        predictions += found
    return {
        "version": snapshot.version,
        "calibration": constant,
        "predictions": predictions,
        "features": X.tolist() if options.features else None,
    }


def split_answers(answer: schemas.Predictions) -> Iterator[schemas.Predictions]:
    """The answers for each row alone."""
    features = answer["features"]
    for k, one in enumerate(answer["predictions"]):
        yield {**answer, "predictions": [one], "features": None if features is None else [features[k]]}


def encode_answers(parts: Iterable[schemas.Predictions]) -> bytes:
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


def _make_prediction(
    snapshot: ClassSnapshot, names: list[str], scores: list[float], likely: list[float] | None, average: float
) -> schemas.Prediction:
    top: list[schemas.RankedClass] = [
        {
            "class": name,
            "kind": snapshot.kinds[name],
            "score": score,
            "probability": None if likely is None else likely[k],
        }
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


def _calibration_constant(snapshot: ClassSnapshot, options: schemas.PredictionOptions) -> float:
    if options.calibration is not None:
        return options.calibration
    return float(snapshot.model.calibration_) if options.calibrated else 0.0


def _check_explainable(labels: list[str], options: schemas.PredictionOptions) -> None:
    if len(labels) < 2:
        raise Refusal(422, "an explanation compares two classes: name at least two candidates")
    if options.against is not None and options.against not in labels:
        raise Refusal(422, f"against is {quote_value(options.against)}: expected one of the candidates")


def _explain(
    snapshot: ClassSnapshot,
    X: Features,
    found: list[schemas.Prediction],
    options: schemas.PredictionOptions,
    constant: float,
) -> None:
    """Fill in the explanations. Only those candidates matter that are first or second somewhere."""
    named = {one["class"] for answer in found for one in answer["top"][:2]} | {options.against}
    model = copy.copy(snapshot.model)
    model.calibration_ = constant
    try:
        explained = model.explain(
            *(X, options.attributes, snapshot.table, [name for name in snapshot.kinds if name in named]),
            against=options.against,
            raw=options.raw,
        )
    except (TypeError, ValueError) as error:
        raise Refusal(422, str(error)) from None
    for answer, one in zip(found, explained, strict=True):
        answer["explanation"] = cast(schemas.ExplanationAnswer, one.record())


# Batches --------------------------------------------------------------------------------------------------------------
# Predictions of one row that wait at the same time are made together, by one product of matrices. Nobody waits for
# others to come: what has arrived by the next turn of the event loop is a batch.

QUICK_CLASSES = 10_000  # so many classes are listed on the spot


@dataclass(frozen=True, eq=False)
class PendingRow:
    """A row (1, d) with the options of its request, and where its answer goes. `most` such rows are scored at once."""

    row: Features
    options: schemas.PredictionOptions
    most: int
    answer: asyncio.Future[schemas.Predictions]


Group: TypeAlias = list[PendingRow]


class Batcher:
    """The rows that wait, in groups with the same options. `snapshot` gives the classes at the moment of scoring."""

    def __init__(self, snapshot: Callable[[], ClassSnapshot]) -> None:
        self._book = snapshot
        self._groups: dict[Hashable, Group] = {}

    async def predict_one(
        self, row: Features, options: schemas.PredictionOptions, listed: int, cost: int
    ) -> schemas.Predictions:
        """The answer for a checked row (1, d), which lists so many classes and takes so many multiplications."""
        loop = asyncio.get_running_loop()
        most = max(1, min(QUICK_OPERATIONS // max(cost, 1), QUICK_CLASSES // max(listed, 1)))
        one = PendingRow(row, options, most, loop.create_future())
        if not self._groups:
            loop.call_soon(self._score)
        self._groups.setdefault(_options_key(options), []).append(one)
        return await one.answer

    def _score(self) -> None:
        """Score the group that has waited longest, or as much of it as is done on the spot. The rest has its turn after
        other requests had theirs."""
        key = next(iter(self._groups))
        group = self._groups.pop(key)
        some, rest = group[: group[0].most], group[group[0].most :]
        if rest:
            self._groups[key] = rest
        if self._groups:
            asyncio.get_running_loop().call_soon(self._score)
        some = [one for one in some if not one.answer.done()]  # without those that were cancelled
        if some:
            answer_group(self._book(), some)


def answer_group(snapshot: ClassSnapshot, group: Sequence[PendingRow]) -> None:
    """Answer requests with the same options. If they fail together each is tried alone: a row that cannot be scored is
    refused, and no other."""
    try:
        found = predict_rows(snapshot, np.concatenate([one.row for one in group]), group[0].options)
        answers = split_answers(found)
    except Exception as error:
        if len(group) > 1:
            for one in group:
                answer_group(snapshot, [one])
        elif not group[0].answer.done():
            group[0].answer.set_exception(error)
        return
    for one, its in zip(group, answers, strict=True):
        if not one.answer.done():
            one.answer.set_result(its)


def _options_key(options: schemas.PredictionOptions) -> Hashable:
    """Equal for equal options."""
    return tuple(tuple(value) if isinstance(value, list) else value for value in options.__dict__.values())


# Neighbours -----------------------------------------------------------------------------------------------------------
# The rows of the loaded data that are nearest to a row, of each class of its answer: what a class looks like, and how
# near it comes.

MAX_ROWS_PER_CLASS = 2000  # rows of a class that are looked at
SAME_ROW = 1e-3  # a row this near, as a part of the length, is the one that was asked about


class Neighbours:
    """The loaded rows by class. Distances are Euclidean, between features as the model scales them."""

    def __init__(self, rows: LoadedRows) -> None:
        self._rows = rows

    @cached_property
    def _places(self) -> dict[str, NDArray[np.intp]]:
        """Class → its rows: those with pictures, or all where none has one."""
        rows = self._rows
        order = np.argsort(rows.labels, kind="stable")
        names, starts = np.unique(rows.labels[order], return_index=True)
        found = zip(names.tolist(), np.split(order, starts[1:]), strict=True)
        return {name: mine[rows.pictured[mine]] if rows.pictured[mine].any() else mine for name, mine in found}

    def find(
        self,
        snapshot: ClassSnapshot,
        X: Features,
        classes: Sequence[Sequence[str]],
        count: int,
        own: Sequence[int] | None,
    ) -> list[list[schemas.NearestRows]]:
        """For each row of X (n, d) and each of its `classes`, the `count` nearest loaded rows, nearest first. `own` are
        the numbers of the rows themselves, which are left out; where they are not known, a row with the same features
        is taken for it."""
        scaling = getattr(self._rows.model, "feature_scaling_", None)

        def scaled(rows: NDArray[Any]) -> NDArray[np.float64]:
            plain = np.asarray(rows, np.float64)
            return plain if scaling is None else scaling.apply(plain)

        known: dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
        for name in {name for one in classes for name in one}:
            places = self._places.get(name, np.empty(0, np.intp))[:MAX_ROWS_PER_CLASS]
            known[name] = places, scaled(self._rows.X[places])
        found: list[list[schemas.NearestRows]] = []
        for k, (x, names) in enumerate(zip(scaled(X), classes, strict=True)):
            mine = None if own is None else own[k]
            found.append(
                [{"class": name, "rows": self._nearest(snapshot, x, *known[name], count, mine)} for name in names]
            )
        return found

    def _nearest(
        self,
        snapshot: ClassSnapshot,
        x: NDArray[np.float64],
        places: NDArray[np.intp],
        rows: NDArray[np.float64],
        count: int,
        mine: int | None,
    ) -> list[schemas.NearRow]:
        distances = np.sqrt(((rows - x) ** 2).sum(axis=1))
        itself = distances <= SAME_ROW * np.sqrt((x**2).sum()) if mine is None else places == mine
        order = [k for k in np.argsort(distances, kind="stable").tolist() if not itself[k]][:count]
        return [{**self._rows.describe_row(snapshot, int(places[k])), "distance": float(distances[k])} for k in order]
