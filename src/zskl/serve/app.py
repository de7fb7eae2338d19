"""The application: all routes, and what stands before them (who may ask, from where, how much at once)."""

import asyncio
import hmac
import ipaddress
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Query, Request, Response
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zskl.serve import requests, responses, schemas
from zskl.serve.classes import ClassRegistry
from zskl.serve.limits import QUICK_OPERATIONS, ConcurrencyLimits, Limits, RateLimit, Refusal, WrongTokens, quote
from zskl.serve.monitoring import REQUEST_ID, Metrics, choose_request_id, log_request
from zskl.serve.predictions import PredictionHandler
from zskl.serve.responses import json_response
from zskl.serve.schemas import PredictionOptions
from zskl.serve.service import Service
from zskl.serve.store import StoreError
from zskl.serve.teaching import check_can_learn
from zskl.version import __version__

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
MAX_UNREAD_BYTES = 256 << 20  # of answers that clients have not read yet
CHUNK_BYTES = 256 << 10  # that are sent at once: a client that does not read them gets no more
MIN_UPLOAD_RATE = 1 << 20  # bytes a second that a large body must at least bring
DEFAULT_PORTS = {"http": 80, "https": 443}
PUBLIC_PATHS = ("/", DOCS_PATH, *responses.PROBE_PATHS)  # without a token; also what the page consists of
UNLIMITED_PATHS = (METRICS_PATH, *responses.PROBE_PATHS)  # what watches over the service may always ask
QUESTIONS = (PREDICT_PATH, "/rank", "/fits", "/words")  # POST, and nothing is changed
PREFIX = "/v1"  # of all addresses; those of version 0.2 had none, and go on
PAGE_PATH = "/page/"  # the page itself holds no data: it asks for the token
SINGLE_HEADERS = (b"host", b"origin", b"authorization")  # two of them, and a proxy may have checked the other one
STALL_BYTES = 64 << 10  # that a large body must bring in `Limits.stall` seconds
PREDICT_REQUEST = (PREDICT_PATH, "POST", b"")  # path, method and parameters
CONTENT_POLICY = b"default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'; base-uri 'none'"
SECURITY_HEADERS = [
    (b"content-security-policy", CONTENT_POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
log = logging.getLogger("zskl.serve")


class SlowClient(BaseException):
    """A client does not read its answer, and others need the memory. No handler answers it: it is not an Exception."""


class SendQueue:
    """Sends large answers in chunks. If more than `most` bytes wait, the clients that read least are cut off."""

    def __init__(self, most: int = MAX_UNREAD_BYTES) -> None:
        self._most = most
        self._left: dict[asyncio.Timeout, int] = {}  # bytes of each answer, the longest wait first

    async def send(self, body: bytes, more: bool, send: Send) -> None:
        if len(body) <= CHUNK_BYTES:
            await send({"type": "http.response.body", "body": body, "more_body": more})
            return
        try:
            async with asyncio.timeout(None) as clock:
                for place in range(0, len(body), CHUNK_BYTES):
                    rest = len(body) - place - CHUNK_BYTES
                    if rest > 0:
                        self._make_room(clock, len(body) - place)
                    piece = body[place : place + CHUNK_BYTES]
                    await send({"type": "http.response.body", "body": piece, "more_body": more or rest > 0})
        except TimeoutError:
            raise SlowClient from None
        finally:
            self._left.pop(clock, None)

    def _make_room(self, clock: asyncio.Timeout, size: int) -> None:
        if clock.when() is not None:  # cut off while its client read
            raise SlowClient
        self._left.pop(clock, None)  # its client has read a chunk: to the end of the queue
        self._left[clock] = size
        waiting, now = sum(self._left.values()), asyncio.get_running_loop().time()
        for other in list(self._left)[:-1]:
            if waiting <= self._most:
                return
            waiting -= self._left.pop(other)
            other.reschedule(now)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def page_origin(address: str) -> str:
    """What a browser sends as the origin of a page at this address: https://birds.example"""
    try:
        parts = urlsplit(address)
        port = "" if parts.port is None or parts.port == DEFAULT_PORTS.get(parts.scheme) else f":{parts.port}"
    except ValueError:
        parts, port = urlsplit(""), ""
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError(
            f"--public-url is {address!r}: expected the address that people type, such as https://birds.example/"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}"


class GuardMiddleware:
    """Checks each request before the application sees it, and adds headers to each answer."""

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        hosts: Iterable[str],
        limits: Limits,
        public: str | None = None,
        read_token: str | None = None,
        rate: RateLimit | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._app, self._token, self._limits = app, token, limits
        self._read_token, self._rate, self._metrics = read_token, rate, metrics
        self._public = None if public is None else page_origin(public)
        self._hosts, self._queue = {host.lower() for host in hosts}, SendQueue()
        self._wrong_tokens = WrongTokens()
        if self._public is not None:
            self._hosts.add(_strip_port(self._public.partition("://")[2]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        began, status, size, head = time.perf_counter(), 0, 0, scope["method"] == "HEAD"
        asked = {name.lower(): value for name, value in scope["headers"]}
        request_id = choose_request_id(asked)
        REQUEST_ID.set(request_id)
        scope = {**scope, "method": "GET" if head else scope["method"]}  # HEAD: the same as GET, without the body
        if scope["path"].startswith(f"{PREFIX}/"):
            scope["path"] = scope["path"][len(PREFIX) :]

        async def send_with_headers(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                own = (b"x-request-id", request_id.encode())
                message["headers"] = [*message.get("headers", []), *SECURITY_HEADERS, own]
                await send(message)
                return
            body = b"" if head else message.get("body", b"")
            await self._queue.send(body, message.get("more_body", False), send)
            size += len(body)

        try:
            self._check_origin(scope["headers"], asked)
            if self._rate is not None and scope["path"] not in UNLIMITED_PATHS:
                self._rate.check((scope.get("client") or ("unknown",))[0])
            if self._token is not None and scope["path"] not in PUBLIC_PATHS:
                await self._check_token(scope, asked.get(b"authorization", b""), self._token.encode())
            await self._app(scope, self._limit_body(receive, asked), send_with_headers)
        except Refusal as refusal:
            if not status:
                headers = {"connection": "close", **refusal.headers}
                reply = json_response({"error": refusal.sentence}, refusal.status, headers)
                await reply(scope, receive, send_with_headers)
        except SlowClient:
            return  # the server closes the connection, because the answer is not whole
        finally:
            seconds = time.perf_counter() - began
            if self._metrics is not None:
                self._metrics.note_request(scope, status, seconds)
            log_request(scope, status, size, seconds)

    def _check_origin(self, given: list[tuple[bytes, bytes]], headers: dict[bytes, bytes]) -> None:
        if len(given) > len(headers):
            every = [name.lower() for name, _ in given]
            twice = next((name for name in SINGLE_HEADERS if every.count(name) > 1), None)
            if twice is not None:
                raise Refusal(400, f"the header {twice.decode().title()} is there more than once: send it once")
        host = headers.get(b"host", b"").decode("latin-1").lower()
        # or a page on the web could reach the service under another name of this machine
        if self._token is None and _strip_port(host) not in self._hosts:
            names = ", ".join(sorted(self._hosts))
            raise Refusal(421, f"the request is for the host {host[:60]!r}: this service answers to {names}")
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if origin and origin.partition("://")[2] != host and origin != self._public:
            raise Refusal(
                403,
                f"a page of another origin, {origin[:60]}, may not use this service, which was asked as {host[:60]}: "
                "if it is the service's own page behind a proxy, start the service with --public-url and its address",
            )

    async def _check_token(self, scope: Scope, header: bytes, token: bytes) -> None:
        scheme, _, given = header.partition(b" ")
        bearer = scheme.lower() == b"bearer"
        if scope["path"].startswith(PAGE_PATH) or (bearer and hmac.compare_digest(given.strip(), token)):
            return
        if bearer and self._read_token and hmac.compare_digest(given.strip(), self._read_token.encode()):
            if scope["method"] == "GET" or scope["path"] in QUESTIONS:
                return
            raise Refusal(403, "this token may only read: send the one that may change classes")
        if given:  # only this request waits; a right token never does, or a stranger could lock out others
            await asyncio.sleep(self._wrong_tokens.add((scope.get("client") or ("unknown",))[0]))
        what = "the token is wrong" if given else "this service needs a token"
        why = f"{what}: send the header Authorization: Bearer TOKEN"
        raise Refusal(401, why, {"www-authenticate": "Bearer"})

    def _limit_body(self, receive: Receive, headers: dict[bytes, bytes]) -> Receive:
        limits, most, seen, waited = self._limits, self._limits.body_bytes, 0, 0.0
        marked_bytes, marked_time = 0, 0.0  # when the body had last brought enough
        sentence = f"the body is larger than {most} bytes, more than this service takes: send rows in parts"
        announced = headers.get(b"content-length", b"0")
        if announced.isdigit() and int(announced[:20]) > most:
            raise Refusal(413, sentence)

        async def receive_counted() -> Message:
            nonlocal seen, waited, marked_bytes, marked_time
            began, large, last = time.monotonic(), seen > limits.small, limits.seconds + seen / MIN_UPLOAD_RATE
            late = f"the body did not arrive in {limits.seconds:g} seconds: send it faster"
            if large and marked_time + limits.stall < last:  # others wait for its place in memory
                last = marked_time + limits.stall
                late = f"the body brought less than {STALL_BYTES} bytes in {limits.stall:g} seconds: send it again"
            try:
                async with asyncio.timeout(last - waited):
                    message = await receive()
            except TimeoutError:
                raise Refusal(408, late) from None
            waited += time.monotonic() - began
            seen += len(message.get("body", b""))
            if not large or seen - marked_bytes >= STALL_BYTES:
                marked_bytes, marked_time = seen, waited
            if seen > most:
                raise Refusal(413, sentence)
            return message

        return receive_counted


def _strip_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).strip("[]")


class SyncMiddleware:
    """Lets requests see what any worker has acknowledged before they began."""

    def __init__(self, app: ASGIApp, classes: ClassRegistry) -> None:
        self._app, self._classes, self._lock = app, classes, asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope.get("path") != responses.HEALTH_PATH and self._classes.is_stale:
                async with self._lock:
                    await run_in_threadpool(self._classes.sync)
        except (sqlite3.Error, StoreError, ValueError) as error:
            log.error("classes cannot be read: %s", error)
            why = "the database of classes has changed and cannot be read: the log says why; try again"
            raise Refusal(503, why) from None
        await self._app(scope, receive, send)


# Paths → calls of the service, by resource


class _AnyText(PathConvertor):
    """The rest of a path, whatever is in it. Starlette's own convertor ends at a line break."""

    regex = "(?s:.*)"


class _ClassName(_AnyText):
    """The same, unless it ends as the address of a class's examples does."""

    regex = r"(?s:(?!.*/examples\Z).*)"


register_url_convertor("text", _AnyText())
register_url_convertor("classname", _ClassName())


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
    async def predict(request: Request, options: Annotated[PredictionOptions, Query()]) -> Response:
        """The best classes of each row. Options are parameters of the address, or fields of a JSON body, which win."""
        requests.check_request_parameters(request.query_params, PredictionOptions.model_fields)
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


class Application(FastAPI):
    """FastAPI's, but for predictions without options in their address, which go straight to their handler."""

    predictions: PredictionHandler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # finding their route takes FastAPI as long as answering them
        if scope["type"] != "http" or (scope["path"], scope["method"], scope["query_string"]) != PREDICT_REQUEST:
            await super().__call__(scope, receive, send)
            return
        try:
            reply = await self.predictions.answer(Request(scope, receive), PredictionOptions())
        except Exception as error:
            reply = responses.error_response(error)
        await reply(scope, receive, send)


def build_app(
    service: Service, metrics: Metrics | None = None, reload: Callable[[], float] | None = None
) -> Application:
    app = Application(
        title="zskl", version=__version__, description=responses.API_DESCRIPTION, docs_url=None, redoc_url=None
    )
    concurrency = ConcurrencyLimits()
    app.predictions = PredictionHandler(service, concurrency, metrics)
    add_page_routes(app)
    add_model_routes(app, service)
    add_operator_routes(app, service, metrics, reload)
    # examples come before classes, whose names may have anything in them
    add_teaching_routes(app, service, concurrency)
    add_class_routes(app, service, concurrency)
    add_row_routes(app, service, concurrency, app.predictions)
    responses.handle_errors(app)
    responses.describe_api(app, PREFIX, PUBLIC_PATHS)
    return app
