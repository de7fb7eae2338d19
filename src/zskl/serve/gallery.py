"""The data a service was started with: rows to look at, ranked by a description, and how the model does on them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from zskl import metrics
from zskl.datasets import Dataset
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.panel import best_first
from zskl.parameters import listed
from zskl.serve.class_book import Book, nameless
from zskl.serve.options import no_class
from zskl.serve.pictures import Pictures
from zskl.serve.refusal import Refusal, shown
from zskl.signatures.table import SignatureTable

TESTS = ("test_seen", "test_unseen")
POINTS = 200  # of the seen–unseen curve
SCORES = 50_000_000  # of test rows and classes, looked at for the curve and the confusion: more rows are thinned out


class Gallery:
    """Rows of a dataset before a model whose classes are named by text. `labels` and `parts` (n,) are text too."""

    def __init__(
        self,
        data: Dataset,
        model: ZeroShotClassifier,
        pictures: Pictures | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.data, self.pictures, self.names = data, pictures, names
        self.X = _columns(data, model)
        self.labels = np.array([str(label) for label in data.y.tolist()], dtype=object)
        self.parts = np.full(len(self.X), "", dtype=object)
        for part in ("trainval", *TESTS):
            self.parts[data.parts[part]] = part
        self._model, self._lock = nameless(model), threading.Lock()

    @cached_property
    def pictured(self) -> np.ndarray[Any, Any]:
        """(n,) which rows have a picture."""
        return np.array([self.pictures is not None and self.pictures.has(row) for row in range(len(self.X))])

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Class → number of its rows."""
        return {
            str(label): int(count) for label, count in zip(*np.unique(self.labels, return_counts=True), strict=True)
        }

    @cached_property
    def projected(self) -> Any:
        """The rows as the model projects them: then another description costs little."""
        return self._model.gallery(self.X)

    def rank(
        self, book: Book, vector: np.ndarray[Any, Any], top: int, part: str | None, pictures: bool
    ) -> list[dict[str, Any]]:
        """The rows that a description (p,) fits best, best first."""
        rows = self._chosen(part, pictures)
        if not len(rows):
            return []
        with self._lock:
            gallery = self.projected
        scores = np.asarray(gallery.scores(SignatureTable(np.array(["described"], object), vector[None], None)))[:, 0]
        if not np.isfinite(scores).all():
            raise Refusal(422, "no row can be scored by this description: its values are too large")
        order, values = best_first(scores[rows][None], min(top, len(rows)))
        best = zip(rows[order[0]].tolist(), values[0].tolist(), strict=True)
        return [{**self.card(book, row), "score": score} for row, score in best]

    def card(self, book: Book, row: int) -> dict[str, Any]:
        """What there is to know of a row."""
        label = self.labels[row]
        return {
            "row": row,
            "class": label,
            "kind": book.kinds.get(label),
            "part": self.parts[row] or None,
            "id": None if self.names is None else self.names[row],
            "picture": bool(self.pictured[row]),
        }

    def page(
        self, book: Book, start: int, count: int, label: str | None, part: str | None, pictures: bool
    ) -> dict[str, Any]:
        """Some rows, of a class or a part if asked for, and how many there are."""
        rows = self._chosen(part, pictures)
        if label is not None and label not in book.kinds and label not in self.sizes:
            raise no_class(label, [*book.kinds, *self.sizes])
        if label is not None:
            rows = rows[self.labels[rows] == label]
        return {"total": len(rows), "rows": [self.card(book, row) for row in rows[start : start + count].tolist()]}

    def picture(self, row: int) -> tuple[bytes, str]:
        if self.pictures is None or not self.pictures.has(row):
            raise Refusal(404, f"there is no picture of row {row}")
        try:
            return self.pictures.read(row)
        except OSError:
            raise Refusal(404, f"the picture of row {row} cannot be read any more") from None

    def checked(self, rows: list[int]) -> list[int]:
        """Numbers of rows, refused where one is of none."""
        wrong = next((row for row in rows if not 0 <= row < len(self.X)), None)
        if wrong is not None:
            raise Refusal(422, f"there is no row {wrong}: the data have {len(self.X)} rows, counted from 0")
        return rows

    def features(self, rows: list[int]) -> np.ndarray[Any, Any]:
        """(n, d) float32"""
        return np.asarray(self.X[rows], np.float32)

    def balance(self) -> dict[str, Any]:
        """Seen against unseen accuracy on test rows, over the constant subtracted from scores of seen classes."""
        with self._lock:  # for the first to ask; the others wait
            return self._balance

    def confusion(self) -> dict[str, Any]:
        """Of each class of the model with test rows: how many are recognised, and what the others are taken for."""
        with self._lock:
            return self._confusion

    @cached_property
    def _balance(self) -> dict[str, Any]:
        names, scores, true, seen = self._scored
        if not seen.any() or seen.all() or len(set(np.isin(true, names[seen]).tolist())) < 2:
            raise Refusal(
                409, "the loaded data have no test rows of both seen and unseen classes, so there is no curve"
            )
        curve = metrics.seen_unseen_curve(scores, true, names, seen)
        constant, harmonic = curve.best()
        few = curve.thinned(POINTS)
        points = zip(few.calibration.tolist(), few.seen.tolist(), few.unseen.tolist(), strict=True)
        return {
            "points": [{"calibration": c, "seen": s, "unseen": u} for c, s, u in points],
            "current": float(self._model.calibration_),
            "best": {"calibration": constant, "harmonic": harmonic},
        }

    @cached_property
    def _confusion(self) -> dict[str, Any]:
        names, scores, true, seen = self._scored
        mixed = bool(seen.any() and not seen.all())
        predicted = names[np.argmax(scores - (self._model.calibration_ if mixed else 0.0) * seen, axis=1)]
        right = metrics.per_class_accuracy(true, predicted)
        wrong = metrics.wrong_answers(true, predicted)
        rows = {label: int(count) for label, count in zip(*np.unique(true, return_counts=True), strict=True)}
        return {
            "classes": [
                {
                    "class": name,
                    "kind": "seen" if seen[k] else "unseen",
                    "rows": rows[name],
                    "accuracy": right[name],
                    "wrong": [{"class": other, "share": share} for other, share in wrong[name]],
                }
                for k, name in enumerate(names.tolist())
                if name in rows
            ]
        }

    @cached_property
    def _scored(self) -> tuple[Any, ...]:
        """The model's classes, scores (n, c) of test rows of them, the classes of these, and which classes are seen."""
        names = self._model.candidates_
        rows = np.concatenate([self.data.parts[part] for part in TESTS])
        rows = rows[np.isin(self.labels[rows], names)]
        if not len(rows):
            raise Refusal(409, "the loaded data have no test rows of the model's classes")
        step = -(-len(rows) * len(names) // SCORES)
        rows = rows[::step]
        scores = np.empty((len(rows), len(names)), np.float32)
        self._model.compatibility(self.X[rows], self._model.signature_table_, out=scores)
        return names, scores, self.labels[rows], np.isin(names, self._model.classes_)

    def _chosen(self, part: str | None, pictures: bool) -> np.ndarray[Any, Any]:
        """The rows of a part, those with a picture alone if asked for."""
        if part is not None and part not in self.data.parts:
            raise Refusal(422, f"the data have no part {shown(part)}: they have {listed(self.data.parts)}")
        rows = np.arange(len(self.X)) if part is None else self.data.parts[part]
        return rows[self.pictured[rows]] if pictures else rows


def _columns(data: Dataset, model: ZeroShotClassifier) -> Any:
    """The rows of the data with the model's columns, by name where both have names."""
    width = int(model.n_features_in_)
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if names and data.feature_names is not None and tuple(names) != tuple(data.feature_names):
        places = pd.Index(data.feature_names).get_indexer(pd.Index(names))
        if (places < 0).any():
            lacking = listed(name for name, place in zip(names, places, strict=True) if place < 0)
            raise ValueError(f"the data {data.name} lack the feature column {lacking}, which the model was fitted with")
        return data.X[:, places]
    if data.X.shape[1] != width:
        raise ValueError(
            f"the data {data.name} have {data.X.shape[1]} features, the model takes {width}: name the data it was "
            "fitted on, or such as have the same features"
        )
    return data.X
