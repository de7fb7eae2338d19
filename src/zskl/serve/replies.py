"""Answers as JSON, for requests that succeed and for those that fail."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Match

from zskl.serve.json_bodies import sentence
from zskl.serve.refusal import Refusal

log = logging.getLogger("zskl.serve")


def json_reply(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer, as one of the types of `schemas` describes it."""
    return Response(to_json(content), status, headers, "application/json")


def reply_to(error: Exception) -> Response:
    """The answer where a request ended in an error."""
    if isinstance(error, Refusal):
        return json_reply({"error": error.sentence}, error.status)
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # nobody reads it
    log.error("a request failed", exc_info=error)
    return json_reply({"error": "the service failed on this request; its log says why"}, 500)


def answer_errors(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Turn every exception of the application with these routes into JSON with a sentence."""

    @app.exception_handler(Refusal)
    @app.exception_handler(ClientDisconnect)
    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> Response:
        return reply_to(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return json_reply({"error": sentence(error.errors())}, 422)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        what = {404: "there is nothing here", 405: f"{request.method} is not possible here"}
        why = f"{what.get(error.status_code, error.detail)}: see /openapi.json for all paths"
        headers = error.headers
        if error.status_code == 405:  # Starlette names the methods of the first route with this path, not of all
            here = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
            methods = {name for route in here for name in getattr(route, "methods", ())}
            headers = {"allow": ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))}
        return json_reply({"error": why}, error.status_code, headers)
