"""The classes of a running service: those of the model file, and added ones, which are kept in a file beside it.

A request takes one `Book` and sees its classes to the end. A change is first appended to the file and flushed to the
disk, then a new book takes the place of the old: a class is there whole or not at all, also after a crash.
"""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.nearest_classes import nearest_classes
from zskl.estimators.panel import Panel
from zskl.experiments import jsonl_log
from zskl.serve.attributes import Vocabulary
from zskl.serve.limits import Limits
from zskl.serve.options import no_class
from zskl.serve.refusal import Refusal, shown
from zskl.signatures.table import SignatureTable

BEGINNING = b'{"key": "'  # of a line in the file
KEPT_PANELS = 16  # sets of candidates that are ready to be asked again
WASTE = 4  # changes for each class there is, from which on the file is written anew when a service starts

Attributes = Mapping[str, float]
log = logging.getLogger("zskl.serve")


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
        self.model, self.added, self.version = nameless(model), added, version
        seen = set(model.classes_.tolist())
        self.kinds = {name: "seen" if name in seen else "unseen" for name in model.candidates_.tolist()}
        self.kinds |= dict.fromkeys(added, "added")
        known = model.signature_table_
        matrix = np.vstack([known.matrix, *(one.vector for one in added.values())])
        self.table = SignatureTable(np.array([*known.labels, *added], dtype=object), matrix, known.names)
        self.panel = lru_cache(KEPT_PANELS)(partial(_panel, model, self.table, self.kinds))
        ready = self.panel(None)
        ready.scores(
            np.zeros((1, model.n_features_in_), np.float32)
        )  # so that no request waits for what W and Y decide

    def nearest(self, name: str, most: int) -> list[tuple[str, float]]:
        """The classes whose descriptions point most in the direction of this one's, with the cosine of the angle."""
        names = list(self.kinds)
        place = np.array([names.index(name)])
        order, cosines = nearest_classes(self.model.signature_scaling_, self.table, place, most)
        return [(names[k], cosine) for k, cosine in zip(order[0].tolist(), cosines[0].tolist(), strict=True)]


def _panel(
    model: ZeroShotClassifier, table: SignatureTable, kinds: Mapping[str, str], candidates: tuple[str, ...] | None
) -> Panel:
    """All classes, or these of them, before the model. It knows no book, which so goes when its last request ends."""
    unknown = next((name for name in candidates or () if name not in kinds), None)
    if unknown is not None:
        raise no_class(unknown, kinds)
    return Panel(model, table, None if candidates is None else list(candidates))


class Classes:
    """The current `book`, and the changes to it. Reading needs no lock; changes wait for each other."""

    def __init__(self, model: ZeroShotClassifier, limits: Limits, file: jsonl_log.Folder | None = None) -> None:
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
                raise no_class(name, self.book.kinds, 404)
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
                log.error("%s", error)
                raise Refusal(
                    507, "the disk did not take this change, so nothing was changed: make room there, then try again"
                ) from None
        self.book = book
        return book

    def _check_name(self, name: str) -> None:
        most = self._limits.name_length
        if (
            not name.strip()
            or name != name.strip()
            or name in (".", "..")
            or not name.isprintable()
            or "\ufffd" in name
        ):
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


def nameless(model: ZeroShotClassifier) -> ZeroShotClassifier:
    """The model for plain arrays whose columns are known to be its own: scikit-learn would warn of every one."""
    plain = copy.copy(model)
    plain.__dict__.pop("feature_names_in_", None)
    return plain


def _texts(labels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.array([str(label) for label in labels.tolist()], dtype=object)


@contextmanager
def kept_in(path: Path) -> Iterator[jsonl_log.Folder]:
    """The file of added classes, for one service at a time. One of mostly outdated lines is written anew."""
    path = path.resolve()  # or a link would be replaced in place of what it leads to
    with ExitStack() as stack:
        try:
            if path.is_file():
                _check(path)
                with jsonl_log.opened(path.parent, path.name) as file:
                    lines, there = (
                        len(jsonl_log.read(path)),
                        [line for line in file.done.values() if not line["deleted"]],
                    )
                    if lines > WASTE * (len(there) + 1):
                        jsonl_log.write(path, there)
            file = stack.enter_context(jsonl_log.opened(path.parent, path.name))
        except jsonl_log.Busy:
            raise OSError(
                f"another service keeps its classes in {path}: stop it, or name another file by --classes"
            ) from None
        except PermissionError as error:
            raise PermissionError(f"{error}; --classes names where added classes are kept") from None
        yield file


def _check(path: Path) -> None:
    """Refuse any other file before it is opened, which would cut off its last line if that has no end."""
    content = path.read_bytes()
    last = content[content.rfind(b"\n") + 1 :]
    try:
        ours = last[: len(BEGINNING)] == BEGINNING[: len(last)] and all(map(_is_line, jsonl_log.read(path)))
    except ValueError:
        ours = False
    if not ours:
        raise ValueError(f"{path} is no file of classes, or a damaged one: restore it, or name another by --classes")


def _is_line(line: Any) -> bool:
    if not isinstance(line, dict) or not isinstance(line.get("key"), str) or not isinstance(line.get("deleted"), bool):
        return False
    attributes = line.get("attributes")
    return isinstance(attributes, dict) and all(type(value) in (int, float) for value in attributes.values())
