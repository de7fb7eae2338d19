"""The classes of a running service: those of the model file, and added ones, which are kept in a file beside it.

A request takes one `Book` and sees its classes to the end. A change is first appended to the file and flushed to the
disk, then a new book takes the place of the old: a class is there whole or not at all, also after a crash.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from zskl import records
from zskl.candidates import best_of_rows
from zskl.estimator import ZeroShotClassifier
from zskl.preprocessing import Scaling
from zskl.ranking import Panel
from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal, shown
from zskl.serve.vocabulary import Vocabulary
from zskl.signatures import SignatureTable

KEPT_PANELS = 16  # sets of candidates that are ready to be asked again
WASTE = 4  # changes for each class there is, from which on the file is written anew when a service starts

Attributes = Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Described:
    """A class that was added: the attributes it was given, the names of the others, and the whole vector (p,)."""

    attributes: Attributes
    defaulted: list[str]
    vector: np.ndarray[Any, Any]


class Book:
    """The classes at one moment; never changes.

    `kinds` name → "seen", "unseen" or "added"; `added` the classes of the last kind; `table` the descriptions of all.
    `version` grows with every change.
    """

    def __init__(self, model: ZeroShotClassifier, added: Mapping[str, Described], version: int) -> None:
        self.model, self.added, self.version = model, added, version
        seen = set(model.classes_.tolist())
        self.kinds = {name: "seen" if name in seen else "unseen" for name in model.candidates_.tolist()}
        self.kinds |= dict.fromkeys(added, "added")
        known = model.signature_table_
        matrix = np.vstack([known.matrix, *(one.vector for one in added.values())])
        self.table = SignatureTable(np.array([*known.labels, *added], dtype=object), matrix, known.names)
        self.panel = lru_cache(KEPT_PANELS)(self._panel)
        ready = self.panel(None)
        ready.scores(
            np.zeros((1, model.n_features_in_), np.float32)
        )  # so that no request waits for what W and Y decide

    def nearest(self, name: str, most: int) -> list[tuple[str, float]]:
        """The classes whose descriptions point most in the direction of this one's, with the cosine of the angle."""
        Y = Scaling(("l2",)).apply(self.model.signature_scaling_.apply(self.table.matrix))
        cosines = best_of_rows(Y[self.table.labels == name] @ Y.T, self.table.padded_rows()).max(axis=0)
        names = list(self.kinds)
        order = [k for k in np.argsort(-cosines, kind="stable").tolist() if names[k] != name][:most]
        return [(names[k], float(cosines[k])) for k in order]

    def _panel(self, candidates: tuple[str, ...] | None) -> Panel:
        """All classes, or these of them, before the model."""
        unknown = [name for name in candidates or () if name not in self.kinds]
        if unknown:
            raise Refusal(422, f"no class is called {shown(unknown[0])}: GET /classes lists those there are")
        return Panel(self.model, self.table, None if candidates is None else list(candidates))


