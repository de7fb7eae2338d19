"""A JSON body → one of the types of `schemas`; what is wrong with it, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from zskl.serve import media_types
from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal, shown

TOLD = 3  # a sentence names so many faults
ROW = "; a row is a list of numbers in the order of the model's features, or of columns, a list of their names"
TEXTS = 50_000  # quotation marks: names of fields, attributes and candidates
Schema = TypeVar("Schema", bound=BaseModel)


async def small(schema: type[Schema], request: Request, limits: Limits) -> Schema:
    """A description from the body of a request."""
    media_types.checked(request, media_types.JSON)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limits.small:
            raise Refusal(413, f"the body is larger than {limits.small} bytes, far more than a description needs")
    return parsed(schema, body, limits)


def parsed(schema: type[Schema], body: bytes | bytearray, limits: Limits) -> Schema:
    """What a body says. A value takes a hundred bytes once it is read, a wrong one a thousand: bodies with too many
    values are not read."""
    size = len(body)  # a short body is not counted
    if size > limits.json_values and body.count(b",") > limits.json_values:
        raise Refusal(
            413, f"the JSON body has more than {limits.json_values} values: send rows in parts, or as a .npy file"
        )
    if size > TEXTS and body.count(b'"') > TEXTS:
        raise Refusal(413, f"the JSON body has more than {TEXTS} quotation marks, far more than a request needs")
    try:
        return schema.model_validate_json(body)
    except ValidationError as error:
        raise Refusal(422, sentence(error.errors(include_url=False, include_context=False))) from None
    except (ValueError, RecursionError):
        raise Refusal(422, "the body cannot be read as JSON") from None


def sentence(errors: Sequence[Mapping[str, Any]]) -> str:
    """What pydantic found first, and how much more."""
    errors = [error for error in errors if not _is_second(error, errors)]
    more = f" (and {len(errors) - TOLD} more)" if len(errors) > TOLD else ""
    return "; ".join(map(_fault, errors[:TOLD])) + more


def _is_second(error: Mapping[str, Any], errors: Sequence[Mapping[str, Any]]) -> bool:
    """Whether another fault is about the same value: that it is no number, and that it is not true or false either."""
    place = tuple(error["loc"])
    return place[-1:] == ("bool",) and any(tuple(other["loc"]) == (*place[:-1], "float") for other in errors)


def _fault(error: Mapping[str, Any]) -> str:
    kind, steps = error.get("type"), [step for step in error["loc"] if step not in ("body", "query", "path")]
    if steps[-1:] == ["float"]:
        steps = steps[:-1]
    where = ".".join(str(step)[:60] for step in steps) or "the body"
    if kind == "missing":
        return f"{where} is missing"
    if kind == "extra_forbidden":
        return f"{where} is not a field of this request"
    value = "" if kind == "json_invalid" else f", found {shown(error['input'])}"
    message = error["msg"].encode("utf-8", "backslashreplace").decode()
    hint = ROW if steps[:1] == ["rows"] and kind == "list_type" else ""
    return f"{where}: {message}{value}{hint}"
