"""A photo as the body of a request → its features. It is read before it takes a turn, like any large body."""

from __future__ import annotations

from contextlib import AsyncExitStack

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from zskl.serve.bodies import Features
from zskl.serve.photos import Photos
from zskl.serve.refusal import Refusal
from zskl.serve.turns import Turns


async def features(request: Request, kind: str, network: Photos, small: int, turns: Turns) -> Features:
    """(1, d) of the photo in a body of a media type. Of bodies with more than `small` bytes few are in memory at a
    time."""
    body, large = bytearray(), False
    async with AsyncExitStack() as turn:
        async for part in request.stream():
            body += part
            if len(body) > network.bytes:
                raise Refusal(413, f"the photo is larger than {network.bytes} bytes: make it smaller, then send it")
            if not large and len(body) > small:
                large = True
                await turn.enter_async_context(turns.bodies)
        async with turns.work:
            return await run_in_threadpool(network.features, body, kind)
