"""POST /predict: rows of features, or of the loaded data → the best classes of each."""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from zskl._arrays import to_numpy
from zskl.decisions import Decider
from zskl.estimators._candidates import calibrate_scores, get_temperatures, to_probabilities, top_columns
from zskl.estimators.explanation import pair_explained_columns
from zskl.serve import requests, schemas
from zskl.serve.classes import ClassSnapshot
from zskl.serve.limits import QUICK_OPERATIONS, ConcurrencyLimits, Refusal, quote
from zskl.serve.monitoring import Metrics
from zskl.serve.requests import Features, TextReader
from zskl.serve.responses import json_response
from zskl.serve.schemas import Prediction, PredictionOptions, Predictions
from zskl.serve.service import Service

QUICK_CLASSES = 10_000  # so many classes are listed on the spot
MAX_NEAREST_CLASSES = 1000  # classes of an answer that are listed with the nearest rows
BODY_TYPES = (*requests.JSON, *requests.NPY, *requests.CSV, *requests.PHOTO)
MAX_EXPLAINED_TEXTS = 50  # each is encoded as many times as it has words
CALIBRATE_HINT = "fit the model with zskl fit --calibrate"

Rows: TypeAlias = Features | list[int] | list[str]  # rows of features, numbers of loaded rows, or texts


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused
def predict_rows(
    snapshot: ClassSnapshot,
    X: Features,
    options: PredictionOptions,
    reader: TextReader | None = None,
    texts: Sequence[str] = (),
) -> Predictions:
    if options.against is not None:
        options = options.model_copy(update={"against": snapshot.resolve_name(options.against)})
    panel = snapshot.panel(None if options.candidates is None else tuple(options.candidates))
    labels = panel.labels.tolist()
    if options.explain and len(labels) < 2:
        raise Refusal(422, "an explanation compares two classes: name at least two candidates")
    if options.against is not None and options.against not in labels:
        raise Refusal(422, f"against is {quote(options.against)}: expected one of the candidates")
    constant = 0.0
    if panel.situation == "mixed" and options.calibration is not None:
        constant = options.calibration
    elif panel.situation == "mixed" and options.calibrated:
        constant = float(snapshot.model.calibration_)
    fitted = snapshot.model
    temperatures = None if fitted.temperatures_ is None else get_temperatures(fitted, panel.seen)
    reject, least = options.reject, options.min_probability
    if reject is not None and temperatures is not None and fitted.decisions_ is None:
        reject, least = None, reject  # as 0.2 meant it: this model was calibrated then
    if least is not None and temperatures is None:
        why = f"min_probability is {least}, and the model's probabilities are not calibrated: {CALIBRATE_HINT}"
        raise Refusal(422, why)
    decider = None
    if not (reject is None and options.coverage is None and options.risk is None):
        if fitted.decisions_ is None:
            raise Refusal(422, f"the model has no thresholds for coverage, reject and risk: {CALIBRATE_HINT}")
        try:
            decider = Decider(fitted, panel.labels, panel.seen, options.coverage, reject, options.risk)
        except ValueError as error:
            raise Refusal(422, str(error)) from None
    predictions: list[Prediction] = []
    for rows, raw in panel.blocks(X):
        scores = to_numpy(raw)
        if options.calibration is not None:  # may be large: single precision would round the scores away
            scores = scores.astype(np.float64)
        scores = calibrate_scores(scores, panel.seen, constant)
        if not np.isfinite(scores).all():
            why = "these features, or a class, are so large that no score can be computed: check their scale"
            raise Refusal(422, why)
        order, values = top_columns(scores, min(max(options.top, 2 if options.explain else 1), len(labels)))
        likely = np.full(order.shape, None)
        if temperatures is not None:
            every = to_numpy(to_probabilities(scores, temperatures))
            likely = np.take_along_axis(every, order, axis=1)
        rankings = zip(order.tolist(), values.tolist(), likely.tolist(), scores.mean(axis=1).tolist(), strict=True)
        found: list[Prediction] = []
        for places, best, shares, average in rankings:
            top: list[schemas.RankedClass] = [
                {"class": labels[k], "kind": snapshot.kinds[labels[k]], "score": score, "probability": share}
                for k, score, share in zip(places, best, shares, strict=True)
            ]
            ranked = {"class": labels[places[0]], "top": top, "average": average}
            empty = dict.fromkeys(("none_of_these", "set", "node", "explanation", "words", "nearest"))
            found.append(cast(Prediction, ranked | empty))
        if options.explain:
            theirs = None if options.against is None else labels.index(options.against)
            columns = pair_explained_columns(scores, None, theirs)
            if reader is None:
                _add_explanations(snapshot, X[rows], found, options, constant, columns)
            else:
                pairs = [[labels[mine], labels[other]] for mine, other in zip(*columns, strict=True)]
                some = texts[rows], X[rows], snapshot.model, snapshot.table
                for one, words in zip(found, reader.explain(*some, pairs, options.attributes), strict=True):
                    one["words"] = words
        for one in found:
            del one["top"][options.top :]
            if least is not None:
                one["none_of_these"] = (one["top"][0]["probability"] or 0.0) < least
        if decider is not None:
            # Thresholds are of scores as the model calibrates them, whatever constant is tried out here.
            own = float(fitted.calibration_) if panel.situation == "mixed" else 0.0
            _add_decisions(decider, calibrate_scores(to_numpy(raw), panel.seen, own), found)
        predictions += found
    features = X.tolist() if options.features else None
    return {"version": snapshot.version, "calibration": constant, "predictions": predictions, "features": features}


