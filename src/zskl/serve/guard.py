"""What stands before the service: who may ask, from where, how much at once; and the headers of every answer."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal
from zskl.serve.unread import CutOff, Unread

PORTS = {"http": 80, "https": 443}
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


def origin(address: str) -> str:
    """What a browser sends as the origin of a page at this address: https://birds.example"""
    try:
        parts = urlsplit(address)
        port = "" if parts.port is None or parts.port == PORTS.get(parts.scheme) else f":{parts.port}"
    except ValueError:
        parts, port = urlsplit(""), ""
    if parts.scheme not in PORTS or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError(
            f"--public-url is {address!r}: expected the address that people type, such as https://birds.example/"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}"


class Guard:
    """An ASGI application around another.

    Without a token only names of this machine are answered, so that no page on the web can reach the service under
    another name. Requests from a page of another origin are always refused; `public` is the address of our own page
    behind a proxy. With a token, everything but the page
    needs it. Bodies are counted as they arrive, answers go out in pieces. HEAD is answered wherever GET is.
    """

    def __init__(
        self, app: ASGIApp, token: str | None, hosts: Iterable[str], limits: Limits, public: str | None = None
    ) -> None:
        self._app, self._token, self._limits = app, token, limits
        self._public = None if public is None else origin(public)
        self._hosts, self._unread = {host.lower() for host in hosts}, Unread()
        if self._public is not None:
            self._hosts.add(_without_port(self._public.partition("://")[2]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        started, head = False, scope["method"] == "HEAD"
        if head:  # the same as GET, without the body
            scope = {**scope, "method": "GET"}

        async def marked(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", []), *HEADERS]
                await send(message)
                return
            body = b"" if head else message.get("body", b"")
            await self._unread.send(body, message.get("more_body", False), send)

        headers = {name.lower(): value for name, value in scope["headers"]}
        try:
            self._check(scope["path"], headers)
            await self._app(scope, self._counted(receive, headers), marked)
        except Refusal as refusal:
            if not started:
                await _answer(marked, refusal)
        except CutOff:
            return  # the server closes the connection, because the answer is not whole

    def _check(self, path: str, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._token is None and _without_port(host) not in self._hosts:
            raise Refusal(
                421,
                f"the request is for the host {host[:60]!r}: this service answers to {', '.join(sorted(self._hosts))}",
            )
        page = headers.get(b"origin", b"").decode("latin-1").lower()
        if page and page.partition("://")[2] != host and page != self._public:
            raise Refusal(
                403,
                f"a page of another origin, {page[:60]}, may not use this service, which was asked as {host[:60]}: if "
                "it is the service's own page behind a proxy, start the service with --public-url and its address",
            )
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
