"""/adapt and GET /label-next."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from zskl.serve.schemas.fields import Kind, RequestBody

Among = Literal["all", "unseen"]


class Unlabelled(RequestBody):
    """Which rows to adapt to."""

    candidates: Annotated[
        Among,
        Field(
            description='Which classes the rows may be of. "all" takes all loaded rows that are not training rows, '
            '"unseen" only those of the part test_unseen.'
        ),
    ] = "all"
    force: Annotated[bool, Field(description="Adapt even if nothing says that it helps.")] = False


class Verdict(TypedDict):
    """Whether the model is adapted to unlabelled rows, and what validation classes say about that: `gain` in accuracy,
    with its `spread` over folds and the `least` of them. `clear` is null if nobody has tried it. `changed` rows get
    another answer now."""

    adapted: bool
    rows: int
    classes: int | None
    changed: int | None
    converged: bool | None
    clear: bool | None
    gain: float | None
    spread: float | None
    least: float | None
    verdict: str


Guess = TypedDict("Guess", {"class": str, "kind": Kind, "probability": float | None})


class RowToLabel(TypedDict):
    row: int
    picture: bool
    guesses: list[Guess]


class RowsToLabel(TypedDict):
    """The row to label first comes first, each with the best two classes."""

    version: int
    rows: list[RowToLabel]
