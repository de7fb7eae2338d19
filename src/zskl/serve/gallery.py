"""Pictures of the rows of the loaded data: files of a folder, or drawn from the row itself. Which file belongs to which
row is found once, at the start: nothing in a request is ever part of a path."""

from __future__ import annotations

import csv
import hashlib
import os
import struct
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl import metrics
from zskl._arrays import to_numpy
from zskl._validation import list_values
from zskl.datasets import Dataset, letters
from zskl.estimators._candidates import calibrate_scores, nearest_classes, pick_rows, top_columns
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.search_vectors import ProjectedRows
from zskl.serve.classes import Book, drop_feature_names
from zskl.serve.limits import Refusal, quote_value, unknown_class
from zskl.serve.requests import Features
from zskl.serve.schemas import (
    Agreement,
    Among,
    Balance,
    ClassAccuracy,
    Confusion,
    Difference,
    Guess,
    MapOfClasses,
    MistakenPair,
    RankedRow,
    Row,
    RowList,
    RowsToLabel,
)
from zskl.serve.teaching import teach_model
from zskl.serve.vocabulary import Vocabulary
from zskl.signatures.table import SignatureTable

# Row pictures ---------------------------------------------------------------------------------------------------------

Item = Literal["row", "picture", "photo"]  # what a row of the data is called
TYPES = {
    ".avif": "image/avif", ".bmp": "image/bmp", ".gif": "image/gif", ".jfif": "image/jpeg", ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp",
}  # fmt: skip
ROWS = "rows.csv"  # in a folder of pictures: columns "file" and "row"
SHOWN = 64  # pixels of a drawing on the screen, at least: each of its own pixels becomes several


class RowPictures(Protocol):
    """`has` says which rows have a picture, `read` gives its bytes and their media type; other pictures have another
    `key`. A row is called an `item`."""

    item: Item

    @property
    def key(self) -> str: ...

    def has(self, row: int) -> bool: ...

    def read(self, row: int) -> tuple[bytes, str]: ...


class PictureFiles:
    """Row → file."""

    item: Item = "photo"

    def __init__(self, files: Mapping[int, Path]) -> None:
        self._files = files

    @property
    def key(self) -> str:
        """The folder's files and when they were changed last."""
        found = sorted(self._files.items())
        return f"{[(row, str(path), path.stat().st_mtime_ns) for row, path in found if path.exists()]}"

    def has(self, row: int) -> bool:
        return row in self._files

    def read(self, row: int) -> tuple[bytes, str]:
        path = self._files[row]
        return path.read_bytes(), TYPES[path.suffix.lower()]


