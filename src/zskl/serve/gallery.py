"""The loaded data: rows and their pictures, rows and classes that fit a description, figures on test rows, a map."""

import csv
import hashlib
import io
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl import metrics
from zskl._arrays import make_generator, to_numpy
from zskl._validation import list_values
from zskl.datasets import Dataset, letters
from zskl.estimators._candidates import calibrate_scores, nearest_classes, pick_rows, top_columns
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.search_vectors import ProjectedRows
from zskl.serve import schemas
from zskl.serve.classes import ClassDescription, ClassSnapshot, drop_feature_names
from zskl.serve.limits import Refusal, quote, unknown_class
from zskl.serve.requests import Features
from zskl.serve.teaching import teach_model
from zskl.serve.vocabulary import Vocabulary
from zskl.signatures.table import SignatureTable

PICTURE_TYPES = {
    ".avif": "image/avif", ".bmp": "image/bmp", ".gif": "image/gif", ".jfif": "image/jpeg", ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp",
}  # fmt: skip
ROWS_FILE = "rows.csv"  # in a folder of pictures: columns "file" and "row"
MIN_PIXELS = 64  # of a drawing on the screen: each of its own pixels becomes several
SHARPNESS = 8  # power by which a fit, as a part of the best, counts: benchmarks/described_rows.py
GOOD_FIT = 0.6  # where no class fits so well, something new is described
UNCALIBRATED = 0.25  # temperature of a model without one, as a part of the spread of a row's scores
TEST_PARTS = ("test_seen", "test_unseen")
ROUNDING = 1e-5  # scores that differ by less, as a part of the largest, are the same
MAX_SCORES = 50_000_000  # rows times classes whose scores are kept; with more, rows are ranked by the description alone
KEPT_BACK = 5  # one of so many test rows is kept back
MAX_NEAR_ROWS = 2000  # rows of a class among which the nearest are sought
SAME_ROW = 1e-3  # a row this near, as a part of the length, is the one that was asked about
UNNAMED = "\n"  # a description; no class has this name, so nothing was taught about it
REASONS = 3  # attributes that say why a class fits
MAX_MAP_CLASSES = 2000
MAP_NEIGHBOURS = 3  # classes named beside each one on the map
MIN_VARIANCE_SHARE = 1e-12  # a direction with less than this share of all differences is none
MAX_PAIRS = 24  # pairs of mistaken classes that are listed
MAX_DIFFERENCES = 3  # attributes that are named of a pair
SAME_VALUE = 1e-9  # of the range of an attribute: a smaller difference is rounding
CURVE_POINTS = 200  # of the seen–unseen curve

Vector: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Scores: TypeAlias = NDArray[np.floating[Any]]
RowNumbers: TypeAlias = NDArray[np.integer[Any]]
Labels: TypeAlias = NDArray[np.object_]


class PictureFiles:
    """Row → file, known from the start: nothing in a request is ever part of a path."""

    item: Literal["photo"] = "photo"

    def __init__(self, files: Mapping[int, Path]) -> None:
        self._files = files

    @property
    def key(self) -> str:
        found = sorted(self._files.items())
        return f"{[(row, str(path), path.stat().st_mtime_ns) for row, path in found if path.exists()]}"

    def has(self, row: int) -> bool:
        return row in self._files

    def read(self, row: int) -> tuple[bytes, str]:
        path = self._files[row]
        return path.read_bytes(), PICTURE_TYPES[path.suffix.lower()]


