"""The rows of the data that a service was started with: to look at, and ranked by a description."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.arrays import to_numpy
from zskl.datasets import Dataset
from zskl.estimators.candidates import calibrated
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.panel import best_first
from zskl.estimators.projected_rows import ProjectedRows
from zskl.parameters import listed
from zskl.serve import rivals
from zskl.serve.bodies import Features
from zskl.serve.class_book import Book
from zskl.serve.refusal import Refusal, no_class, shown
from zskl.serve.row_pictures import RowPictures
from zskl.serve.schemas.rows import RankedRow, Row, RowList
from zskl.serve.schemas.teaching import Among
from zskl.serve.served_model import nameless
from zskl.serve.taught_model import taught
from zskl.signatures.table import SignatureTable

TESTS = ("test_seen", "test_unseen")
ROUNDING = 1e-5  # scores that differ by less, as a part of the largest, are the same
SCORES = 50_000_000  # rows times seen classes whose scores are kept; with more, rows are ranked without rivals
NAMELESS = "\n"  # a description; no class has this name, so nothing was taught about it
RowNumbers = NDArray[np.integer[Any]]


class LoadedRows:
    """Rows of a dataset, for a model whose classes are named by text. `labels` and `parts` (n,) are text too."""

    def __init__(
        self,
        data: Dataset,
        model: ZeroShotClassifier,
        pictures: RowPictures | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.data, self.pictures, self.names = data, pictures, names
        self.X = _columns(data, model)
        self.labels = np.array([str(label) for label in data.y.tolist()], dtype=object)
        self.parts = np.full(len(self.X), "", dtype=object)
        for part in ("trainval", *TESTS):
            self.parts[data.parts[part]] = part
        self.model, self._lock = nameless(model), threading.Lock()
        self._rivals: tuple[tuple[int, str | None], ProjectedRows, NDArray[Any]] | None = None  # of the newest book
        self._latest: tuple[int, ProjectedRows, NDArray[np.floating[Any]]] | None = None

    @cached_property
    def pictured(self) -> NDArray[np.bool_]:
        """(n,) which rows have a picture."""
        return np.array([self.pictures is not None and self.pictures.has(row) for row in range(len(self.X))])

    @cached_property
    def picture_key(self) -> str:
        """Belongs into the address of a picture: other data, or another folder of pictures, have another one."""
        content = f"{self.data.fingerprint} {'' if self.pictures is None else self.pictures.key}"
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Class → number of its rows."""
        return {
            str(label): int(count) for label, count in zip(*np.unique(self.labels, return_counts=True), strict=True)
        }

    @cached_property
    def shown(self) -> dict[str, int]:
        """Class → the first of its rows that has a picture."""
        rows = np.flatnonzero(self.pictured)
        labels, first = np.unique(self.labels[rows], return_index=True)
        return {str(label): int(rows[place]) for label, place in zip(labels, first, strict=True)}

    @cached_property
    def _projected(self) -> ProjectedRows:
        """The rows as the model projects them: then another description costs little."""
        return self.model.gallery(self.X)

    @cached_property
    def _known(self) -> NDArray[np.floating[Any]]:
        """(n, C) scores of the seen classes, or (n, 0) where these are too many."""
        if len(self.X) * len(self.model.classes_) > SCORES:
            return np.empty((len(self.X), 0), np.float32)
        return to_numpy(self._projected.scores(None, self.model.classes_))

    def _taught(self, book: Book) -> tuple[ProjectedRows, NDArray[np.floating[Any]]]:
        """The same two for the model of a book; those of the latest are kept."""
        if not book.lessons:
            return self._projected, self._known
        if self._latest is None or self._latest[0] != book.version:
            projected = self._projected.taught(book.model)
            known = self._known
            if known.shape[1]:
                known = to_numpy(projected.scores(None, self.model.classes_))
            self._latest = book.version, projected, known
        return self._latest[1:]

    def rank(
        self,
        book: Book,
        vector: NDArray[np.float64],
        given: NDArray[np.bool_],
        top: int,
        part: str | None,
        pictures: bool,
        label: str | None = None,
    ) -> list[RankedRow]:
        """The rows that a description (p,) fits best, best first. What is `given` (p,) of it rules some classes out.
        What was taught about the class `label` counts, too."""
        rows = self._chosen(part, pictures)
        if not len(rows):
            return []
        scores = self.fit(vector, given, book, label)
        order, values = best_first(scores[rows][None], min(top, len(rows)))
        best = zip(rows[order[0]].tolist(), values[0].tolist(), strict=True)
        return [{**self.card(book, row), "score": score} for row, score in best]

    def best_of(self, book: Book, labels: Sequence[str], scores: NDArray[Any], count: int) -> dict[str, list[Row]]:
        """The rows of each class that score best, those with pictures before others."""
        order = np.lexsort((-scores, ~self.pictured))
        found: dict[str, list[Row]] = {label: [] for label in labels}
        for row in order[np.isin(self.labels[order], labels)].tolist():
            mine = found[self.labels[row]]
            if len(mine) < count:
                mine.append(self.card(book, row))
        return found

    def fit(
        self,
        vector: NDArray[np.float64],
        given: NDArray[np.bool_],
        book: Book | None = None,
        label: str | None = None,
    ) -> NDArray[Any]:
        """(n,) how well a description (p,) fits each row, less what speaks for classes that it rules out. What a book
        was taught about the class `label` counts, too."""
        label = None if label is None or book is None else book.called(label)
        learned = book is not None and label is not None and book.lessons.concern(label)
        with self._lock:  # the first one to ask projects, the others wait
            projected, known = self._projected, self._known
            if learned and book is not None:
                projected, known = self._taught(book)
        scores = self._scored(projected, vector, label if learned else None)
        if known.shape[1]:
            table, classes = self.model.signature_table_, self.model.classes_
            scores = rivals.lessened(scores, known, rivals.ruled_out(table, classes, vector, given))
        if not np.isfinite(scores).all():
            raise Refusal(422, "the values of this description are too large to score rows by: check their scale")
        return scores

    def wins(self, book: Book, vector: NDArray[np.float64], without: str | None = None) -> int:
        """How many rows would be taken for a described class (p,), were it added to the book; or put in place of the
        class `without`."""
        key = (book.version, without)
        with self._lock:
            if self._rivals is None or self._rivals[0] != key:
                self._rivals = key, *self._best_of_others(book, without)
            _, projected, best = self._rivals
        scores = self._scored(projected, vector, without)
        tie = ROUNDING * np.abs(best[np.isfinite(best)]).max(initial=0.0)  # beside its equal a class wins nothing
        return int(np.count_nonzero(scores > best + tie))

    def knows(self, book: Book) -> bool:
        """Whether the scores of its classes are there."""
        return self._rivals is not None and self._rivals[0][0] == book.version

    def _best_of_others(self, book: Book, without: str | None) -> tuple[ProjectedRows, NDArray[Any]]:
        """The rows as the model projects them, and (n,) the best score of the classes that are there, calibrated as
        beside a class that is new to the model. Where something was taught, the model is that of the book with one more
        class: of how many classes it has examples counts."""
        names = [name for name in book.kinds if name != without]
        best = np.full(len(self.X), -np.inf, np.float32)
        projected, model, width = self._projected, self.model, max(1, SCORES // len(self.X))
        if book.lessons:
            model = book.model if without is not None else taught(self.model, _with_one_more(book.table), book.lessons)
            projected = projected.taught(model)
        for start in range(0, len(names), width):
            some = names[start : start + width]
            scores = to_numpy(projected.scores(book.table, some))
            seen = np.array([book.kinds[name] == "seen" for name in some])
            best = np.maximum(best, calibrated(scores, seen, float(model.calibration_)).max(axis=1))
        return projected, best

    def _scored(self, projected: ProjectedRows, vector: NDArray[np.float64], label: str | None) -> NDArray[Any]:
        """(n,) the score of a description (p,) for each row, under the name `label` if it has one."""
        described = SignatureTable(np.array([label or NAMELESS], object), vector[None], None)
        return np.asarray(to_numpy(projected.scores(described))[:, 0])

    def unlabelled(self, among: Among, book: Book | None = None, pictures: bool = False) -> RowNumbers:
        """Rows whose labels nobody looks at: all but training rows, or those of the part test_unseen; without those
        that were marked in a book."""
        rows = np.flatnonzero(self.parts != "trainval") if among == "all" else self.data.parts["test_unseen"]
        mine = () if book is None else book.lessons.examples
        marked = [one.row for one in mine if one.row is not None and one.data == self.data.fingerprint]
        rows = rows[~np.isin(rows, marked)]
        return rows[self.pictured[rows]] if pictures else rows

    def page(
        self,
        book: Book,
        start: int,
        count: int,
        label: str | None,
        part: str | None,
        pictures: bool,
        around: int | None = None,
    ) -> RowList:
        """Some rows, all or of a class or part, and how many there are. The page with the row `around` wins over
        `start`."""
        rows = self._chosen(part, pictures)
        if label is not None and label not in self.sizes:
            label = book.called(label)
        if label is not None and label not in book.kinds and label not in self.sizes:
            raise no_class(label, [*book.kinds, *self.sizes])
        if label is not None:
            rows = rows[self.labels[rows] == label]
        if around is not None:
            places = np.flatnonzero(rows == around)
            if not len(places):
                raise Refusal(422, f"row {around} is not among the {len(rows)} rows that are asked for")
            start = int(places[0]) // count * count
        shown = [self.card(book, row) for row in rows[start : start + count].tolist()]
        return {"total": len(rows), "start": start, "rows": shown}

    def picture(self, row: int) -> tuple[bytes, str]:
        """The bytes of a row's picture, and their media type."""
        if self.pictures is None or not self.pictures.has(row):
            raise Refusal(404, f"there is no picture of row {row}")
        try:
            return self.pictures.read(row)
        except OSError:
            raise Refusal(404, f"the picture of row {row} cannot be read any more") from None

    def checked(self, rows: list[int]) -> list[int]:
        """Numbers of rows. A number without a row is refused."""
        wrong = next((row for row in rows if not 0 <= row < len(self.X)), None)
        if wrong is not None:
            raise Refusal(422, f"there is no row {wrong}: the data have {len(self.X)} rows, counted from 0")
        return rows

    def features(self, rows: list[int]) -> Features:
        """(n, d) float32"""
        return np.asarray(self.X[rows], np.float32)

    def card(self, book: Book, row: int) -> Row:
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

    def _chosen(self, part: str | None, pictures: bool) -> RowNumbers:
        """The rows of a part, or only those of them with a picture."""
        if part is not None and part not in self.data.parts:
            raise Refusal(422, f"the data have no part {shown(part)}: they have {listed(self.data.parts)}")
        rows = np.arange(len(self.X)) if part is None else self.data.parts[part]
        return rows[self.pictured[rows]] if pictures else rows


def _with_one_more(table: SignatureTable) -> SignatureTable:
    """A table with one more class. What its description says does not matter here."""
    labels = np.array([*table.labels, NAMELESS], dtype=object)
    return SignatureTable(labels, np.vstack([table.matrix, table.matrix.mean(axis=0)]), table.names)


def _columns(data: Dataset, model: ZeroShotClassifier) -> NDArray[np.floating[Any]]:
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
            f"the data {data.name} have {data.X.shape[1]} features: the model takes {width}; name the data it was "
            "fitted on, or other data with the same features"
        )
    return data.X
