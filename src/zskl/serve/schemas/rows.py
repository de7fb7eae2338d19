"""GET /rows and POST /rank."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from zskl.serve.schemas.classes import Description
from zskl.serve.schemas.fields import Kind, Top


class Wanted(Description):
    """A description to rank rows by."""

    top: Top = 24
    part: Annotated[str | None, Field(description="Rank only the rows of this part, such as test_unseen.")] = None
    label: Annotated[str | None, Field(alias="class", description="What was taught about this class counts, too.")] = (
        None
    )
    pictures: Annotated[bool, Field(description="Rank only rows that have a picture.")] = False


Row = TypedDict(
    "Row", {"row": int, "class": str, "kind": Kind | None, "part": str | None, "id": str | None, "picture": bool}
)


class RankedRow(Row):
    score: float


class RankedRows(TypedDict):
    defaulted: list[str]
    rows: list[RankedRow]


class RowList(TypedDict):
    """`start` is the place of the first of these rows among all `total`."""

    total: int
    start: int
    rows: list[Row]
