"""/rows and POST /rank: the rows of the loaded data, one by one or by a description."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from zskl.serve import json_bodies, openapi
from zskl.serve.limits import QUICK
from zskl.serve.options import check_names
from zskl.serve.refusal import Refusal
from zskl.serve.replies import json_reply
from zskl.serve.schemas.rows import RankedRows, RowList, Wanted
from zskl.serve.service import Service
from zskl.serve.turns import Turns


def router(service: Service, turns: Turns) -> APIRouter:
    """The routes of rows."""
    routes = APIRouter()

    @routes.post("/rank", response_model=RankedRows, **openapi.takes("Wanted", 409, 413, 415, 422))
    async def rank(request: Request) -> Response:
        """The rows of the loaded data that fit a description best. The score is that of the description, less half the
        best score of the seen classes that it rules out."""
        wanted = await json_bodies.small(Wanted, request, service.limits)
        rows, book = service.rows, service.book
        words = service.classes.words
        one = await run_in_threadpool(service.classes.described, wanted.attributes, wanted.sentence)
        given = one.given(words.names)
        async with nullcontext() if service.work_of_ranking(len(given)) < QUICK else turns.work:
            best = await run_in_threadpool(
                rows.rank, book, one.vector, given, wanted.top, wanted.part, wanted.pictures, wanted.label
            )
        answer: RankedRows = {"defaulted": one.defaulted, "rows": best}
        return json_reply(answer)

    @routes.get("/rows", response_model=RowList, **openapi.may(409))
    async def page_of_rows(
        request: Request,
        start: Annotated[int, Query(ge=0, le=2**53)] = 0,
        count: Annotated[int, Query(ge=1, le=1000)] = 24,
        label: Annotated[str | None, Query(alias="class")] = None,
        part: str | None = None,
        pictures: bool = False,
        around: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    ) -> Response:
        """Rows of the loaded data: all, or those of one class or part; with `around`, the page on which that row is."""
        check_names(request.query_params, ("start", "count", "class", "part", "pictures", "around"))
        return json_reply(service.rows.page(service.book, start, count, label, part, pictures, around))

    @routes.get("/rows/{row}/picture", response_class=Response, **openapi.picture())
    async def picture(row: int, request: Request, key: str | None = None) -> Response:
        """The picture of a row. With `key`, the `picture_key` of GET /model, a browser may keep it."""
        check_names(request.query_params, ("key",))
        if key not in (None, service.rows.picture_key):
            raise Refusal(404, "this picture belonged to other data, which are not served any more: see GET /model")
        content, kind = await run_in_threadpool(service.rows.picture, row)
        kept = "no-store" if key is None else "private, max-age=3600"
        return Response(content, media_type=kind, headers={"cache-control": kept})

    return routes
