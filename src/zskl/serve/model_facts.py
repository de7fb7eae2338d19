"""GET /model: what a service says of its model, its data and its limits."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve.classes import Classes
from zskl.serve.limits import Limits
from zskl.serve.photos import BYTES, Photos
from zskl.serve.rows import LoadedRows
from zskl.serve.schemas.model import Example, LoadedData, Model, RequestLimits, SentenceVectors
from zskl.serve.sentences import Sentences
from zskl.serve.taught_model import can_learn


def facts(
    name: str,
    classes: Classes,
    limits: Limits,
    rows: LoadedRows | None,
    photos: Photos | None,
    examples: Sequence[Example],
) -> Model:
    """All of it; `name` is that of the model file."""
    book, model = classes.book, classes.model
    names = getattr(model, "feature_names_in_", None)
    kinds = list(book.kinds.values())
    return {
        "file": name,
        "estimator": model.kind,
        "parameters": {setting: _plain(value) for setting, value in model._settings().items()},
        "features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(one) for one in names],
        "attributes": classes.words.as_json(),
        "seen": kinds.count("seen"),
        "unseen": kinds.count("unseen"),
        "added": kinds.count("added"),
        "calibration": float(book.model.calibration_),
        "probabilities": model.temperatures_ is not None,
        "explains": _explains(model),
        "teaches": can_learn(model),
        "data": None if rows is None else _data(rows),
        "examples": list(examples),
        "sentences": _sentences(classes.sentences),
        "photos": None if photos is None else photos.name,
        "limits": _limits(limits),
    }


def _data(rows: LoadedRows) -> LoadedData:
    return {
        "name": rows.data.name,
        "item": "row" if rows.pictures is None else rows.pictures.item,
        "rows": len(rows.X),
        "pictures": rows.pictures is not None,
        "pictured": int(rows.pictured.sum()),
        "picture_key": rows.picture_key,
        "parts": {part: len(found) for part, found in rows.data.parts.items()},
    }


def _limits(limits: Limits) -> RequestLimits:
    return {
        "body_bytes": limits.body_bytes,
        "rows": limits.rows,
        "explained_rows": limits.explained_rows,
        "values": limits.values,
        "json_values": limits.json_values,
        "answers": limits.answers,
        "name_length": limits.name_length,
        "classes": limits.classes,
        "examples": limits.examples,
        "photo_bytes": BYTES,
    }


def _sentences(sentences: Sentences | None) -> SentenceVectors | None:
    if sentences is None:
        return None
    return {"encoder": sentences.recorded, "missing": sentences.missing, "example": sentences.example}


def _explains(model: ZeroShotClassifier) -> bool:
    try:
        model._check_explainable()
    except ValueError:
        return False
    return True


def _plain(value: object) -> JsonValue:
    """A setting as JSON has it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    number = getattr(value, "item", None)  # of NumPy and PyTorch numbers
    found: JsonValue = str(value) if number is None else number()
    return found
