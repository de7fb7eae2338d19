"""The application: all routes, and what stands before them (who may ask, from where, how much at once)."""

import asyncio
import hmac
import ipaddress
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zskl.serve import responses, routes
from zskl.serve.classes import ClassRegistry
from zskl.serve.limits import ConcurrencyLimits, Limits, RateLimit, Refusal, WrongTokens
from zskl.serve.monitoring import REQUEST_ID, Metrics, choose_request_id, log_request
from zskl.serve.predictions import PredictionHandler
from zskl.serve.schemas import PredictionOptions
from zskl.serve.service import Service
from zskl.serve.store import StoreError
from zskl.version import __version__

MAX_UNREAD_BYTES = 256 << 20  # of answers that clients have not read yet
CHUNK_BYTES = 256 << 10  # that are sent at once: a client that does not read them gets no more
MIN_UPLOAD_RATE = 1 << 20  # bytes a second that a large body must at least bring
DEFAULT_PORTS = {"http": 80, "https": 443}
PUBLIC_PATHS = ("/", routes.DOCS_PATH, *responses.PROBE_PATHS)  # without a token; also what the page consists of
UNLIMITED_PATHS = (routes.METRICS_PATH, *responses.PROBE_PATHS)  # what watches over the service may always ask
QUESTIONS = (routes.PREDICT_PATH, "/rank", "/fits", "/words")  # POST, and nothing is changed
PREFIX = "/v1"  # of all addresses; those of version 0.2 had none, and go on
PAGE_PATH = "/page/"  # the page itself holds no data: it asks for the token
SINGLE_HEADERS = (b"host", b"origin", b"authorization")  # two of them, and a proxy may have checked the other one
STALL_BYTES = 64 << 10  # that a large body must bring in `Limits.stall` seconds
PREDICT_REQUEST = (routes.PREDICT_PATH, "POST", b"")  # path, method and parameters
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
                reply = responses.json_response({"error": refusal.sentence}, refusal.status, headers)
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


class _AnyText(PathConvertor):
    """The rest of a path, whatever is in it. Starlette's own convertor ends at a line break."""

    regex = "(?s:.*)"


class _ClassName(_AnyText):
    """The same, unless it ends as the address of a class's examples does."""

    regex = r"(?s:(?!.*/examples\Z).*)"


register_url_convertor("text", _AnyText())
register_url_convertor("classname", _ClassName())


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
    routes.add_page_routes(app)
    routes.add_model_routes(app, service)
    routes.add_operator_routes(app, service, metrics, reload)
    # examples come before classes, whose names may have anything in them
    routes.add_teaching_routes(app, service, concurrency)
    routes.add_class_routes(app, service, concurrency)
    routes.add_row_routes(app, service, concurrency, app.predictions)
    responses.handle_errors(app)
    responses.describe_api(app, PREFIX, PUBLIC_PATHS)
    return app
