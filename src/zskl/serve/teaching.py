"""Changes to what a service was taught: examples of a class, and the rows that it adapts to."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zskl.arrays import to_numpy
from zskl.estimators.class_means.adapting import is_clear
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.panel import Panel
from zskl.serve import lesson_lines
from zskl.serve.bodies import Features
from zskl.serve.lessons import Adaptation, Example
from zskl.serve.limits import Limits
from zskl.serve.refusal import Refusal, no_class, shown
from zskl.serve.schemas.teaching import Among, Verdict
from zskl.serve.taught_model import check_able, with_classes

if TYPE_CHECKING:
    from zskl.serve.class_book import Book
    from zskl.serve.classes import Classes

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
        check_able(self._classes.model)
        with self._classes.changing() as book:
            name = _known(book, name)
            book.check_examples_unchanged(name, since)
            ids = {one.id for one in book.lessons.examples}
            new = Example(_fresh(ids), name, right, features[0], row, data)
            lessons = book.lessons.plus(new, book.version + 1)
            if len(lessons.examples) > self._limits.examples:
                most = self._limits.examples
                raise Refusal(409, f"{most} examples were given already, the most that are allowed: take some back")
            line = lesson_lines.of_example(new)
            return self._classes.change(book.added, lessons, line), new

    def remove(self, name: str, chosen: str | None = None, since: int | None = None) -> Book:
        """Take back an example of a class, or all of them."""
        check_able(self._classes.model)
        with self._classes.changing() as book:
            name = _known(book, name)
            book.check_examples_unchanged(name, since)
            ids = [one.id for one in book.lessons.of(name)]
            if chosen is not None and chosen not in ids:
                raise Refusal(
                    404, f"class {shown(name)} has no example {shown(chosen)}: GET /classes/NAME/examples lists all"
                )
            if not ids:
                return book
            gone = ids if chosen is None else [chosen]
            lessons, line = book.lessons.minus(gone, book.version + 1), lesson_lines.of_forgotten(gone)
            return self._classes.change(book.added, lessons, line)

    def adapt(self, X: Features, among: Among, force: bool) -> Verdict:
        """Adapt the classes without training rows to unlabelled rows (n, d), if validation classes say that this helps,
        or if forced."""
        book = self._classes.book
        check_able(self._classes.model)
        model = with_classes(book.model, book.table)
        try:
            told = promised(book, len(X), among)
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
            "changed": int((_answers(book.model, book, X) != _answers(new, book, X)).sum()),
            "converged": bool(kept[0].record["converged"]),
        }
        with self._classes.changing() as now:
            found = Adaptation(kept, told)
            for name in {label for one in kept for label in one.classes} - now.kinds.keys():  # deleted meanwhile
                found = replace(found, kept=tuple(one.without(name) for one in found.kept))
            line = lesson_lines.of_adaptation(found)
            self._classes.change(now.added, replace(now.lessons, adaptation=found), line)
        return told

    def forget_adaptation(self) -> Book:
        """Go back to what the model was before it was adapted here."""
        with self._classes.changing() as book:
            if book.lessons.adaptation is None:
                return book
            line = lesson_lines.of_adaptation(None)
            return self._classes.change(book.added, replace(book.lessons, adaptation=None), line)


def _known(book: Book, name: str) -> str:
    name = book.called(name)
    if name not in book.kinds:
        raise no_class(name, book.kinds, 404)
    return name


def _fresh(taken: set[str]) -> str:
    while (found := secrets.token_hex(4)) in taken:
        pass
    return found


def promised(book: Book, rows: int, among: Among) -> Verdict:
    """What validation classes say about so many unlabelled rows, before any are used."""
    try:
        entry = with_classes(book.model, book.table)._promise(among, rows)
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
    told |= {"clear": is_clear(entry), "gain": gain, "spread": spread, "least": least}
    told["verdict"] = (
        f"on validation classes, adapting changed the accuracy by {100 * gain:+.1f} points ± {100 * spread:.1f}, by "
        f"{100 * least:+.1f} in the worst fold: {'it helps' if told['clear'] else 'no clear gain; set force to adapt'}"
    )
    return told


def _answers(model: ZeroShotClassifier, book: Book, X: Features) -> NDArray[np.int64]:
    """(n,) the place of each row's best class."""
    panel = Panel(model, book.table, calibrated=True)
    found = np.empty(len(X), np.int64)
    for rows, scores in panel.blocks(X):
        found[rows] = to_numpy(scores).argmax(axis=1)
    return found
