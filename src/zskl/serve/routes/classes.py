"""/classes and /classes/NAME: list, show, add, change and delete classes."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from zskl.serve import json_bodies, openapi
from zskl.serve.options import seen_version
from zskl.serve.replies import json_reply
from zskl.serve.schemas.classes import ClassDetails, ClassList, Description, NewClass, SavedClass
from zskl.serve.service import Service


def router(service: Service) -> APIRouter:
    """The routes of classes."""
    routes = APIRouter()

    @routes.get("/classes", response_model=ClassList)
    async def list_classes() -> Response:
        """All classes: seen and unseen ones of the model file, and added ones."""
        return json_reply(service.listed())

    @routes.post(
        "/classes", response_model=SavedClass, status_code=201, **openapi.takes("NewClass", 409, 413, 415, 422, 507)
    )
    async def add_class(request: Request) -> Response:
        """Add a class by its attributes or a sentence. It is kept, and all requests that begin after the answer rank
        it."""
        new = await json_bodies.small(NewClass, request, service.limits)
        return await save(new.name, new, again=False, since=None)

    @routes.get("/classes/{name:classname}", response_model=ClassDetails, **openapi.may(404))
    async def class_details(name: str) -> Response:
        """A class: its description and the classes most like it."""
        found = await run_in_threadpool(service.details, name)
        return json_reply(found, headers={"etag": f'"{found["version"]}"'})

    @routes.put(
        "/classes/{name:classname}",
        response_model=SavedClass,
        **openapi.takes("Description", 409, 412, 413, 415, 422, 507, created=True),
    )
    async def put_class(name: str, request: Request) -> Response:
        """Replace the description of an added class, or add the class (201). With `If-Match: "VERSION"`, the `ETag` of
        GET, only if nobody has changed the class since."""
        since = seen_version(request)
        described = await json_bodies.small(Description, request, service.limits)
        return await save(name, described, again=True, since=since)

    @routes.delete(
        "/classes/{name:classname}", status_code=204, response_class=Response, **openapi.may(404, 409, 412, 422, 507)
    )
    async def delete_class(name: str, request: Request) -> Response:
        """Forget an added class. `If-Match` as for PUT."""
        await run_in_threadpool(service.classes.delete, name, seen_version(request))
        return Response(status_code=204)

    async def save(name: str, body: Description, again: bool, since: int | None) -> Response:
        book, name, new = await run_in_threadpool(
            service.classes.put, name, body.attributes, again, since, body.sentence
        )
        defaulted = book.added[name].defaulted
        answer: SavedClass = {"name": name, "kind": "added", "defaulted": defaulted, "version": book.version}
        return json_reply(answer, 201 if new else 200, {"etag": f'"{book.version}"'})

    return routes
