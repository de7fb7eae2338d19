"""What the OpenAPI description says beyond the types of the answers: bodies, refusals, and the one about errors."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from zskl.serve import bodies, schemas

ABOUT = (
    "Ranks classes, trained on or not, by their descriptions. Every refusal is JSON with a sentence in `error`. "
    "A service with a token wants it as `Authorization: Bearer TOKEN`."
)
WHY = {
    404: "There is no such thing",
    409: "Not with the classes or data there are",
    413: "More than a request may have",
    415: "A body of another type",
    422: "Something in the request is not as described",
}
BODIES = (schemas.NewClass, schemas.Description, schemas.Wanted, schemas.Prediction)
_REF = "#/components/schemas/{model}"


def may(*statuses: int) -> dict[str, Any]:
    """Arguments of a route that may refuse with these statuses."""
    return {"responses": {status: {"model": schemas.Problem, "description": WHY[status]} for status in statuses}}


def takes(schema: str, *statuses: int, created: bool = False) -> dict[str, Any]:
    """Arguments of a route with a JSON body."""
    responses = may(*statuses)["responses"]
    if created:
        responses[201] = {"model": schemas.Kept, "description": "There was no such class, now there is"}
    content = {"application/json": {"schema": {"$ref": _REF.format(model=schema)}}}
    return {"responses": responses, "openapi_extra": {"requestBody": {"required": True, "content": content}}}


def takes_rows() -> dict[str, Any]:
    """Arguments of the route that takes features: as JSON or .npy."""
    route = takes("Prediction", 409, 413, 415, 422)
    content = route["openapi_extra"]["requestBody"]["content"]
    for kind in bodies.NPY:
        content[kind] = {"schema": {"type": "string", "format": "binary"}}
    return route


def picture() -> dict[str, Any]:
    """Arguments of the route that answers with a picture."""
    route = may(404, 409, 422)
    content: dict[str, Any] = {"image/*": {"schema": {"type": "string", "format": "binary"}}}
    return {"responses": {200: {"description": "A picture", "content": content}, **route["responses"]}}


def describe(app: FastAPI) -> None:
    """Put the schemas of the bodies into the description, and 422 as it is answered here."""
    _, models = models_json_schema([(model, "validation") for model in BODIES], ref_template=_REF)

    def made() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            components = found["components"]["schemas"]
            components |= models["$defs"]
            for name in ("HTTPValidationError", "ValidationError"):
                components.pop(name, None)
            problem = may(422)["responses"][422]
            answer = {"application/json": {"schema": {"$ref": _REF.format(model="Problem")}}}
            for path in found["paths"].values():
                for operation in path.values():
                    if "422" in operation["responses"]:
                        operation["responses"]["422"] = {"description": problem["description"], "content": answer}
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = made  # type: ignore[method-assign]