class Classes:
    """The current `book`, and the changes to it. Reading needs no lock; changes wait for each other."""

    def __init__(self, model: ZeroShotClassifier, limits: Limits, file: records.Folder | None = None) -> None:
        self.model = by_text(model)
        self.words = Vocabulary(self.model)
        self._limits, self._file, self._lock = limits, file, threading.Lock()
        kept = {name: line["attributes"] for name, line in (file.done if file else {}).items() if not line["deleted"]}
        self.book = Book(self.model, self._checked(kept), version=0)

    def put(self, name: str, attributes: Attributes, replace: bool) -> tuple[Book, bool]:
        """Describe a class: the new book, and whether the name is new in it."""
        self._check_name(name)
        new = self._described(attributes)
        if not attributes:
            raise Refusal(422, f"class {shown(name)} has no attributes: describe it by at least one")
        with self._lock:
            kind = self.book.kinds.get(name)
            if kind == "added" and not replace:
                raise Refusal(409, f"there is a class {shown(name)} already: PUT /classes/NAME changes it")
            if kind in ("seen", "unseen"):
                raise Refusal(
                    409, f"{shown(name)} is a class of the model file, which stays as it is: take another name"
                )
            if kind is None and len(self.book.added) >= self._limits.classes:
                raise Refusal(
                    409, f"{self._limits.classes} classes have been added, the most there may be: delete some"
                )
            line = {"key": name, "deleted": False, "attributes": dict(attributes)}
            return self._changed(line, {**self.book.added, name: new}), kind is None

    def delete(self, name: str) -> Book:
        """Forget a class that was added."""
        with self._lock:
            kind = self.book.kinds.get(name)
            if kind is None:
                raise Refusal(404, f"no class is called {shown(name)}: GET /classes lists those there are")
            if kind != "added":
                raise Refusal(409, f"{shown(name)} is a class of the model file, which stays as it is")
            rest = {other: one for other, one in self.book.added.items() if other != name}
            return self._changed({"key": name, "deleted": True, "attributes": {}}, rest)

    def _described(self, attributes: Attributes) -> Described:
        vector, defaulted = self.words.vector(attributes)
        return Described(dict(attributes), defaulted, vector)

    def _changed(self, line: Mapping[str, Any], added: Mapping[str, Described]) -> Book:
        book = Book(self.model, added, self.book.version + 1)
        if self._file is not None:
            try:
                self._file.append(line)
            except OSError as error:
                raise Refusal(507, f"the class could not be kept, so nothing was changed: {error}") from None
        self.book = book
        return book

    def _check_name(self, name: str) -> None:
        most = self._limits.name_length
        if not name.strip() or name != name.strip() or name in (".", "..") or not name.isprintable():
            raise Refusal(422, f"the class name is {shown(name)}: expected printable text without blanks at its ends")
        if len(name) > most:
            raise Refusal(422, f"the class name {shown(name, 30)} has {len(name)} letters: expected at most {most}")

    def _checked(self, kept: Mapping[str, Attributes]) -> Mapping[str, Described]:
        """Classes of the file; those that do not fit this model are refused before the service starts."""
        found = {}
        try:
            for name, attributes in kept.items():
                self._check_name(name)
                found[name] = self._described(attributes)
                if name in self.model.candidates_.tolist():
                    raise Refusal(409, f"{shown(name)} is a class of the model by now: remove that line")
        except Refusal as refusal:
            path = self._file.path if self._file else None
            raise ValueError(
                f"{path} does not fit this model: {refusal.sentence}; or name another file by --classes"
            ) from None
        return found


def by_text(model: ZeroShotClassifier) -> ZeroShotClassifier:
    """The model with its classes named by text, so that a class "seven" can stand beside the classes 0 to 9."""
    named = copy.copy(model)
    table = model.signature_table_
    named.classes_, named.candidates_ = _texts(model.classes_), _texts(model.candidates_)
    named.signature_table_ = SignatureTable(_texts(table.labels), table.matrix, table.names)
    return named


def _texts(labels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.array([str(label) for label in labels.tolist()], dtype=object)


@contextmanager
def kept_in(path: Path) -> Iterator[records.Folder]:
    """The file of added classes, for one service at a time. One of mostly outdated lines is written anew."""
    if path.is_file():
        with _opened(path) as file:
            lines, there = len(records.read(path)), [line for line in file.done.values() if not line["deleted"]]
            if lines > WASTE * (len(there) + 1):
                records.write(path, there)
    with _opened(path) as file:
        yield file


@contextmanager
def _opened(path: Path) -> Iterator[records.Folder]:
    with records.opened(path.parent, path.name) as file:
        for name, line in file.done.items():
            attributes = line.get("attributes")
            plain = isinstance(attributes, dict) and all(type(value) in (int, float) for value in attributes.values())
            if not isinstance(line.get("deleted"), bool) or not plain:
                raise ValueError(f"{path} is no file of classes (the line of {name!r}): name another by --classes")
        yield file
