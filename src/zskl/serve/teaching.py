"""What a service was taught since the model was fitted: examples of classes, and what unlabelled rows added.

Never changes; a new lesson makes new `Lessons`. So a request sees those of one moment.
"""

from __future__ import annotations

import base64
import binascii
import copy
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zskl import methods
from zskl._arrays import to_numpy
from zskl.estimators._candidates import CandidateScorer
from zskl.estimators._class_means_adapt import KeptAdaptation
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.class_means import is_clear_gain
from zskl.serve.limits import Limits, Refusal, quote_value, unknown_class
from zskl.serve.requests import Features
from zskl.serve.schemas import Among, Verdict
from zskl.signatures.table import SignatureTable

if TYPE_CHECKING:
    from zskl.serve.classes import Book, Classes


# Lessons --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Example:
    """A row that somebody marked as right or wrong for a class. `features` (d,) are kept, so that no data are needed to
    learn from it again. `row` is its number in data with the fingerprint `data`, if it is of any."""

    id: str
    label: str
    right: bool
    features: NDArray[np.float32]
    row: int | None = None
    data: str | None = None

    def same_row(self, other: Example) -> bool:
        """Whether two are marks of one row for one class."""
        mine, theirs = (self.label, self.row, self.data), (other.label, other.row, other.data)
        return self.row is not None and mine == theirs


@dataclass(frozen=True, eq=False)
class Adaptation:
    """What unlabelled rows added, `kept` for each part of the model that learned, and what was `told` about it."""

    kept: tuple[KeptAdaptation, ...]
    told: Verdict


@dataclass(frozen=True, eq=False)
class Lessons:
    """`examples` in the order in which they came, and the `adaptation`. `versions` says in which version of the classes
    the examples of a class were changed last."""

    examples: tuple[Example, ...] = ()
    adaptation: Adaptation | None = None
    versions: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.examples) or self.adaptation is not None

    def of(self, name: str) -> list[Example]:
        """The examples of a class."""
        return [one for one in self.examples if one.label == name]

    def concern(self, name: str) -> bool:
        """Whether something was taught about a class."""
        adapted = () if self.adaptation is None else self.adaptation.kept
        return bool(self.of(name)) or any(name in one.classes for one in adapted)

    def plus(self, new: Example, version: int) -> Lessons:
        """With one more example. A row counts once for a class: a second mark takes the place of the first."""
        others = tuple(one for one in self.examples if not new.same_row(one))
        return replace(self, examples=(*others, new), versions={**self.versions, new.label: version})

    def since(self, name: str, version: int) -> Lessons:
        """The same, for a class that is new in a version: what somebody saw of an older one of this name is gone."""
        return replace(self, versions={**self.versions, name: version})

    def minus(self, ids: Collection[str], version: int) -> Lessons:
        """Without some of the examples."""
        gone = [one.label for one in self.examples if one.id in ids]
        rest = tuple(one for one in self.examples if one.id not in ids)
        return replace(self, examples=rest, versions={**self.versions, **dict.fromkeys(gone, version)})

    def without_class(self, name: str) -> Lessons:
        """Without all that was taught about a class."""
        adaptation = self.adaptation
        if adaptation is not None:
            adaptation = replace(adaptation, kept=tuple(one.without(name) for one in adaptation.kept))
        rest = tuple(one for one in self.examples if one.label != name)
        versions = {other: version for other, version in self.versions.items() if other != name}
        return Lessons(rest, adaptation, versions)


# Lesson lines ---------------------------------------------------------------------------------------------------------
# Lessons as lines of the file of classes, and back. Their keys begin with a blank, as no name of a class does.

EXAMPLE, FORGOTTEN, ADAPTED = " example", " forgotten", " adapted"
FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    EXAMPLE: {
        "id": (str,),
        "class": (str,),
        "right": (bool,),
        "row": (int, type(None)),
        "data": (str, type(None)),
        "features": (str,),
    },
    FORGOTTEN: {"ids": (list,)},
    ADAPTED: {"kept": (list,), "told": (dict, type(None))},
}


