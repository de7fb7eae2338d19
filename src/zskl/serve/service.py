"""What a running service knows and can be asked, without HTTP: the classes, the loaded data, what the model is."""

from __future__ import annotations

import time
from typing import Any

from zskl.arrays import to_numpy
from zskl.estimators import score_parts
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.experiments import jsonl_log
from zskl.serve.class_book import Book, Classes
from zskl.serve.gallery import Gallery
from zskl.serve.limits import Limits
from zskl.serve.options import no_class
from zskl.serve.refusal import Refusal
from zskl.version import __version__

NEAREST = 8  # classes beside the one that is looked at


class Service:
    """A model with its classes, `kept` in a file or not, and a `gallery` if data were loaded."""

    def __init__(
        self,
        model: ZeroShotClassifier,
        name: str,
        limits: Limits,
        kept: jsonl_log.Folder | None = None,
        gallery: Gallery | None = None,
    ) -> None:
        self.name, self.limits, self._gallery = name, limits, gallery
        self.classes = Classes(model, limits, kept)
        self._began = time.monotonic()

    @property
    def book(self) -> Book:
        return self.classes.book

    @property
    def gallery(self) -> Gallery:
        if self._gallery is None:
            raise Refusal(409, "no data are loaded: start the service with --data to look at rows")
        return self._gallery

    def health(self) -> dict[str, Any]:
        uptime = time.monotonic() - self._began
        return {"status": "ok", "version": __version__, "classes": len(self.book.kinds), "uptime": uptime}

    def model(self) -> dict[str, Any]:
        book, model, gallery = self.book, self.classes.model, self._gallery
        names = getattr(model, "feature_names_in_", None)
        kinds = list(book.kinds.values())
        return {
            "file": self.name,
            "estimator": model.kind,
            "parameters": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
            "features": int(model.n_features_in_),
            "feature_names": None if names is None else [str(name) for name in names],
            "attributes": self.classes.words.as_json(),
            **{kind: kinds.count(kind) for kind in ("seen", "unseen", "added")},
            "calibration": float(model.calibration_),
            "probabilities": model.temperatures_ is not None,
            "explains": _explains(model),
            "data": None
            if gallery is None
            else {
                "name": gallery.data.name,
                "rows": len(gallery.X),
                "pictures": gallery.pictures is not None,
                "pictured": int(gallery.pictured.sum()),
                "parts": {part: len(rows) for part, rows in gallery.data.parts.items()},
            },
            "limits": {
                name: getattr(self.limits, name)
                for name in (
                    "body_bytes",
                    "rows",
                    "explained_rows",
                    "values",
                    "json_values",
                    "answers",
                    "name_length",
                    "classes",
                )
            },
        }

    def listed(self) -> dict[str, Any]:
        book = self.book
        rows = None if self._gallery is None else self._gallery.sizes
        classes = [
            {"name": name, "kind": kind, "rows": None if rows is None else rows.get(name, 0)}
            for name, kind in book.kinds.items()
        ]
        return {"version": book.version, "classes": classes}

    def details(self, name: str) -> dict[str, Any]:
        """A class: its description (the mean of several), what of it was left to the mean, and those most like it."""
        book, words = self.book, self.classes.words
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
                {"class": other, "kind": book.kinds[other], "similarity": float(similarity)}
                for other, similarity in book.nearest(name, NEAREST)
            ],
        }


def _explains(model: ZeroShotClassifier) -> bool:
    try:
        score_parts.of(model)
    except ValueError:
        return False
    return True


def _plain(value: Any) -> Any:
    """A setting as JSON has it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return to_numpy(value).item() if hasattr(value, "item") else str(value)
