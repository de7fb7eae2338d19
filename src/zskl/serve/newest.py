"""Requests see what any worker has acknowledged before they began."""

from __future__ import annotations

import asyncio
import logging

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from zskl.serve.classes import Classes
from zskl.serve.refusal import Refusal

log = logging.getLogger("zskl.serve")


class Newest:
    """An ASGI application around another. If another worker has changed the classes, this one takes that over first.
    One request does so, and the others wait for it. Where it cannot be read the request is refused, which the guard
    around this answers."""

    def __init__(self, app: ASGIApp, classes: Classes) -> None:
        self._app, self._classes, self._turn = app, classes, asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._classes.stale:
            async with self._turn:
                if self._classes.stale:
                    try:
                        await run_in_threadpool(self._classes.catch_up)
                    except (OSError, ValueError) as error:
                        log.error("%s", error)
                        raise Refusal(
                            503, "the file of classes has changed and cannot be read: its log says why; try again"
                        ) from None
        await self._app(scope, receive, send)
