"""A fitted model as the service uses it: its classes named by text, its columns known."""

from __future__ import annotations

import copy
import logging
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.estimators._candidates import CandidateScorer, nearest_classes
from zskl.estimators.base import ZeroShotClassifier
from zskl.serve.limits import Limits, Refusal, quote_value, unknown_class
from zskl.serve.schemas import Kind
from zskl.serve.store import ClassFile, FileWatcher, SharedClassFile, StoreError, class_line, deleted_class_line
from zskl.serve.teaching import Lessons, check_lessons_fit, teach_model
from zskl.serve.vocabulary import Sentences, Vocabulary, refuse_sentence
from zskl.signatures.table import SignatureTable

# Served model ---------------------------------------------------------------------------------------------------------


def name_classes_by_text(model: ZeroShotClassifier) -> ZeroShotClassifier:
    """The model with its classes named by text, so that a class "seven" can stand beside the classes 0 to 9."""
    named = copy.copy(model)
    table = model.signature_table_
    named.classes_, named.candidates_ = _to_texts(model.classes_), _to_texts(model.candidates_)
    for name in model.LABELLED:
        setattr(named, name, [str(label) for label in getattr(model, name)])
    if hasattr(model, "members_"):
        named.members_ = [name_classes_by_text(member) for member in model.members_]
    named.signature_table_ = SignatureTable(_to_texts(table.labels), table.matrix, table.names)
    return named


def drop_feature_names(model: ZeroShotClassifier) -> ZeroShotClassifier:
    """The model without names of features, for arrays whose columns are known to be right. With names, scikit-learn
    would warn of every array."""
    plain = copy.copy(model)
    plain.__dict__.pop("feature_names_in_", None)
    return plain


def _to_texts(labels: NDArray[Any]) -> NDArray[np.object_]:
    return np.array([str(label) for label in labels.tolist()], dtype=object)


# Class book -----------------------------------------------------------------------------------------------------------
# The classes of a running service at one moment. A request takes one `Book` and sees its classes to the end.

KEPT_PANELS = 16  # sets of candidates that are ready to be asked again

UNTAUGHT = Lessons()

