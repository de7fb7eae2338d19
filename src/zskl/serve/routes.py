"""Paths → calls of the service, by resource."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool

from zskl.serve import requests, responses, schemas
from zskl.serve.limits import QUICK_OPERATIONS, ConcurrencyLimits, Refusal, quote
from zskl.serve.monitoring import Metrics
from zskl.serve.predictions import PredictionHandler
from zskl.serve.responses import json_response
from zskl.serve.service import Service
from zskl.serve.teaching import check_can_learn

PREDICT_PATH, METRICS_PATH, DOCS_PATH = "/predict", "/metrics", "/docs"
NO_CONTENT: dict[str, Any] = {"status_code": 204, "response_class": Response}
METRICS: dict[str, Any] = {
    "responses": {200: {"description": "A line for each count", "content": {"text/plain": responses.TEXT}}}
    | responses.refusal_responses(409)["responses"]
}
LINES: dict[str, Any] = {
    "responses": {200: {"description": "A line for each", "content": {"application/jsonl": responses.TEXT}}}
}
PAGE_HEADERS = {"cache-control": "no-cache"}  # a browser asks again: the next version may have the same address
PAGE_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def add_model_routes(app: FastAPI, service: Service) -> None:
    @app.get(responses.HEALTH_PATH, response_model=schemas.Health)
    async def health() -> Response:
        """Whether the service is up. It needs no token."""
        return json_response(service.check_health())

    @app.get(responses.READY_PATH, response_model=schemas.Readiness)
    async def ready() -> Response:
        """Whether the service can do all that it offers, changes of classes included; if not, 503 says why. It needs no
        token."""
        await run_in_threadpool(service.classes.check_writable)
        return json_response(schemas.Readiness(status="ready"))

    @app.get("/model", response_model=schemas.Model)
    async def model() -> Response:
        """The model and its attributes, the loaded data, the limits of a request."""
        return json_response(service.describe_model())

    @app.get("/balance", response_model=schemas.Balance, **responses.refusal_responses(409))
    async def balance() -> Response:
        """Accuracy on seen and on unseen classes by the calibration constant, on test rows. To look at, not to choose
        by."""
        return json_response(await run_in_threadpool(service.diagnostics.balance))

    @app.get("/confusion", response_model=schemas.Confusion, **responses.refusal_responses(409))
    async def confusion() -> Response:
        """How well each class is recognised on test rows, among the classes of the model file, and which pairs are most
        often taken for each other. To look at, not to choose by."""
        return json_response(await run_in_threadpool(service.diagnostics.confusion))

    @app.get("/map", response_model=schemas.MapOfClasses, **responses.refusal_responses(409))
    async def map_of_classes() -> Response:
        """All classes as points: those that are described alike are near each other."""
        return json_response(await run_in_threadpool(service.map.draw, service.snapshot))


def add_operator_routes(
    app: FastAPI, service: Service, metrics: Metrics | None, reload: Callable[[], float] | None
) -> None:
    @app.get(METRICS_PATH, response_class=Response, **METRICS)
    async def counts() -> Response:
        """Requests and their seconds, rows, batches, memory, classes and examples, for Prometheus; of all workers."""
        if metrics is None:
            raise Refusal(409, "this service counts nothing")
        content = await run_in_threadpool(metrics.text, service.snapshot)
        return Response(content, media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.post("/reload", response_model=schemas.Reloaded, **responses.refusal_responses(409))
    async def load_again() -> Response:
        """Load the model file again, in all workers. Requests are answered by the old model until the new one is
        ready; if it cannot be loaded, or does not fit the added classes, the old one stays."""
        if reload is None:
            raise Refusal(409, "this service has no model file to load again: start it with one")
        seconds = await run_in_threadpool(reload)
        return json_response(schemas.Reloaded(status="reloaded", seconds=seconds))

    @app.get(DOCS_PATH, include_in_schema=False)
    async def docs() -> Response:
        """The description of the API for people. It asks nobody else for anything."""
        return Response(await run_in_threadpool(describe), media_type="text/html")

    @cache
    def describe() -> str:
        from jinja2 import Environment

        template = (resources.files("zskl.serve") / "page" / "reference.jinja").read_text("utf-8")
        return Environment(autoescape=True, trim_blocks=True).from_string(template).render(api=app.openapi())


def add_class_routes(app: FastAPI, service: Service, concurrency: ConcurrencyLimits) -> None:
    @app.get("/classes", response_model=schemas.ClassList)
    async def list_classes() -> Response:
        """All classes: seen and unseen ones of the model file, and added ones."""
        return json_response(service.list_classes())

    @app.post(
        "/classes",
        response_model=schemas.SavedClass,
        status_code=201,
        **responses.json_body("NewClass", 409, 413, 415, 422, 507),
    )
    async def add_class(request: Request) -> Response:
        """Add a class by its attributes or a sentence. It is kept, and all requests that begin after the answer rank
        it."""
        new = await requests.read_small_body(schemas.NewClass, request, service.limits)
        return await save(new.name, new, again=False, since=None)

    @app.get("/export", response_class=Response, **LINES)
    async def export() -> Response:
        """Added classes, what they were taught, and the adaptation, as JSON lines: a file for `--classes`."""
        lines = await run_in_threadpool(lambda: [to_json(line) for line in service.classes.store.lines()])
        return Response(b"".join(line + b"\n" for line in lines), media_type="application/jsonl")

    @app.post("/undo", response_model=schemas.UndoneChange, **responses.json_body("Undo", 404, 409, 413, 415, 422, 507))
    async def undo(request: Request) -> Response:
        """Undo the change that made this version: add a deleted class again, with its examples, or take back a
        description, an example or a deletion of examples. Only if nobody has changed the class since."""
        wanted = await requests.read_small_body(schemas.Undo, request, service.limits)
        snapshot, name = await run_in_threadpool(service.classes.undo, wanted.version)
        return json_response(schemas.UndoneChange(name=name, version=snapshot.version))

    @app.get("/classes/{name:classname}", response_model=schemas.ClassDetails, **responses.refusal_responses(404))
    async def class_details(name: str) -> Response:
        """A class: its description and the classes most like it."""
        found = await run_in_threadpool(service.describe_class, name)
        return json_response(found, headers={"etag": f'"{found["version"]}"'})

    @app.put(
        "/classes/{name:classname}",
        response_model=schemas.SavedClass,
        **responses.json_body("Description", 409, 412, 413, 415, 422, 507, created=True),
    )
    async def put_class(name: str, request: Request) -> Response:
        """Replace the description of an added class, or add the class (201). With `If-Match: "VERSION"`, the `ETag` of
        GET, only if nobody has changed the class since."""
        since = requests.parse_if_match(request)
        described = await requests.read_small_body(schemas.Description, request, service.limits)
        return await save(name, described, again=True, since=since)

    @app.delete("/classes/{name:classname}", **NO_CONTENT, **responses.refusal_responses(404, 409, 412, 422, 507))
    async def delete_class(name: str, request: Request) -> Response:
        """Forget an added class. `If-Match` as for PUT. The `ETag` of the answer is the version for POST /undo."""
        snapshot = await run_in_threadpool(service.classes.delete, name, requests.parse_if_match(request))
        return Response(status_code=204, headers={"etag": f'"{snapshot.version}"'})

    async def save(name: str, body: schemas.Description, again: bool, since: int | None) -> Response:
        snapshot, name, new = await run_in_threadpool(
            service.classes.put, name, body.attributes, again, since, body.sentence
        )
        defaulted = snapshot.added[name].defaulted
        answer = schemas.SavedClass(name=name, kind="added", defaulted=defaulted, version=snapshot.version)
        return json_response(answer, 201 if new else 200, {"etag": f'"{snapshot.version}"'})

    @app.post("/words", response_model=schemas.UnderstoodWords, **responses.json_body("Words", 413, 415, 422))
    async def understand(request: Request) -> Response:
        """The attributes that a description in words names, with the value to give each; what it denies gets the lowest
        value of any class. `unknown` are words that name no attribute."""
        given = await requests.read_small_body(schemas.Words, request, service.limits)
        return json_response(await run_in_threadpool(service.classes.words.understand, given.text))

    @app.post("/fits", response_model=schemas.FittingClasses, **responses.json_body("Sought", 409, 413, 415, 422))
    async def fits(request: Request) -> Response:
        """The classes that fit a description best: how far each agrees with the given attributes, the attributes that
        count most, and, if data are loaded, the rows of the class that fit the description best. Also what the
        description would be as a class: how many rows it would win, and the class that it is most like."""
        sought = await requests.read_small_body(schemas.Sought, request, service.limits)
        described = await run_in_threadpool(service.classes.describe, sought.attributes, sought.sentence)
        work = service.fitting_cost(len(described.vector))
        async with nullcontext() if work < QUICK_OPERATIONS else concurrency.work:
            found = await run_in_threadpool(service.find_fitting_classes, described, sought)
        return json_response(found)


def add_teaching_routes(app: FastAPI, service: Service, concurrency: ConcurrencyLimits) -> None:
    @app.get("/classes/{name:text}/examples", response_model=schemas.ExampleList, **responses.refusal_responses(404))
    async def list_examples(request: Request, name: str, features: bool = False) -> Response:
        """The rows that were marked as right or wrong for a class here, the oldest first; `features` lists theirs."""
        requests.check_request_parameters(request.query_params, ("features",))
        found = service.list_examples(name, features)
        return json_response(found, headers={"etag": f'"{found["version"]}"'})

    @app.post(
        "/classes/{name:text}/examples",
        response_model=schemas.SavedExample,
        status_code=201,
        **responses.json_body("NewExample", 404, 409, 412, 413, 415, 422, 507, binary=requests.PHOTO),
    )
    async def add_example(name: str, request: Request, right: bool = True) -> Response:
        """Teach that a row is of a class, or with `right` false that it is not. The body is JSON with a loaded row or
        with features; or a photo, with `right` as a parameter of the address. A row counts once for a class. `If-Match`
        with the `ETag` of GET: only if nobody has changed the examples of this class since."""
        requests.check_request_parameters(request.query_params, ("right",))
        since = requests.parse_if_match(request)
        kind = requests.check_media_type(request, (*requests.JSON, *requests.PHOTO))
        check_can_learn(service.classes.model)
        row = data = None
        if kind in requests.PHOTO:
            features = await requests.read_photo_features(
                request, kind, service.photos, service.limits.small, concurrency
            )
        else:
            given = await requests.read_small_body(schemas.NewExample, request, service.limits)
            row = given.row
            if [row, given.features, given.text].count(None) != 2:
                raise Refusal(
                    422, "expected either row, the number of a loaded row, or features, a list of numbers, or text"
                )
            if given.text is not None:
                async with concurrency.work:
                    features = await run_in_threadpool(service.texts.encode, [given.text])
            elif row is None:
                model, limits = service.classes.model, service.limits
                features = requests.rows_from_lists([given.features or []], None, model, limits)
            else:
                features = service.rows.features(service.rows.check_rows([row]))
            right = given.right if "right" in given.model_fields_set else right
            data = None if row is None else service.rows.data.fingerprint
        snapshot, made = await run_in_threadpool(service.teaching.add, name, features, right, row, data, since)
        about = service.describe_example(made)
        answer = schemas.SavedExample(**about, name=made.label, version=snapshot.version)
        return json_response(answer, 201, {"etag": f'"{snapshot.version}"'})

    @app.delete("/classes/{name:text}/examples", **NO_CONTENT, **responses.refusal_responses(404, 409, 412, 422, 507))
    async def delete_examples(name: str, request: Request, id: str | None = None) -> Response:
        """Take back the example with this `id`, or all examples of the class. `If-Match` as for POST. The `ETag` of the
        answer is the version for POST /undo."""
        requests.check_request_parameters(request.query_params, ("id",))
        snapshot = await run_in_threadpool(service.teaching.remove, name, id, requests.parse_if_match(request))
        return Response(status_code=204, headers={"etag": f'"{snapshot.version}"'})

    @app.get("/adapt", response_model=schemas.Verdict, **responses.refusal_responses(409))
    async def adaptation() -> Response:
        """Whether the model is adapted to loaded rows, and what validation classes say about adapting to them."""
        return json_response(await run_in_threadpool(service.show_adaptation))

    @app.post("/adapt", response_model=schemas.Verdict, **responses.json_body("Unlabelled", 409, 413, 415, 422, 507))
    async def adapt(request: Request) -> Response:
        """Adapt the model to loaded rows, without their labels, if validation classes say that this helps, or with
        `force`. The verdict comes back in either case. It holds until DELETE /adapt."""
        wanted = await requests.read_small_body(schemas.Unlabelled, request, service.limits)
        async with concurrency.work:
            return json_response(await run_in_threadpool(service.adapt, wanted.candidates, wanted.force))

    @app.delete("/adapt", **NO_CONTENT, **responses.refusal_responses(507))
    async def forget() -> Response:
        """Undo what POST /adapt did."""
        await run_in_threadpool(service.teaching.forget_adaptation)
        return Response(status_code=204)

    @app.get("/label-next", response_model=schemas.RowsToLabel, **responses.refusal_responses(409))
    async def label_next(
        request: Request, count: Annotated[int, Query(ge=1, le=100)] = 10, pictures: bool = False
    ) -> Response:
        """The loaded rows whose labels would help the model most, the first one first: those that it is least sure of,
        and no two alike. Training rows and rows that were marked are left out."""
        requests.check_request_parameters(request.query_params, ("count", "pictures"))
        async with concurrency.work:
            choose = service.rows.choose_rows_to_label
            return json_response(await run_in_threadpool(choose, service.snapshot, count, pictures))


def add_row_routes(app: FastAPI, service: Service, concurrency: ConcurrencyLimits, handler: PredictionHandler) -> None:
    @app.post("/rank", response_model=schemas.RankedRows, **responses.json_body("Wanted", 409, 413, 415, 422))
    async def rank(request: Request) -> Response:
        """The rows of the loaded data that fit a description best. The score is the fit that is expected of a row: how
        well its likely classes fit the description, which is a class among them."""
        wanted = await requests.read_small_body(schemas.Wanted, request, service.limits)
        rows, snapshot = service.rows, service.snapshot
        one = await run_in_threadpool(service.classes.describe, wanted.attributes, wanted.sentence)
        words = service.classes.words
        async with nullcontext() if service.ranking_cost(len(words.names)) < QUICK_OPERATIONS else concurrency.work:
            best = await run_in_threadpool(rows.rank, snapshot, words, one, wanted)
        return json_response(schemas.RankedRows(defaulted=one.defaulted, rows=best))

    @app.get("/rows", response_model=schemas.RowList, **responses.refusal_responses(409))
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
        requests.check_request_parameters(
            request.query_params, ("start", "count", "class", "part", "pictures", "around")
        )
        return json_response(service.rows.list_rows(service.snapshot, start, count, label, part, pictures, around))

    shown = responses.refusal_responses(404, 409, 422)
    shown["responses"][200] = {"description": "A picture", "content": {"image/*": responses.BINARY}}

    @app.get("/rows/{row}/picture", response_class=Response, **shown)
    async def picture(row: int, request: Request, key: str | None = None) -> Response:
        """The picture of a row. With `key`, the `picture_key` of GET /model, a browser may keep it."""
        requests.check_request_parameters(request.query_params, ("key",))
        if key not in (None, service.rows.picture_key):
            raise Refusal(404, "this picture belonged to other data, which are not served any more: see GET /model")
        content, kind = await run_in_threadpool(service.rows.read_picture, row)
        kept = "no-store" if key is None else "private, max-age=3600"
        return Response(content, media_type=kind, headers={"cache-control": kept})

    binary = (*requests.NPY, *requests.PHOTO)
    body = responses.json_body("PredictionRequest", 409, 413, 415, 422, binary=binary, text=requests.CSV)

    @app.post(PREDICT_PATH, response_model=schemas.Predictions, **body)
    async def predict(request: Request, options: Annotated[schemas.PredictionOptions, Query()]) -> Response:
        """The best classes of each row. Options are parameters of the address, or fields of a JSON body, which win."""
        requests.check_request_parameters(request.query_params, schemas.PredictionOptions.model_fields)
        return await handler.answer(request, options)


def add_page_routes(app: FastAPI) -> None:
    # read once: a request can only name what is in here
    folder = resources.files("zskl.serve") / "page"
    found = [item for item in folder.iterdir() if Path(item.name).suffix in PAGE_TYPES] if folder.is_dir() else []
    files = {item.name: (item.read_bytes(), PAGE_TYPES[Path(item.name).suffix]) for item in found}

    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        return await asset("index.html")

    @app.get("/page/{name}", include_in_schema=False)
    async def asset(name: str) -> Response:
        if name not in files:
            raise Refusal(404, f"the page has no file {quote(name)}")
        content, kind = files[name]
        return Response(content, media_type=kind, headers=PAGE_HEADERS)
