"""How class means score: directions of candidate classes from descriptions and rows, and cosines with them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array, NumPyArray, like, to_numpy
from zskl.estimators.candidates import Question, best_of_rows
from zskl.estimators.class_means import nameless_classes
from zskl.estimators.class_means.bench import Bench
from zskl.estimators.class_means.crowding import largest_mean
from zskl.estimators.class_means.descriptions import SignatureKernel, inverse, typical_variance, variance
from zskl.estimators.class_means.direction_map import DirectionMap
from zskl.estimators.class_means.evidence import Evidence
from zskl.estimators.class_means.explained_scores import ExplainedScores
from zskl.estimators.class_means.foundation import Foundation, Whitened
from zskl.estimators.class_means.quick_scores import Products, QuickScores
from zskl.estimators.class_means.raw_scores import along_raw_attributes
from zskl.estimators.class_means.space import unit, whitened, whitening_weights
from zskl.estimators.class_means.sums import Floats
from zskl.estimators.class_means.taught import Taught
from zskl.estimators.raw_attributes import AlongRawAttributes
from zskl.signatures.table import SignatureTable
from zskl.sparse_rows import are_sparse, dense

ENOUGH = 1024  # kept rows, to try things on a fold
FIRM = 5.0  # one description counts at most so many times as much as a usual one, or as little


@dataclass(frozen=True)
class SharedQuestion(Question):
    """Candidates, with their signatures scaled as features where both have the same columns."""

    shared: Array | None = None  # (rows, d)
    lacking: frozenset[Any] = frozenset()  # classes without a description


class Scoring(Taught):
    """The formulas of `ClassMeansClassifier`, on scaled arrays."""

    kernel: str
    bandwidth: float
    noise: float
    prior: str
    crowding_share: float
    center_: Floats
    signature_center_: Floats
    width_: float
    slope_: float
    _foundation: Foundation  # what the models of one search share
    _quick: QuickScores
    _inverse: Floats  # (K + νI)⁻¹, worked out when it is first needed

    def _question(self, scaled: Array, table: SignatureTable) -> Question:
        asked = super()._question(scaled, table)
        shared = self._shared(table.matrix)
        shared = None if shared is None else like(shared, scaled)
        return SharedQuestion(asked.Y, asked.rows, asked.labels, shared, frozenset(self._lacking(table)))

    def _shared(self, signatures: Array) -> Array | None:
        """Signatures (rows, d) as rows of the shared space, where the prior needs them."""
        return None if self.prior == "zero" else self.feature_scaling_.apply(signatures)

    def _hat(self, X: Array) -> Array:
        """x̂ (n, d) of scaled rows."""
        return unit(whitened(X - like(self.center_, X), like(self.whitening_, X)))

    def _described(self, question: Question) -> Array:
        """m̂ (rows, d) of the candidates' signatures."""
        return unit(self._means_of(question))

    def _means_of(self, question: Question) -> Array:
        """m(y) (rows, d) of the candidates."""
        return self._means(question.Y, question.shared if isinstance(question, SharedQuestion) else None)

    def _means(self, Y: Array, shared: Array | None) -> Array:
        """m(y) (rows, d) of scaled signatures (rows, p), which may lie in the shared space too."""
        seen = like(self.signature_scaling_.apply(self.signature_table_.select(self.classes_).matrix), Y)
        means = SignatureKernel(self.kernel, self.width_)(Y, seen) @ like(self.regression_, Y)
        if self.prior == "zero":
            return means
        assert shared is not None  # with another prior than zero there is one
        own: Array = dense(whitened(shared - like(self.signature_center_, Y), like(self.whitening_, Y)))
        return means + self.slope_ * own

    def _firmness(self, question: Question) -> Floats:
        """(rows,) how much surer than usual the process is of each signature's direction: a factor of n₀."""
        if self.prior == "cosine":
            return np.ones(question.Y.shape[0])
        kernel = SignatureKernel(self.kernel, self.width_)
        seen = self.signature_scaling_.apply(self.signature_table_.select(self.classes_).matrix)
        if "_inverse" not in vars(self):
            self._inverse = inverse(to_numpy(kernel(seen, seen)), float(self.noise))
        Y = to_numpy(question.Y).astype(np.float64)
        found = variance(to_numpy(kernel.own(Y)), to_numpy(kernel(Y, seen)), self._inverse)
        return (typical_variance(self._inverse, float(self.noise)) / found).clip(1 / FIRM, FIRM)

    def _directions(self, question: Question) -> Array:
        """u (rows, d) of every signature row of the candidates."""
        evidence = self._evidence(question)
        described = self._described(question)
        return unit(like(evidence.weights[:, None], described) * described + like(evidence.sums, described))

    def _crowded(self, U: Array) -> Array | None:
        """a·r (rows,) of directions."""
        if not self.crowding_ or not len(self.kept_rows_):
            return None
        return self.crowding_ * largest_mean(like(self.kept_rows_, U) @ U.T, float(self.crowding_share))

    def _bench(self, scaled: Array, question: Question, own: NumPyArray, seen: NumPyArray) -> Bench | None:
        if are_sparse(scaled):  # trying things needs every x̂ as it is
            return None
        places = Evidence.places(self.classes_, question)
        trained = places >= 0
        return Bench(
            x=to_numpy(self._hat(scaled)).astype(np.float32),
            own=own,
            seen=seen,
            described=to_numpy(self._described(question)).astype(np.float32),
            firmness=self._firmness(question),
            means=np.where(trained[:, None], self.class_means_[places], np.float32(0)),
            counts=np.where(trained, self.class_rows_[places], 0.0),
            weight=float(self.description_weight),
            rows=question.rows,
            kept=self.kept_rows_[:: max(1, len(self.kept_rows_) // ENOUGH)].astype(np.float32),
            eigenvalues=self.eigenvalues_,
            shrinkage=self.shrinkage_,
            crowding=float(self.crowding),
            share=float(self.crowding_share),
        )

    def _whitened(self, foundation: Foundation) -> Whitened:
        return foundation.whitened(float(self.shrinkage), plain=self.prior == "cosine")

    def _answerer(self, question: Question) -> Callable[[Array], Array]:
        if "_quick" in vars(self):
            return lambda X: best_of_rows(self._quickly(X, question), question.rows)
        answer = self._gallery_answerer(question)
        return lambda X: answer(self._hat(X))

    def _gallery_rows(self, X: Array) -> Array:
        return self._hat(X)

    def _gallery_turner(self, before: Any) -> Callable[[Array], Array] | None:
        """In the basis of the scatter another shrinkage only weighs coordinates."""
        if before.shrinkage_ == self.shrinkage_:
            return None
        ratio = whitening_weights(self.eigenvalues_, self.shrinkage_)
        ratio = ratio / whitening_weights(self.eigenvalues_, before.shrinkage_)
        return lambda hat: unit(hat * like(ratio, hat))

    def _gallery_answerer(self, question: Question) -> Callable[[Array], Array]:
        """x̂ (n, d) → scores (n, c)."""
        U = self._directions(question)
        crowded = self._crowded(U)

        def answer(hat: Array) -> Array:
            scores = hat @ U.T
            return best_of_rows(scores if crowded is None else scores - crowded, question.rows)

        return answer

    def _nameless_scorer(self, Y: Array) -> Callable[[Array], Array]:
        return nameless_classes.scorer(self, Y)

    def ranking_map(self) -> DirectionMap:
        """
        Map samples and classes so that inner products are scores: any dot-product index can search them.

        Returns
        -------
        DirectionMap
            Maps into as many dimensions as there are features, plus one. Its `samples` are rows x̂ and a 1, its
            `classes` directions and what crowding adds.

        Examples
        --------
        >>> from zskl import ClassMeansClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ClassMeansClassifier().fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> maps = model.ranking_map()
        >>> scores = maps.samples([[1, 0]]) @ maps.classes().T
        >>> bool(abs(scores - model.compatibility([[1, 0]])).max() < 1e-6)
        True
        """
        check_is_fitted(self)
        return DirectionMap(copy.copy(self))

    def _check_explainable(self) -> None:
        """Class means always are."""

    def _explainer(self, table: SignatureTable) -> ExplainedScores:
        return ExplainedScores(self, table)

    def _raw_explainer(self, table: SignatureTable) -> AlongRawAttributes:
        return along_raw_attributes(self, table)

    def _quickly(self, X: Array, question: Question) -> Array:
        """Scores (n, rows) through what the models of one search share."""
        crowding = float(self.crowding)
        plain, crowded = self._quick_parts(X, question, crowding != 0)
        return plain if crowded is None else plain - crowding * crowded

    def _quick_parts(self, X: Array, question: Question, crowded: bool) -> tuple[Array, Array | None]:
        """Cosines (n, rows) and, where it is wanted, how crowded each direction is (rows,)."""
        foundation: Foundation = self._foundation
        at = self._whitened(foundation)
        shared = question.shared if isinstance(question, SharedQuestion) else None
        products = self._quick.products(at, X, None if shared is None else to_numpy(shared))
        width = foundation.width(self.kernel, float(self.bandwidth))
        key = self.prior, self.kernel, width, float(self.noise), float(self.description_weight)
        coefficients = None
        if not self._quick.knows(key):
            coefficients = self._coefficients(question, at, SignatureKernel(self.kernel, width), products)
        return self._quick.parts(key, products, coefficients, float(self.crowding_share) if crowded else None)

    def _coefficients(self, question: Question, at: Whitened, kernel: SignatureKernel, products: Products) -> Floats:
        """(rows, B) the candidates' directions as combinations of M̃, Y° and y°."""
        owners, C = at.foundation.owners, len(at.means)
        found = np.zeros((question.Y.shape[0], len(products.basis)))
        if self.prior != "cosine":
            weights = self._quick.weights(question.Y, at.foundation, kernel, float(self.noise))  # (rows, R)
            weighted = weights / at.lengths[owners]
            if len(owners) == C:  # a signature for each class, in the order of classes
                found[:, owners] = weighted
            else:
                np.add.at(found.T, owners, weighted.T)
        if self.prior != "zero":
            s = at.slope if self.prior == "identity" else 1.0
            if self.prior == "identity":
                found[:, C : C + len(owners)] -= s * weights
            found[np.arange(len(found)), C + len(owners) + np.arange(len(found))] += s
        found = self.description_weight * products.unit(found)
        places = Evidence.places(self.classes_, question)
        seen = np.flatnonzero(places >= 0)
        scale = np.linalg.norm(at.sums, axis=1) / at.lengths
        found[seen, places[seen]] += scale[places[seen]]
        return products.unit(found)
