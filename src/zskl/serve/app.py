"""The service over HTTP: paths → calls of `Service`, described by the types of `schemas`."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import nullcontext
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from zskl.serve import bodies, openapi, predictions, schemas
from zskl.serve.json_bodies import parsed, sentence
from zskl.serve.options import Asked, check_names
from zskl.serve.refusal import Refusal, shown
from zskl.serve.service import Service
from zskl.version import __version__

TURNS = min(max(2, os.cpu_count() or 1), 8)  # large requests at once, each on one core and in up to a gigabyte
QUICK = 20_000_000  # multiplications that are done on the spot; more go to a thread, so that others are answered
FEW = 10_000  # classes listed on the spot
MEDIA = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

log = logging.getLogger("zskl.serve")


class _Text(PathConvertor):
    """The rest of a path, whatever is in it: the one that comes with Starlette ends at a line break."""

    regex = "(?s:.*)"


register_url_convertor("text", _Text())


def build(service: Service) -> FastAPI:
    """The application; `guard` goes around it."""
    app = FastAPI(title="zskl", version=__version__, description=openapi.ABOUT, docs_url=None, redoc_url=None)
    turns = asyncio.Semaphore(TURNS)
    page = _page_files()

    @app.exception_handler(Refusal)
    async def refused(_: Request, error: Refusal) -> Response:
        return _json({"error": error.sentence}, error.status)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return _json({"error": sentence(error.errors())}, 422)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        what = {404: "there is nothing here", 405: f"{request.method} is not possible here"}
        why = f"{what.get(error.status_code, error.detail)}: /openapi.json lists what there is"
        headers = error.headers
        if error.status_code == 405:  # of all routes with this path; Starlette names the first one's methods
            here = [route for route in app.routes if route.matches(request.scope)[0] is not Match.NONE]
            headers = {"allow": ", ".join(sorted({name for route in here for name in getattr(route, "methods", ())}))}
        return _json({"error": why}, error.status_code, headers)

    @app.exception_handler(ClientDisconnect)
    async def gone(_: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=400)  # nobody reads it

    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> Response:
        log.error("a request failed", exc_info=error)
        return _json({"error": "the service failed on this request; its log says why"}, 500)

    @app.head("/health", include_in_schema=False)
    @app.head("/", include_in_schema=False)
    async def there() -> Response:
        return Response()

    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        return _file(page, "index.html")

    @app.get("/page/{name}", include_in_schema=False)
    async def asset(name: str) -> Response:
        return _file(page, name)

    @app.get("/health", response_model=schemas.Health)
    async def health() -> Any:
        """Whether the service is up."""
        return _json(service.health())

    @app.get("/model", response_model=schemas.Model)
    async def model() -> Any:
        """What the model is, its attributes, the loaded data, the limits of a request."""
        return _json(service.model())

    @app.get("/classes", response_model=schemas.ClassList)
    async def list_classes() -> Any:
        """All classes: seen and unseen ones of the model file, and those that were added."""
        return _json(service.listed())

    @app.post("/classes", response_model=schemas.Kept, status_code=201, **openapi.takes("NewClass", 409, 413, 415, 422))
    async def add_class(request: Request) -> Any:
        """Add a class by its attributes. It is kept, and ranked by all requests that begin after the answer."""
        new = parsed(schemas.NewClass, await small_body(request), service.limits)
        return await put(new.name, new.attributes, replace=False)

    @app.get("/classes/{name:text}", response_model=schemas.ClassDetails, **openapi.may(404))
    async def class_details(name: str) -> Any:
        """A class: its description and the classes most like it."""
        return _json(await run_in_threadpool(service.details, name))

    @app.put(
        "/classes/{name:text}",
        response_model=schemas.Kept,
        **openapi.takes("Description", 409, 413, 415, 422, created=True),
    )
    async def put_class(name: str, request: Request) -> Any:
        """Describe an added class anew, or add it (201)."""
        described = parsed(schemas.Description, await small_body(request), service.limits)
        return await put(name, described.attributes, replace=True)

    @app.delete("/classes/{name:text}", status_code=204, response_class=Response, **openapi.may(404, 409))
    async def delete_class(name: str) -> Response:
        """Forget an added class."""
        await run_in_threadpool(service.classes.delete, name)
        return Response(status_code=204)

    async def small_body(request: Request) -> bytearray:
        _media_type(request, bodies.JSON)
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > service.limits.small:
                raise Refusal(413, f"the body is larger than {service.limits.small} bytes, far more than a description")
        return body

    async def put(name: str, attributes: dict[str, float], replace: bool) -> Response:
        numbers = {attribute: float(value) for attribute, value in attributes.items()}  # true is 1
        book, new = await run_in_threadpool(service.classes.put, name, numbers, replace)
        defaulted = book.added[name].defaulted
        answer = {"name": name, "kind": "added", "defaulted": defaulted, "version": book.version}
        return _json(answer, 201 if new else 200)

    @app.post("/predict", response_model=schemas.Predictions, **openapi.takes_rows())
    async def predict(
        request: Request,
        top: Annotated[int, Query(ge=1, le=1000)] = 5,
        candidates: Annotated[list[str] | None, Query(min_length=1)] = None,
        calibrated: bool = True,
        calibration: Annotated[schemas.Constant | None, Query()] = None,
        explain: bool = False,
        against: str | None = None,
        attributes: Annotated[int, Query(ge=1, le=1000)] = 5,
    ) -> Any:
        """The best classes of each row. Options are parameters of the address; those in a JSON body go before them."""
        asked = Asked(
            top,
            None if candidates is None else tuple(candidates),
            calibrated,
            calibration,
            explain,
            against,
            attributes,
        )
        check_names(request.query_params, [one.name for one in fields(Asked)])
        kind = _media_type(request, (*bodies.JSON, *bodies.NPY))
        body, parts = bytearray(), request.stream()
        async for part in parts:
            body += part
            if len(body) > service.limits.small:
                break
        else:
            return await answer(kind, body, asked, at_once=True)
        async with turns:  # the rest is read when it is this request's turn
            async for part in parts:
                body += part
            return await answer(kind, body, asked, at_once=False)

    async def answer(kind: str, body: bytearray, asked: Asked, at_once: bool) -> Response:
        rows, asked = read(kind, body, asked) if at_once else await run_in_threadpool(read, kind, body, asked)
        book, limits, n = service.book, service.limits, len(rows)
        if asked.explain and n > limits.explained_rows:
            raise Refusal(413, f"{n} rows are to be explained: at most {limits.explained_rows} at once")
        listed = n * min(asked.top, len(asked.candidates or book.kinds))
        if listed > limits.answers:
            raise Refusal(413, f"{listed} classes are to be listed: at most {limits.answers}; ask for a lower top")

        def work() -> Response:
            X = service.gallery.features(rows) if isinstance(rows, list) else rows
            return _json(predictions.predict(book, X, asked))

        d, (c, p) = service.classes.model.n_features_in_, book.table.matrix.shape
        cost = n * p * (d + c) + (d * p * min(len(asked.candidates), p) if asked.candidates else 0)
        if at_once and listed < FEW and cost < QUICK and not asked.explain:
            return work()
        async with turns if at_once else nullcontext():  # a large body has its turn already
            return await run_in_threadpool(work)

    def read(kind: str, body: bytearray, asked: Asked) -> tuple[np.ndarray[Any, Any] | list[int], Asked]:
        """Rows of features, or numbers of loaded ones, and options out of a body of any kind."""
        fitted, limits = service.classes.model, service.limits
        if kind in bodies.NPY:
            return bodies.from_npy(body, fitted, limits), asked.check()
        given = parsed(schemas.Prediction, body, limits)
        asked = asked.overridden(given).check()
        if (given.rows is None) == (given.data_rows is None):
            raise Refusal(422, "expected either rows, a list of rows of features, or data_rows, numbers of loaded rows")
        if given.rows is not None:
            return bodies.from_lists(given.rows, given.columns, fitted, limits), asked
        bodies.check_shape((len(given.data_rows or ()), int(fitted.n_features_in_)), fitted, limits)
        return service.gallery.checked(given.data_rows or []), asked

    @app.post("/rank", response_model=schemas.RankedRows, **openapi.takes("Wanted", 409, 413, 415, 422))
    async def rank(request: Request) -> Any:
        """The rows of the loaded data that fit a description best."""
        wanted = parsed(schemas.Wanted, await small_body(request), service.limits)
        gallery = service.gallery
        vector, defaulted = service.classes.words.vector(wanted.attributes)
        cheap = len(gallery.X) * len(vector) < QUICK
        async with nullcontext() if cheap else turns:
            rows = await run_in_threadpool(gallery.rank, service.book, vector, wanted.top, wanted.part, wanted.pictures)
        return _json({"defaulted": defaulted, "rows": rows})

    @app.get("/rows", response_model=schemas.Rows, **openapi.may(409))
    async def rows(
        request: Request,
        start: Annotated[int, Query(ge=0, le=2**53)] = 0,
        count: Annotated[int, Query(ge=1, le=1000)] = 24,
        label: Annotated[str | None, Query(alias="class")] = None,
        part: str | None = None,
        pictures: bool = False,
    ) -> Any:
        """Rows of the loaded data, of one class or part if asked for."""
        check_names(request.query_params, ("start", "count", "class", "part", "pictures"))
        return _json(service.gallery.page(service.book, start, count, label, part, pictures))

    @app.get("/rows/{row}/picture", response_class=Response, **openapi.picture())
    async def picture(row: int) -> Response:
        """The picture of a row."""
        content, kind = await run_in_threadpool(service.gallery.picture, row)
        return Response(content, media_type=kind, headers={"cache-control": "private, max-age=3600"})

    @app.get("/balance", response_model=schemas.Balance, **openapi.may(409))
    async def balance() -> Any:
        """Seen against unseen accuracy on test rows of the loaded data, by the constant: for looking, not choosing."""
        return _json(await run_in_threadpool(service.gallery.balance))

    @app.get("/confusion", response_model=schemas.Confusion, **openapi.may(409))
    async def confusion() -> Any:
        """How test rows of the loaded data are recognised, class by class, among the classes of the model file."""
        return _json(await run_in_threadpool(service.gallery.confusion))

    openapi.describe(app)
    return app


def _media_type(request: Request, kinds: tuple[str, ...]) -> str:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:
        raise Refusal(415, f"the body is of type {shown(kind)}: send the header Content-Type: {' or '.join(kinds)}")
    return kind


def _json(content: Any, status: int = 200, headers: Any = None) -> Response:
    return Response(to_json(content), status, headers, "application/json")


def _page_files() -> dict[str, tuple[bytes, str]]:
    """The page, read once: a request can only name what is in here."""
    folder = resources.files("zskl.serve") / "page"
    files = [item for item in folder.iterdir() if Path(item.name).suffix in MEDIA] if folder.is_dir() else []
    return {item.name: (item.read_bytes(), MEDIA[Path(item.name).suffix]) for item in files}


def _file(page: dict[str, tuple[bytes, str]], name: str) -> Response:
    if name not in page:
        raise Refusal(404, f"there is no file {shown(name)} of the page")
    content, kind = page[name]
    return Response(content, media_type=kind, headers={"cache-control": "no-cache"})
