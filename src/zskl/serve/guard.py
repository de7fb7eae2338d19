"""What stands before the service: who may ask, from where, how much at once; and the headers of every answer."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import time
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal

OPEN = ("/", "/page/")  # the page itself holds no data: it asks for the token
SLOWEST = 1 << 20  # bytes a second that a large body must at least bring
HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Guard:
    """An ASGI application around another.

    Without a token only names of this machine are answered, so that no page on the web can reach the service under
    another name. Requests from a page of another origin are always refused. With a token, everything but the page
    needs it. Bodies are counted as they arrive.
    """

    def __init__(self, app: ASGIApp, token: str | None, hosts: Iterable[str], limits: Limits) -> None:
        self._app, self._token, self._limits = app, token, limits
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        started = False

        async def marked(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        headers = {name.lower(): value for name, value in scope["headers"]}
        try:
            self._check(scope["path"], headers)
            await self._app(scope, self._counted(receive, headers), marked)
        except Refusal as refusal:
            if not started:
                await _answer(marked, refusal)

    def _check(self, path: str, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._token is None and _without_port(host) not in self._hosts:
            raise Refusal(
                421,
                f"the request is for the host {host[:60]!r}: this service answers to {', '.join(sorted(self._hosts))}",
            )
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if origin and origin.partition("://")[2] != host:
            raise Refusal(403, "a page of another origin may not use this service")
        if self._token is None or path == OPEN[0] or path.startswith(OPEN[1]):
            return
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._token.encode()):
            what = "the token is wrong" if given else "this service needs a token"
            raise Refusal(401, f"{what}: send the header Authorization: Bearer TOKEN")

    def _counted(self, receive: Receive, headers: dict[bytes, bytes]) -> Receive:
        most, seen, waited = self._limits.body_bytes, 0, 0.0
        sentence = f"the body is larger than {most} bytes, more than this service takes: send rows in parts"
        announced = headers.get(b"content-length", b"0")
        if announced.isdigit() and int(announced[:20]) > most:
            raise Refusal(413, sentence)

        async def counted() -> Message:
            nonlocal seen, waited
            began = time.monotonic()
            try:
                async with asyncio.timeout(self._limits.seconds + seen / SLOWEST - waited):
                    message = await receive()
            except TimeoutError:
                raise Refusal(
                    408, f"the body did not arrive in {self._limits.seconds:g} seconds: send it faster"
                ) from None
            waited += time.monotonic() - began
            seen += len(message.get("body", b""))
            if seen > most:
                raise Refusal(413, sentence)
            return message

        return counted


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).strip("[]")


async def _answer(send: Send, refusal: Refusal) -> None:
    body = json.dumps({"error": refusal.sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send(
        {"type": "http.response.start", "status": refusal.status, "headers": [*headers, (b"connection", b"close")]}
    )
    await send({"type": "http.response.body", "body": body})
