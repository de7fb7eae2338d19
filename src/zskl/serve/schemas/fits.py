"""POST /fits."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from zskl.serve.schemas.classes import Description, NearClass
from zskl.serve.schemas.fields import Kind, Top
from zskl.serve.schemas.rows import Row


class Sought(Description):
    """A description to find classes by."""

    top: Top = 12
    rows: Annotated[int, Field(ge=0, le=12, description="How many rows of each class to show, best first.")] = 3
    replaces: Annotated[
        str | None, Field(description="An added class that the description would replace: it does not count.")
    ] = None


class Agreement(TypedDict):
    """An attribute that counts, its `value` in the class, and how far that agrees with the description."""

    attribute: str
    value: float
    agreement: float


FittingClass = TypedDict(
    "FittingClass", {"class": str, "kind": Kind, "fit": float, "why": list[Agreement], "rows": list[Row]}
)


class FittingClasses(TypedDict):
    """`fit` is from 0 to 1: the mean agreement with the given attributes; of a sentence, the similarity. `wins`: how
    many rows of the loaded data would be taken for this class if you added it. `nearest`: the class most like it."""

    defaulted: list[str]
    wins: int | None
    nearest: NearClass | None
    classes: list[FittingClass]