def _add_decisions(decider: Decider, scores: Features, found: Sequence[Prediction]) -> None:
    sets = decider.sets(scores) if decider.limits is not None else [None] * len(found)
    nodes = decider.nodes(scores).tolist() if decider.depths is not None else [None] * len(found)
    unknown = decider.unknown(scores).tolist() if decider.least is not None else [None] * len(found)
    for one, members, node, none in zip(found, sets, nodes, unknown, strict=True):
        one["set"], one["node"] = None if members is None else list(members), node
        if none is not None:
            one["none_of_these"] = none or bool(one["none_of_these"])


def encode_answers(parts: Iterable[Predictions]) -> bytes:
    # of a part only its JSON is kept: as Python's objects, a large answer would take many times the memory
    predictions, features, about = bytearray(), bytearray(), b""
    for part in parts:
        about = to_json({name: part[name] for name in ("version", "calibration")})  # the same of all
        predictions += b"," * bool(predictions) + to_json(part["predictions"])[1:-1]
        if part["features"] is not None:
            features += b"," * bool(features) + to_json(part["features"])[1:-1]
    last = (b"[", features, b"]") if features else (b"null",)
    return b"".join((about[:-1], b',"predictions":[', predictions, b'],"features":', *last, b"}"))


def _add_explanations(
    snapshot: ClassSnapshot,
    X: Features,
    found: list[Prediction],
    options: PredictionOptions,
    constant: float,
    columns: tuple[Features, Features],
) -> None:
    by = "attributes" if options.by is None and options.raw else options.by
    try:
        explainer = snapshot.explainer(None if options.candidates is None else tuple(options.candidates), by)
        explained = explainer.explain_columns(X, *columns, options.attributes, constant)
    except (TypeError, ValueError) as error:
        raise Refusal(422, str(error)) from None
    for answer, one in zip(found, explained, strict=True):
        answer["explanation"] = cast(schemas.ExplanationAnswer, one.record())


@dataclass(frozen=True, eq=False)
class PendingRow:
    """A row (1, d) with the options of its request, and where its answer goes. `most` such rows are scored at once."""

    row: Features
    options: PredictionOptions
    most: int
    answer: asyncio.Future[Predictions]


