"""What a running service knows and can be asked, without HTTP: the classes, the loaded data, what the model is."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from zskl.estimators import sparse_inputs
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve import fitting
from zskl.serve.class_book import Book, Classes
from zskl.serve.class_file import ClassFile
from zskl.serve.diagnostics import Diagnostics
from zskl.serve.limits import Limits
from zskl.serve.neighbours import Neighbours
from zskl.serve.photos import BYTES, Photos
from zskl.serve.refusal import Refusal, no_class
from zskl.serve.rows import LoadedRows
from zskl.serve.schemas.classes import ClassDetails, ClassList
from zskl.serve.schemas.fits import FittingClass
from zskl.serve.schemas.model import Example, Health, LoadedData, Model, RequestLimits
from zskl.serve.schemas.rows import Row
from zskl.version import __version__

NEAREST = 8  # classes shown beside the one you look at


class Service:
    """A model with its classes, which may be `kept` in a file, with `rows` if data were loaded, and with `examples` of
    descriptions for the page."""

    def __init__(
        self,
        model: ZeroShotClassifier,
        name: str,
        limits: Limits,
        kept: ClassFile | None = None,
        rows: LoadedRows | None = None,
        examples: Sequence[Example] = (),
        photos: Photos | None = None,
    ) -> None:
        sparse_inputs.refuse_signatures(model.signature_table_, "the service")
        self.name, self.limits, self._rows, self._examples = name, limits, rows, list(examples)
        self._photos = photos
        self._diagnostics = None if rows is None else Diagnostics(rows)
        self._neighbours = None if rows is None else Neighbours(rows)
        self.classes = Classes(model, limits, kept)
        self._began = time.monotonic()

    @property
    def book(self) -> Book:
        """The classes at this moment."""
        return self.classes.book

    @property
    def rows(self) -> LoadedRows:
        """The loaded data. Without any, the request is refused."""
        if self._rows is None:
            raise _no_data()
        return self._rows

    @property
    def photos(self) -> Photos:
        """What turns photos into features. Without it, the request is refused."""
        if self._photos is None:
            raise Refusal(
                409, "this service takes no photos: start it with --backbone and the network that embedded the data"
            )
        return self._photos

    @property
    def neighbours(self) -> Neighbours:
        """Which loaded rows are nearest. Without any, the request is refused."""
        if self._neighbours is None:
            raise _no_data()
        return self._neighbours

    @property
    def diagnostics(self) -> Diagnostics:
        """Figures on test rows of the loaded data. Without any, the request is refused."""
        if self._diagnostics is None:
            raise _no_data()
        return self._diagnostics

    def health(self) -> Health:
        """GET /health."""
        uptime = time.monotonic() - self._began
        return {"status": "ok", "version": __version__, "classes": len(self.book.kinds), "uptime": uptime}

    def model(self) -> Model:
        """GET /model."""
        book, model = self.book, self.classes.model
        names = getattr(model, "feature_names_in_", None)
        kinds = list(book.kinds.values())
        return {
            "file": self.name,
            "estimator": model.kind,
            "parameters": {name: _plain(value) for name, value in model._settings().items()},
            "features": int(model.n_features_in_),
            "feature_names": None if names is None else [str(name) for name in names],
            "attributes": self.classes.words.as_json(),
            "seen": kinds.count("seen"),
            "unseen": kinds.count("unseen"),
            "added": kinds.count("added"),
            "calibration": float(model.calibration_),
            "probabilities": model.temperatures_ is not None,
            "explains": _explains(model),
            "data": None if self._rows is None else _data(self._rows),
            "examples": self._examples,
            "photos": None if self._photos is None else self._photos.name,
            "limits": _limits(self.limits),
        }

    def work_of_ranking(self, attributes: int) -> int:
        """Multiplications that it takes to rank all loaded rows by a description."""
        return 0 if self._rows is None else len(self._rows.X) * (attributes + len(self._rows.model.classes_))

    def fitting(self, vector: NDArray[np.float64], given: NDArray[np.bool_], top: int, rows: int) -> list[FittingClass]:
        """POST /fits, for a description (p,) of which some is `given` (p,)."""
        book, words = self.book, self.classes.words
        if not given.any():
            raise Refusal(422, "the description has no attributes: give at least one")
        telling = words.telling(vector, given)
        names, agreed = fitting.agreements(book, words, vector, telling)
        order = np.argsort(-agreed.mean(axis=1), kind="stable")[:top].tolist()
        best: dict[str, list[Row]] = {}
        if rows and self._rows is not None:
            best = self._rows.best_of(book, [names[k] for k in order], self._rows.fit(vector, given), rows)
        return [
            {
                "class": names[k],
                "kind": book.kinds[names[k]],
                "fit": float(agreed[k].mean()),
                "why": fitting.reasons(words, vector, telling, agreed[k]),
                "rows": best.get(names[k], []),
            }
            for k in order
        ]

    def listed(self) -> ClassList:
        """GET /classes."""
        book = self.book
        sizes = None if self._rows is None else self._rows.sizes
        return {
            "version": book.version,
            "classes": [
                {"name": name, "kind": kind, "rows": None if sizes is None else sizes.get(name, 0)}
                for name, kind in book.kinds.items()
            ],
        }

    def details(self, name: str) -> ClassDetails:
        """GET /classes/NAME: a description (the mean of several), what of it was left to the mean, similar classes."""
        book, words = self.book, self.classes.words
        name = book.called(name)
        if name not in book.kinds:
            raise no_class(name, book.kinds, 404)
        values = book.table.select([name]).matrix.mean(axis=0)
        added = book.added.get(name)
        return {
            "name": name,
            "kind": book.kinds[name],
            "attributes": dict(zip(words.names, values.tolist(), strict=True)),
            "defaulted": [] if added is None else added.defaulted,
            "nearest": [
                {"class": other, "kind": book.kinds[other], "similarity": similarity}
                for other, similarity in book.nearest(name, NEAREST)
            ],
            "version": book.version,
        }


def _no_data() -> Refusal:
    return Refusal(409, "no data are loaded: start the service with --data to look at rows")


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
        "photo_bytes": BYTES,
    }


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
