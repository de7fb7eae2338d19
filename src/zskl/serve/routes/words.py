"""POST /words: a description in words → attributes."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from zskl.serve import json_bodies, openapi
from zskl.serve.replies import json_reply
from zskl.serve.schemas.words import UnderstoodWords, Words
from zskl.serve.service import Service


def router(service: Service) -> APIRouter:
    """The route of words."""
    routes = APIRouter()

    @routes.post("/words", response_model=UnderstoodWords, **openapi.takes("Words", 413, 415, 422))
    async def understand(request: Request) -> Response:
        """The attributes that a description in words names, with the value to give each; what it denies gets the lowest
        value of any class. `unknown` are words that name no attribute."""
        given = await json_bodies.small(Words, request, service.limits)
        return json_reply(await run_in_threadpool(service.classes.words.understood, given.text))

    return routes
