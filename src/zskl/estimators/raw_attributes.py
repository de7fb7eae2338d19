"""Explanations along attributes as you wrote them: one in which two descriptions agree adds nothing.

Of a value r a scaling makes y = a·v + what centring adds. v is r, its square root if the scaling takes one, over the
column's standard deviation if it divides by that; a is one number for a signature: what its length was divided by.
Two signatures, one with a and v, the other with b and w, differ in attribute m by

    yₘ − zₘ = (a + b)/2 · (vₘ − wₘ)  +  what centring and the two lengths make

The difference of two scores is Σₘ (yₘ − zₘ) Fₘ with some factors F. So (a + b)/2 · (vₘ − wₘ) Fₘ is the attribute's own
part, and all the rest is one term.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from zskl.arrays import NumPyArray
from zskl.estimators.explainer import ByAttributes, Explainer, Split, attribute_names, unwritable
from zskl.scaling import FITTED, Scaling

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier
    from zskl.signatures.table import SignatureTable

SCALING = "centring and lengths"
NOISE = 1e-12  # of what is added up: a smaller rest is rounding
Parts: TypeAlias = Callable[[NumPyArray, NumPyArray, NumPyArray], NumPyArray]  # scaled rows, two signatures → (n, p)


@dataclass(frozen=True, eq=False)
class RawValues:
    """v (rows, p) and a (rows, 1) of each signature."""

    values: NumPyArray
    factors: NumPyArray

    @classmethod
    def of(cls, scaling: Scaling, matrix: NumPyArray) -> RawValues:
        """What a scaling makes of raw signatures (rows, p)."""
        rows = values = np.asarray(matrix, dtype=np.float64)
        factors = np.ones((len(rows), 1))
        for place, step in enumerate(scaling.steps):
            if step == "sqrt":
                if any(one in FITTED for one in scaling.steps[:place]):
                    raise ValueError(
                        f"signatures are scaled by {'-'.join(scaling.steps)!r}, a square root of centred values: "
                        "contributions of raw values need the square root first; explain without raw"
                    )
                values, factors = np.sign(values) * np.sqrt(np.abs(values)), np.sqrt(factors)
            elif step == "l2":
                factors = factors * inverse_length(rows)
            elif step == "standardize":
                assert scaling.deviation is not None
                values = values / scaling.deviation
            rows = replace(scaling, steps=(step,)).apply(rows)
        return cls(values, factors)

    def times(self, factors: NumPyArray) -> RawValues:
        """Those of signatures that are multiplied by factors (rows, 1)."""
        return RawValues(self.values, self.factors * factors)

    def differences(self, first: NumPyArray, second: NumPyArray) -> NumPyArray:
        """(n, p) (a + b)/2 · (v − w) of signatures first and second (n,)."""
        mean = 0.5 * (self.factors[first] + self.factors[second])
        found: NumPyArray = mean * (self.values[first] - self.values[second])
        return found


class AlongRawAttributes:
    """An explainer whose contributions, and some of its `terms`, are told along raw attributes instead."""

    def __init__(
        self,
        model: ZeroShotClassifier,
        table: SignatureTable,
        explainer: Explainer,
        parts: Parts,
        terms: tuple[str, ...] = (),
    ) -> None:
        self.names, self.values = attribute_names(model), unwritable(table.matrix)
        self._explainer, self._parts, self._terms = explainer, parts, terms

    def split(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> Split:
        found = self._explainer.split(scaled, first, second)
        parts = self._parts(scaled, found.first, found.second)
        told = found.contributions.sum(axis=1) + sum(found.terms.get(name, 0.0) for name in self._terms)
        others = {name: values for name, values in found.terms.items() if name not in self._terms}
        rest, size = told - parts.sum(axis=1), np.abs(told) + np.abs(parts).sum(axis=1)
        terms = {SCALING: np.where(np.abs(rest) > NOISE * size, rest, 0.0), **others}
        return Split(found.first, found.second, found.difference, parts, terms)


def by_score_parts(model: ZeroShotClassifier, table: SignatureTable) -> AlongRawAttributes:
    """For methods whose score is made of a projection and attributes."""
    explainer = ByAttributes(model, table)
    scaled = model.signature_scaling_.apply(table.matrix)
    raw = RawValues.of(model.signature_scaling_, table.matrix)
    raw = raw.times(inverse_length(scaled) / inverse_length(explainer.Y))  # what a cosine divides by

    def parts(rows: NumPyArray, first: NumPyArray, second: NumPyArray) -> NumPyArray:
        return explainer.along(rows, first, second, raw.differences(first, second))

    return AlongRawAttributes(model, table, explainer, parts)


def inverse_length(rows: NumPyArray) -> NumPyArray:
    """(n, 1) of rows (n, d); 1 for a row of zeros."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    found: NumPyArray = 1 / np.where(length > 0, length, 1.0)
    return found
