"""GET /health and GET /model."""

from __future__ import annotations

from fastapi import APIRouter, Response

from zskl.serve.replies import json_reply
from zskl.serve.schemas.model import Health, Model
from zskl.serve.service import Service


def router(service: Service) -> APIRouter:
    """The routes that say what is served."""
    routes = APIRouter()

    @routes.get("/health", response_model=Health)
    async def health() -> Response:
        """Whether the service is up."""
        return json_reply(service.health())

    @routes.get("/model", response_model=Model)
    async def model() -> Response:
        """The model and its attributes, the loaded data, the limits of a request."""
        return json_reply(service.model())

    return routes
