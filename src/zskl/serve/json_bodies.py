"""A JSON body → one of the types of `schemas`; what is wrong with it, in a sentence."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal, shown

TEXTS = 50_000  # quotation marks: names of fields, attributes and candidates
Model = TypeVar("Model", bound=BaseModel)


def parsed(model: type[Model], body: bytes | bytearray, limits: Limits) -> Model:
    """What a body says. A value takes a hundred bytes once it is read, a wrong one a thousand: many are not read."""
    if body.count(b",") > limits.json_values:
        raise Refusal(
            413, f"the JSON body has more than {limits.json_values} values: send rows in parts, or as a .npy file"
        )
    if body.count(b'"') > TEXTS:
        raise Refusal(413, f"the JSON body has more than {TEXTS} quotation marks, far more than a request needs")
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise Refusal(422, sentence(error.errors(include_url=False, include_context=False))) from None
    except (ValueError, RecursionError):
        raise Refusal(422, "the body is no JSON that can be read") from None


def sentence(errors: Any) -> str:
    """What pydantic found first, and how much more."""
    first = errors[0]
    where = ".".join(str(step)[:60] for step in first["loc"] if step not in ("body", "query", "path"))
    value = f", found {shown(first['input'])}" if first.get("type") not in ("missing", "json_invalid") else ""
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    message = first["msg"].encode("utf-8", "backslashreplace").decode()
    return f"{where or 'the body'}: {message}{value}{more}"
