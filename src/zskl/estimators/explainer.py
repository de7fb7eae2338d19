"""How differences of scores are split, for the rows of a block: the contract, and the split by attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from zskl.arrays import NumPyArray, to_numpy
from zskl.estimators import score_parts

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier
    from zskl.signatures.table import SignatureTable


@dataclass(frozen=True, eq=False)
class Split:
    """Of n rows: `difference` (n,) is the sum of `contributions` (n, k) and of the `terms`, name → (n,).

    `first` and `second` (n,) are the signatures that are compared, among those of the table. `likeness` (n, k) is there
    if contributions are of seen classes: how much a row is like them.
    """

    first: NumPyArray
    second: NumPyArray
    difference: NumPyArray
    contributions: NumPyArray
    terms: Mapping[str, NumPyArray] = field(default_factory=dict)
    likeness: NumPyArray | None = None


class Explainer(Protocol):
    """A fitted model before a table of candidate classes.

    `names` (k,) are those of the contributions, `values` (rows, k) what each signature of the table has of them.
    """

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def values(self) -> NumPyArray: ...

    def split(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> Split:
        """score(first) − score(second) of scaled rows (n, d) in float64; first and second (n,) are candidates."""


class ByAttributes:
    """The split of `score_parts`: attribute by attribute, and nothing is left."""

    def __init__(self, model: ZeroShotClassifier, table: SignatureTable) -> None:
        self.body = body = score_parts.of(model)
        self.names = attribute_names(model)
        self.values = unwritable(table.matrix)
        self.rows = table.padded_rows()
        self.Y = to_numpy(body.described(model.signature_scaling_.apply(table.matrix)))
        self.images = body.images(self.Y) if body.both else None

    def split(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> Split:
        P, norms = to_numpy(self.body.projected(scaled)), (scaled * scaled).sum(axis=1, keepdims=True)

        def score(rows: NumPyArray) -> NumPyArray:
            return self.body.pair_scores(P, norms, *self._taken(rows))

        (a, score_a), (b, score_b) = (best_rows(self.rows[classes], score) for classes in (first, second))
        parts = self.body.contributions(P, norms, self._taken(a), self._taken(b))
        return Split(a, b, score_a - score_b, parts)

    def along(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray, differences: NumPyArray) -> NumPyArray:
        """(n, p): what these differences of signatures first and second make of the difference of scores."""
        P, norms = to_numpy(self.body.projected(scaled)), (scaled * scaled).sum(axis=1, keepdims=True)
        return self.body.along(P, norms, self._taken(first), self._taken(second), differences)

    def _taken(self, rows: NumPyArray) -> score_parts.ScaledSignatures:
        return self.Y[rows], None if self.images is None else self.images[rows]


def best_rows(rows: NumPyArray, score: Callable[[NumPyArray], NumPyArray]) -> tuple[NumPyArray, NumPyArray]:
    """(n,) the best of the signatures (n, m) of each sample's class, and its score; `score` tells those of (n,)."""
    scores = np.stack([score(one) for one in rows.T], axis=1)
    place = np.arange(len(rows)), scores.argmax(axis=1)
    return rows[place], scores[place]


def attribute_names(model: ZeroShotClassifier) -> tuple[str, ...]:
    """Those of fit, or "attribute 0" and so on."""
    p = model.signature_table_.matrix.shape[1]
    return tuple(model.attribute_names_ or (f"attribute {m}" for m in range(p)))


def unwritable(matrix: NumPyArray) -> NumPyArray:
    """The same numbers, whose rows can be handed out."""
    view = matrix.view()
    view.setflags(write=False)
    return view
