"""POST /predict: rows of features, or of the loaded data → the best classes of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from zskl.serve import bodies, csv_bodies, media_types, openapi, photo_bodies, predictions
from zskl.serve.batches import FEW, Batches
from zskl.serve.class_book import Book
from zskl.serve.json_bodies import parsed
from zskl.serve.limits import QUICK
from zskl.serve.options import check_names, check_prediction, merged
from zskl.serve.refusal import Refusal
from zskl.serve.replies import json_reply
from zskl.serve.schemas.predictions import PredictionOptions, PredictionRequest, Predictions
from zskl.serve.service import Service
from zskl.serve.turns import Turns

PATH = "/predict"
KINDS = (*media_types.JSON, *media_types.NPY, *media_types.CSV, *media_types.PHOTOS)  # of bodies
NEAR = 1000  # classes of an answer that are listed with the nearest rows


@dataclass(frozen=True)
class Asked:
    """What a request asks: rows of features, or the numbers of loaded rows; and its options."""

    rows: bodies.Features | list[int]
    options: PredictionOptions


def router(handler: Handler) -> APIRouter:
    """The route of predictions."""
    routes = APIRouter()

    @routes.post(PATH, response_model=Predictions, **openapi.takes_rows())
    async def predict(request: Request, options: Annotated[PredictionOptions, Query()]) -> Response:
        """The best classes of each row. Options are parameters of the address, or fields of a JSON body, which win."""
        check_names(request.query_params, PredictionOptions.model_fields)
        return await handler.answer(request, options)

    return routes


class Handler:
    """Reads a request for predictions, and answers it: one row together with those that wait, others in their turn."""

    def __init__(self, service: Service, turns: Turns) -> None:
        self._service, self._turns = service, turns
        self._batches = Batches(lambda: service.book)

    async def answer(self, request: Request, options: PredictionOptions) -> Response:
        """The answer to a request with these options in its address."""
        service, turns = self._service, self._turns
        kind = media_types.checked(request, KINDS)
        if kind in media_types.PHOTOS:
            checked = check_prediction(options)
            rows = await photo_bodies.features(request, kind, service.photos, service.limits.small, turns)
            return await self._answer(Asked(rows, checked), small=True)
        body, parts = bytearray(), request.stream()
        async for part in parts:
            body += part
            if len(body) > service.limits.small:
                break
        else:
            return await self._answer(_read(service, kind, body, options), small=True)
        async with turns.bodies:
            async for part in parts:
                body += part
            async with turns.work:
                asked = await run_in_threadpool(_read, service, kind, body, options)
            return await self._answer(asked, small=False)

    async def _answer(self, asked: Asked, small: bool) -> Response:
        service, turns = self._service, self._turns
        book = service.book
        listed, cost = _size(service, book, asked)
        near = service.neighbours if asked.options.nearest else None
        quick = small and cost < QUICK and not (asked.options.explain or near)

        def of(some: bodies.Features | list[int]) -> Predictions:
            X = _features(service, some)
            found = predictions.predict(book, X, asked.options)
            if near is not None:
                classes = [[each["class"] for each in one["top"]] for one in found["predictions"]]
                own = some if isinstance(some, list) else None
                rows = near.of(book, X, classes, asked.options.nearest, own)
                for one, nearest in zip(found["predictions"], rows, strict=True):
                    one["nearest"] = nearest
            return found

        def work() -> Response:
            n = len(asked.rows)
            height = max(1, FEW * n // listed)
            if height >= n:
                return json_reply(of(asked.rows))
            parts = (of(asked.rows[start : start + height]) for start in range(0, n, height))
            return Response(predictions.encoded(parts), media_type="application/json")

        if listed >= FEW:
            return await turns.answered(work)
        if quick and len(asked.rows) == 1:
            row = _features(service, asked.rows)
            return json_reply(await self._batches.predicted(row, asked.options, listed, cost))
        if quick:
            return work()
        async with turns.work:
            return await run_in_threadpool(work)


def _features(service: Service, rows: bodies.Features | list[int]) -> bodies.Features:
    return service.rows.features(rows) if isinstance(rows, list) else rows


def _read(service: Service, kind: str, body: bytearray, options: PredictionOptions) -> Asked:
    """What a body of any kind asks, with the options of the address."""
    model, limits = service.classes.model, service.limits
    if kind in media_types.NPY:
        return Asked(bodies.from_npy(body, model, limits), check_prediction(options))
    if kind in media_types.CSV:
        return Asked(csv_bodies.from_csv(body, model, limits), check_prediction(options))
    given = parsed(PredictionRequest, body, limits)
    options = check_prediction(merged(options, given))
    if (given.rows is None) == (given.data_rows is None):
        raise Refusal(422, "expected either rows, a list of rows of features, or data_rows, numbers of loaded rows")
    if given.rows is not None:
        return Asked(bodies.from_lists(given.rows, given.columns, model, limits), options)
    numbers = given.data_rows or []
    bodies.check_shape((len(numbers), int(model.n_features_in_)), model, limits)
    return Asked(service.rows.checked(numbers), options)


def _size(service: Service, book: Book, asked: Asked) -> tuple[int, int]:
    """How many classes the answer lists, and how many multiplications it takes; too many are refused."""
    limits, options, n = service.limits, asked.options, len(asked.rows)
    if options.explain and n > limits.explained_rows:
        raise Refusal(413, f"the request asks for {n} explanations: expected at most {limits.explained_rows}")
    listed = n * min(options.top, len(options.candidates or book.kinds))
    if listed > limits.answers:
        raise Refusal(413, f"the answer would list {listed} classes: expected at most {limits.answers}; lower top")
    if options.nearest and listed > NEAR:
        raise Refusal(
            413, f"the answer would list rows of {listed} classes: expected at most {NEAR}; lower top, or send less"
        )
    d, (c, p) = int(service.classes.model.n_features_in_), book.table.matrix.shape
    if options.features and n * d > limits.json_values:
        raise Refusal(413, f"the answer would list {n * d} features: expected at most {limits.json_values}")
    listed += n * d // 4 if options.features else 0  # a number takes a fourth of what a class does
    candidates = d * p * min(len(options.candidates), p) if options.candidates else 0
    return listed, n * p * (d + c) + candidates
