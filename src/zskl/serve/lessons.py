"""What a service was taught since the model was fitted: examples of classes, and what unlabelled rows added.

Never changes; a new lesson makes new `Lessons`. So a request sees those of one moment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from zskl.estimators.class_means.adaptation import KeptAdaptation
from zskl.serve.schemas.teaching import Verdict


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
