"""The types of bodies that the service takes."""

from __future__ import annotations

from starlette.requests import Request

from zskl.serve.refusal import Refusal, shown

JSON = ("application/json",)
PHOTOS = ("image/jpeg", "image/png", "image/webp")
CSV = ("text/csv",)
NPY = ("application/x-npy", "application/octet-stream")


def checked(request: Request, allowed: tuple[str, ...]) -> str:
    """The type of a request's body; another one than those allowed is refused."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in allowed:
        raise Refusal(415, f"the body is of type {shown(kind)}: send the header Content-Type: {' or '.join(allowed)}")
    return kind
