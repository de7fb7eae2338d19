"""/classes/NAME/examples: rows that are of a class, or are not."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from zskl.serve import bodies, json_bodies, media_types, openapi, photo_bodies
from zskl.serve.bodies import Features
from zskl.serve.options import check_names, seen_version
from zskl.serve.refusal import Refusal
from zskl.serve.replies import json_reply
from zskl.serve.schemas.examples import ExampleList, NewExample, SavedExample
from zskl.serve.service import Service
from zskl.serve.taught_model import check_able
from zskl.serve.turns import Turns


def router(service: Service, turns: Turns) -> APIRouter:
    """The routes of examples."""
    routes = APIRouter()

    @routes.get("/classes/{name:text}/examples", response_model=ExampleList, **openapi.may(404))
    async def list_examples(name: str) -> Response:
        """The rows that were marked as right or wrong for a class here, the oldest first."""
        found = service.examples(name)
        return json_reply(found, headers={"etag": f'"{found["version"]}"'})

    @routes.post(
        "/classes/{name:text}/examples", response_model=SavedExample, status_code=201, **openapi.takes_example()
    )
    async def add_example(name: str, request: Request, right: bool = True) -> Response:
        """Teach that a row is of a class, or with `right` false that it is not. The body is JSON with a loaded row or
        with features; or a photo, with `right` as a parameter of the address. A row counts once for a class. `If-Match`
        with the `ETag` of GET: only if nobody has changed the examples of this class since."""
        check_names(request.query_params, ("right",))
        since = seen_version(request)
        kind = media_types.checked(request, (*media_types.JSON, *media_types.PHOTOS))
        check_able(service.classes.model)
        row = data = None
        if kind in media_types.PHOTOS:
            features = await photo_bodies.features(request, kind, service.photos, service.limits.small, turns)
        else:
            given = await json_bodies.small(NewExample, request, service.limits)
            features, row = _features(service, given), given.row
            right = given.right if "right" in given.model_fields_set else right
            data = None if row is None else service.rows.data.fingerprint
        book, made = await run_in_threadpool(service.teaching.add, name, features, right, row, data, since)
        answer: SavedExample = {**service.listed_example(made), "name": made.label, "version": book.version}
        return json_reply(answer, 201, {"etag": f'"{book.version}"'})

    @routes.delete(
        "/classes/{name:text}/examples",
        status_code=204,
        response_class=Response,
        **openapi.may(404, 409, 412, 422),
    )
    async def delete_examples(name: str, request: Request, id: str | None = None) -> Response:
        """Take back the example with this `id`, or all examples of the class. `If-Match` as for POST."""
        check_names(request.query_params, ("id",))
        await run_in_threadpool(service.teaching.remove, name, id, seen_version(request))
        return Response(status_code=204)

    return routes


def _features(service: Service, given: NewExample) -> Features:
    """(1, d)"""
    if (given.row is None) == (given.features is None):
        raise Refusal(422, "expected either row, the number of a loaded row, or features, a list of numbers")
    if given.features is not None:
        return bodies.from_lists([given.features], None, service.classes.model, service.limits)
    return service.rows.features(service.rows.checked([given.row or 0]))
