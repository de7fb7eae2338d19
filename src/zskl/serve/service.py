"""What a running service knows and can be asked, without HTTP: the classes, the loaded data, what the model is."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from zskl.estimators import sparse_inputs
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve import fitting, model_facts, rows_to_label, worked_examples
from zskl.serve.class_book import Book, Described
from zskl.serve.class_file import ClassFile
from zskl.serve.class_map import ClassMap
from zskl.serve.classes import Classes
from zskl.serve.diagnostics import Diagnostics
from zskl.serve.lessons import Example as Marked
from zskl.serve.limits import Limits
from zskl.serve.neighbours import Neighbours
from zskl.serve.photos import Photos
from zskl.serve.refusal import Refusal, no_class, shown
from zskl.serve.rows import LoadedRows
from zskl.serve.schemas.classes import ClassDetails, ClassList
from zskl.serve.schemas.examples import ExampleList, ListedExample
from zskl.serve.schemas.fits import FittingClass, FittingClasses
from zskl.serve.schemas.model import Example, Health, Model
from zskl.serve.schemas.rows import Row
from zskl.serve.schemas.teaching import Among, RowsToLabel, Verdict
from zskl.serve.sentences import Sentences
from zskl.serve.shared_class_file import SharedClassFile
from zskl.serve.taught_model import check_able
from zskl.serve.teaching import Teaching, promised
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
        kept: ClassFile | SharedClassFile | None = None,
        rows: LoadedRows | None = None,
        examples: Sequence[Example] = (),
        photos: Photos | None = None,
        sentences: Sentences | None = None,
    ) -> None:
        sparse_inputs.refuse_signatures(model.signature_table_, "the service")
        self.name, self.limits, self._rows = name, limits, rows
        self._photos = photos
        self.classes, self.map = Classes(model, limits, kept, sentences), ClassMap()
        self.teaching = Teaching(self.classes, limits)
        self._diagnostics = None if rows is None else Diagnostics(rows, self.classes.words)
        self._neighbours = None if rows is None else Neighbours(rows)
        self._examples = list(examples) or worked_examples.of(self.classes.model, self.classes.words)
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
        return model_facts.facts(self.name, self.classes, self.limits, self._rows, self._photos, self._examples)

    def work_of_ranking(self, attributes: int) -> int:
        """Multiplications that it takes to rank all loaded rows by a description."""
        return 0 if self._rows is None else len(self._rows.X) * (attributes + len(self._rows.model.classes_))

    def work_of_fitting(self, attributes: int) -> int:
        """The same for the classes that fit: rows are scored for all classes once, then for the description alone."""
        classes = 1 if self._rows is None or self._rows.knows(self.book) else len(self.book.kinds)
        return classes * self.work_of_ranking(attributes)

    def fitting(self, described: Described, top: int, rows: int, replaces: str | None = None) -> FittingClasses:
        """POST /fits."""
        book, words = self.book, self.classes.words
        if replaces is not None and book.kinds.get(book.called(replaces)) != "added":
            raise Refusal(422, f"replaces is {shown(replaces)}: expected an added class")
        names, vector, given = list(book.kinds), described.vector, described.given(words.names)
        alike = fitting.similarities(book, vector)
        telling = words.telling(vector, given)
        if described.sentence is None:
            if not given.any():
                raise Refusal(422, "the description has no attributes: give at least one")
            agreed, values = fitting.agreements(book, words, vector, telling)
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
                "why": fitting.reasons(words, vector, telling, agreed[k], values[k]),
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
            raise no_class(name, book.kinds, 404)
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
        check_able(self.classes.model)
        found = self.book.lessons.adaptation
        return promised(self.book, len(self.rows.unlabelled("all")), "all") if found is None else found.told

    def adapt(self, among: Among, force: bool) -> Verdict:
        """POST /adapt, with the rows that may be of such classes."""
        check_able(self.classes.model)
        rows = self.rows.unlabelled(among)
        if not len(rows):
            raise Refusal(409, "all loaded rows are training rows: load data with other rows to adapt to")
        return self.teaching.adapt(self.rows.features(rows.tolist()), among, force)

    def label_next(self, count: int, pictures: bool) -> RowsToLabel:
        """GET /label-next."""
        return rows_to_label.chosen(self.rows, self.book, count, pictures)

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
            raise no_class(name, book.kinds, 404)
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


def _no_data() -> Refusal:
    return Refusal(409, "no data are loaded: start the service with --data to look at rows")