def example_line(one: Example) -> dict[str, object]:
    """The line of a new example."""
    about = {"id": one.id, "class": one.label, "right": one.right, "row": one.row, "data": one.data}
    return {"key": EXAMPLE, **about, "features": _encode_numbers(one.features)}


def forgotten_line(ids: Collection[str]) -> dict[str, object]:
    """The line of examples that are taken back."""
    return {"key": FORGOTTEN, "ids": list(ids)}


def adaptation_line(adaptation: Adaptation | None) -> dict[str, object]:
    """The line of an adaptation, or of its end."""
    if adaptation is None:
        return {"key": ADAPTED, "kept": [], "told": None}
    kept = [
        {"classes": one.classes, "sums": _encode_numbers(one.sums), "record": one.record} for one in adaptation.kept
    ]
    return {"key": ADAPTED, "kept": kept, "told": adaptation.told}


def versions_line(lessons: Lessons) -> dict[str, object]:
    """A line that takes nothing back, but says in which versions the examples of classes were changed last."""
    return {**forgotten_line([]), "versions": dict(lessons.versions)}


def lesson_lines(lessons: Lessons) -> list[dict[str, object]]:
    """The lines from which the lessons can be read again, all but their versions."""
    adapted = [] if lessons.adaptation is None else [adaptation_line(lessons.adaptation)]
    return [*map(example_line, lessons.examples), *adapted]


def is_lesson(line: Mapping[str, Any]) -> bool:
    """Whether a line is about lessons, not about a class."""
    return line["key"] in FIELDS


def is_adaptation(line: Mapping[str, Any]) -> bool:
    """Whether a line is about an adaptation."""
    return bool(line["key"] == ADAPTED)


def is_whole(line: Mapping[str, Any]) -> bool:
    """Whether a line about lessons has what it must have."""
    try:
        right = all(type(line[name]) in kinds for name, kinds in FIELDS[line["key"]].items())
        right = right and all(type(one) is int for one in line.get("versions", {}).values())
        return right and apply_line(Lessons(), line, 0) is not None
    except (AttributeError, KeyError, TypeError, ValueError, binascii.Error):
        return False


def apply_line(lessons: Lessons, line: Mapping[str, Any], version: int) -> Lessons:
    """The lessons after what a line says, which makes this version of them."""
    if line["key"] == EXAMPLE:
        about = line["id"], line["class"], line["right"]
        return lessons.plus(Example(*about, _decode_numbers(line["features"]), line["row"], line["data"]), version)
    if line["key"] == FORGOTTEN:
        rest = lessons.minus(set(line["ids"]), version)
        return replace(rest, versions=dict(line["versions"])) if "versions" in line else rest
    adaptation = None
    if line["told"] is not None:
        adaptation = Adaptation(tuple(map(_adaptation_fields, line["kept"])), line["told"])
    return Lessons(lessons.examples, adaptation, lessons.versions)


def _adaptation_fields(part: Mapping[str, Any]) -> KeptAdaptation:
    classes = list(part["classes"])
    sums = _decode_numbers(part["sums"])
    return KeptAdaptation(classes, sums.reshape(len(classes), len(sums) // max(len(classes), 1)), dict(part["record"]))


def _encode_numbers(numbers: NDArray[np.float32]) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, "<f4").tobytes()).decode("ascii")


def _decode_numbers(text: str) -> NDArray[np.float32]:
    found = np.frombuffer(base64.b64decode(text, validate=True), "<f4").astype(np.float32)
    if not np.isfinite(found).all():
        raise ValueError("a number is not finite")
    return found


# Taught model ---------------------------------------------------------------------------------------------------------
# A model that knows what a service was taught: the model file's, all classes of the moment, and their lessons.