class DrawnPictures:
    """A drawing of every row: (n, height, width) bytes, 0 paper to 255 ink."""

    item: Literal["picture"] = "picture"

    def __init__(self, ink: NDArray[np.uint8]) -> None:
        self._ink, self._zoom = ink, max(1, MIN_PIXELS // ink.shape[1])
        self.key = "drawn"

    def has(self, row: int) -> bool:
        return 0 <= row < len(self._ink)

    def read(self, row: int) -> tuple[bytes, str]:
        return encode_png(np.kron(255 - self._ink[row], np.ones((self._zoom, self._zoom), np.uint8))), "image/png"


RowPictures: TypeAlias = PictureFiles | DrawnPictures


def load_pictures(
    data: Dataset, folder: str | os.PathLike[str] | None, names: Sequence[str] | None
) -> RowPictures | None:
    if folder is not None:
        return load_picture_folder(folder, len(data.X), names)
    if data.name.partition(":")[0] == "letters" and data.source == letters.SOURCE:
        return DrawnPictures(letters.pictures())
    return draw_digits(data.X) if data.name == "digits" and data.X.shape[1] == 64 else None


def draw_digits(X: NDArray[Any]) -> DrawnPictures:
    """Rows of 64 values from 0 to 16, the darkness of 8 × 8 pixels."""
    ink = np.clip(np.asarray(X, np.float64).reshape(-1, 8, 8) / 16, 0, 1)
    return DrawnPictures(255 - (255 * (1 - ink)).round().astype(np.uint8))


def encode_png(grey: NDArray[Any]) -> bytes:
    """A PNG file of (height, width) bytes, 0 black to 255 white."""
    from PIL import Image  # which matplotlib brings along

    file = io.BytesIO()
    Image.fromarray(grey).save(file, "PNG")
    return file.getvalue()


def load_picture_folder(folder: str | os.PathLike[str], rows: int, names: Sequence[str] | None) -> PictureFiles:
    """The pictures below a folder: by its rows.csv, or else by the names of the rows, whose ends are paths."""
    place = Path(folder)
    if not place.is_dir():
        raise FileNotFoundError(f"--images {place} is not a folder: name one with pictures of the rows")
    if (place / ROWS_FILE).is_file():
        return PictureFiles(_read_rows_file(place, rows))
    if names is None:
        raise ValueError(
            f"the rows of the data have no names, so their pictures in {place} cannot be found: put a table "
            f"{ROWS_FILE} with the columns file and row there, or make the dataset from files whose ids are names of "
            "pictures"
        )
    found = _match_row_names(place, names)
    if not found:
        raise ValueError(f"no picture below {place} is named like a row of the data, such as {list_values(names[:3])}")
    return PictureFiles(found)


def _read_rows_file(place: Path, rows: int) -> dict[int, Path]:
    found: dict[int, Path] = {}
    try:
        lines = list(csv.DictReader((place / ROWS_FILE).read_text("utf-8-sig").splitlines()))
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{place / ROWS_FILE} is not a table ({error}): expected the columns file and row") from None
    for number, line in enumerate(lines, start=2):
        name, row = line.get("file") or "", line.get("row") or ""
        if not name or not row.isdecimal() or len(row) > 15 or int(row) >= rows:
            raise ValueError(
                f"{place / ROWS_FILE}, line {number}: file is {name!r} and row {row!r}: expected a picture and the "
                f"number of a row, counted from 0, below {rows}"
            )
        path = place / name
        if path.suffix.lower() not in PICTURE_TYPES or not path.is_file():
            raise ValueError(f"{place / ROWS_FILE}, line {number}: {path} is not a picture that a browser shows")
        found[int(row)] = path
    return found


def _match_row_names(place: Path, names: Sequence[str]) -> dict[int, Path]:
    """Row → the file that shares the longest end with the row's name. If two files share it, the row has none."""
    ends: dict[tuple[str, ...], Path | None] = {}
    for folder, below, files in os.walk(place):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in files:
            path = Path(folder, name)
            if path.suffix.lower() in PICTURE_TYPES and not name.startswith("."):
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


class KnownScores(NamedTuple):
    """Rows as the model projects them, and (n, c) how likely each is of a class, as a part of its likeliest; the
    score of that (n,)."""

    projected: ProjectedRows
    weights: Scores
    best: Scores
    temperature: float


class Fits(NamedTuple):
    """(c,) how well each class fits a description, from 0 to 1; (p,) the attributes that tell, and for these (c, m) how
    far each class agrees, and its values."""

    fit: Vector
    telling: Mask
    agreed: Vector
    values: Vector


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
        for part in ("trainval", *TEST_PARTS):
            self.parts[data.parts[part]] = part
        self.model, self._lock = drop_feature_names(model), threading.Lock()
        # version of the latest snapshot, and its scores
        self._latest: tuple[int, KnownScores] | None = None

    @cached_property
    def pictured(self) -> Mask:
        """(n,) which rows have a picture."""
        return np.array([self.pictures is not None and self.pictures.has(row) for row in range(len(self.X))])

    @cached_property
    def picture_key(self) -> str:
        """Belongs into the address of a picture: other data, or another folder of pictures, have another one."""
        content = f"{self.data.fingerprint} {'' if self.pictures is None else self.pictures.key}"
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    @cached_property
    def class_sizes(self) -> Counter[str]:
        return Counter(self.labels.tolist())

    @cached_property
    def first_pictured(self) -> dict[str, int]:
        rows = np.flatnonzero(self.pictured)
        labels, first = np.unique(self.labels[rows], return_index=True)
        return {str(label): int(rows[place]) for label, place in zip(labels, first, strict=True)}

    @cached_property
    def _projected(self) -> ProjectedRows:
        """The rows as the model projects them: then another description costs little."""
        return self.model.gallery(self.X)

    def rank(
        self, snapshot: ClassSnapshot, words: Vocabulary, described: ClassDescription, wanted: schemas.Wanted
    ) -> list[schemas.RankedRow]:
        rows = self._select_rows(wanted.part, wanted.pictures)
        if not len(rows):
            return []
        fits = fit_classes(snapshot, words, described).fit
        scores = self.score_rows(snapshot, described.vector, fits, wanted.label)
        order, values = top_columns(scores[rows][None], min(wanted.top, len(rows)))
        best = zip(rows[order[0]].tolist(), values[0].tolist(), strict=True)
        return [{**self.describe_row(snapshot, row), "score": score} for row, score in best]

    def best_rows(
        self, snapshot: ClassSnapshot, labels: Sequence[str], scores: NDArray[Any], count: int
    ) -> dict[str, list[schemas.Row]]:
        order = np.lexsort((-scores, ~self.pictured))
        found: dict[str, list[schemas.Row]] = {label: [] for label in labels}
        for row in order[np.isin(self.labels[order], labels)].tolist():
            mine = found[self.labels[row]]
            if len(mine) < count:
                mine.append(self.describe_row(snapshot, row))
        return found

    def score_rows(
        self, snapshot: ClassSnapshot, vector: Vector, fits: Vector, label: str | None = None
    ) -> NDArray[Any]:
        """(n,) how surely each row is of what a description (p,) says, from 0 to 1.

        A row is of each class with the probability that the model gives, and a class counts by its `fits` (c,). So rows
        come in the order of the classes, as far as the model recognises them. The description is a class among the
        others, which fits fully: with what was taught about `label`. With too many scores, it alone is scored.
        """
        label = None if label is None else snapshot.resolve_name(label)
        known = self._known_scores(snapshot)
        own = self._score_vector(known.projected, vector, label if label and snapshot.taught.mentions(label) else None)
        if not np.isfinite(own).all():
            raise Refusal(422, "the values of this description are too large to score rows by: check their scale")
        if not known.weights.shape[1]:
            return own
        if label is not None and snapshot.kinds.get(label) == "seen":
            own = own - float(snapshot.model.calibration_)
        weight = np.exp(np.clip((own - known.best) / known.temperature, -80, 80))
        kept = (fits / max(float(fits.max()), GOOD_FIT)) ** SHARPNESS
        return np.asarray((known.weights @ kept + weight) / (known.weights.sum(axis=1) + weight))

    def _known_scores(self, snapshot: ClassSnapshot) -> KnownScores:
        with self._lock:  # the first one to ask computes, the others wait
            if self._latest is None or self._latest[0] != snapshot.version:
                self._latest = snapshot.version, self._score_known(snapshot, snapshot.model)
            return self._latest[1]

    def _score_known(self, snapshot: ClassSnapshot, model: ZeroShotClassifier) -> KnownScores:
        names = list(snapshot.kinds)
        projected = self._projected.with_model(model) if snapshot.taught else self._projected
        if len(self.X) * len(names) > MAX_SCORES:
            return KnownScores(projected, np.empty((len(self.X), 0)), np.empty(0), 1.0)
        seen = np.array([kind == "seen" for kind in snapshot.kinds.values()])
        scores = calibrate_scores(to_numpy(projected.scores(snapshot.table, names)), seen, float(model.calibration_))
        temperature = UNCALIBRATED * float(scores.std(axis=1).mean()) or 1.0
        if model.temperatures_:  # of rows of seen and unseen classes together
            temperature = float(model.temperatures_["mixed"])
        best = scores.max(axis=1)
        return KnownScores(projected, np.exp((scores - best[:, None]) / temperature), best, temperature)

    def count_wins(self, snapshot: ClassSnapshot, vector: Vector, without: str | None = None) -> int | None:
        """How many rows would be taken for a described class (p,) if it were added, or replaced the class `without`."""
        known = self._known_scores(snapshot)
        if snapshot.taught and without is None:  # with any class more: what examples do depends on their number
            table = _add_gallery_description(snapshot.table, snapshot.table.matrix.mean(axis=0))
            known = self._score_known(snapshot, teach_model(self.model, table, snapshot.taught))
        if not known.weights.shape[1]:
            return None
        others = np.array([name != without for name in snapshot.kinds])
        best = np.max(known.weights, axis=1, where=others, initial=np.finfo(np.float32).tiny)
        tie = ROUNDING * np.abs(known.best).max(initial=0.0)  # beside its equal a class wins nothing
        scores = self._score_vector(known.projected, vector, without)
        return int(np.count_nonzero(scores > known.best + known.temperature * np.log(best) + tie))

    def has_scores(self, snapshot: ClassSnapshot) -> bool:
        return self._latest is not None and self._latest[0] == snapshot.version

    def _score_vector(self, projected: ProjectedRows, vector: Vector, label: str | None) -> NDArray[Any]:
        """(n,) the score of a description (p,) for each row, under the name `label` if it has one."""
        described = SignatureTable(np.array([label or UNNAMED], object), vector[None], None)
        return np.asarray(to_numpy(projected.scores(described))[:, 0])

    def unlabelled_rows(
        self, among: schemas.Among, snapshot: ClassSnapshot | None = None, pictures: bool = False
    ) -> RowNumbers:
        """All but training rows, or those of the part test_unseen; without those that were marked."""
        rows = np.flatnonzero(self.parts != "trainval") if among == "all" else self.data.parts["test_unseen"]
        mine = () if snapshot is None else snapshot.taught.examples
        marked = [one.row for one in mine if one.row is not None and one.data == self.data.fingerprint]
        rows = rows[~np.isin(rows, marked)]
        return rows[self.pictured[rows]] if pictures else rows

    @cached_property
    def kept_back(self) -> RowNumbers:
        """Test rows that are never offered to label: they show how labels help."""
        rows = np.concatenate([self.data.parts[part] for part in TEST_PARTS])
        return make_generator(0).permutation(rows)[: len(rows) // KEPT_BACK]

    def choose_rows_to_label(self, snapshot: ClassSnapshot, count: int, pictures: bool) -> schemas.RowsToLabel:
        free = self.unlabelled_rows("all", snapshot, pictures)
        rows = free[~np.isin(free, self.kept_back)]
        kept = np.intersect1d(self.unlabelled_rows("all", snapshot), self.kept_back)
        kept = kept[np.isin(self.labels[kept], list(snapshot.kinds))]
        known = self._known_scores(snapshot)
        told = (
            np.array(list(snapshot.kinds), object)[known.weights[kept].argmax(axis=1)] if known.weights.size else kept
        )
        accuracy = float(np.mean(told == self.labels[kept])) if known.weights.size and len(kept) else None
        about: schemas.RowsToLabel = {
            "version": snapshot.version, "accuracy": accuracy, "kept_back": len(kept), "rows": []
        }  # fmt: skip
        if not len(rows) or len(snapshot.kinds) < 2:
            return about
        X, most = self.features(rows.tolist()), min(count, len(rows))
        found = pick_rows(snapshot.model, X, most, "margin", snapshot.table)
        likely = np.full(found.labels.shape, None) if found.probabilities is None else found.probabilities
        chosen: list[schemas.RowToLabel] = []
        for row, names, shares in zip(rows[found.rows].tolist(), found.labels.tolist(), likely.tolist(), strict=True):
            guesses: list[schemas.Guess] = [
                {"class": name, "kind": snapshot.kinds[name], "probability": share}
                for name, share in zip(names, shares, strict=True)
            ]
            chosen.append({"row": row, "picture": bool(self.pictured[row]), "guesses": guesses})
        return {**about, "rows": chosen}

    def list_rows(
        self,
        snapshot: ClassSnapshot,
        start: int,
        count: int,
        label: str | None,
        part: str | None,
        pictures: bool,
        around: int | None = None,
    ) -> schemas.RowList:
        rows = self._select_rows(part, pictures)
        if label is not None:
            label = label if label in self.class_sizes else snapshot.resolve_name(label)
            if label not in snapshot.kinds and label not in self.class_sizes:
                raise unknown_class(label, [*snapshot.kinds, *self.class_sizes])
            rows = rows[self.labels[rows] == label]
        if around is not None:
            places = np.flatnonzero(rows == around)
            if not len(places):
                raise Refusal(422, f"row {around} is not among the {len(rows)} rows that are asked for")
            start = int(places[0]) // count * count
        shown = [self.describe_row(snapshot, row) for row in rows[start : start + count].tolist()]
        return {"total": len(rows), "start": start, "rows": shown}

    @cached_property
    def _rows_of_class(self) -> dict[str, NDArray[np.intp]]:
        """Class → its rows: those with pictures, or all where none has one."""
        order = np.argsort(self.labels, kind="stable")
        names, starts = np.unique(self.labels[order], return_index=True)
        found = zip(names.tolist(), np.split(order, starts[1:]), strict=True)
        return {name: mine[self.pictured[mine]] if self.pictured[mine].any() else mine for name, mine in found}

    def nearest_rows(
        self, snapshot: ClassSnapshot, X: Features, classes: Sequence[Sequence[str]], count: int, own: list[int] | None
    ) -> list[list[schemas.NearestRows]]:
        """For each row of X (n, d) and each of its `classes`, the `count` nearest loaded rows but its `own`, nearest
        first, by the Euclidean distance between features as the model scales them."""
        scaling = getattr(self.model, "feature_scaling_", None)

        def scaled(rows: NDArray[Any]) -> Vector:
            plain = np.asarray(rows, np.float64)
            return plain if scaling is None else scaling.apply(plain)

        known: dict[str, tuple[NDArray[np.intp], Vector]] = {}
        for name in {name for one in classes for name in one}:
            places = self._rows_of_class.get(name, np.empty(0, np.intp))[:MAX_NEAR_ROWS]
            known[name] = places, scaled(self.X[places])

        def nearest(x: Vector, name: str, mine: int | None) -> list[schemas.NearRow]:
            places, rows = known[name]
            distances = np.sqrt(((rows - x) ** 2).sum(axis=1))
            # where its number is not known, a row with the same features is taken for it
            itself = distances <= SAME_ROW * np.sqrt((x**2).sum()) if mine is None else places == mine
            order = [k for k in np.argsort(distances, kind="stable").tolist() if not itself[k]][:count]
            return [{**self.describe_row(snapshot, int(places[k])), "distance": float(distances[k])} for k in order]

        mine = [None] * len(X) if own is None else own
        return [
            [{"class": name, "rows": nearest(x, name, row)} for name in names]
            for x, names, row in zip(scaled(X), classes, mine, strict=True)
        ]

    def read_picture(self, row: int) -> tuple[bytes, str]:
        if self.pictures is None or not self.pictures.has(row):
            raise Refusal(404, f"there is no picture of row {row}")
        try:
            return self.pictures.read(row)
        except OSError:
            raise Refusal(404, f"the picture of row {row} cannot be read any more") from None

    def check_rows(self, rows: list[int]) -> list[int]:
        wrong = next((row for row in rows if not 0 <= row < len(self.X)), None)
        if wrong is not None:
            raise Refusal(422, f"there is no row {wrong}: the data have {len(self.X)} rows, counted from 0")
        return rows

    def features(self, rows: list[int]) -> Features:
        return np.asarray(self.X[rows], np.float32)

    def describe_row(self, snapshot: ClassSnapshot, row: int) -> schemas.Row:
        label, part, picture = self.labels[row], self.parts[row] or None, bool(self.pictured[row])
        kind, name = snapshot.kinds.get(label), None if self.names is None else self.names[row]
        return {"row": row, "class": label, "kind": kind, "part": part, "id": name, "picture": picture}

    def _select_rows(self, part: str | None, pictures: bool) -> RowNumbers:
        if part is not None and part not in self.data.parts:
            raise Refusal(422, f"the data have no part {quote(part)}: they have {list_values(self.data.parts)}")
        rows = np.arange(len(self.X)) if part is None else self.data.parts[part]
        return rows[self.pictured[rows]] if pictures else rows


def _add_gallery_description(table: SignatureTable, vector: Vector) -> SignatureTable:
    labels = np.array([*table.labels, UNNAMED], dtype=object)
    return SignatureTable(labels, np.vstack([table.matrix, vector]), table.names)


def _model_columns(data: Dataset, model: ZeroShotClassifier) -> Scores:
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


def class_agreements(snapshot: ClassSnapshot, words: Vocabulary, vector: Vector, given: Mask) -> tuple[Vector, Vector]:
    """(c, m) 1 − |value − given value| / range of each class, for the m given attributes of a description (p,); and
    (c, m) the values. Of several descriptions of a class, the best one counts."""
    names, matrix = list(snapshot.kinds), snapshot.table.matrix[:, given]
    each = np.clip(1 - np.abs(matrix - vector[given]) / words.spread[given], 0.0, 1.0)
    place = {name: k for k, name in enumerate(names)}
    found, values = np.zeros((2, len(names), each.shape[1]))
    best = np.full(len(names), -1.0)
    for label, row, own in zip(snapshot.table.labels.tolist(), each, matrix, strict=True):
        k = place[str(label)]
        if row.mean() > best[k]:
            best[k], found[k], values[k] = row.mean(), row, own
    return found, values


def fit_classes(snapshot: ClassSnapshot, words: Vocabulary, described: ClassDescription) -> Fits:
    """By the given attributes; a sentence by its similarity; where nothing is given, all fit."""
    vector, given, c = described.vector, described.given(words.names), len(snapshot.kinds)
    telling, none = words.drop_implied(vector, given), np.zeros((c, 0))
    if described.sentence is not None or not given.any():
        alike = np.ones(c) if described.sentence is None else class_similarities(snapshot, vector)
        return Fits(np.clip(alike, 0.0, 1.0), telling, none, none)
    agreed, values = class_agreements(snapshot, words, vector, telling)
    return Fits(agreed.mean(axis=1), telling, agreed, values)


def class_similarities(snapshot: ClassSnapshot, vector: Vector) -> Vector:
    """(c,) the cosine of a description (p,) and each class, as GET /classes/NAME tells it of two classes."""
    names = list(snapshot.kinds)
    table, place = _add_gallery_description(snapshot.table, vector), np.array([len(names)])
    order, cosines = nearest_classes(snapshot.model.signature_scaling_, table, place, len(names))
    found = np.empty(len(names))
    found[order[0]] = cosines[0]
    return found


def fit_reasons(
    words: Vocabulary, vector: Vector, given: Mask, agreed: Vector, values: Vector
) -> list[schemas.Agreement]:
    """The given attributes that count most for a class: those that are far from the mean, and that it agrees with."""
    places = np.flatnonzero(given)
    weight = (0.1 + np.abs(vector - words.mean)[places] / words.spread[places]) * agreed
    order = np.argsort(-weight, kind="stable")[:REASONS]
    return [
        {"attribute": words.names[places[k]], "value": float(values[k]), "agreement": float(agreed[k])} for k in order
    ]


class ClassMap:
    """The classes of one model as points of a plane: those that are described alike are near each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plane: Plane | None = None
        self._last: schemas.MapOfClasses | None = None

    def draw(self, snapshot: ClassSnapshot) -> schemas.MapOfClasses:
        if len(snapshot.kinds) > MAX_MAP_CLASSES:
            most = f"a map shows {MAX_MAP_CLASSES} at most"
            raise Refusal(409, f"there are {len(snapshot.kinds)} classes: {most}, see GET /classes")
        with self._lock:  # the first one to ask computes, the others wait
            if self._last is not None and self._last["version"] == snapshot.version:
                return self._last
            vectors = scaled_classes(snapshot.model.signature_scaling_, snapshot.table)
            # that of the model's own classes, so that nothing moves when a class is added
            if self._plane is None:
                self._plane = Plane(vectors[[kind != "added" for kind in snapshot.kinds.values()]])
            places = self._plane.project(vectors).tolist()
            nearest = snapshot.similar_classes(range(len(snapshot.kinds)), MAP_NEIGHBOURS)
            classes: list[schemas.PlacedClass] = [
                {"class": name, "kind": kind, "x": x, "y": y, "nearest": near}
                for (name, kind), (x, y), near in zip(snapshot.kinds.items(), places, nearest, strict=True)
            ]
            self._last = {"version": snapshot.version, "kept": self._plane.kept.tolist(), "classes": classes}
            return self._last


class Plane:
    """The two directions (p, 2) along which rows (c, p) differ most (classical scaling); zero where there is none. The
    largest entry of each is positive. `kept` (2,) is the share of all squared differences along each."""

    def __init__(self, vectors: Vector) -> None:
        self._mean = vectors.mean(axis=0)
        centred = vectors - self._mean
        wide = centred.shape[0] < centred.shape[1]
        inner = centred @ centred.T if wide else centred.T @ centred  # the smaller of the two has the same eigenvalues
        values, found = np.linalg.eigh(inner)  # rising
        whole = max(float(np.trace(inner)), np.finfo(float).tiny)
        self._directions, self.kept = np.zeros((centred.shape[1], 2)), np.zeros(2)
        for k, value in enumerate(values[::-1][:2]):
            if value <= MIN_VARIANCE_SHARE * whole:
                break
            direction = centred.T @ found[:, -1 - k] if wide else found[:, -1 - k]
            direction = direction / np.linalg.norm(direction)
            self._directions[:, k] = direction * np.sign(direction[np.argmax(np.abs(direction))])
            self.kept[k] = value / whole

    def project(self, vectors: Vector) -> Vector:
        """(n, 2) of any rows (n, p)."""
        return np.asarray((vectors - self._mean) @ self._directions)


def scaled_classes(scaling: Any, table: SignatureTable) -> Vector:
    """(c, p) the descriptions as the model scales them, each of unit length; the mean of several of one class."""
    scaled: Vector = np.asarray(to_numpy(scaling.apply(table.matrix)), np.float64)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit = scaled / np.where(length > 0, length, 1.0)
    place = {label: k for k, label in enumerate(table.classes.tolist())}
    codes = np.array([place[label] for label in table.labels.tolist()])
    sums = np.zeros((len(place), unit.shape[1]))
    np.add.at(sums, codes, unit)
    return sums / np.bincount(codes)[:, None]


# Figures on test rows: to look at, not to choose by


class AttributeDifferences:
    """Attributes in which classes differ, as a part of their range; if all are from 0 to 1, by the plain difference."""

    def __init__(self, words: Vocabulary, table: SignatureTable) -> None:
        self._names = words.names
        shares = words.low.min() >= 0 and words.high.max() <= 1
        spread = np.where(words.high > words.low, 1.0, 0.0) if shares else words.high - words.low
        self._weight = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        rows: dict[str, list[int]] = {}
        for row, label in enumerate(table.labels.tolist()):
            rows.setdefault(str(label), []).append(row)
        self._means = {label: table.matrix[mine].mean(axis=0) for label, mine in rows.items()}

    def between(self, one: str, other: str) -> list[schemas.Difference]:
        """The attributes in which two classes differ most, largest difference first; fewer if fewer differ."""
        values = self._means[one], self._means[other]
        apart = np.abs(values[0] - values[1]) * self._weight
        order = np.argsort(-apart, kind="stable")[:MAX_DIFFERENCES]
        return [
            {"attribute": self._names[m], "values": [float(values[0][m]), float(values[1][m])]}
            for m in order.tolist()
            if apart[m] > SAME_VALUE
        ]


def most_mistaken_pairs(
    true: Labels, predicted: Labels, differences: AttributeDifferences
) -> list[schemas.MistakenPair]:
    """The pairs whose rows are most often taken for the other class, by their share of the rows of both."""
    rows = Counter(true.tolist())
    taken = Counter(pair for pair in zip(true.tolist(), predicted.tolist(), strict=True) if pair[0] != pair[1])
    found: list[schemas.MistakenPair] = []
    for one, other in sorted({(min(pair), max(pair)) for pair in taken}):
        counts, wrong = [rows[one], rows[other]], [taken[one, other], taken[other, one]]
        share = sum(wrong) / sum(counts)
        found.append({"classes": [one, other], "rows": counts, "mistaken": wrong, "share": share, "differ": []})
    best = sorted(found, key=lambda pair: -pair["share"])[:MAX_PAIRS]
    return [{**pair, "differ": differences.between(*pair["classes"])} for pair in best]


class Diagnostics:
    """The seen–unseen curve and the confusion of classes, worked out when first asked for."""

    def __init__(self, rows: LoadedRows, words: Vocabulary) -> None:
        self._rows, self._model, self._words, self._lock = rows, rows.model, words, threading.Lock()
        self._names: Labels = self._model.classes_
        self._seen = np.isin(self._names, self._model.seen_classes_)
        self._mixed = bool(self._seen.any() and not self._seen.all())

    def balance(self) -> schemas.Balance:
        with self._lock:  # the first request computes, the others wait
            return self._balance

    def confusion(self) -> schemas.Confusion:
        with self._lock:
            return self._confusion

    @cached_property
    def _balance(self) -> schemas.Balance:
        true, scores = self._scored_rows
        if not self._mixed or len(set(np.isin(true, self._names[self._seen]).tolist())) < 2:
            why = "the loaded data have no test rows of both seen and unseen classes, so there is no curve"
            raise Refusal(409, why)
        curve = metrics.seen_unseen_curve(scores, true, self._names, self._seen)
        constant, harmonic = curve.best()
        few = curve.thinned(CURVE_POINTS)
        points = zip(few.calibration.tolist(), few.seen.tolist(), few.unseen.tolist(), strict=True)
        return {
            "points": [{"calibration": c, "seen": s, "unseen": u} for c, s, u in points],
            "current": float(self._model.calibration_),
            "best": {"calibration": constant, "harmonic": harmonic},
        }

    @cached_property
    def _confusion(self) -> schemas.Confusion:
        true, raw = self._scored_rows
        constant = float(self._model.calibration_) if self._mixed else 0.0
        scores = to_numpy(calibrate_scores(raw, self._seen, constant))
        predicted = self._names[np.argmax(scores, axis=1)]
        right = metrics.per_class_accuracy(true, predicted)
        wrong = metrics.wrong_answers(true, predicted)
        rows = Counter(true.tolist())
        differences = AttributeDifferences(self._words, self._model.signature_table_)

        found: list[schemas.ClassAccuracy] = []
        for name, seen in zip(self._names.tolist(), self._seen.tolist(), strict=True):
            if name not in rows:
                continue
            mistakes: list[schemas.Mistake] = [
                {"class": other, "share": part, "differ": differences.between(name, other)}
                for other, part in wrong[name]
            ]
            kind: schemas.Kind = "seen" if seen else "unseen"
            found.append({"class": name, "kind": kind, "rows": rows[name], "accuracy": right[name], "wrong": mistakes})
        return {"classes": found, "pairs": most_mistaken_pairs(true, predicted, differences)}

    @cached_property
    def _scored_rows(self) -> tuple[Labels, NDArray[np.float32]]:
        """(n,) the classes of test rows, and (n, c) their scores."""
        rows = np.concatenate([self._rows.data.parts[part] for part in TEST_PARTS])
        rows = rows[np.isin(self._rows.labels[rows], self._names)]
        if not len(rows):
            raise Refusal(409, "the loaded data have no test rows of the model's classes")
        rows = rows[:: -(-len(rows) * len(self._names) // MAX_SCORES)]
        scores = np.empty((len(rows), len(self._names)), np.float32)
        self._model.compatibility(self._rows.X[rows], self._model.signature_table_, out=scores)
        return self._rows.labels[rows], scores
