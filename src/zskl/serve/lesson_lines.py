"""Lessons as lines of the file of classes, and back. Their keys begin with a blank, as no name of a class does."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.estimators.class_means.adaptation import KeptAdaptation
from zskl.serve.lessons import Adaptation, Example, Lessons

EXAMPLE, FORGOTTEN, ADAPTED = " example", " forgotten", " adapted"
FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    EXAMPLE: {
        "id": (str,),
        "class": (str,),
        "right": (bool,),
        "row": (int, type(None)),
        "data": (str, type(None)),
        "features": (str,),
    },
    FORGOTTEN: {"ids": (list,)},
    ADAPTED: {"kept": (list,), "told": (dict, type(None))},
}


def of_example(one: Example) -> dict[str, object]:
    """The line of a new example."""
    about = {"id": one.id, "class": one.label, "right": one.right, "row": one.row, "data": one.data}
    return {"key": EXAMPLE, **about, "features": _text(one.features)}


def of_forgotten(ids: Collection[str]) -> dict[str, object]:
    """The line of examples that are taken back."""
    return {"key": FORGOTTEN, "ids": list(ids)}


def of_adaptation(adaptation: Adaptation | None) -> dict[str, object]:
    """The line of an adaptation, or of its end."""
    if adaptation is None:
        return {"key": ADAPTED, "kept": [], "told": None}
    kept = [{"classes": one.classes, "sums": _text(one.sums), "record": one.record} for one in adaptation.kept]
    return {"key": ADAPTED, "kept": kept, "told": adaptation.told}


def of_versions(lessons: Lessons) -> dict[str, object]:
    """A line that takes nothing back, but says in which versions the examples of classes were changed last."""
    return {**of_forgotten([]), "versions": dict(lessons.versions)}


def all_of(lessons: Lessons) -> list[dict[str, object]]:
    """The lines from which the lessons can be read again, all but their versions."""
    adapted = [] if lessons.adaptation is None else [of_adaptation(lessons.adaptation)]
    return [*map(of_example, lessons.examples), *adapted]


def is_lesson(line: Mapping[str, Any]) -> bool:
    """Whether a line is about lessons, not about a class."""
    return line["key"] in FIELDS


def is_adaptation(line: Mapping[str, Any]) -> bool:
    """Whether a line is about an adaptation."""
    return bool(line["key"] == ADAPTED)


def is_whole(line: Mapping[str, Any]) -> bool:
    """Whether a line about lessons has what it must have."""
    try:
        right = all(type(line[name]) in kinds for name, kinds in FIELDS[line["key"]].items())
        right = right and all(type(one) is int for one in line.get("versions", {}).values())
        return right and after(Lessons(), line, 0) is not None
    except (AttributeError, KeyError, TypeError, ValueError, binascii.Error):
        return False


def after(lessons: Lessons, line: Mapping[str, Any], version: int) -> Lessons:
    """The lessons after what a line says, which makes this version of them."""
    if line["key"] == EXAMPLE:
        about = line["id"], line["class"], line["right"]
        return lessons.plus(Example(*about, _numbers(line["features"]), line["row"], line["data"]), version)
    if line["key"] == FORGOTTEN:
        rest = lessons.minus(set(line["ids"]), version)
        return replace(rest, versions=dict(line["versions"])) if "versions" in line else rest
    adaptation = None
    if line["told"] is not None:
        adaptation = Adaptation(tuple(map(_kept, line["kept"])), line["told"])
    return Lessons(lessons.examples, adaptation, lessons.versions)


def _kept(part: Mapping[str, Any]) -> KeptAdaptation:
    classes = list(part["classes"])
    sums = _numbers(part["sums"])
    return KeptAdaptation(classes, sums.reshape(len(classes), len(sums) // max(len(classes), 1)), dict(part["record"]))


def _text(numbers: NDArray[np.float32]) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, "<f4").tobytes()).decode("ascii")


def _numbers(text: str) -> NDArray[np.float32]:
    found = np.frombuffer(base64.b64decode(text, validate=True), "<f4").astype(np.float32)
    if not np.isfinite(found).all():
        raise ValueError("a number is not finite")
    return found
