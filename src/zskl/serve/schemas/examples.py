"""/classes/NAME/examples."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from zskl.serve.schemas.fields import FAST, RequestBody


class NewExample(RequestBody):
    """A row of the loaded data, or features, that is of a class or is not."""

    row: Annotated[int | None, Field(ge=0, le=2**53, description="A row of the loaded data, counted from 0.")] = None
    features: Annotated[
        Annotated[list[float], FAST] | None, Field(min_length=1, description="Numbers, in the model's order.")
    ] = None
    right: Annotated[bool, Field(description="False: it is not of this class.")] = True


class ListedExample(TypedDict):
    """`row` is null for features, photos, and rows of data that are not loaded."""

    id: str
    right: bool
    row: int | None
    picture: bool


class SavedExample(ListedExample):
    name: str
    version: int


class ExampleList(TypedDict):
    """The oldest example comes first; `right` and `wrong` count them."""

    name: str
    right: int
    wrong: int
    examples: list[ListedExample]
    version: int