Attributes = Mapping[str, float]


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
        self._names = {normalise_name(name): name for name in self.kinds}
        known = model.signature_table_
        matrix = np.vstack([known.matrix, *(one.vector for one in added.values())])
        self.table = SignatureTable(np.array([*known.labels, *added], dtype=object), matrix, known.names)
        self.model = teach_model(drop_feature_names(model), self.table, lessons)
        self.panel = lru_cache(KEPT_PANELS)(partial(_make_panel, self.model, self.table, self.kinds, self._names))
        self.panel(None).scores(np.zeros((1, model.n_features_in_), np.float32))  # now, so that no request waits for it

    def called(self, name: str) -> str:
        """The name of a class as the book has it: accents may be letters of their own (NFD) in either. New names are
        composed."""
        return name if name in self.kinds else self._names.get(normalise_name(name), normalise_name(name))

    def check_unchanged(self, name: str, since: int | None) -> None:
        """Refuse a change by somebody who saw version `since`, if somebody else has changed the class after that."""
        if since is None:
            return
        last = self.added[name].version if name in self.added else 0 if name in self.kinds else None
        if since > self.version or last is None or last > since:
            what = "is not there any more" if last is None else f"was changed in version {last}"
            raise Refusal(
                412, f"class {quote_value(name)} {what}, you saw version {since}: look at it again, then change it"
            )

    def check_examples_unchanged(self, name: str, since: int | None) -> None:
        """The same for the examples of a class."""
        last = self.lessons.versions.get(name, 0)
        if since is not None and (since > self.version or last > since):
            raise Refusal(
                412,
                f"the examples of {quote_value(name)} were changed in version {last}, you saw version {since}: look at them "
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


def normalise_name(name: str) -> str:
    """A name whose accents are part of their letters (NFC)."""
    return unicodedata.normalize("NFC", name)


def _make_panel(
    model: ZeroShotClassifier,
    table: SignatureTable,
    kinds: Mapping[str, str],
    names: Mapping[str, str],
    candidates: tuple[str, ...] | None,
) -> CandidateScorer:
    """All classes, or these of them, ready to be scored. Holds no book: a book is freed after its last request."""
    if candidates is not None:
        candidates = tuple(name if name in kinds else names.get(normalise_name(name), name) for name in candidates)
        if len(set(candidates)) < len(candidates):
            raise Refusal(422, "candidates names a class twice: name each once")
    unknown = next((name for name in candidates or () if name not in kinds), None)
    if unknown is not None:
        raise unknown_class(unknown, kinds)
    return CandidateScorer(model, table, None if candidates is None else list(candidates))


# Classes --------------------------------------------------------------------------------------------------------------
# The classes of a running service now, and the changes to them. Added ones are kept in a file beside the model.
#
# A change is first written to the file and flushed to the disk, then a new book replaces the old one. So a class is
# there whole or not at all, even after a crash.

EXAMPLES = "/examples"  # after the name of a class in an address
log = logging.getLogger("zskl.serve")


class Classes:
    """The current `book`, and the changes to it. Reading needs no lock; changes wait for each other."""

    def __init__(
        self,
        model: ZeroShotClassifier,
        limits: Limits,
        file: ClassFile | SharedClassFile | None = None,
        sentences: Sentences | None = None,
    ) -> None:
        self.model = name_classes_by_text(model)
        self.words, self.sentences = Vocabulary(self.model), sentences
        self._limits, self._file, self._lock, self._looks = limits, file, threading.Lock(), FileWatcher()
        self.book = Book(self.model, {}, version=0) if file is None else self._restored(file, {})

    @property
    def stale(self) -> bool:
        """Whether another worker has changed the classes since this book. The file may be read, and its book not made
        yet: so the book counts. This costs next to nothing."""
        return self._file is not None and self._file.newer_than(self.book.version)

    def catch_up(self) -> None:
        """Take over what other workers have changed."""
        with self._lock:
            if self._file is not None and self.stale:
                with self._file.held():
                    pass  # this reads what is new
                self._follow(self._file)

    def tend(self) -> None:
        """Look after the file. Whoever changes classes at this moment does so, too."""
        if self._file is not None and self._lock.acquire(blocking=False):
            try:
                self._looks.take(self._file.tend)
            finally:
                self._lock.release()

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
            raise refuse_sentence(sentence)
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
            raise Refusal(422, f"class {quote_value(name)} has no attributes: describe it by at least one")
        with self.changing() as book:
            book.check_unchanged(name, since)
            kind = book.kinds.get(name)
            if kind == "added" and not again:
                raise Refusal(409, f"there is already a class {quote_value(name)}: PUT /classes/NAME changes it")
            if kind in ("seen", "unseen"):
                raise Refusal(
                    409, f"{quote_value(name)} is a class of the model file, which stays as it is: take another name"
                )
            if kind is None and len(book.added) >= self._limits.classes:
                raise Refusal(
                    409, f"{self._limits.classes} classes were added already, the most that are allowed: delete some"
                )
            added = {**book.added, name: replace(new, version=book.version + 1)}
            lessons = book.lessons if kind == "added" else book.lessons.since(name, book.version + 1)
            return self.change(added, lessons, class_line(name, new.attributes, sentence)), name, kind is None

    def delete(self, name: str, since: int | None = None) -> Book:
        """Forget an added class. `since` is the version that was looked at."""
        with self.changing() as book:
            name = book.called(name)
            book.check_unchanged(name, since)
            kind = book.kinds.get(name)
            if kind is None:
                raise unknown_class(name, book.kinds, 404)
            if kind != "added":
                raise Refusal(409, f"{quote_value(name)} is a class of the model file, which stays as it is")
            rest = {other: one for other, one in book.added.items() if other != name}
            return self.change(rest, book.lessons.without_class(name), deleted_class_line(name))

    @contextmanager
    def changing(self) -> Iterator[Book]:
        """The newest book, which nobody else changes meanwhile, in this process or in another one."""
        with self._lock, nullcontext() if self._file is None else _hold_for_writing(self._file):
            if self._file is not None:
                self._follow(self._file)
            yield self.book

    def change(self, added: Mapping[str, Described], lessons: Lessons, line: Mapping[str, Any]) -> Book:
        """The next book, once the line that makes it is on the disk. Only for those who hold the book by `changing`."""
        book = Book(self.model, added, self.book.version + 1, lessons)
        if self._file is not None:
            self._file.write(line)
        self.book = book
        return book

    def _check_name(self, name: str) -> None:
        most = self._limits.name_length
        if name in (".", ".."):
            raise Refusal(
                422, f"the class name is {quote_value(name)}, a step in an address: take a name with other letters"
            )
        if name.endswith(EXAMPLES):
            raise Refusal(
                422, f"the class name ends in {EXAMPLES}, the address of the examples of a class: take another name"
            )
        if not name.strip() or name != name.strip() or not name.isprintable() or "\ufffd" in name:
            raise Refusal(
                422, f"the class name is {quote_value(name)}: expected printable text without blanks at its ends"
            )
        if len(name) > most:
            raise Refusal(
                422, f"the class name {quote_value(name, 30)} has {len(name)} letters: expected at most {most}"
            )

    def _follow(self, file: ClassFile | SharedClassFile) -> None:
        """The book of what the file says now."""
        if file.version != self.book.version:
            self.book = self._restored(file, self.book.added)

    def _restored(self, file: ClassFile | SharedClassFile, known: Mapping[str, Described]) -> Book:
        """The book of what the file says, with the descriptions that are `known` already. What does not fit this model
        is refused before the service starts."""
        found = {}
        try:
            check_lessons_fit(self.model, file.lessons)
            own = set(self.model.candidates_.tolist())
            for name, attributes in file.classes.items():
                version = file.versions[name]
                if name in known and known[name].version == version:
                    found[name] = known[name]
                    continue
                self._check_name(name)
                vector, defaulted = self.words.vector(attributes)
                found[name] = Described(dict(attributes), defaulted, vector, version, file.sentences.get(name))
                if name in own:
                    raise Refusal(409, f"{quote_value(name)} is now a class of the model: remove that line")
            gone = {one.label for one in file.lessons.examples} - {*found, *own}
            if gone:
                raise Refusal(
                    409, f"it has examples of {quote_value(min(gone))}, which is not a class: remove those lines"
                )
            return Book(self.model, found, file.version, file.lessons)
        except (Refusal, ValueError) as error:
            raise ValueError(
                f"{file.path} does not fit this model: {error}; or name another file by --classes"
            ) from None


@contextmanager
def _hold_for_writing(file: ClassFile | SharedClassFile) -> Iterator[None]:
    """The file, held for a change; the change is refused if the file cannot be read or written."""
    try:
        with file.held():
            yield
    except StoreError as error:
        log.error("%s", error)
        raise Refusal(503, error.sentence) from None
    except OSError as error:
        log.error("%s", error)
        raise Refusal(
            507, "the change cannot be written to the disk, so nothing was changed: make room, then try again"
        ) from None
