"""POST /fits: the classes that fit a description, with rows that show them."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
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

    @routes.post("/fits", response_model=FittingClasses, **openapi.takes("Sought", 413, 415, 422))
    async def fits(request: Request) -> Response:
        """The classes that fit a description best: how far each agrees with the given attributes, the attributes that
        count most, and, if data are loaded, the rows of the class that fit the description best."""
        sought = await json_bodies.small(Sought, request, service.limits)
        vector, defaulted = service.classes.words.vector(sought.attributes)
        given = ~np.isin(service.classes.words.names, defaulted)
        work = service.work_of_ranking(len(vector)) if sought.rows else 0
        async with nullcontext() if work < QUICK else turns.work:
            classes = await run_in_threadpool(service.fitting, vector, given, sought.top, sought.rows)
        answer: FittingClasses = {"defaulted": defaulted, "classes": classes}
        return json_reply(answer)

    return routes
