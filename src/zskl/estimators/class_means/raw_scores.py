"""What a description says of a score of class means, along attributes as you wrote them (see `raw_attributes`).

The description's share in a score is f·x̂·m(y), f = w/(‖m‖‖v‖). With the linear kernel m(y) is a sum over attributes,
and so is the prior mean. With the Gaussian kernel it is Σᵣ k(y, yᵣ) Bᵣ. For two classes a and b, with κᵣ the secant of
k between their squared distances to yᵣ,

    k(a, yᵣ) − k(b, yᵣ) = κᵣ Σₘ (aₘ − bₘ)(aₘ + bₘ − 2yᵣₘ)

So F, by which an attribute's difference is multiplied, is (f_a + f_b)/2 · Σᵣ κᵣ (x̂·Bᵣ)(aₘ + bₘ − 2yᵣₘ).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zskl.arrays import NumPyArray, to_numpy
from zskl.estimators.class_means.descriptions import distances
from zskl.estimators.class_means.explained_scores import PRIOR, ExplainedScores
from zskl.estimators.class_means.sums import Floats
from zskl.estimators.raw_attributes import AlongRawAttributes, RawValues

if TYPE_CHECKING:
    from zskl.estimators.class_means.scoring import Scoring
    from zskl.signatures.table import SignatureTable


def along_raw_attributes(model: Scoring, table: SignatureTable) -> AlongRawAttributes:
    """The explainer of a fitted model for candidate classes."""
    inner = ExplainedScores(model, table)
    described = RawValues.of(model.signature_scaling_, table.matrix)
    seen: Floats = model.signature_scaling_.apply(model.signature_table_.select(model.classes_).matrix)
    regression = model.regression_.astype(np.float64)
    pairs: list[tuple[Floats, RawValues]] = []  # what x̂ meets, attribute by attribute, and the attributes' values
    by_likeness = model.kernel == "gaussian" and model.prior != "cosine"
    if model.kernel == "linear" and model.prior != "cosine":
        pairs.append((seen.T @ regression, described.times(inner.factor)))
    if model.prior != "zero":
        own = RawValues.of(model.feature_scaling_, table.matrix)
        pairs.append((model.slope_ * model.whitening_.astype(np.float64), own.times(inner.factor)))
    likeness = Likeness(model, table, inner.factor, seen, regression) if by_likeness else None

    def parts(scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> NumPyArray:
        hat = to_numpy(model._hat(scaled))
        found = np.zeros((len(hat), table.matrix.shape[1]))
        for vectors, values in pairs:
            found += (hat @ vectors.T) * values.differences(first, second)
        if likeness is not None:
            found += likeness.slopes(hat, first, second) * described.differences(first, second)
        found[inner.lacking[first] | inner.lacking[second]] = 0.0  # there are no two descriptions to compare
        return found

    explainer = AlongRawAttributes(model, table, inner, parts, (PRIOR,))
    explainer.values = inner.without_placeholders(explainer.values)
    return explainer


class Likeness:
    """F of the Gaussian kernel."""

    def __init__(self, model: Scoring, table: SignatureTable, factor: Floats, seen: Floats, regression: Floats) -> None:
        self.Y: Floats = model.signature_scaling_.apply(table.matrix)
        self.seen, self.regression, self.factor, self.width = seen, regression, factor, model.width_
        self.apart = to_numpy(distances(self.Y, seen)) / self.width

    def slopes(self, hat: NumPyArray, first: NumPyArray, second: NumPyArray) -> NumPyArray:
        """(n, p) F of rows x̂ (n, d) and signatures first and second (n,)."""
        mean = 0.5 * (self.factor[first] + self.factor[second])
        weights = mean * (hat @ self.regression.T) * secants(self.apart[first], self.apart[second]) / self.width
        found: NumPyArray = weights.sum(axis=1, keepdims=True) * (self.Y[first] + self.Y[second])
        return found - 2 * weights @ self.seen


def secants(first: NumPyArray, second: NumPyArray) -> NumPyArray:
    """(exp(−s) − exp(−t)) / (s − t) of numbers s and t, and −exp(−s) where they are equal."""
    gap = np.abs(first - second)
    share = np.where(gap > 0, -np.expm1(-gap) / np.where(gap > 0, gap, 1.0), 1.0)
    found: NumPyArray = -np.exp(-np.minimum(first, second)) * share
    return found
