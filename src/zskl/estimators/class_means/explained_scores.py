"""How a score of class means splits: what the description says, part by part, and what rows and crowding add.

With v = w·m̂(y) + Σ x̂ of the rows of the class, and u = v/‖v‖, the score x̂·u − a·r is a sum:

    w/(‖m‖‖v‖) · x̂·m(y)   +   x̂·(training rows)/‖v‖ + x̂·(examples)/‖v‖ + x̂·(unlabelled rows)/‖v‖   −   a·r

m(y) is a sum too. With B = (K + νI)⁻¹ M̃, one row for each signature of a seen class, it is Σᵣ k(y, yᵣ) Bᵣ: a part for
each seen class. With the linear kernel it is Σₘ yₘ (YᵀB)ₘ: a part for each attribute m. The prior mean s·y° is a sum
over attributes; with the Gaussian kernel it is a term of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zskl.arrays import NumPyArray, to_numpy
from zskl.estimators.class_means.descriptions import SignatureKernel
from zskl.estimators.class_means.evidence import Evidence
from zskl.estimators.class_means.sums import Floats
from zskl.estimators.explainer import Split, attribute_names, best_rows, unwritable
from zskl.estimators.raw_attributes import inverse_length

if TYPE_CHECKING:
    from zskl.estimators.class_means.scoring import Scoring
    from zskl.signatures.table import SignatureTable

PRIOR, CROWDING = "the description itself", "crowding"


class ExplainedScores:
    """A fitted model before candidate classes, in float64.

    `factor` (rows, 1) is w/(‖m‖‖v‖); `lacking` (rows,) says which signatures only stand for one that nobody has given.
    `_described` are pairs of coefficients (rows, k) and vectors (k, d) whose products add up to w/(‖m‖‖v‖) · m(y).
    `_members` (k, C) joins the signatures of a seen class, where there is a part for each.
    """

    def __init__(self, model: Scoring, table: SignatureTable) -> None:
        self._model = model
        question = model._question(np.empty((0, model.n_features_in_)), table)
        self.rows = question.rows
        lacking: frozenset[Any] = getattr(question, "lacking", frozenset())
        self.lacking = np.array([label in lacking for label in table.labels.tolist()])
        evidence, means = model._evidence(question), to_numpy(model._means_of(question))
        factor = evidence.weights[:, None] * inverse_length(means)
        whole = factor * means + evidence.sums
        scale = inverse_length(whole)
        self.factor = factor = factor * scale
        self._U = whole * scale
        self._terms = {name: scale * sums for name, sums in model._sums_by_source(question).items()}
        crowded = model._crowded(self._U)
        self._crowded = None if crowded is None else to_numpy(crowded)
        seen = model.signature_table_.select(model.classes_)
        Y, regression = model.signature_scaling_.apply(seen.matrix), model.regression_.astype(np.float64)
        pairs: list[tuple[Floats, Floats]] = []
        own = None
        if model.prior != "zero":
            shared: Floats = model.feature_scaling_.apply(table.matrix)
            if model.whitening_.shape[1] < len(model.whitening_):
                raise ValueError(
                    f"the model was fitted on sparse rows with prior={model.prior!r}, which cannot be explained: use "
                    "prior='zero', or dense columns such as those of TruncatedSVD(300)"
                )
            own = shared - model.signature_center_, model.slope_ * model.whitening_.astype(np.float64)
        self._members: Floats | None = None
        if model.prior == "cosine" or model.kernel == "linear":
            self.names, self.values = attribute_names(model), self.without_placeholders(table.matrix)
            if model.prior != "cosine":
                pairs.append((to_numpy(question.Y), Y.T @ regression))
            pairs += [] if own is None else [own]
        else:
            similar = to_numpy(SignatureKernel(model.kernel, model.width_)(question.Y, Y))
            codes = Evidence.codes(model.classes_, seen.labels)
            self.names = tuple(map(str, model.classes_.tolist()))
            self._members = (codes[:, None] == np.arange(len(self.names))).astype(np.float64)
            self.values = self.without_placeholders(_largest(similar, codes, len(self.names)))
            pairs.append((similar, regression))
            if own is not None:
                self._terms = {PRIOR: factor * (own[0] @ own[1]), **self._terms}
        self._described = [(factor * coefficients, vectors) for coefficients, vectors in pairs]

    def without_placeholders(self, values: NumPyArray) -> NumPyArray:
        """Values (rows, k), NaN for classes that have no description."""
        return unwritable(np.where(self.lacking[:, None], np.nan, values) if self.lacking.any() else values)

    def split(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> Split:
        hat = to_numpy(self._model._hat(scaled))

        def score(rows: NumPyArray) -> NumPyArray:
            found: NumPyArray = (hat * self._U[rows]).sum(axis=1)
            return found if self._crowded is None else found - self._crowded[rows]

        (a, score_a), (b, score_b) = (best_rows(self.rows[classes], score) for classes in (first, second))
        terms = {name: (hat * (vectors[a] - vectors[b])).sum(axis=1) for name, vectors in self._terms.items()}
        if self._crowded is not None:
            terms[CROWDING] = self._crowded[b] - self._crowded[a]
        products = [hat @ vectors.T for _, vectors in self._described]
        contributions = sum(
            product * (coefficients[a] - coefficients[b])
            for product, (coefficients, _) in zip(products, self._described, strict=True)
        )
        likeness = None
        if self._members is not None:
            contributions, likeness = contributions @ self._members, products[0] @ self._members
        return Split(a, b, score_a - score_b, np.asarray(contributions), terms, likeness)


def _largest(similar: Floats, codes: NumPyArray, classes: int) -> Floats:
    """(rows, k) → (rows, C): of a seen class with several signatures, the most similar one."""
    found = np.full((len(similar), classes), -np.inf)
    np.maximum.at(found.T, codes, similar.T)
    return found
