"""A photo as the body of a request → its features. It is read before it takes a turn, like any large body."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from zskl.serve import photos
from zskl.serve.bodies import Features
from zskl.serve.photos import Photos
from zskl.serve.refusal import Refusal
from zskl.serve.turns import Turns


async def features(request: Request, kind: str, network: Photos, turns: Turns) -> Features:
    """(1, d) of the photo in a body of a media type."""
    body = bytearray()
    async with turns.bodies:
        async for part in request.stream():
            body += part
            if len(body) > photos.BYTES:
                raise Refusal(413, f"the photo is larger than {photos.BYTES} bytes: make it smaller, then send it")
        async with turns.work:
            return await run_in_threadpool(network.features, body, kind)
