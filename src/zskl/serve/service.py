"""One worked example for any data: a sentence that the page types for you.

A sentence of the table below is taken if the model has attributes for most of its words. Otherwise one is made of what
sets a class apart that is new to the model. Nothing but the class table is looked at.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from zskl.estimators import _inputs
from zskl.estimators.base import ZeroShotClassifier
from zskl.serve import gallery
from zskl.serve.classes import ClassDescription, ClassRegistry, ClassSnapshot
from zskl.serve.gallery import ClassMap, Diagnostics, LoadedRows
from zskl.serve.limits import Limits, Refusal, quote_value, unknown_class
from zskl.serve.predictions import Neighbours
from zskl.serve.requests import MAX_PHOTO_BYTES, PhotoEncoder
from zskl.serve.schemas import (
    Among,
    ClassDetails,
    ClassList,
    Example,
    ExampleList,
    FittingClass,
    FittingClasses,
    Health,
    ListedExample,
    LoadedData,
    Model,
    RequestLimits,
    Row,
    RowsToLabel,
    SentenceVectors,
    Verdict,
)
from zskl.serve.store import ClassFile, SharedClassFile
from zskl.serve.teaching import MarkedExample as Marked
from zskl.serve.teaching import Teaching, can_learn, check_can_learn, expected_gain
from zskl.serve.vocabulary import SentenceSignatures, Vocabulary
from zskl.version import __version__

# Worked examples ------------------------------------------------------------------------------------------------------

SENTENCES = ("small black bird with a yellow head", "big black and white animal with stripes and hooves")
MIN_NAMED = 3  # attributes that a sentence has to name
MAX_PHRASES = 4  # attributes of a class that a made sentence names
EXAMPLE_WORDS = (
    "This is typed for you: each part of it becomes an attribute, and you see which classes fit. Change it as you like."
)


def worked_example(model: ZeroShotClassifier, words: Vocabulary) -> list[Example]:
    """The example, if there are words for one."""
    for sentence in (*SENTENCES, _make_example(model, words)):
        found = words.named(sentence) if sentence else []
        if len(found) >= MIN_NAMED or (found and sentence not in SENTENCES):
            return [{"title": sentence, "sentence": sentence, "attributes": {}, "words": EXAMPLE_WORDS}]
    return []


def _make_example(model: ZeroShotClassifier, words: Vocabulary) -> str:
    """The attributes that set a class apart, as words that are understood: of the first class new to the model."""
    seen = set(model.classes_.tolist())
    label = next((one for one in model.candidates_.tolist() if one not in seen), model.candidates_[0])
    values = model.signature_table_.select([label]).matrix.mean(axis=0)
    spread = np.where(words.high > words.low, words.high - words.low, 1.0)
    above = (values - words.mean) / spread
    phrases: list[str] = []
    for place in np.argsort(-above, kind="stable").tolist():
        phrase = words.phrase(place)
        if len(phrases) < MAX_PHRASES and above[place] > 0 and words.named(phrase) == [place]:
            phrases.append(phrase)
    return ", ".join(phrases)


# Model facts ----------------------------------------------------------------------------------------------------------
# GET /model: what a service says of its model, its data and its limits.


def describe_model(
    name: str,
    classes: ClassRegistry,
    limits: Limits,
    rows: LoadedRows | None,
    photos: PhotoEncoder | None,
    examples: Sequence[Example],
) -> Model:
    """All of it; `name` is that of the model file."""
    book, model = classes.book, classes.model
    names = getattr(model, "feature_names_in_", None)
    kinds = list(book.kinds.values())
    return {
        "file": name,
        "estimator": model.kind,
        "parameters": {setting: _plain_setting(value) for setting, value in model._settings().items()},
        "features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(one) for one in names],
        "attributes": classes.words.as_json(),
        "seen": kinds.count("seen"),
        "unseen": kinds.count("unseen"),
        "added": kinds.count("added"),
        "calibration": float(book.model.calibration_),
        "probabilities": model.temperatures_ is not None,
        "explains": _can_explain(model),
        "teaches": can_learn(model),
        "data": None if rows is None else _describe_data(rows),
        "examples": list(examples),
        "sentences": _describe_sentences(classes.sentences),
        "photos": None if photos is None else photos.name,
        "limits": _describe_limits(limits),
    }


def _describe_data(rows: LoadedRows) -> LoadedData:
    return {
        "name": rows.data.name,
        "item": "row" if rows.pictures is None else rows.pictures.item,
        "rows": len(rows.X),
        "pictures": rows.pictures is not None,
        "pictured": int(rows.pictured.sum()),
        "picture_key": rows.picture_key,
        "parts": {part: len(found) for part, found in rows.data.parts.items()},
    }


def _describe_limits(limits: Limits) -> RequestLimits:
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
        "photo_bytes": MAX_PHOTO_BYTES,
    }


def _describe_sentences(sentences: SentenceSignatures | None) -> SentenceVectors | None:
    if sentences is None:
        return None
    return {"encoder": sentences.recorded, "missing": sentences.missing, "example": sentences.example}


def _can_explain(model: ZeroShotClassifier) -> bool:
    try:
        model._check_explainable()
    except ValueError:
        return False
    return True


def _plain_setting(value: object) -> JsonValue:
    """A setting as JSON has it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    number = getattr(value, "item", None)  # of NumPy and PyTorch numbers
    found: JsonValue = str(value) if number is None else number()
    return found