class DrawnRows:
    """A drawing of every row: (n, height, width) bytes, 0 paper to 255 ink."""

    item: Item = "picture"

    def __init__(self, ink: NDArray[np.uint8]) -> None:
        self._ink, self._zoom = ink, max(1, SHOWN // ink.shape[1])
        self.key = "drawn"

    def has(self, row: int) -> bool:
        return 0 <= row < len(self._ink)

    def read(self, row: int) -> tuple[bytes, str]:
        return encode_png(np.kron(255 - self._ink[row], np.ones((self._zoom, self._zoom), np.uint8))), "image/png"


def pictures_of(
    data: Dataset, folder: str | os.PathLike[str] | None, names: Sequence[str] | None
) -> RowPictures | None:
    """Pictures of the rows of a dataset: those in `folder`, if you name one. Letters and digits are drawn."""
    if folder is not None:
        return find_pictures(folder, len(data.X), names)
    if data.name.partition(":")[0] == "letters" and data.source == letters.SOURCE:
        return DrawnRows(letters.pictures())
    return draw_digits(data.X) if data.name == "digits" and data.X.shape[1] == 64 else None


def draw_digits(X: NDArray[Any]) -> DrawnRows:
    """Rows of 64 values from 0 to 16, the darkness of 8 × 8 pixels."""
    ink = np.clip(np.asarray(X, np.float64).reshape(-1, 8, 8) / 16, 0, 1)
    return DrawnRows(255 - (255 * (1 - ink)).round().astype(np.uint8))


def encode_png(grey: NDArray[Any]) -> bytes:
    """A PNG file of (height, width) bytes, 0 black to 255 white."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def find_pictures(folder: str | os.PathLike[str], rows: int, names: Sequence[str] | None) -> PictureFiles:
    """The pictures below a folder: by its rows.csv, or else by the names of the rows, whose ends are paths."""
    place = Path(folder)
    if not place.is_dir():
        raise FileNotFoundError(f"--images {place} is not a folder: name one with pictures of the rows")
    if (place / ROWS).is_file():
        return PictureFiles(_list_pictures(place, rows))
    if names is None:
        raise ValueError(
            f"the rows of the data have no names, so their pictures in {place} cannot be found: put a table {ROWS} "
            "with the columns file and row there, or make the dataset from files whose ids are names of pictures"
        )
    found = _match_pictures(place, names)
    if not found:
        raise ValueError(f"no picture below {place} is named like a row of the data, such as {list_values(names[:3])}")
    return PictureFiles(found)


def _list_pictures(place: Path, rows: int) -> dict[int, Path]:
    found: dict[int, Path] = {}
    try:
        lines = list(csv.DictReader((place / ROWS).read_text("utf-8-sig").splitlines()))
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{place / ROWS} is not a table ({error}): expected the columns file and row") from None
    for number, line in enumerate(lines, start=2):
        name, row = line.get("file") or "", line.get("row") or ""
        if not name or not row.isdecimal() or len(row) > 15 or int(row) >= rows:
            raise ValueError(
                f"{place / ROWS}, line {number}: file is {name!r} and row {row!r}: expected a picture and the "
                f"number of a row, counted from 0, below {rows}"
            )
        path = place / name
        if path.suffix.lower() not in TYPES or not path.is_file():
            raise ValueError(f"{place / ROWS}, line {number}: {path} is not a picture that a browser shows")
        found[int(row)] = path
    return found


def _match_pictures(place: Path, names: Sequence[str]) -> dict[int, Path]:
    """Row → the file that shares the longest end with the row's name. If two files share it, the row has none."""
    ends: dict[tuple[str, ...], Path | None] = {}
    for folder, below, files in os.walk(place):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in files:
            path = Path(folder, name)
            if path.suffix.lower() in TYPES and not name.startswith("."):
                steps = path.relative_to(place).parts
                for length in range(1, len(steps) + 1):
                    ends[steps[-length:]] = None if steps[-length:] in ends else path
    found = {}
    for row, name in enumerate(names):
        steps = PurePath(name).parts  # on Windows, tables may have either slash
        match = next((ends[steps[-length:]] for length in range(len(steps), 0, -1) if steps[-length:] in ends), None)
        if match is not None:
            found[row] = match
    return found


# Rivals ---------------------------------------------------------------------------------------------------------------
# Which classes a description rules out. Their rows may fit what is described, but they fit their own class better. So
# part of what the best of these classes scores is subtracted.
#
# A description rules a class out if they differ in a given attribute by more than half of the attribute's range.

SHARE = 0.5  # 0 finds fewer new letters, 1 fewer letters with a given mark: python benchmarks/rank_rivals.py
FloatingArray = NDArray[np.floating[Any]]


def find_rivals(
    table: SignatureTable, classes: NDArray[Any], described: FloatingArray, given: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(C,) whether each of `classes` differs from `described` (p,) in what is `given` (p,). If a class has several
    signatures, all have to."""
    low, high = table.matrix.min(axis=0), table.matrix.max(axis=0)
    apart = (np.abs(table.matrix - np.clip(described, low, high)) > (high - low) / 2)[:, given].any(axis=1)
    alike = set(table.labels[~apart].tolist())
    return np.array([label not in alike for label in classes.tolist()])


def subtract_rivals(scores: FloatingArray, known: FloatingArray, rivals: NDArray[np.bool_]) -> FloatingArray:
    """(n,) `scores` (n,) of a description, less a share of the best of the `rivals` (C,) among the `known` (n, C)."""
    if not rivals.any():
        return scores
    best: FloatingArray = np.max(known, axis=1, where=rivals, initial=-np.inf)
    return scores - SHARE * best


# Rows -----------------------------------------------------------------------------------------------------------------
# The rows of the data that a service was started with: to look at, and ranked by a description.

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
        self.X = _model_columns(data, model)
        self.labels = np.array([str(label) for label in data.y.tolist()], dtype=object)
        self.parts = np.full(len(self.X), "", dtype=object)
        for part in ("trainval", *TESTS):
            self.parts[data.parts[part]] = part
        self.model, self._lock = drop_feature_names(model), threading.Lock()
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
            projected = self._projected.with_model(book.model)
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
        order, values = top_columns(scores[rows][None], min(top, len(rows)))
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
            scores = subtract_rivals(scores, known, find_rivals(table, classes, vector, given))
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
            model = (
                book.model
                if without is not None
                else teach_model(self.model, _add_placeholder_class(book.table), book.lessons)
            )
            projected = projected.with_model(model)
        for start in range(0, len(names), width):
            some = names[start : start + width]
            scores = to_numpy(projected.scores(book.table, some))
            seen = np.array([book.kinds[name] == "seen" for name in some])
            best = np.maximum(best, calibrate_scores(scores, seen, float(model.calibration_)).max(axis=1))
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
            raise unknown_class(label, [*book.kinds, *self.sizes])
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
            raise Refusal(422, f"the data have no part {quote_value(part)}: they have {list_values(self.data.parts)}")
        rows = np.arange(len(self.X)) if part is None else self.data.parts[part]
        return rows[self.pictured[rows]] if pictures else rows


def _add_placeholder_class(table: SignatureTable) -> SignatureTable:
    """A table with one more class. What its description says does not matter here."""
    labels = np.array([*table.labels, NAMELESS], dtype=object)
    return SignatureTable(labels, np.vstack([table.matrix, table.matrix.mean(axis=0)]), table.names)


def _model_columns(data: Dataset, model: ZeroShotClassifier) -> NDArray[np.floating[Any]]:
    """The rows of the data with the model's columns, by name where both have names."""
    width = int(model.n_features_in_)
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if names and data.feature_names is not None and tuple(names) != tuple(data.feature_names):
        places = pd.Index(data.feature_names).get_indexer(pd.Index(names))
        if (places < 0).any():
            lacking = list_values(name for name, place in zip(names, places, strict=True) if place < 0)
            raise ValueError(f"the data {data.name} lack the feature column {lacking}, which the model was fitted with")
        return data.X[:, places]
    if data.X.shape[1] != width:
        raise ValueError(
            f"the data {data.name} have {data.X.shape[1]} features: the model takes {width}; name the data it was "
            "fitted on, or other data with the same features"
        )
    return data.X


# Rows to label --------------------------------------------------------------------------------------------------------
# GET /label-next: which loaded rows to label next.


def choose_rows_to_label(loaded: LoadedRows, book: Book, count: int, pictures: bool) -> RowsToLabel:
    """The rows whose labels would help most, by `label_next`, with the best two classes of each."""
    rows = loaded.unlabelled("all", book, pictures)
    if not len(rows) or len(book.kinds) < 2:
        return {"version": book.version, "rows": []}
    found = pick_rows(book.model, loaded.features(rows.tolist()), min(count, len(rows)), "margin", book.table)
    likely = np.full(found.labels.shape, None) if found.probabilities is None else found.probabilities

    def guesses(place: int) -> list[Guess]:
        pairs = zip(found.labels[place].tolist(), likely[place].tolist(), strict=True)
        return [{"class": name, "kind": book.kinds[name], "probability": share} for name, share in pairs]

    chosen = enumerate(rows[found.rows].tolist())
    return {
        "version": book.version,
        "rows": [
            {"row": row, "picture": bool(loaded.pictured[row]), "guesses": guesses(place)} for place, row in chosen
        ],
    }


# Fitting --------------------------------------------------------------------------------------------------------------
# Classes that fit a description, best first, and what the description would be as a class.
#
# A class agrees with a given attribute by 1 − |its value − the given value| / (range over all classes). How well it
# fits is the mean over the attributes that were given; what was left open does not count. A sentence fits a class by
# the cosine of their vectors.

REASONS = 3  # attributes that say why
DESCRIBED = "\n"  # no class has this name


def class_agreements(
    book: Book, words: Vocabulary, vector: NDArray[np.float64], given: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far each class agrees (c, m) with the m given attributes of a description (p,), and its values of these. A
    class with several descriptions agrees as its best one does."""
    names, matrix = list(book.kinds), book.table.matrix[:, given]
    spread = np.where(words.high > words.low, words.high - words.low, 1.0)[given]
    each = np.clip(1 - np.abs(matrix - vector[given]) / spread, 0.0, 1.0)
    place = {name: k for k, name in enumerate(names)}
    found, values = np.zeros((2, len(names), each.shape[1]))
    best = np.full(len(names), -1.0)
    for label, row, own in zip(book.table.labels.tolist(), each, matrix, strict=True):
        k = place[str(label)]
        if row.mean() > best[k]:
            best[k], found[k], values[k] = row.mean(), row, own
    return found, values


def class_similarities(book: Book, vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """(c,) the cosine of a description (p,) and each class, as GET /classes/NAME tells it of two classes."""
    names = list(book.kinds)
    labels = np.array([*book.table.labels, DESCRIBED], dtype=object)
    table = SignatureTable(labels, np.vstack([book.table.matrix, vector]), book.table.names)
    place = np.array([len(names)])
    order, cosines = nearest_classes(book.model.signature_scaling_, table, place, len(names))
    found = np.empty(len(names))
    found[order[0]] = cosines[0]
    return found


def fit_reasons(
    words: Vocabulary,
    vector: NDArray[np.float64],
    given: NDArray[np.bool_],
    agreed: NDArray[np.float64],
    values: NDArray[np.float64],
) -> list[Agreement]:
    """The given attributes that count most for a class: those that are far from the mean, and that it agrees with."""
    places = np.flatnonzero(given)
    spread = np.where(words.high > words.low, words.high - words.low, 1.0)[places]
    weight = (0.1 + np.abs(vector - words.mean)[places] / spread) * agreed
    order = np.argsort(-weight, kind="stable")[:REASONS]
    return [
        {"attribute": words.names[places[k]], "value": float(values[k]), "agreement": float(agreed[k])} for k in order
    ]


# Class map ------------------------------------------------------------------------------------------------------------
# Classes as points of a plane on which those that are described alike lie near each other.
#
# The directions are the two along which the descriptions of the model's own classes differ most (classical scaling of
# their distances, in closed form). Added classes are put into the same plane, so that nothing moves when one comes.

MOST = 2000  # classes that a map can show
NEAREST = 3  # classes named beside each one
FLAT = 1e-12  # a direction with less than this share of all differences is none
Floats = NDArray[np.float64]


class ClassMap:
    """The map of the classes of one model, for any book of it. The newest book's is kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plane: Plane | None = None
        self._last: MapOfClasses | None = None

    def of(self, book: Book) -> MapOfClasses:
        """The place of each class, and the classes most like it."""
        if len(book.kinds) > MOST:
            raise Refusal(409, f"there are {len(book.kinds)} classes: a map shows {MOST} at most, see GET /classes")
        with self._lock:  # the first one to ask computes, the others wait
            if self._last is None or self._last["version"] != book.version:
                self._last = self._drawn(book)
            return self._last

    def _drawn(self, book: Book) -> MapOfClasses:
        names = list(book.kinds)
        vectors = scaled_classes(book.model.signature_scaling_, book.table)
        if self._plane is None:
            self._plane = Plane(vectors[[kind != "added" for kind in book.kinds.values()]])
        places = self._plane.places(vectors)
        order, cosines = nearest_classes(book.model.signature_scaling_, book.table, np.arange(len(names)), NEAREST)
        return {
            "version": book.version,
            "kept": self._plane.kept.tolist(),
            "classes": [
                {
                    "class": name,
                    "kind": book.kinds[name],
                    "x": float(places[k, 0]),
                    "y": float(places[k, 1]),
                    "nearest": [
                        {"class": names[other], "kind": book.kinds[names[other]], "similarity": float(cosine)}
                        for other, cosine in zip(order[k], cosines[k], strict=True)
                    ],
                }
                for k, name in enumerate(names)
            ],
        }


class Plane:
    """The two directions (p, 2) along which rows (c, p) differ most; zero where there is none. The largest entry of
    each is positive. `kept` (2,) is the share of all squared differences along each."""

    def __init__(self, vectors: Floats) -> None:
        self._mean = vectors.mean(axis=0)
        centred = vectors - self._mean
        wide = centred.shape[0] < centred.shape[1]
        inner = centred @ centred.T if wide else centred.T @ centred  # the smaller of the two has the same eigenvalues
        values, found = np.linalg.eigh(inner)  # rising
        whole = max(float(np.trace(inner)), np.finfo(float).tiny)
        self._directions, self.kept = np.zeros((centred.shape[1], 2)), np.zeros(2)
        for k, value in enumerate(values[::-1][:2]):
            if value <= FLAT * whole:
                break
            direction = centred.T @ found[:, -1 - k] if wide else found[:, -1 - k]
            direction = direction / np.linalg.norm(direction)
            self._directions[:, k] = direction * np.sign(direction[np.argmax(np.abs(direction))])
            self.kept[k] = value / whole

    def places(self, vectors: Floats) -> Floats:
        """(n, 2) of any rows (n, p)."""
        found: Floats = (vectors - self._mean) @ self._directions
        return found


def scaled_classes(scaling: Any, table: SignatureTable) -> Floats:
    """(c, p) the descriptions as the model scales them, each of unit length; the mean of several of one class."""
    scaled: Floats = np.asarray(to_numpy(scaling.apply(table.matrix)), np.float64)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit = scaled / np.where(length > 0, length, 1.0)
    place = {label: k for k, label in enumerate(table.classes.tolist())}
    codes = np.array([place[label] for label in table.labels.tolist()])
    sums = np.zeros((len(place), unit.shape[1]))
    np.add.at(sums, codes, unit)
    return sums / np.bincount(codes)[:, None]


# Mistaken pairs -------------------------------------------------------------------------------------------------------
# Classes that are taken for each other, and the attributes in which two classes differ most.

PAIRS = 24  # pairs that are listed
TOLD = 3  # attributes that are named of a pair
ALIKE = 1e-9  # of the range of an attribute: a smaller difference is rounding
Labels = NDArray[np.object_]


class Differences:
    """Of the classes of a table: by their size if all attributes are shares from 0 to 1, otherwise as a part of the
    range of each attribute, so that units do not matter."""

    def __init__(self, words: Vocabulary, table: SignatureTable) -> None:
        self._names = words.names
        shares = words.low.min() >= 0 and words.high.max() <= 1
        spread = np.where(words.high > words.low, 1.0, 0.0) if shares else words.high - words.low
        self._weight = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        rows: dict[str, list[int]] = {}
        for row, label in enumerate(table.labels.tolist()):
            rows.setdefault(str(label), []).append(row)
        self._means = {label: table.matrix[mine].mean(axis=0) for label, mine in rows.items()}

    def between(self, one: str, other: str) -> list[Difference]:
        """The attributes in which two classes differ most, largest difference first; fewer if fewer differ."""
        values = self._means[one], self._means[other]
        apart = np.abs(values[0] - values[1]) * self._weight
        order = np.argsort(-apart, kind="stable")[:TOLD]
        return [
            {"attribute": self._names[m], "values": [float(values[0][m]), float(values[1][m])]}
            for m in order.tolist()
            if apart[m] > ALIKE
        ]


def most_mistaken_pairs(true: Labels, predicted: Labels, differences: Differences) -> list[MistakenPair]:
    """The pairs whose rows are most often taken for the other class, by their share of the rows of both."""
    rows = {name: int(count) for name, count in zip(*np.unique(true, return_counts=True), strict=True)}
    taken: dict[tuple[str, str], int] = {}
    for pair in zip(true.tolist(), predicted.tolist(), strict=True):
        if pair[0] != pair[1]:
            taken[pair] = taken.get(pair, 0) + 1
    found: list[MistakenPair] = []
    for one, other in sorted({(min(pair), max(pair)) for pair in taken}):
        counts = [rows.get(one, 0), rows.get(other, 0)]
        wrong = [taken.get((one, other), 0), taken.get((other, one), 0)]
        share = sum(wrong) / sum(counts)
        found.append({"classes": [one, other], "rows": counts, "mistaken": wrong, "share": share, "differ": []})
    best = sorted(found, key=lambda pair: -pair["share"])[:PAIRS]
    return [{**pair, "differ": differences.between(*pair["classes"])} for pair in best]


# Diagnostics ----------------------------------------------------------------------------------------------------------
# How a model does on the test rows of the loaded data: to look at, not to choose by.

POINTS = 200  # of the seen–unseen curve


@dataclass(frozen=True)
class _Scored:
    """Test rows of the model's classes."""

    names: NDArray[np.object_]  # (c,) the model's classes
    seen: NDArray[np.bool_]  # (c,) which of them are seen
    true: NDArray[np.object_]  # (n,) the classes of the rows
    scores: NDArray[np.float32]  # (n, c)

    @property
    def mixed(self) -> bool:
        """Whether some classes are seen and some unseen."""
        return bool(self.seen.any() and not self.seen.all())


class Diagnostics:
    """The seen–unseen curve and the confusion of classes, worked out when first asked for."""

    def __init__(self, rows: LoadedRows, words: Vocabulary) -> None:
        self._rows, self._model, self._words, self._lock = rows, rows.model, words, threading.Lock()

    def balance(self) -> Balance:
        """Accuracy on seen and unseen classes, by the constant subtracted from scores of seen classes."""
        with self._lock:  # the first one to ask computes, the others wait
            return self._balance

    def confusion(self) -> Confusion:
        """For each class of the model with test rows: how many are recognised, and what the others are taken for."""
        with self._lock:
            return self._confusion

    @cached_property
    def _balance(self) -> Balance:
        found = self._scored
        if not found.mixed or len(set(np.isin(found.true, found.names[found.seen]).tolist())) < 2:
            raise Refusal(
                409, "the loaded data have no test rows of both seen and unseen classes, so there is no curve"
            )
        curve = metrics.seen_unseen_curve(found.scores, found.true, found.names, found.seen)
        constant, harmonic = curve.best()
        few = curve.thinned(POINTS)
        points = zip(few.calibration.tolist(), few.seen.tolist(), few.unseen.tolist(), strict=True)
        return {
            "points": [{"calibration": c, "seen": s, "unseen": u} for c, s, u in points],
            "current": float(self._model.calibration_),
            "best": {"calibration": constant, "harmonic": harmonic},
        }

    @cached_property
    def _confusion(self) -> Confusion:
        found = self._scored
        constant = float(self._model.calibration_) if found.mixed else 0.0
        scores = to_numpy(calibrate_scores(found.scores, found.seen, constant))
        predicted = found.names[np.argmax(scores, axis=1)]
        right = metrics.per_class_accuracy(found.true, predicted)
        wrong = metrics.wrong_answers(found.true, predicted)
        rows = {label: int(count) for label, count in zip(*np.unique(found.true, return_counts=True), strict=True)}

        told = Differences(self._words, self._model.signature_table_)

        def accuracy(name: str, seen: bool) -> ClassAccuracy:
            return {
                "class": name,
                "kind": "seen" if seen else "unseen",
                "rows": rows[name],
                "accuracy": right[name],
                "wrong": [
                    {"class": other, "share": part, "differ": told.between(name, other)} for other, part in wrong[name]
                ],
            }

        classes = zip(found.names.tolist(), found.seen.tolist(), strict=True)
        return {
            "classes": [accuracy(name, seen) for name, seen in classes if name in rows],
            "pairs": most_mistaken_pairs(found.true, predicted, told),
        }

    @cached_property
    def _scored(self) -> _Scored:
        names = self._model.candidates_
        rows = np.concatenate([self._rows.data.parts[part] for part in TESTS])
        rows = rows[np.isin(self._rows.labels[rows], names)]
        if not len(rows):
            raise Refusal(409, "the loaded data have no test rows of the model's classes")
        rows = rows[:: -(-len(rows) * len(names) // SCORES)]
        scores = np.empty((len(rows), len(names)), np.float32)
        self._model.compatibility(self._rows.X[rows], self._model.signature_table_, out=scores)
        return _Scored(names, np.isin(names, self._model.classes_), self._rows.labels[rows], scores)
