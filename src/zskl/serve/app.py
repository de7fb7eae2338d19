"""The application: the routes of all resources, put together. `guard` goes around it."""

from __future__ import annotations

from fastapi import FastAPI, Request
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.types import Receive, Scope, Send

from zskl.serve import openapi
from zskl.serve.replies import answer_errors, reply_to
from zskl.serve.routes import classes, diagnostics, examples, fits, model, page, predict, rows, teaching, words
from zskl.serve.schemas.predictions import PredictionOptions
from zskl.serve.service import Service
from zskl.serve.turns import Turns
from zskl.version import __version__

AT_ONCE = (predict.PATH, "POST", b"")  # path, method and parameters


class _Text(PathConvertor):
    """The rest of a path, whatever is in it. The one that comes with Starlette ends at a line break."""

    regex = "(?s:.*)"


class _Name(_Text):
    """The same, unless it ends as the address of a class's examples does."""

    regex = r"(?s:(?!.*/examples\Z).*)"


register_url_convertor("text", _Text())
register_url_convertor("classname", _Name())


class Application(FastAPI):
    """FastAPI's, but for predictions without options in their address: these go to their handler at once. They are
    asked for by the thousand, and finding their route takes FastAPI as long as answering them."""

    predictions: predict.Handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (scope["path"], scope["method"], scope["query_string"]) != AT_ONCE:
            await super().__call__(scope, receive, send)
            return
        try:
            reply = await self.predictions.answer(Request(scope, receive), PredictionOptions())
        except Exception as error:
            reply = reply_to(error)
        await reply(scope, receive, send)


def build(service: Service) -> Application:
    """The application of a service. Its large requests take turns."""
    app = Application(title="zskl", version=__version__, description=openapi.ABOUT, docs_url=None, redoc_url=None)
    turns = Turns()
    app.predictions = predict.Handler(service, turns)
    routers = (
        page.router(),
        model.router(service),
        examples.router(service, turns),  # before classes, whose names may have anything in them
        classes.router(service),
        predict.router(app.predictions),
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
