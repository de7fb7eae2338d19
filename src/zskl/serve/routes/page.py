"""/ and /page/NAME: the files of the page."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from fastapi import APIRouter, Response

from zskl.serve.refusal import Refusal, shown

MEDIA = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
PageFile = tuple[bytes, str]  # content, media type
KEPT = {"cache-control": "no-cache"}  # a browser asks again: the next version may be served at the same address


def router() -> APIRouter:
    """The routes of the page. They are not part of the API's description."""
    routes = APIRouter(include_in_schema=False)
    files = _files()

    @routes.get("/")
    async def index() -> Response:
        return _reply(files, "index.html")

    @routes.get("/page/{name}")
    async def asset(name: str) -> Response:
        return _reply(files, name)

    return routes


def _files() -> dict[str, PageFile]:
    """The page, read once: a request can only name what is in here."""
    folder = resources.files("zskl.serve") / "page"
    files = [item for item in folder.iterdir() if Path(item.name).suffix in MEDIA] if folder.is_dir() else []
    return {item.name: (item.read_bytes(), MEDIA[Path(item.name).suffix]) for item in files}


def _reply(files: dict[str, PageFile], name: str) -> Response:
    if name not in files:
        raise Refusal(404, f"the page has no file {shown(name)}")
    content, kind = files[name]
    return Response(content, media_type=kind, headers=KEPT)
