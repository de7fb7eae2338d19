"""GET /health and GET /model."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue
from typing_extensions import TypedDict


class Health(TypedDict):
    status: Literal["ok"]
    version: str
    classes: int
    uptime: float


class Attribute(TypedDict):
    """`label` and `group` are the name as a person reads it; the range and the mean tell what values are usual.
    `exclusive`: every class has at most one attribute of this group."""

    name: str
    label: str
    group: str | None
    low: float
    high: float
    mean: float
    binary: bool
    exclusive: bool


class Example(TypedDict):
    """A description to begin with, and what it shows; or a `sentence` to be understood in place of attributes."""

    title: str
    sentence: str | None
    attributes: dict[str, float]
    words: str


class SentenceVectors(TypedDict):
    """The signatures are vectors of sentences by this `encoder`. `missing`: why it cannot read another sentence, or
    null. `example`: a sentence that describes one of the classes."""

    encoder: str
    missing: str | None
    example: str


class LoadedData(TypedDict):
    """A row is called an `item`."""

    name: str
    item: Literal["row", "picture", "photo"]
    rows: int
    pictures: bool
    pictured: int
    picture_key: str
    parts: dict[str, int]


class RequestLimits(TypedDict):
    body_bytes: int
    rows: int
    explained_rows: int
    values: int
    json_values: int
    answers: int
    name_length: int
    classes: int
    examples: int
    photo_bytes: int


class Model(TypedDict):
    file: str
    estimator: str
    parameters: dict[str, JsonValue]
    features: int
    feature_names: list[str] | None
    attributes: list[Attribute]
    seen: int
    unseen: int
    added: int
    calibration: float
    probabilities: bool
    explains: bool
    teaches: bool
    data: LoadedData | None
    examples: list[Example]
    sentences: SentenceVectors | None
    photos: str | None
    limits: RequestLimits