# Service --------------------------------------------------------------------------------------------------------------
# What a running service knows and can be asked, without HTTP: the classes, the loaded data, what the model is.

NEAREST = 8  # classes shown beside the one you look at


class Service:
    """A model with its classes, which may be `kept` in a file, with `rows` if data were loaded, and with `examples` of
    descriptions for the page."""

    def __init__(
        self,
        model: ZeroShotClassifier,
        name: str,
        limits: Limits,
        kept: ClassFile | SharedClassFile | None = None,
        rows: LoadedRows | None = None,
        examples: Sequence[Example] = (),
        photos: PhotoEncoder | None = None,
        sentences: SentenceSignatures | None = None,
    ) -> None:
        _inputs.refuse_sparse_signatures(model.signature_table_, "the service")
        self.name, self.limits, self._rows = name, limits, rows
        self._photos = photos
        self.classes, self.map = ClassRegistry(model, limits, kept, sentences), ClassMap()
        self.teaching = Teaching(self.classes, limits)
        self._diagnostics = None if rows is None else Diagnostics(rows, self.classes.words)
        self._neighbours = None if rows is None else Neighbours(rows)
        self._examples = list(examples) or worked_example(self.classes.model, self.classes.words)
        self._began = time.monotonic()

    @property
    def book(self) -> ClassSnapshot:
        """The classes at this moment."""
        return self.classes.book

    @property
    def rows(self) -> LoadedRows:
        """The loaded data. Without any, the request is refused."""
        if self._rows is None:
            raise _no_data_error()
        return self._rows

    @property
    def photos(self) -> PhotoEncoder:
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
            raise _no_data_error()
        return self._neighbours

    @property
    def diagnostics(self) -> Diagnostics:
        """Figures on test rows of the loaded data. Without any, the request is refused."""
        if self._diagnostics is None:
            raise _no_data_error()
        return self._diagnostics

    def health(self) -> Health:
        """GET /health."""
        uptime = time.monotonic() - self._began
        return {"status": "ok", "version": __version__, "classes": len(self.book.kinds), "uptime": uptime}

    def model(self) -> Model:
        """GET /model."""
        return describe_model(self.name, self.classes, self.limits, self._rows, self._photos, self._examples)

    def work_of_ranking(self, attributes: int) -> int:
        """Multiplications that it takes to rank all loaded rows by a description."""
        return 0 if self._rows is None else len(self._rows.X) * (attributes + len(self._rows.model.classes_))

    def work_of_fitting(self, attributes: int) -> int:
        """The same for the classes that fit: rows are scored for all classes once, then for the description alone."""
        classes = 1 if self._rows is None or self._rows.knows(self.book) else len(self.book.kinds)
        return classes * self.work_of_ranking(attributes)

    def fitting(self, described: ClassDescription, top: int, rows: int, replaces: str | None = None) -> FittingClasses:
        """POST /fits."""
        book, words = self.book, self.classes.words
        if replaces is not None and book.kinds.get(book.called(replaces)) != "added":
            raise Refusal(422, f"replaces is {quote_value(replaces)}: expected an added class")
        names, vector, given = list(book.kinds), described.vector, described.given(words.names)
        alike = gallery.class_similarities(book, vector)
        telling = words.telling(vector, given)
        if described.sentence is None:
            if not given.any():
                raise Refusal(422, "the description has no attributes: give at least one")
            agreed, values = gallery.class_agreements(book, words, vector, telling)
            fits = agreed.mean(axis=1)
        else:
            agreed = values = np.zeros((len(names), 0))
            fits = np.clip(alike, 0.0, 1.0)
        order = np.argsort(-fits, kind="stable")[:top].tolist()
        best: dict[str, list[Row]] = {}
        if rows and self._rows is not None:
            best = self._rows.best_of(book, [names[k] for k in order], self._rows.fit(vector, given), rows)
        found: list[FittingClass] = [
            {
                "class": names[k],
                "kind": book.kinds[names[k]],
                "fit": float(fits[k]),
                "why": gallery.fit_reasons(words, vector, telling, agreed[k], values[k]),
                "rows": best.get(names[k], []),
            }
            for k in order
        ]
        own = None if replaces is None else book.called(replaces)
        others = [k for k in np.argsort(-alike, kind="stable").tolist() if names[k] != own]
        near = others[0] if others else None
        return {
            "defaulted": described.defaulted,
            "wins": None if self._rows is None else self._rows.wins(book, vector, own),
            "nearest": None
            if near is None
            else {"class": names[near], "kind": book.kinds[names[near]], "similarity": float(alike[near])},
            "classes": found,
        }

    def examples(self, name: str) -> ExampleList:
        """GET /classes/NAME/examples."""
        book = self.book
        name = book.called(name)
        if name not in book.kinds:
            raise unknown_class(name, book.kinds, 404)
        marked = book.lessons.of(name)
        right = sum(one.right for one in marked)
        return {
            "name": name,
            "right": right,
            "wrong": len(marked) - right,
            "examples": [self.listed_example(one) for one in marked],
            "version": book.version,
        }

    def listed_example(self, one: Marked) -> ListedExample:
        """An example; its row only where the data that it is of are loaded."""
        here = self._rows is not None and one.row is not None and one.data == self._rows.data.fingerprint
        row = one.row if here else None
        pictured = row is not None and self._rows is not None and bool(self._rows.pictured[row])
        return {"id": one.id, "right": one.right, "row": row, "picture": pictured}

    def adaptation(self) -> Verdict:
        """GET /adapt."""
        check_can_learn(self.classes.model)
        found = self.book.lessons.adaptation
        return expected_gain(self.book, len(self.rows.unlabelled("all")), "all") if found is None else found.told

    def adapt(self, among: Among, force: bool) -> Verdict:
        """POST /adapt, with the rows that may be of such classes."""
        check_can_learn(self.classes.model)
        rows = self.rows.unlabelled(among)
        if not len(rows):
            raise Refusal(409, "all loaded rows are training rows: load data with other rows to adapt to")
        return self.teaching.adapt(self.rows.features(rows.tolist()), among, force)

    def label_next(self, count: int, pictures: bool) -> RowsToLabel:
        """GET /label-next."""
        return gallery.choose_rows_to_label(self.rows, self.book, count, pictures)

    def listed(self) -> ClassList:
        """GET /classes."""
        book = self.book
        sizes = None if self._rows is None else self._rows.sizes
        shown = {} if self._rows is None else self._rows.shown
        return {
            "version": book.version,
            "classes": [
                {
                    "name": name,
                    "kind": kind,
                    "rows": None if sizes is None else sizes.get(name, 0),
                    "picture": shown.get(name),
                }
                for name, kind in book.kinds.items()
            ],
        }

    def details(self, name: str) -> ClassDetails:
        """GET /classes/NAME: a description (the mean of several), what of it was left to the mean, similar classes."""
        book, words = self.book, self.classes.words
        name = book.called(name)
        if name not in book.kinds:
            raise unknown_class(name, book.kinds, 404)
        values = book.table.select([name]).matrix.mean(axis=0)
        added = book.added.get(name)
        return {
            "name": name,
            "kind": book.kinds[name],
            "attributes": dict(zip(words.names, values.tolist(), strict=True)),
            "sentence": None if added is None else added.sentence,
            "defaulted": [] if added is None else added.defaulted,
            "nearest": [
                {"class": other, "kind": book.kinds[other], "similarity": similarity}
                for other, similarity in book.nearest(name, NEAREST)
            ],
            "version": book.version,
        }


def _no_data_error() -> Refusal:
    return Refusal(409, "no data are loaded: start the service with --data to look at rows")
