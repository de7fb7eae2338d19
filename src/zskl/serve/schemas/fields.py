"""What the types of several resources share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

Kind = Literal["seen", "unseen", "added"]
FAST = Field(fail_fast=True)  # report the first wrong item, not a million of them
Number = Annotated[float, Field(allow_inf_nan=False)]
Top = Annotated[int, Field(ge=1, le=1000, description="How many, best first. You get fewer if there are fewer.")]


class RequestBody(BaseModel):
    """A JSON body: only the fields that are described, and numbers must be numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Refused(TypedDict):
    """Why there is no answer, in a sentence."""

    error: str
