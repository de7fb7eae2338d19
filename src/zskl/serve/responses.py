"""Answers as JSON, whether a request succeeds or fails, and what the OpenAPI description says about them."""

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from zskl.serve import schemas
from zskl.serve.limits import Refusal
from zskl.serve.requests import explain_request_errors

log = logging.getLogger("zskl.serve")
API_DESCRIPTION = (
    "Ranks classes by their descriptions, whether the model was trained on them or not. Every refusal is JSON with a "
    "sentence in `error`. Each answer has the header `X-Request-ID`: what the request sent there, or a new name. The "
    "addresses of version 0.2, without `/v1`, go on."
)
TOKEN_DESCRIPTION = (
    "If the service was started with a token, each request sends the header `Authorization: Bearer TOKEN`. A second "
    "token, of `--read-token`, may ask everything and change nothing (403)."
)
STATUS_DESCRIPTIONS = {
    400: "A header, or a key of the JSON body, is there twice. As plain text: it is not HTTP, or its head is too long",
    401: "The service has a token, and the request has another or none",
    403: "The request is from a page of another origin, or its token may only read",
    404: "Not found",
    408: "The body did not arrive in time",
    409: "Not possible with the present classes or data",
    412: "Changed by somebody else meanwhile",
    413: "Larger than a request may be",
    415: "The body is of another type",
    421: "The request is for a host that this service does not answer to",
    422: "Something in the request is not as described",
    429: "More requests than the service takes from one address in a minute; `Retry-After` says when to come again",
    500: "The service failed on this request; its log says why",
    503: "The database of classes cannot be read or written at present: nothing was changed; try again",
    507: "The disk is full: nothing was changed",
}
COMMON_STATUSES = (
    400,
    401,
    403,
    413,
    421,
    429,
    500,
    503,
)  # before a request comes to its route, or wherever a fault is
BODY_STATUSES = (408,)
PROBE_PATHS = HEALTH_PATH, READY_PATH = "/health", "/ready"  # which need no token
BODY_SCHEMAS = (
    "NewClass",
    "Description",
    "Wanted",
    "PredictionRequest",
    "Words",
    "Sought",
    "NewExample",
    "Unlabelled",
    "Undo",
)
TEXT = {"schema": {"type": "string"}}
BINARY = {"schema": {"type": "string", "format": "binary"}}
_REF = "#/components/schemas/{model}"


def json_response(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(to_json(content), status, headers, "application/json")


def error_response(error: Exception) -> Response:
    if isinstance(error, Refusal):
        # what is left of a body that came too late would be read as the next request
        headers = {**error.headers, **({"connection": "close"} if error.status == 408 else {})}
        return json_response({"error": error.sentence}, error.status, headers)
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # nobody reads it
    log.error("a request failed", exc_info=error)
    return json_response({"error": "the service failed on this request; its log says why"}, 500)


def handle_errors(app: FastAPI) -> None:
    @app.exception_handler(Refusal)
    @app.exception_handler(ClientDisconnect)
    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> Response:
        return error_response(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return json_response({"error": explain_request_errors(error.errors())}, 422)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        what = {404: "there is nothing here", 405: f"{request.method} is not possible here"}
        why = f"{what.get(error.status_code, error.detail)}: see /openapi.json for all paths"
        headers = error.headers
        if error.status_code == 405:  # Starlette names the methods of the first route with this path, not of all
            here = [route for route in app.routes if route.matches(request.scope)[0] is not Match.NONE]
            methods = {name for route in here for name in getattr(route, "methods", ())}
            headers = {"allow": ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))}
        return json_response({"error": why}, error.status_code, headers)


def refusal_responses(*statuses: int) -> dict[str, Any]:
    # Not as a `model`: FastAPI would build a validator for each status of each route, which nobody uses.
    return {"responses": {status: _refusal_schema(status) for status in statuses}}


def json_body(
    schema: str, *statuses: int, binary: Sequence[str] = (), text: Sequence[str] = (), created: bool = False
) -> dict[str, Any]:
    """Arguments of a route with a JSON body, or one of these `binary` or `text` media types."""
    route = refusal_responses(*statuses)
    if created:
        route["responses"][201] = {"model": schemas.SavedClass, "description": "The class is new"}
    content = {"application/json": {"schema": {"$ref": _REF.format(model=schema)}}}
    content |= dict.fromkeys(binary, BINARY) | dict.fromkeys(text, TEXT)
    return {**route, "openapi_extra": {"requestBody": {"required": True, "content": content}}}


def describe_api(app: FastAPI, prefix: str, public: Collection[str]) -> None:
    """Add the schemas of bodies, the refusals of every route, 422 as this service answers it, and the token."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            _, models = models_json_schema(
                [(getattr(schemas, name), "validation") for name in BODY_SCHEMAS], ref_template=_REF
            )
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            components = found["components"]["schemas"]
            components |= models["$defs"] | {"Refused": TypeAdapter(schemas.Refused).json_schema(ref_template=_REF)}
            for name in ("HTTPValidationError", "ValidationError"):
                components.pop(name, None)
            for path, one in found["paths"].items():
                for operation in one.values():
                    responses = operation["responses"]
                    common = (*COMMON_STATUSES, *(BODY_STATUSES if "requestBody" in operation else ()))
                    common = tuple(status for status in common if status != 401 or path not in public)
                    common = tuple(status for status in common if status != 429 or path not in PROBE_PATHS)
                    if path in public:
                        operation["security"] = []
                    responses |= {str(status): _refusal_schema(status) for status in common}
                    if "422" in responses:
                        responses["422"] = _refusal_schema(422)
                    operation["responses"] = dict(sorted(responses.items()))
            found["paths"] = {prefix + path: one for path, one in found["paths"].items()}
            scheme = {"type": "http", "scheme": "bearer", "description": TOKEN_DESCRIPTION}
            found["components"]["securitySchemes"] = {"token": scheme}
            found["security"] = [{"token": []}, {}]  # {}: a service without a token
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]


def _refusal_schema(status: int) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": {"$ref": _REF.format(model="Refused")}}}
    if status == 400:  # also of what reads HTTP, which knows nothing of this service
        content |= {"text/plain": TEXT}
    return {"description": STATUS_DESCRIPTIONS[status], "content": content}