def can_learn(model: ZeroShotClassifier) -> bool:
    """Whether a model learns from examples and unlabelled rows. A committee does if one of its members does."""
    able = hasattr(model, "add_examples")
    return able and (not hasattr(model, "_teachable") or bool(model._teachable()))


def check_can_learn(model: ZeroShotClassifier) -> Any:
    """The model; refused if it cannot be taught, with the names of methods that can."""
    if not can_learn(model):
        names = methods.methods_with("add_examples")
        raise Refusal(
            409,
            f"this model is of kind {model.kind!r}, which cannot learn from examples: {' and '.join(names)} can; fit "
            f"one with zskl fit --method {names[0]}",
        )
    return model


def copy_with_classes(model: ZeroShotClassifier, table: SignatureTable) -> Any:
    """A copy whose candidates are the classes of a table, which has all of its own."""
    new = copy.copy(model)
    new.signature_table_, new.candidates_ = table, table.classes
    if hasattr(model, "members_"):
        new.members_ = [copy_with_classes(member, table) for member in model.members_]
    return new


def teach_model(model: ZeroShotClassifier, table: SignatureTable, lessons: Lessons) -> ZeroShotClassifier:
    """The model after all lessons, for classes with the descriptions in a table. Examples come first: what unlabelled
    rows added stays as it was worked out."""
    if not lessons:
        return model
    new: Any = copy_with_classes(check_can_learn(model), table)
    if lessons.examples:
        X = np.stack([one.features for one in lessons.examples])
        wrong = np.array([not one.right for one in lessons.examples])
        new = new.add_examples(X, [one.label for one in lessons.examples], wrong=wrong)
    if lessons.adaptation is not None:
        new = new._with_adaptation(lessons.adaptation.kept)
    found: ZeroShotClassifier = new
    return found


def check_lessons_fit(model: ZeroShotClassifier, lessons: Lessons) -> None:
    """Refuse lessons of another model."""
    if not lessons:
        return
    check_can_learn(model)
    d = int(model.n_features_in_)
    widths = {len(one.features) for one in lessons.examples}
    widths |= {one.sums.shape[1] for one in (lessons.adaptation.kept if lessons.adaptation else ()) if one.classes}
    if widths - {d}:
        raise Refusal(409, f"it has examples with {min(widths - {d})} features: the model takes {d}")


# Teaching -------------------------------------------------------------------------------------------------------------
# Changes to what a service was taught: examples of a class, and the rows that it adapts to.

MOST = 16 << 20  # numbers that an adaptation may keep: classes times features


