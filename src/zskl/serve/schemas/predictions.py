"""POST /predict. To add an option, add a field to `PredictionOptions`: it is then a parameter of the address and a
field of the JSON body."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from zskl.serve.schemas.fields import FAST, Kind, Top
from zskl.serve.schemas.rows import Row

FURTHEST = 1e6  # the largest calibration constant, in either direction: a larger one would swallow the scores
Constant = Annotated[float, Field(allow_inf_nan=False, ge=-FURTHEST, le=FURTHEST)]
Probability = Annotated[float, Field(allow_inf_nan=False, ge=0, le=1)]


class PredictionOptions(BaseModel):
    """Options of a prediction."""

    top: Top = 5
    candidates: Annotated[
        Annotated[list[str], FAST] | None, Field(min_length=1, description="Choose from these classes only.")
    ] = None
    calibrated: Annotated[bool, Field(description="Subtract the model's constant from the scores of seen classes.")] = (
        True
    )
    calibration: Annotated[Constant | None, Field(description="Use this constant instead of the model's.")] = None
    explain: Annotated[bool, Field(description="Say which attributes decided.")] = False
    against: Annotated[str | None, Field(description="Explain against this class, not the runner-up.")] = None
    raw: Annotated[bool, Field(description="Explain by attributes as written, not as the model scales them.")] = False
    attributes: Annotated[int, Field(ge=1, le=1000, description="How many attributes an explanation names.")] = 5
    reject: Annotated[
        Probability | None, Field(description="Say none of these where the best probability is below this number.")
    ] = None
    nearest: Annotated[
        int, Field(ge=0, le=24, description="How many of the nearest loaded rows to list for each class.")
    ] = 0
    features: Annotated[bool, Field(description="Also return the features of each row, such as those of a photo.")] = (
        False
    )


class PredictionRequest(PredictionOptions):
    """Rows of features, or numbers of rows of the loaded data. Options here win over those of the address."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rows: Annotated[
        Annotated[list[Annotated[list[float], FAST]], FAST] | None,
        Field(min_length=1, description="Rows of features."),
    ] = None
    columns: Annotated[
        Annotated[list[str], FAST] | None,
        Field(
            min_length=1,
            description="The names of the numbers in a row, in their order: names of the model's features.",
        ),
    ] = None
    data_rows: Annotated[
        Annotated[list[Annotated[int, Field(ge=0, le=2**53)]], FAST] | None,
        Field(min_length=1, description="Rows of the loaded data, counted from 0."),
    ] = None


RankedClass = TypedDict("RankedClass", {"class": str, "kind": Kind, "score": float, "probability": float | None})


class ExplainedAttribute(TypedDict):
    """An attribute, or a seen class, which the row is `like` or unlike."""

    attribute: str
    contribution: float
    value: float | None  # None: the class has no description
    value_against: float | None
    like: bool | None


ExplanationAnswer = TypedDict(
    "ExplanationAnswer",
    {
        "class": str,
        "against": str,
        "difference": float,
        "calibration": float,
        "by": Literal["attributes", "classes"],
        "attributes": list[ExplainedAttribute],
        "rest": float,
        "others": int,
        "terms": dict[str, float],
    },
)


class NearRow(Row):
    """A row of the loaded data, and its distance between features as the model scales them."""

    distance: float


NearestRows = TypedDict("NearestRows", {"class": str, "rows": list[NearRow]})


Prediction = TypedDict(
    "Prediction",
    {
        "class": str,
        "top": list[RankedClass],
        "average": float,  # score of a candidate
        "none_of_these": bool | None,  # None: `reject` was not asked for
        "explanation": ExplanationAnswer | None,
        "nearest": list[NearestRows] | None,
    },
)


class Predictions(TypedDict):
    version: int
    calibration: float
    predictions: list[Prediction]
    features: list[list[float]] | None
