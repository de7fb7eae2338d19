"""/classes and /classes/NAME."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from zskl.serve.schemas.fields import Kind, Number, RequestBody

Attributes = Annotated[
    dict[str, Number | bool],
    Field(description="Attribute name → value. An attribute that you leave out gets the mean of the seen classes."),
]


Sentence = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2000,
        description="In place of attributes, where the signatures of the model are sentence vectors: see GET /model.",
    ),
]


class Description(RequestBody):
    """The attributes of a class, or a sentence about it."""

    attributes: Attributes | None = None
    sentence: Sentence | None = None


class NewClass(Description):
    """A class to add."""

    name: Annotated[str, Field(min_length=1, description="Printable text without blanks at its ends.")]


class ListedClass(TypedDict):
    """`picture` is a row of the class that has a picture, if there is one."""

    name: str
    kind: Kind
    rows: int | None
    picture: int | None


class ClassList(TypedDict):
    version: int
    classes: list[ListedClass]


NearClass = TypedDict("NearClass", {"class": str, "kind": Kind, "similarity": float})


class ClassDetails(TypedDict):
    name: str
    kind: Kind
    attributes: dict[str, float]
    sentence: str | None
    defaulted: list[str]
    nearest: list[NearClass]
    version: int


class SavedClass(TypedDict):
    name: str
    kind: Literal["added"]
    defaulted: list[str]
    version: int
