"""Requests see what any worker has acknowledged before they began."""

from __future__ import annotations

import asyncio

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from zskl.serve.classes import Classes


class Newest:
    """An ASGI application around another. If another worker has changed the classes, this one takes that over first.
    One request does so, and the others wait for it."""

    def __init__(self, app: ASGIApp, classes: Classes) -> None:
        self._app, self._classes, self._turn = app, classes, asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._classes.stale:
            async with self._turn:
                if self._classes.stale:
                    await run_in_threadpool(self._classes.catch_up)
        await self._app(scope, receive, send)