class Batcher:
    """Scores single rows that wait at the same time, with the same options, by one product of matrices."""

    def __init__(self, get_snapshot: Callable[[], ClassSnapshot], metrics: Metrics | None = None) -> None:
        self._get_snapshot, self._metrics = get_snapshot, metrics
        self._groups: dict[Hashable, list[PendingRow]] = {}

    async def predict_one(self, row: Features, options: PredictionOptions, listed: int, cost: int) -> Predictions:
        loop = asyncio.get_running_loop()
        one = PendingRow(row, options, _batch_size(listed, cost), loop.create_future())
        # no row waits for others to come: what has arrived by the next turn of the event loop is a batch
        if not self._groups:
            loop.call_soon(self._score)
        key = tuple(tuple(value) if isinstance(value, list) else value for value in options.__dict__.values())
        self._groups.setdefault(key, []).append(one)
        return await one.answer

    def _score(self) -> None:
        """Score what is done on the spot of the group that has waited longest; the rest after other requests."""
        key = next(iter(self._groups))
        group = self._groups.pop(key)
        some, rest = group[: group[0].most], group[group[0].most :]
        if rest:
            self._groups[key] = rest
        if self._groups:
            asyncio.get_running_loop().call_soon(self._score)
        some = [one for one in some if not one.answer.done()]  # without those that were cancelled
        if some:
            if self._metrics is not None:
                self._metrics.batches.observe(len(some))
            _predict_group(self._get_snapshot(), some)


