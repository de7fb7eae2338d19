"""GET /balance and GET /confusion: how the model does on test rows of the loaded data. GET /map: classes on a plane."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from zskl.serve import openapi
from zskl.serve.replies import json_reply
from zskl.serve.schemas.diagnostics import Balance, Confusion, MapOfClasses
from zskl.serve.service import Service


def router(service: Service) -> APIRouter:
    """The routes of figures on test rows, and of the map."""
    routes = APIRouter()

    @routes.get("/balance", response_model=Balance, **openapi.may(409))
    async def balance() -> Response:
        """Accuracy on seen and on unseen classes by the calibration constant, on test rows. To look at, not to choose
        by."""
        return json_reply(await run_in_threadpool(service.diagnostics.balance))

    @routes.get("/confusion", response_model=Confusion, **openapi.may(409))
    async def confusion() -> Response:
        """How well each class is recognised on test rows, among the classes of the model file, and which pairs are most
        often taken for each other. To look at, not to choose by."""
        return json_reply(await run_in_threadpool(service.diagnostics.confusion))

    @routes.get("/map", response_model=MapOfClasses, **openapi.may(409))
    async def map_of_classes() -> Response:
        """All classes as points: those that are described alike are near each other."""
        return json_reply(await run_in_threadpool(service.map.of, service.book))

    return routes
