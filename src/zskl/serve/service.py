"""What a running service can be asked, without HTTP: about its model, its classes and the loaded data."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property
from typing import cast

import numpy as np
from pydantic import JsonValue

from zskl.estimators import _inputs
from zskl.estimators.base import ZeroShotClassifier
from zskl.serve import gallery, schemas
from zskl.serve.classes import ClassDescription, ClassRegistry, ClassSnapshot
from zskl.serve.gallery import ClassMap, Diagnostics, LoadedRows
from zskl.serve.limits import Limits, Refusal, quote
from zskl.serve.requests import MAX_PHOTO_BYTES, PhotoEncoder, TextReader
from zskl.serve.store import ClassStore, MarkedExample
from zskl.serve.teaching import Teaching, can_learn, check_can_learn, expected_gain
from zskl.serve.vocabulary import SentenceEncoder, Vocabulary
from zskl.version import __version__

SENTENCES = ("small black bird with a yellow head", "big black and white animal with stripes and hooves")
NEAREST = 8  # classes shown beside the one you look at
MIN_NAMED = 3  # attributes that a sentence has to name
MAX_PHRASES = 4  # attributes of a class that a made sentence names
EXAMPLES_TRIED = 50  # classes that a sentence may be made of: of thousands, reading all would take half a minute
EXAMPLE_WORDS = (
    "This is typed for you: each part of it becomes an attribute, and you see which classes fit. Change it as you like."
)


def worked_example(model: ZeroShotClassifier, words: Vocabulary) -> list[schemas.Example]:
    """A sentence that the page types for you, if there are words for one."""
    for sentence in (*SENTENCES, _make_example(model, words)):
        found = words.find_named(sentence) if sentence else []
        if len(found) >= MIN_NAMED or (found and sentence not in SENTENCES):
            return [{"title": sentence, "sentence": sentence, "attributes": {}, "words": EXAMPLE_WORDS}]
    return []


def _make_example(model: ZeroShotClassifier, words: Vocabulary) -> str:
    """The attributes that set a class apart, best one that is new to the model, in words that are understood."""
    seen = set(model.seen_classes_.tolist())
    understood: dict[int, str] = {}  # "" of an attribute whose own phrase is not read as this attribute
    for label in sorted(model.classes_.tolist(), key=seen.__contains__)[:EXAMPLES_TRIED]:
        above = (model.signature_table_.select([label]).matrix.mean(axis=0) - words.mean) / words.spread
        phrases: list[str] = []
        for place in np.argsort(-above, kind="stable").tolist():
            if len(phrases) == MAX_PHRASES or not above[place] > 0:
                break
            if place not in understood:
                phrase = words.phrase_for(place)
                understood[place] = phrase if words.find_named(phrase) == [place] else ""
            phrases += [understood[place]] if understood[place] else []
        if phrases:
            return ", ".join(phrases)
    return ""


def _describe_service_data(rows: LoadedRows) -> schemas.LoadedData:
    return {
        "name": rows.data.name,
        "item": "row" if rows.pictures is None else rows.pictures.item,
        "rows": len(rows.X),
        "pictures": rows.pictures is not None,
        "pictured": int(rows.pictured.sum()),
        "picture_key": rows.picture_key,
        "parts": {part: len(found) for part, found in rows.data.parts.items()},
    }


def _plain_setting(value: object) -> JsonValue:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    number = getattr(value, "item", None)  # of NumPy and PyTorch numbers
    found: JsonValue = str(value) if number is None else number()
    return found


class Service:
    """A model with its classes, `kept` in a file or not. What needs `rows` of data refuses requests without them."""

    def __init__(
        self,
        model: ZeroShotClassifier,
        name: str,
        limits: Limits,
        kept: ClassStore | None = None,
        rows: LoadedRows | None = None,
        examples: Sequence[schemas.Example] = (),
        photos: PhotoEncoder | None = None,
        sentences: SentenceEncoder | None = None,
        texts: TextReader | None = None,
    ) -> None:
        _inputs.refuse_sparse_signatures(model.signature_table_, "the service")
        self.name, self.limits, self._rows, self._photos, self._texts = name, limits, rows, photos, texts
        self.classes, self.map = ClassRegistry(model, limits, kept, sentences), ClassMap()
        self.teaching = Teaching(self.classes, limits)
        self._examples = list(examples)
        if not examples and sentences is None:  # the numbers of an encoder have no words
            self._examples = worked_example(self.classes.model, self.classes.words)
        self._began = time.monotonic()

    @property
    def snapshot(self) -> ClassSnapshot:
        return self.classes.snapshot

    @property
    def rows(self) -> LoadedRows:
        if self._rows is None:
            raise Refusal(409, "no data are loaded: start the service with --data to look at rows")
        return self._rows

    @property
    def photos(self) -> PhotoEncoder:
        if self._photos is None:
            why = "this service takes no photos: start it with --backbone and the network that embedded the data"
            raise Refusal(409, why)
        return self._photos

    @property
    def texts(self) -> TextReader:
        if self._texts is None:
            raise Refusal(409, "this service takes no texts: serve a model of texts, with its encoder on this machine")
        return self._texts

    @cached_property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics(self.rows, self.classes.words)

    def check_health(self) -> schemas.Health:
        uptime = time.monotonic() - self._began
        return {"status": "ok", "version": __version__, "classes": len(self.snapshot.kinds), "uptime": uptime}

    def describe_model(self) -> schemas.Model:
        snapshot, model, sentences = self.snapshot, self.classes.model, self.classes.sentences
        names = getattr(model, "feature_names_in_", None)
        kinds = list(snapshot.kinds.values())
        every = {**asdict(self.limits), "photo_bytes": MAX_PHOTO_BYTES}
        limits = {name: every[name] for name in schemas.RequestLimits.__annotations__}
        explains = False
        with suppress(ValueError):
            model._check_explainable()
            explains = True
        return {
            "file": self.name,
            "estimator": model.kind,
            "parameters": {setting: _plain_setting(value) for setting, value in model._settings().items()},
            "features": int(model.n_features_in_),
            "feature_names": None if names is None else [str(one) for one in names],
            "attributes": self.classes.words.to_json(),
            "seen": kinds.count("seen"),
            "unseen": kinds.count("unseen"),
            "added": kinds.count("added"),
            "calibration": float(snapshot.model.calibration_),
            "probabilities": model.temperatures_ is not None,
            "decides": model.decisions_ is not None,
            "explains": explains,
            "teaches": can_learn(model),
            "data": None if self._rows is None else _describe_service_data(self._rows),
            "examples": self._examples,
            "sentences": None
            if sentences is None
            else {"encoder": sentences.recorded, "missing": sentences.missing, "example": sentences.example},
            "photos": None if self._photos is None else self._photos.name,
            "texts": None if self._texts is None else self._texts.name,
            "limits": cast(schemas.RequestLimits, limits),
        }

    def ranking_cost(self, attributes: int) -> int:
        """Multiplications that it takes to rank all loaded rows by a description."""
        return 0 if self._rows is None else len(self._rows.X) * (attributes + len(self._rows.model.seen_classes_))

    def fitting_cost(self, attributes: int) -> int:
        """The same for the classes that fit: rows are scored for all classes once, then for the description alone."""
        classes = 1 if self._rows is None or self._rows.has_scores(self.snapshot) else len(self.snapshot.kinds)
        return classes * self.ranking_cost(attributes)

    def find_fitting_classes(self, described: ClassDescription, sought: schemas.Sought) -> schemas.FittingClasses:
        snapshot, words = self.snapshot, self.classes.words
        own = None if sought.replaces is None else snapshot.resolve_name(sought.replaces)
        if own is not None and snapshot.kinds.get(own) != "added":
            raise Refusal(422, f"replaces is {quote(sought.replaces)}: expected an added class")
        names, vector = list(snapshot.kinds), described.vector
        if described.sentence is None and not described.given(words.names).any():
            raise Refusal(422, "the description has no attributes: give at least one")
        alike = gallery.class_similarities(snapshot, vector)
        fits, telling, agreed, values = gallery.fit_classes(snapshot, words, described)
        order = np.argsort(-fits, kind="stable")[: sought.top].tolist()
        best: dict[str, list[schemas.Row]] = {}
        if sought.rows and self._rows is not None:
            scores = self._rows.score_rows(snapshot, vector, fits)
            best = self._rows.best_rows(snapshot, [names[k] for k in order], scores, sought.rows)
        found: list[schemas.FittingClass] = []
        for k in order:
            name, why = names[k], gallery.fit_reasons(words, vector, telling, agreed[k], values[k])
            kind, shown = snapshot.kinds[name], best.get(name, [])
            if not shown and self._rows is not None:
                taught = self._taught_rows(snapshot, name)[: sought.rows]
                shown = [self._rows.describe_row(snapshot, row) for row in taught]
            found.append({"class": name, "kind": kind, "fit": float(fits[k]), "why": why, "rows": shown})
        others = [k for k in np.argsort(-alike, kind="stable").tolist() if names[k] != own]
        near: schemas.NearClass | None = None
        if others:
            nearest = names[others[0]]
            near = {"class": nearest, "kind": snapshot.kinds[nearest], "similarity": float(alike[others[0]])}
        wins = None if self._rows is None else self._rows.count_wins(snapshot, vector, own)
        return {"defaulted": described.defaulted, "wins": wins, "nearest": near, "classes": found}

    def list_examples(self, name: str, features: bool = False) -> schemas.ExampleList:
        snapshot = self.snapshot
        name = snapshot.find_class(name)
        marked = snapshot.taught.examples_of(name)
        right = sum(one.right for one in marked)
        listed, wrong = [self.describe_example(one) for one in marked], len(marked) - right
        for one, each in zip(marked, listed if features else (), strict=False):
            each["features"] = one.features.tolist()
        return {"name": name, "right": right, "wrong": wrong, "examples": listed, "version": snapshot.version}

    def describe_example(self, one: MarkedExample) -> schemas.ListedExample:
        here = self._rows is not None and one.row is not None and one.data == self._rows.data.fingerprint
        row = one.row if here else None
        pictured = row is not None and self._rows is not None and bool(self._rows.pictured[row])
        return {"id": one.id, "right": one.right, "row": row, "picture": pictured}

    def _taught_rows(self, snapshot: ClassSnapshot, name: str) -> list[int]:
        """Loaded rows with a picture that were marked as right."""
        shown = map(self.describe_example, snapshot.taught.examples_of(name))
        return [one["row"] for one in shown if one["right"] and one["picture"] and one["row"] is not None]

    def show_adaptation(self) -> schemas.Verdict:
        check_can_learn(self.classes.model)
        found = self.snapshot.taught.adaptation
        if found is not None:
            return found.verdict
        return expected_gain(self.snapshot, len(self.rows.unlabelled_rows("all")), "all")

    def adapt(self, among: schemas.Among, force: bool) -> schemas.Verdict:
        check_can_learn(self.classes.model)
        rows = self.rows.unlabelled_rows(among)
        if not len(rows):
            raise Refusal(409, "all loaded rows are training rows: load data with other rows to adapt to")
        return self.teaching.adapt(self.rows.features(rows.tolist()), among, force)

    def list_classes(self) -> schemas.ClassList:
        snapshot = self.snapshot
        listed: list[schemas.ListedClass] = []
        for name, kind in snapshot.kinds.items():
            rows = None if self._rows is None else self._rows.class_sizes[name]
            picture = None if self._rows is None else self._rows.first_pictured.get(name)
            if picture is None:  # photos that were taught are the class's photos
                picture = next(iter(self._taught_rows(snapshot, name)), None)
            listed.append({"name": name, "kind": kind, "rows": rows, "picture": picture})
        return {"version": snapshot.version, "classes": listed}

    def describe_class(self, name: str) -> schemas.ClassDetails:
        """GET /classes/NAME: a description (the mean of several), what of it was left to the mean, similar classes."""
        snapshot, words = self.snapshot, self.classes.words
        name = snapshot.find_class(name)
        values = snapshot.table.select([name]).matrix.mean(axis=0)
        added = snapshot.added.get(name)
        return {
            "name": name,
            "kind": snapshot.kinds[name],
            "attributes": dict(zip(words.names, values.tolist(), strict=True)),
            "sentence": None if added is None else added.sentence,
            "defaulted": [] if added is None else added.defaulted,
            "nearest": snapshot.similar_classes([list(snapshot.kinds).index(name)], NEAREST)[0],
            "version": snapshot.version,
        }
