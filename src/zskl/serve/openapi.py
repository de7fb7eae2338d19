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
    404: "Not found",
    409: "Not possible with the present classes or data",
    412: "Changed by somebody else meanwhile",
    413: "Larger than a request may be",
    415: "The body is of another type",
    422: "Something in the request is not as described",
    507: "The disk is full: nothing was changed",
}
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
    route = takes("NewExample", 404, 409, 412, 413, 415, 422)
    for kind in media_types.PHOTOS:
        route["openapi_extra"]["requestBody"]["content"][kind] = {"schema": {"type": "string", "format": "binary"}}
    return route


def picture() -> dict[str, Any]:
    """Arguments of the route that answers with a picture."""
    route = may(404, 409, 422)
    content: dict[str, Any] = {"image/*": {"schema": {"type": "string", "format": "binary"}}}
    return {"responses": {200: {"description": "A picture", "content": content}, **route["responses"]}}


def describe(app: FastAPI) -> None:
    """Add the schemas of the bodies, and describe 422 as this service answers it."""
    _, models = models_json_schema([(model, "validation") for model in BODIES], ref_template=_REF)

    def made() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            components = found["components"]["schemas"]
            components |= models["$defs"]
            for name in ("HTTPValidationError", "ValidationError"):
                components.pop(name, None)
            refused = may(422)["responses"][422]
            answer = {"application/json": {"schema": {"$ref": _REF.format(model="Refused")}}}
            for path in found["paths"].values():
                for operation in path.values():
                    if "422" in operation["responses"]:
                        operation["responses"]["422"] = {"description": refused["description"], "content": answer}
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = made  # type: ignore[method-assign]
