"""The classes of a running service: those of the model file, and added ones, which are kept in a file beside it.

A request takes one `Book` and sees its classes to the end. A change is first written to the file and flushed to the
disk, then a new book replaces the old one. So a class is there whole or not at all, even after a crash.
"""

from __future__ import annotations

import logging
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.nearest_classes import nearest_classes
from zskl.estimators.panel import Panel
from zskl.serve.attributes import Vocabulary
from zskl.serve.class_file import ClassFile
from zskl.serve.lessons import Lessons
from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal, no_class, shown
from zskl.serve.schemas.fields import Kind
from zskl.serve.sentences import Sentences, refused
from zskl.serve.served_model import by_text, nameless
from zskl.serve.taught_model import check_fitting, taught
from zskl.signatures.table import SignatureTable

KEPT_PANELS = 16  # sets of candidates that are ready to be asked again

EXAMPLES = "/examples"  # after the name of a class in an address
UNTAUGHT = Lessons()

Attributes = Mapping[str, float]
log = logging.getLogger("zskl.serve")


@dataclass(frozen=True, eq=False)
class Described:
    """A description: the attributes it gives, the names of the others, and the whole vector (p,). Or a `sentence` and
    its vector.

    `version` is that of the first book with this description.
    """

    attributes: Attributes
    defaulted: list[str]
    vector: NDArray[np.float64]
    version: int = 0
    sentence: str | None = None

    def given(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """(p,) which attributes somebody gave: of a sentence none."""
        return np.zeros(len(names), bool) if self.sentence is not None else ~np.isin(names, self.defaulted)


class Book:
    """The classes at one moment; never changes.

    `kinds` name → "seen", "unseen" or "added"; `added` the classes of the last kind; `table` the descriptions of all.
    `version` grows with every change. `model` knows the `lessons`, too.
    """

    def __init__(
        self, model: ZeroShotClassifier, added: Mapping[str, Described], version: int, lessons: Lessons = UNTAUGHT
    ) -> None:
        self.added, self.version, self.lessons = added, version, lessons
        seen = set(model.classes_.tolist())
        self.kinds: dict[str, Kind] = {
            name: "seen" if name in seen else "unseen" for name in model.candidates_.tolist()
        }
        self.kinds |= dict.fromkeys(added, "added")
        known = model.signature_table_
        matrix = np.vstack([known.matrix, *(one.vector for one in added.values())])
        self.table = SignatureTable(np.array([*known.labels, *added], dtype=object), matrix, known.names)
        self.model = taught(nameless(model), self.table, lessons)
        self.panel = lru_cache(KEPT_PANELS)(partial(_panel, self.model, self.table, self.kinds))
        self.panel(None).scores(np.zeros((1, model.n_features_in_), np.float32))  # now, so that no request waits for it

    def called(self, name: str) -> str:
        """The name of a class as the book has it: accents may be letters of their own (NFD) in what somebody sends."""
        return name if name in self.kinds else unicodedata.normalize("NFC", name)

    def check_unchanged(self, name: str, since: int | None) -> None:
        """Refuse a change by somebody who saw version `since`, if somebody else has changed the class after that."""
        if since is None:
            return
        last = self.added[name].version if name in self.added else 0 if name in self.kinds else None
        if since > self.version or last is None or last > since:
            what = "is not there any more" if last is None else f"was changed in version {last}"
            raise Refusal(412, f"class {shown(name)} {what}, you saw version {since}: look at it again, then change it")

    def check_examples_unchanged(self, name: str, since: int | None) -> None:
        """The same for the examples of a class."""
        last = self.lessons.versions.get(name, 0)
        if since is not None and (since > self.version or last > since):
            raise Refusal(
                412,
                f"the examples of {shown(name)} were changed in version {last}, you saw version {since}: look at them "
                "again, then change them",
            )

    def nearest(self, name: str, most: int) -> list[tuple[str, float]]:
        """The classes whose descriptions are most like this one's, with the cosine of the angle between them."""
        names = list(self.kinds)
        if len(names) < 2:
            return []
        place = np.array([names.index(name)])
        order, cosines = nearest_classes(self.model.signature_scaling_, self.table, place, most)
        return [(names[k], cosine) for k, cosine in zip(order[0].tolist(), cosines[0].tolist(), strict=True)]


def _panel(
    model: ZeroShotClassifier, table: SignatureTable, kinds: Mapping[str, str], candidates: tuple[str, ...] | None
) -> Panel:
    """All classes, or these of them, ready to be scored. Holds no book: a book is freed after its last request."""
    if candidates is not None:
        candidates = tuple(name if name in kinds else unicodedata.normalize("NFC", name) for name in candidates)
    unknown = next((name for name in candidates or () if name not in kinds), None)
    if unknown is not None:
        raise no_class(unknown, kinds)
    return Panel(model, table, None if candidates is None else list(candidates))


class Classes:
    """The current `book`, and the changes to it. Reading needs no lock; changes wait for each other."""

    def __init__(
        self,
        model: ZeroShotClassifier,
        limits: Limits,
        file: ClassFile | None = None,
        sentences: Sentences | None = None,
    ) -> None:
        self.model = by_text(model)
        self.words, self.sentences = Vocabulary(self.model), sentences
        self._limits, self._file, self._lock = limits, file, threading.Lock()
        self.book = self._restored(file)

    def described(self, attributes: Attributes | None, sentence: str | None = None) -> Described:
        """A description by its attributes, or by a sentence where the signatures of the model are sentence vectors."""
        if sentence is None:
            if attributes is None:
                raise Refusal(422, "attributes is missing")
            numbers = {name: float(value) for name, value in attributes.items()}  # true is 1
            vector, defaulted = self.words.vector(numbers)
            return Described(numbers, defaulted, vector)
        if attributes is not None:
            raise Refusal(422, "both attributes and a sentence are given: send one of them")
        if self.sentences is None:
            raise refused(sentence)
        vector = self.sentences.vector(sentence)
        return Described(dict(zip(self.words.names, vector.tolist(), strict=True)), [], vector, sentence=sentence)

    def put(
        self,
        name: str,
        attributes: Attributes | None,
        again: bool,
        since: int | None = None,
        sentence: str | None = None,
    ) -> tuple[Book, str, bool]:
        """Describe a class, `again` if there may be one of this name: the new book, the class's name in it, and whether
        the name is new. `since` is the version that was looked at."""
        name = self.book.called(name)
        self._check_name(name)
        new = self.described(attributes, sentence)
        if not new.attributes:
            raise Refusal(422, f"class {shown(name)} has no attributes: describe it by at least one")
        with self._lock:
            self.book.check_unchanged(name, since)
            kind = self.book.kinds.get(name)
            if kind == "added" and not again:
                raise Refusal(409, f"there is already a class {shown(name)}: PUT /classes/NAME changes it")
            if kind in ("seen", "unseen"):
                raise Refusal(
                    409, f"{shown(name)} is a class of the model file, which stays as it is: take another name"
                )
            if kind is None and len(self.book.added) >= self._limits.classes:
                raise Refusal(
                    409, f"{self._limits.classes} classes were added already, the most that are allowed: delete some"
                )
            added = {**self.book.added, name: replace(new, version=self.book.version + 1)}
            book = self.change(added, self.book.lessons, lambda file: file.keep(name, new.attributes, sentence))
            return book, name, kind is None

    def delete(self, name: str, since: int | None = None) -> Book:
        """Forget an added class. `since` is the version that was looked at."""
        name = self.book.called(name)
        with self._lock:
            self.book.check_unchanged(name, since)
            kind = self.book.kinds.get(name)
            if kind is None:
                raise no_class(name, self.book.kinds, 404)
            if kind != "added":
                raise Refusal(409, f"{shown(name)} is a class of the model file, which stays as it is")
            rest = {other: one for other, one in self.book.added.items() if other != name}
            return self.change(rest, self.book.lessons.without_class(name), lambda file: file.forget(name))

    @contextmanager
    def changing(self) -> Iterator[Book]:
        """The book, which nobody else changes meanwhile."""
        with self._lock:
            yield self.book

    def change(self, added: Mapping[str, Described], lessons: Lessons, write: Callable[[ClassFile], None]) -> Book:
        """The next book, once what makes it is on the disk. Only for those who hold the book by `changing`."""
        book = Book(self.model, added, self.book.version + 1, lessons)
        if self._file is not None:
            try:
                write(self._file)
            except OSError as error:
                log.error("%s", error)
                raise Refusal(
                    507,
                    "the change cannot be written to the disk, so nothing was changed: make room, then try again",
                ) from None
        self.book = book
        return book

    def _check_name(self, name: str) -> None:
        most = self._limits.name_length
        if name in (".", ".."):
            raise Refusal(422, f"the class name is {shown(name)}, a step in an address: take a name with other letters")
        if name.endswith(EXAMPLES):
            raise Refusal(
                422, f"the class name ends in {EXAMPLES}, the address of the examples of a class: take another name"
            )
        if not name.strip() or name != name.strip() or not name.isprintable() or "\ufffd" in name:
            raise Refusal(422, f"the class name is {shown(name)}: expected printable text without blanks at its ends")
        if len(name) > most:
            raise Refusal(422, f"the class name {shown(name, 30)} has {len(name)} letters: expected at most {most}")

    def _restored(self, file: ClassFile | None) -> Book:
        """The first book, with what the file holds. What does not fit this model is refused before the service
        starts."""
        if file is None:
            return Book(self.model, {}, version=0)
        found = {}
        try:
            check_fitting(self.model, file.lessons)
            for name, attributes in file.classes.items():
                self._check_name(name)
                vector, defaulted = self.words.vector(attributes)
                found[name] = Described(dict(attributes), defaulted, vector, sentence=file.sentences.get(name))
                if name in self.model.candidates_.tolist():
                    raise Refusal(409, f"{shown(name)} is now a class of the model: remove that line")
            gone = {one.label for one in file.lessons.examples} - {*found, *self.model.candidates_.tolist()}
            if gone:
                raise Refusal(409, f"it has examples of {shown(min(gone))}, which is not a class: remove those lines")
            return Book(self.model, found, version=0, lessons=file.lessons)
        except (Refusal, ValueError) as error:
            raise ValueError(
                f"{file.path} does not fit this model: {error}; or name another file by --classes"
            ) from None
