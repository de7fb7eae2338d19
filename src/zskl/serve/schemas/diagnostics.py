"""GET /balance and GET /confusion."""

from __future__ import annotations

from typing_extensions import TypedDict

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


Mistake = TypedDict("Mistake", {"class": str, "share": float})


ClassAccuracy = TypedDict(
    "ClassAccuracy", {"class": str, "kind": Kind, "rows": int, "accuracy": float, "wrong": list[Mistake]}
)


class Confusion(TypedDict):
    classes: list[ClassAccuracy]
