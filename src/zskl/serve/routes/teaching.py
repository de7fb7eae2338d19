"""/adapt and GET /label-next: what unlabelled rows teach, and which of them to label."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from zskl.serve import json_bodies, openapi
from zskl.serve.options import check_names
from zskl.serve.replies import json_reply
from zskl.serve.schemas.teaching import RowsToLabel, Unlabelled, Verdict
from zskl.serve.service import Service
from zskl.serve.turns import Turns


def router(service: Service, turns: Turns) -> APIRouter:
    """The routes of unlabelled rows."""
    routes = APIRouter()

    @routes.get("/adapt", response_model=Verdict, **openapi.may(409))
    async def adaptation() -> Response:
        """Whether the model is adapted to loaded rows, and what validation classes say about adapting to them."""
        return json_reply(await run_in_threadpool(service.adaptation))

    @routes.post("/adapt", response_model=Verdict, **openapi.takes("Unlabelled", 409, 413, 415, 422))
    async def adapt(request: Request) -> Response:
        """Adapt the model to loaded rows, without their labels, if validation classes say that this helps, or with
        `force`. The verdict comes back in either case. It holds until DELETE /adapt."""
        wanted = await json_bodies.small(Unlabelled, request, service.limits)
        async with turns.work:
            return json_reply(await run_in_threadpool(service.adapt, wanted.candidates, wanted.force))

    @routes.delete("/adapt", status_code=204, response_class=Response)
    async def forget() -> Response:
        """Undo what POST /adapt did."""
        await run_in_threadpool(service.teaching.forget_adaptation)
        return Response(status_code=204)

    @routes.get("/label-next", response_model=RowsToLabel, **openapi.may(409))
    async def label_next(
        request: Request, count: Annotated[int, Query(ge=1, le=100)] = 10, pictures: bool = False
    ) -> Response:
        """The loaded rows whose labels would help the model most, the first one first: those that it is least sure of,
        and no two alike. Training rows and rows that were marked are left out."""
        check_names(request.query_params, ("count", "pictures"))
        async with turns.work:
            return json_reply(await run_in_threadpool(service.label_next, count, pictures))

    return routes