class Teaching:
    """What changes the lessons of the `classes` of a service."""

    def __init__(self, classes: Classes, limits: Limits) -> None:
        self._classes, self._limits = classes, limits

    def add(
        self,
        name: str,
        features: Features,
        right: bool,
        row: int | None = None,
        data: str | None = None,
        since: int | None = None,
    ) -> tuple[Book, Example]:
        """Teach that a row (1, d) is of a class, or is not. `row` is its number in loaded data with the fingerprint
        `data`; `since` the version of the examples that was looked at."""
        check_can_learn(self._classes.model)
        with self._classes.changing() as book:
            name = _check_known_class(book, name)
            book.check_examples_unchanged(name, since)
            ids = {one.id for one in book.lessons.examples}
            new = Example(_new_id(ids), name, right, features[0], row, data)
            lessons = book.lessons.plus(new, book.version + 1)
            if len(lessons.examples) > self._limits.examples:
                most = self._limits.examples
                raise Refusal(409, f"{most} examples were given already, the most that are allowed: take some back")
            line = example_line(new)
            return self._classes.change(book.added, lessons, line), new

    def remove(self, name: str, chosen: str | None = None, since: int | None = None) -> Book:
        """Take back an example of a class, or all of them."""
        check_can_learn(self._classes.model)
        with self._classes.changing() as book:
            name = _check_known_class(book, name)
            book.check_examples_unchanged(name, since)
            ids = [one.id for one in book.lessons.of(name)]
            if chosen is not None and chosen not in ids:
                raise Refusal(
                    404,
                    f"class {quote_value(name)} has no example {quote_value(chosen)}: GET /classes/NAME/examples lists all",
                )
            if not ids:
                return book
            gone = ids if chosen is None else [chosen]
            lessons, line = book.lessons.minus(gone, book.version + 1), forgotten_line(gone)
            return self._classes.change(book.added, lessons, line)

    def adapt(self, X: Features, among: Among, force: bool) -> Verdict:
        """Adapt the classes without training rows to unlabelled rows (n, d), if validation classes say that this helps,
        or if forced."""
        book = self._classes.book
        check_can_learn(self._classes.model)
        model = copy_with_classes(book.model, book.table)
        try:
            told = promised_gain(book, len(X), among)
            if not told["clear"] and not force:
                return told
            new = model.adapt(X, among, force=True)
        except ValueError as error:
            raise Refusal(409, str(error)) from None
        kept = tuple(new._kept_adaptation())
        if sum(one.sums.size for one in kept) > MOST:
            raise Refusal(
                409, "these are more classes than a service keeps an adaptation of: use zskl adapt on the model file"
            )
        told |= {
            "adapted": True,
            "classes": len(kept[0].classes),
            "changed": int((_best_classes(book.model, book, X) != _best_classes(new, book, X)).sum()),
            "converged": bool(kept[0].record["converged"]),
        }
        with self._classes.changing() as now:
            found = Adaptation(kept, told)
            for name in {label for one in kept for label in one.classes} - now.kinds.keys():  # deleted meanwhile
                found = replace(found, kept=tuple(one.without(name) for one in found.kept))
            line = adaptation_line(found)
            self._classes.change(now.added, replace(now.lessons, adaptation=found), line)
        return told

    def forget_adaptation(self) -> Book:
        """Go back to what the model was before it was adapted here."""
        with self._classes.changing() as book:
            if book.lessons.adaptation is None:
                return book
            line = adaptation_line(None)
            return self._classes.change(book.added, replace(book.lessons, adaptation=None), line)


def _check_known_class(book: Book, name: str) -> str:
    name = book.called(name)
    if name not in book.kinds:
        raise unknown_class(name, book.kinds, 404)
    return name


def _new_id(taken: set[str]) -> str:
    while (found := secrets.token_hex(4)) in taken:
        pass
    return found


def promised_gain(book: Book, rows: int, among: Among) -> Verdict:
    """What validation classes say about so many unlabelled rows, before any are used."""
    try:
        entry = copy_with_classes(book.model, book.table)._promise(among, rows)
    except ValueError as error:
        raise Refusal(409, str(error)) from None
    told: Verdict = {
        "adapted": False,
        "rows": rows,
        "classes": None,
        "changed": None,
        "converged": None,
        "clear": None,
        "gain": None,
        "spread": None,
        "least": None,
        "verdict": "nobody has tried so few unlabelled rows, or any, on validation classes of this model: nothing says "
        "whether adapting helps; fit it with zskl fit --calibrate, load more rows, or set force",
    }
    if entry is None:
        return told
    gain, spread, least = (float(entry[name]) for name in ("gain", "spread", "least"))
    told |= {"clear": is_clear_gain(entry), "gain": gain, "spread": spread, "least": least}
    told["verdict"] = (
        f"on validation classes, adapting changed the accuracy by {100 * gain:+.1f} points ± {100 * spread:.1f}, by "
        f"{100 * least:+.1f} in the worst fold: {'it helps' if told['clear'] else 'no clear gain; set force to adapt'}"
    )
    return told


def _best_classes(model: ZeroShotClassifier, book: Book, X: Features) -> NDArray[np.int64]:
    """(n,) the place of each row's best class."""
    panel = CandidateScorer(model, book.table, calibrated=True)
    found = np.empty(len(X), np.int64)
    for rows, scores in panel.blocks(X):
        found[rows] = to_numpy(scores).argmax(axis=1)
    return found
