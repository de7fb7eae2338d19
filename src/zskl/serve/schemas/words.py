"""POST /words."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from zskl.serve.schemas.fields import RequestBody


class Words(RequestBody):
    """A description in words."""

    text: Annotated[str, Field(min_length=1, max_length=2000, description='"small black bird with a yellow head"')]


class NamedAttribute(TypedDict):
    """An attribute that the words name, the value to give it, and the words. `guessed`: by meaning, not by name."""

    attribute: str
    value: float
    words: str
    guessed: bool


class UnderstoodWords(TypedDict):
    attributes: list[NamedAttribute]
    unknown: list[str]
