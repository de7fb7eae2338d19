"""The classes of a running service now, and the changes to them. Added ones are kept in a file beside the model.

A change is first written to the file and flushed to the disk, then a new book replaces the old one. So a class is there
whole or not at all, even after a crash.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.serve.attributes import Vocabulary
from zskl.serve.class_book import Attributes, Book, Described
from zskl.serve.class_file import ClassFile
from zskl.serve.kept_classes import line_of, line_of_deleted
from zskl.serve.lessons import Lessons
from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal, no_class, shown
from zskl.serve.sentences import Sentences, refused
from zskl.serve.served_model import by_text
from zskl.serve.shared_class_file import SharedClassFile
from zskl.serve.taught_model import check_fitting
from zskl.serve.whereabouts import Astray, Looks

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
        self.model = by_text(model)
        self.words, self.sentences = Vocabulary(self.model), sentences
        self._limits, self._file, self._lock, self._looks = limits, file, threading.Lock(), Looks()
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
        with self.changing() as book:
            book.check_unchanged(name, since)
            kind = book.kinds.get(name)
            if kind == "added" and not again:
                raise Refusal(409, f"there is already a class {shown(name)}: PUT /classes/NAME changes it")
            if kind in ("seen", "unseen"):
                raise Refusal(
                    409, f"{shown(name)} is a class of the model file, which stays as it is: take another name"
                )
            if kind is None and len(book.added) >= self._limits.classes:
                raise Refusal(
                    409, f"{self._limits.classes} classes were added already, the most that are allowed: delete some"
                )
            added = {**book.added, name: replace(new, version=book.version + 1)}
            lessons = book.lessons if kind == "added" else book.lessons.since(name, book.version + 1)
            return self.change(added, lessons, line_of(name, new.attributes, sentence)), name, kind is None

    def delete(self, name: str, since: int | None = None) -> Book:
        """Forget an added class. `since` is the version that was looked at."""
        with self.changing() as book:
            name = book.called(name)
            book.check_unchanged(name, since)
            kind = book.kinds.get(name)
            if kind is None:
                raise no_class(name, book.kinds, 404)
            if kind != "added":
                raise Refusal(409, f"{shown(name)} is a class of the model file, which stays as it is")
            rest = {other: one for other, one in book.added.items() if other != name}
            return self.change(rest, book.lessons.without_class(name), line_of_deleted(name))

    @contextmanager
    def changing(self) -> Iterator[Book]:
        """The newest book, which nobody else changes meanwhile, in this process or in another one."""
        with self._lock, nullcontext() if self._file is None else _written(self._file):
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
            raise Refusal(422, f"the class name is {shown(name)}, a step in an address: take a name with other letters")
        if name.endswith(EXAMPLES):
            raise Refusal(
                422, f"the class name ends in {EXAMPLES}, the address of the examples of a class: take another name"
            )
        if not name.strip() or name != name.strip() or not name.isprintable() or "\ufffd" in name:
            raise Refusal(422, f"the class name is {shown(name)}: expected printable text without blanks at its ends")
        if len(name) > most:
            raise Refusal(422, f"the class name {shown(name, 30)} has {len(name)} letters: expected at most {most}")

    def _follow(self, file: ClassFile | SharedClassFile) -> None:
        """The book of what the file says now."""
        if file.version != self.book.version:
            self.book = self._restored(file, self.book.added)

    def _restored(self, file: ClassFile | SharedClassFile, known: Mapping[str, Described]) -> Book:
        """The book of what the file says, with the descriptions that are `known` already. What does not fit this model
        is refused before the service starts."""
        found = {}
        try:
            check_fitting(self.model, file.lessons)
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
                    raise Refusal(409, f"{shown(name)} is now a class of the model: remove that line")
            gone = {one.label for one in file.lessons.examples} - {*found, *own}
            if gone:
                raise Refusal(409, f"it has examples of {shown(min(gone))}, which is not a class: remove those lines")
            return Book(self.model, found, file.version, file.lessons)
        except (Refusal, ValueError) as error:
            raise ValueError(
                f"{file.path} does not fit this model: {error}; or name another file by --classes"
            ) from None


@contextmanager
def _written(file: ClassFile | SharedClassFile) -> Iterator[None]:
    """The file, held for a change; the change is refused if the file cannot be read or written."""
    try:
        with file.held():
            yield
    except Astray as error:
        log.error("%s", error)
        raise Refusal(503, error.sentence) from None
    except OSError as error:
        log.error("%s", error)
        raise Refusal(
            507, "the change cannot be written to the disk, so nothing was changed: make room, then try again"
        ) from None
