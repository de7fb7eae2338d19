"""What the OpenAPI description says beyond the types of the answers: bodies, refusals, pictures."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from zskl.serve import media_types
from zskl.serve.schemas.classes import Description, NewClass, SavedClass
from zskl.serve.schemas.examples import NewExample
from zskl.serve.schemas.fields import Refused
from zskl.serve.schemas.fits import Sought
from zskl.serve.schemas.predictions import PredictionRequest
from zskl.serve.schemas.rows import Wanted
from zskl.serve.schemas.teaching import Unlabelled
from zskl.serve.schemas.words import Words

ABOUT = (
    "Ranks classes by their descriptions, whether the model was trained on them or not. Every refusal is JSON with a "
    "sentence in `error`. If the service has a token, send `Authorization: Bearer TOKEN`."
)
WHY = {
    400: "The request is not HTTP, or its first line and headers are too long; the answer is plain text",
    401: "The service has a token, and the request has another or none",
    403: "The request is from a page of another origin",
    404: "Not found",
    408: "The body did not arrive in time",
    409: "Not possible with the present classes or data",
    412: "Changed by somebody else meanwhile",
    413: "Larger than a request may be",
    415: "The body is of another type",
    421: "The request is for a host that this service does not answer to",
    422: "Something in the request is not as described",
    500: "The service failed on this request; its log says why",
    503: "The file of classes cannot be read or written at present: nothing was changed; try again",
    507: "The disk is full: nothing was changed",
}
EVERYWHERE = (400, 401, 403, 413, 421, 500, 503)  # before a request comes to its route, or wherever a fault is
WITH_BODY = (408,)
BODIES = (NewClass, Description, Wanted, PredictionRequest, Words, Sought, NewExample, Unlabelled)
_REF = "#/components/schemas/{model}"


def may(*statuses: int) -> dict[str, Any]:
    """Arguments of a route that may refuse with these statuses."""
    return {"responses": {status: {"model": Refused, "description": WHY[status]} for status in statuses}}


def takes(schema: str, *statuses: int, created: bool = False) -> dict[str, Any]:
    """Arguments of a route with a JSON body."""
    responses = may(*statuses)["responses"]
    if created:
        responses[201] = {"model": SavedClass, "description": "The class is new"}
    content = {"application/json": {"schema": {"$ref": _REF.format(model=schema)}}}
    return {"responses": responses, "openapi_extra": {"requestBody": {"required": True, "content": content}}}


def takes_rows() -> dict[str, Any]:
    """Arguments of the route that takes features, as JSON, .npy or CSV."""
    route = takes("PredictionRequest", 409, 413, 415, 422)
    content = route["openapi_extra"]["requestBody"]["content"]
    for kind in media_types.NPY:
        content[kind] = {"schema": {"type": "string", "format": "binary"}}
    for kind in media_types.PHOTOS:
        content[kind] = {"schema": {"type": "string", "format": "binary"}}
    for kind in media_types.CSV:
        content[kind] = {"schema": {"type": "string"}}
    return route


def takes_example() -> dict[str, Any]:
    """Arguments of the route that takes an example, as JSON or a photo."""
    route = takes("NewExample", 404, 409, 412, 413, 415, 422, 507)
    for kind in media_types.PHOTOS:
        route["openapi_extra"]["requestBody"]["content"][kind] = {"schema": {"type": "string", "format": "binary"}}
    return route


def picture() -> dict[str, Any]:
    """Arguments of the route that answers with a picture."""
    route = may(404, 409, 422)
    content: dict[str, Any] = {"image/*": {"schema": {"type": "string", "format": "binary"}}}
    return {"responses": {200: {"description": "A picture", "content": content}, **route["responses"]}}


def describe(app: FastAPI) -> None:
    """Add the schemas of the bodies and the refusals that every route may get, and describe 422 as this service answers
    it."""
    _, models = models_json_schema([(model, "validation") for model in BODIES], ref_template=_REF)

    def made() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            components = found["components"]["schemas"]
            components |= models["$defs"]
            for name in ("HTTPValidationError", "ValidationError"):
                components.pop(name, None)
            for path in found["paths"].values():
                for operation in path.values():
                    responses = operation["responses"]
                    common = (*EVERYWHERE, *(WITH_BODY if "requestBody" in operation else ()))
                    responses |= {str(status): _refused(status) for status in common}
                    if "422" in responses:
                        responses["422"] = _refused(422)
                    operation["responses"] = dict(sorted(responses.items()))
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = made  # type: ignore[method-assign]


def _refused(status: int) -> dict[str, Any]:
    """A refusal as the description lists it."""
    content: dict[str, Any] = {"application/json": {"schema": {"$ref": _REF.format(model="Refused")}}}
    if status == 400:  # of what reads HTTP, which knows nothing of this service
        content = {"text/plain": {"schema": {"type": "string"}}}
    return {"description": WHY[status], "content": content}
