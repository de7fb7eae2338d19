"""What goes in and out over HTTP, as types: the OpenAPI description is made from these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["seen", "unseen", "added"]
FAST = Field(fail_fast=True)  # the first wrong item is told, not a million
Number = Annotated[float, Field(allow_inf_nan=False)]
FURTHEST = 1e20  # of a calibration constant, in either direction: scores are in single precision
Constant = Annotated[float, Field(allow_inf_nan=False, ge=-FURTHEST, le=FURTHEST)]
Attributes = Annotated[
    dict[str, Number | bool],
    Field(description="Attribute name → value. What is left out is the mean of the seen classes."),
]
Top = Annotated[int, Field(ge=1, le=1000, description="How many, best first; fewer where there are fewer.")]


class Asking(BaseModel):
    """A body: nothing but the fields that are described, numbers that are numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(BaseModel):
    """An answer, whose fields may be called `class`."""

    model_config = ConfigDict(populate_by_name=True)


class Options(Asking):
    """Options of a prediction."""

    top: Top = 5
    candidates: Annotated[
        Annotated[list[str], FAST] | None, Field(min_length=1, description="Choose from these only.")
    ] = None
    calibrated: Annotated[bool, Field(description="Take the model's constant off the seen classes.")] = True
    calibration: Annotated[Constant | None, Field(description="This constant in place of the model's.")] = None
    explain: Annotated[bool, Field(description="Say which attributes decided.")] = False
    against: Annotated[str | None, Field(description="Explain against this class, not the runner-up.")] = None
    attributes: Annotated[int, Field(ge=1, le=1000, description="How many of them an explanation names.")] = 5


class Prediction(Options):
    """Rows of features, or numbers of rows of the loaded data."""

    rows: Annotated[
        Annotated[list[Annotated[list[float], FAST]], FAST] | None,
        Field(min_length=1, description="Rows of features."),
    ] = None
    columns: Annotated[
        Annotated[list[str], FAST] | None,
        Field(min_length=1, description="What the numbers of a row are, in its order: names of the model's features."),
    ] = None
    data_rows: Annotated[
        Annotated[list[Annotated[int, Field(ge=0, le=2**53)]], FAST] | None,
        Field(min_length=1, description="Rows of the loaded data, counted from 0."),
    ] = None


class Description(Asking):
    """The attributes of a class."""

    attributes: Attributes


class NewClass(Description):
    """A class to add."""

    name: Annotated[str, Field(min_length=1, description="Printable text without blanks at its ends.")]


class Wanted(Description):
    """A description to rank rows by."""

    top: Top = 24
    part: Annotated[str | None, Field(description="Rank the rows of this part alone, such as test_unseen.")] = None
    pictures: Annotated[bool, Field(description="Rank the rows alone that have a picture.")] = False


class Problem(Answer):
    """Why there is no answer, in a sentence."""

    error: str


class Health(Answer):
    status: Literal["ok"]
    version: str
    classes: int
    uptime: float


class Attribute(Answer):
    name: str
    label: str
    group: str | None
    low: float
    high: float
    mean: float
    binary: bool


class Data(Answer):
    name: str
    rows: int
    pictures: bool
    pictured: int
    parts: dict[str, int]


class LimitsOf(Answer):
    body_bytes: int
    rows: int
    explained_rows: int
    values: int
    json_values: int
    answers: int
    name_length: int
    classes: int


class Model(Answer):
    file: str
    estimator: str
    parameters: dict[str, Any]
    features: int
    feature_names: list[str] | None
    attributes: list[Attribute]
    seen: int
    unseen: int
    added: int
    calibration: float
    probabilities: bool
    explains: bool
    data: Data | None
    limits: LimitsOf


class ListedClass(Answer):
    name: str
    kind: Kind
    rows: int | None


class ClassList(Answer):
    version: int
    classes: list[ListedClass]


class Near(Answer):
    class_: str = Field(alias="class")
    kind: Kind
    similarity: float


class ClassDetails(Answer):
    name: str
    kind: Kind
    attributes: dict[str, float]
    defaulted: list[str]
    nearest: list[Near]


class Kept(Answer):
    name: str
    kind: Literal["added"]
    defaulted: list[str]
    version: int


class Ranked(Answer):
    class_: str = Field(alias="class")
    kind: Kind
    score: float
    probability: float | None


class Contribution(Answer):
    attribute: str
    contribution: float
    value: float
    value_against: float


class Explained(Answer):
    class_: str = Field(alias="class")
    against: str
    difference: float
    calibration: float
    contributions: list[Contribution]
    rest: float


class Predicted(Answer):
    class_: str = Field(alias="class")
    top: list[Ranked]
    explanation: Explained | None


class Predictions(Answer):
    version: int
    calibration: float
    predictions: list[Predicted]


class Row(Answer):
    row: int
    class_: str = Field(alias="class")
    kind: Kind | None
    part: str | None
    id: str | None
    picture: bool


class RankedRow(Row):
    score: float


class RankedRows(Answer):
    defaulted: list[str]
    rows: list[RankedRow]


class Rows(Answer):
    total: int
    rows: list[Row]


class Point(Answer):
    calibration: float
    seen: float
    unseen: float


class Best(Answer):
    calibration: float
    harmonic: float


class Balance(Answer):
    points: list[Point]
    current: float
    best: Best


class Taken(Answer):
    class_: str = Field(alias="class")
    share: float


class Recognised(Answer):
    class_: str = Field(alias="class")
    kind: Kind
    rows: int
    accuracy: float
    wrong: list[Taken]


class Confusion(Answer):
    classes: list[Recognised]
