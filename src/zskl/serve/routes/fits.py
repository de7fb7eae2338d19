"""POST /fits: the classes that fit a description, with rows that show them."""

from __future__ import annotations

from contextlib import nullcontext

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from zskl.serve import json_bodies, openapi
from zskl.serve.limits import QUICK
from zskl.serve.replies import json_reply
from zskl.serve.schemas.fits import FittingClasses, Sought
from zskl.serve.service import Service
from zskl.serve.turns import Turns


def router(service: Service, turns: Turns) -> APIRouter:
    """The route of classes that fit."""
    routes = APIRouter()

    @routes.post("/fits", response_model=FittingClasses, **openapi.takes("Sought", 409, 413, 415, 422))
    async def fits(request: Request) -> Response:
        """The classes that fit a description best: how far each agrees with the given attributes, the attributes that
        count most, and, if data are loaded, the rows of the class that fit the description best. Also what the
        description would be as a class: how many rows it would win, and the class that it is most like."""
        sought = await json_bodies.small(Sought, request, service.limits)
        described = await run_in_threadpool(service.classes.described, sought.attributes, sought.sentence)
        work = service.work_of_fitting(len(described.vector))
        async with nullcontext() if work < QUICK else turns.work:
            found = await run_in_threadpool(service.fitting, described, sought.top, sought.rows, sought.replaces)
        return json_reply(found)

    return routes