def _batch_size(listed: int, cost: int) -> int:
    """How many rows that list so many classes, and take so many multiplications each, are scored on the spot."""
    return max(1, min(QUICK_OPERATIONS // max(cost, 1), QUICK_CLASSES // max(listed, 1)))


def _predict_group(snapshot: ClassSnapshot, group: Sequence[PendingRow]) -> None:
    """Answer requests with the same options. If they fail together each is tried alone, so that only bad rows fail."""
    try:
        found = predict_rows(snapshot, np.concatenate([one.row for one in group]), group[0].options)
    except Exception as error:
        if len(group) > 1:
            for one in group:
                _predict_group(snapshot, [one])
        elif not group[0].answer.done():
            group[0].answer.set_exception(error)
        return
    for k, one in enumerate(group):
        if not one.answer.done():
            features = None if found["features"] is None else [found["features"][k]]
            one.answer.set_result({**found, "predictions": [found["predictions"][k]], "features": features})


class PredictionHandler:
    def __init__(self, service: Service, concurrency: ConcurrencyLimits, metrics: Metrics | None = None) -> None:
        self._service, self._concurrency, self._metrics = service, concurrency, metrics
        self._batcher = Batcher(lambda: service.snapshot, metrics)

    async def answer(self, request: Request, options: PredictionOptions) -> Response:
        service, concurrency = self._service, self._concurrency
        kind = requests.check_media_type(request, BODY_TYPES)
        if kind in requests.PHOTO:
            checked = requests.check_prediction(options)
            X = await requests.read_photo_features(request, kind, service.photos, service.limits.small, concurrency)
            return await self._answer(X, checked, small=True)
        body, parts = bytearray(), request.stream()
        async for part in parts:
            body += part
            if len(body) > service.limits.small:
                break
        else:
            return await self._answer(*_parse_prediction_request(service, kind, body, options), small=True)
        async with concurrency.bodies:
            async for part in parts:
                body += part
            async with concurrency.work:
                rows, options = await run_in_threadpool(_parse_prediction_request, service, kind, body, options)
            return await self._answer(rows, options, small=False)

    async def _answer(self, rows: Rows, options: PredictionOptions, small: bool) -> Response:
        service, concurrency, snapshot = self._service, self._concurrency, self._service.snapshot
        listed, cost = _measure_prediction_size(service, snapshot, len(rows), options)
        if self._metrics is not None:
            self._metrics.rows.inc(len(rows))
        near = service.rows if options.nearest else None
        texts = isinstance(rows, list) and isinstance(rows[0], str)
        quick = small and cost < QUICK_OPERATIONS and not (options.explain or near or texts)

        def predict(some: Rows) -> Predictions:
            X = _read_features_to_predict(service, some)
            sent = (service.texts, cast(list[str], some)) if texts else ()
            found = predict_rows(snapshot, X, options, *sent)
            if near is not None:
                classes = [[each["class"] for each in one["top"]] for one in found["predictions"]]
                own = cast(list[int], some) if isinstance(some, list) and not texts else None
                nearest = near.nearest_rows(snapshot, X, classes, options.nearest, own)
                for one, its in zip(found["predictions"], nearest, strict=True):
                    one["nearest"] = its
            return found

        def compute() -> Response:
            n = len(rows)
            height = max(1, QUICK_CLASSES * n // listed)
            if height >= n:
                return json_response(predict(rows))
            parts = (predict(rows[start : start + height]) for start in range(0, n, height))
            return Response(encode_answers(parts), media_type="application/json")

        if listed >= QUICK_CLASSES:
            return await concurrency.send_large(compute)
        if quick and len(rows) == 1:
            row = _read_features_to_predict(service, rows)
            return json_response(await self._batcher.predict_one(row, options, listed, cost))
        if quick:
            return compute()
        async with concurrency.work:
            return await run_in_threadpool(compute)


def _read_features_to_predict(service: Service, rows: Rows) -> Features:
    if not isinstance(rows, list):
        return rows
    if isinstance(rows[0], str):
        return service.texts.encode(rows)
    return service.rows.features(rows)


def _parse_prediction_request(
    service: Service, kind: str, body: bytearray, options: PredictionOptions
) -> tuple[Rows, PredictionOptions]:
    model, limits = service.classes.model, service.limits
    if kind in requests.NPY:
        return requests.rows_from_npy(body, model, limits), requests.check_prediction(options)
    if kind in requests.CSV:
        return requests.rows_from_csv(body, model, limits), requests.check_prediction(options)
    given = requests.parse_body(schemas.PredictionRequest, body, limits)
    fields = given.model_fields_set.intersection(PredictionOptions.model_fields)
    options = requests.check_prediction(options.model_copy(update={name: getattr(given, name) for name in fields}))
    if [given.rows, given.data_rows, given.texts].count(None) != 2:
        forms = "rows, a list of rows of features, or texts, or data_rows, numbers of loaded rows"
        raise Refusal(422, f"expected either {forms}")
    if given.texts is not None:
        if options.explain and len(given.texts) > MAX_EXPLAINED_TEXTS:
            raise Refusal(413, f"{len(given.texts)} explanations of texts are too many: ask for {MAX_EXPLAINED_TEXTS}")
        return given.texts, options
    if given.rows is not None:
        return requests.rows_from_lists(given.rows, given.columns, model, limits), options
    numbers = given.data_rows or []
    requests.check_shape((len(numbers), int(model.n_features_in_)), model, limits)
    return service.rows.check_rows(numbers), options


def _measure_prediction_size(
    service: Service, snapshot: ClassSnapshot, n: int, options: PredictionOptions
) -> tuple[int, int]:
    """How many classes the answer for n rows lists, and how many multiplications it takes; too many are refused."""
    limits = service.limits
    if options.explain and n > limits.explained_rows:
        raise Refusal(413, f"the request asks for {n} explanations: expected at most {limits.explained_rows}")
    every = len(options.candidates or snapshot.kinds)
    listed = n * (min(options.top, every) if options.coverage is None else every)
    if listed > limits.answers:
        raise Refusal(413, f"the answer would list {listed} classes: expected at most {limits.answers}; lower top")
    if options.nearest and listed > MAX_NEAREST_CLASSES:
        limit = f"expected at most {MAX_NEAREST_CLASSES}; lower top, or send less"
        raise Refusal(413, f"the answer would list rows of {listed} classes: {limit}")
    d, (c, p) = int(service.classes.model.n_features_in_), snapshot.table.matrix.shape
    if options.features and n * d > limits.json_values:
        raise Refusal(413, f"the answer would list {n * d} features: expected at most {limits.json_values}")
    listed += n * d // 4 if options.features else 0  # a number takes a fourth of what a class does
    candidates = d * p * min(len(options.candidates), p) if options.candidates else 0
    return listed, n * p * (d + c) + candidates
