"""GET /balance, GET /confusion and GET /map."""

from __future__ import annotations

from typing_extensions import TypedDict

from zskl.serve.schemas.classes import NearClass
from zskl.serve.schemas.fields import Kind


class CurvePoint(TypedDict):
    calibration: float
    seen: float
    unseen: float


class BestPoint(TypedDict):
    calibration: float
    harmonic: float


class Balance(TypedDict):
    points: list[CurvePoint]
    current: float
    best: BestPoint


class Difference(TypedDict):
    """An attribute, and its value for each of two classes."""

    attribute: str
    values: list[float]


Mistake = TypedDict("Mistake", {"class": str, "share": float, "differ": list[Difference]})


ClassAccuracy = TypedDict(
    "ClassAccuracy", {"class": str, "kind": Kind, "rows": int, "accuracy": float, "wrong": list[Mistake]}
)


class MistakenPair(TypedDict):
    """Two classes; how many test rows each has, and how many of these are taken for the other; `share` is that of the
    rows of both. `differ` names the attributes in which the two differ most."""

    classes: list[str]
    rows: list[int]
    mistaken: list[int]
    share: float
    differ: list[Difference]


class Confusion(TypedDict):
    """`pairs` are the classes that are most often taken for each other."""

    classes: list[ClassAccuracy]
    pairs: list[MistakenPair]


PlacedClass = TypedDict("PlacedClass", {"class": str, "kind": Kind, "x": float, "y": float, "nearest": list[NearClass]})


class MapOfClasses(TypedDict):
    """`kept` says what share of all squared differences between descriptions x and y show."""

    version: int
    kept: list[float]
    classes: list[PlacedClass]
