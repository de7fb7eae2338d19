"""The application: the routes of all resources, put together. `guard` goes around it."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.convertors import PathConvertor, register_url_convertor

from zskl.serve import openapi
from zskl.serve.replies import answer_errors
from zskl.serve.routes import classes, diagnostics, examples, fits, model, page, predict, rows, teaching, words
from zskl.serve.service import Service
from zskl.serve.turns import Turns
from zskl.version import __version__


class _Text(PathConvertor):
    """The rest of a path, whatever is in it. The one that comes with Starlette ends at a line break."""

    regex = "(?s:.*)"


class _Name(_Text):
    """The same, unless it ends as the address of a class's examples does."""

    regex = r"(?s:(?!.*/examples\Z).*)"


register_url_convertor("text", _Text())
register_url_convertor("classname", _Name())


def build(service: Service) -> FastAPI:
    """The application of a service. Its large requests take turns."""
    app = FastAPI(title="zskl", version=__version__, description=openapi.ABOUT, docs_url=None, redoc_url=None)
    turns = Turns()
    routers = (
        page.router(),
        model.router(service),
        examples.router(service, turns),  # before classes, whose names may have anything in them
        classes.router(service),
        predict.router(service, turns),
        rows.router(service, turns),
        diagnostics.router(service),
        words.router(service),
        fits.router(service, turns),
        teaching.router(service, turns),
    )
    for router in routers:
        app.include_router(router)
    answer_errors(app, [*app.routes, *(route for router in routers for route in router.routes)])
    openapi.describe(app)
    return app
