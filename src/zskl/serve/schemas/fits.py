"""POST /fits."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from zskl.serve.schemas.classes import Description
from zskl.serve.schemas.fields import Kind, Top
from zskl.serve.schemas.rows import Row


class Sought(Description):
    """A description to find classes by."""

    top: Top = 12
    rows: Annotated[int, Field(ge=0, le=12, description="How many rows of each class to show, best first.")] = 3


class Agreement(TypedDict):
    attribute: str
    agreement: float


FittingClass = TypedDict(
    "FittingClass", {"class": str, "kind": Kind, "fit": float, "why": list[Agreement], "rows": list[Row]}
)


class FittingClasses(TypedDict):
    """`fit` is from 0 to 1: the mean agreement with the given attributes."""

    defaulted: list[str]
    classes: list[FittingClass]
