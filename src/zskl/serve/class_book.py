"""The classes of a running service at one moment. A request takes one `Book` and sees its classes to the end."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.nearest_classes import nearest_classes
from zskl.estimators.panel import Panel
from zskl.serve.lessons import Lessons
from zskl.serve.refusal import Refusal, no_class, shown
from zskl.serve.schemas.fields import Kind
from zskl.serve.served_model import nameless
from zskl.serve.taught_model import taught
from zskl.signatures.table import SignatureTable

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
        self._names = {composed(name): name for name in self.kinds}
        known = model.signature_table_
        matrix = np.vstack([known.matrix, *(one.vector for one in added.values())])
        self.table = SignatureTable(np.array([*known.labels, *added], dtype=object), matrix, known.names)
        self.model = taught(nameless(model), self.table, lessons)
        self.panel = lru_cache(KEPT_PANELS)(partial(_panel, self.model, self.table, self.kinds, self._names))
        self.panel(None).scores(np.zeros((1, model.n_features_in_), np.float32))  # now, so that no request waits for it

    def called(self, name: str) -> str:
        """The name of a class as the book has it: accents may be letters of their own (NFD) in either. New names are
        composed."""
        return name if name in self.kinds else self._names.get(composed(name), composed(name))

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


def composed(name: str) -> str:
    """A name whose accents are part of their letters (NFC)."""
    return unicodedata.normalize("NFC", name)


def _panel(
    model: ZeroShotClassifier,
    table: SignatureTable,
    kinds: Mapping[str, str],
    names: Mapping[str, str],
    candidates: tuple[str, ...] | None,
) -> Panel:
    """All classes, or these of them, ready to be scored. Holds no book: a book is freed after its last request."""
    if candidates is not None:
        candidates = tuple(name if name in kinds else names.get(composed(name), name) for name in candidates)
        if len(set(candidates)) < len(candidates):
            raise Refusal(422, "candidates names a class twice: name each once")
    unknown = next((name for name in candidates or () if name not in kinds), None)
    if unknown is not None:
        raise no_class(unknown, kinds)
    return Panel(model, table, None if candidates is None else list(candidates))
