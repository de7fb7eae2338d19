"""What rows say about the directions of candidate classes: training rows, examples, unlabelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zskl._arrays import Array, NumPyArray, convert_like, namespace, to_numpy
from zskl.estimators._candidates import Question, best_row_scores, choose_candidates
from zskl.estimators._class_means_fit import (
    Floats,
    Foundation,
    SignatureKernel,
    Space,
    Whitened,
    mean_of_largest,
    squared_distances,
)
from zskl.estimators.explanation import (
    RawAttributeExplainer,
    RawValues,
    Split,
    attribute_names,
    best_signature_rows,
    inverse_lengths,
    read_only,
)
from zskl.estimators.kernel_classifier import member_batches
from zskl.estimators.search_vectors import SearchMap
from zskl.metrics.seen_unseen import Sides, best_scores

if TYPE_CHECKING:
    from zskl.estimators.class_means import Scoring
    from zskl.signatures.table import SignatureTable


# Evidence -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Evidence:
    """Of each signature row: `sums` (rows, d) of x̂, and `weights` (rows,): what its description is worth, in rows."""

    sums: NDArray[np.float64]
    weights: NDArray[np.float64]
    seen: NDArray[np.bool_]  # (rows,) whether the class has training rows

    @staticmethod
    def places(labels: NumPyArray, question: Question) -> NDArray[np.int64]:
        """(rows,) of each signature the place of its class among these labels; −1 for another class."""
        codes = Evidence.codes(labels, question.labels)
        found = np.full(question.Y.shape[0], -1, dtype=np.int64)
        for code, rows in zip(codes.tolist(), question.rows, strict=True):
            found[rows] = code
        return found

    @staticmethod
    def codes(labels: NumPyArray, some: NumPyArray) -> NDArray[np.int64]:
        """(n,) the place of each of some labels (n,) among these; −1 for another one."""
        known = {label: place for place, label in enumerate(labels.tolist())}
        return np.array([known.get(label, -1) for label in some.tolist()], dtype=np.int64)


# Quick scores ---------------------------------------------------------------------------------------------------------
# Scores of a search's many settings without going back to features: exact, by products of the size of the classes.
#
# Twin of `ClassMeansClassifier._candidate_scorer` for models that share a `Foundation`.


class Products:
    """Rows x̂ and kept rows times a basis (B, d) of directions, and the products of the basis with itself."""

    def __init__(self, whitened: Whitened, X: Array, rotated: Array, basis: Floats) -> None:
        self.X, self.basis = X, basis
        self.gram = basis @ basis.T
        self.rows = whitened.cosines(rotated, basis)  # (n, B)
        self._whitened = whitened

    @cached_property
    def kept(self) -> Array:
        """(m, B) of the kept rows, where the other rows are."""
        at = self._whitened
        return convert_like(at.cosines(at.foundation.kept_in(at.space), self.basis), self.rows)

    def unit(self, coefficients: Floats) -> Floats:
        """(c, B) → (c, B): combinations of unit length; those of no length stay."""
        squares = ((coefficients @ self.gram) * coefficients).sum(axis=1, keepdims=True)
        length = np.sqrt(np.maximum(squares, 0.0))
        found: Floats = coefficients / np.where(length > 0, length, 1.0)
        return found


@dataclass(eq=False)
class QuickScores:
    """What the models of one search keep from each other's scores: the last products, directions and crowding."""

    _products: tuple[object, Products] | None = None
    _rotated: tuple[Space, Array, Array] | None = None
    _scored: dict[object, tuple[Array, dict[float, Array]]] = field(default_factory=dict)
    _weights: tuple[Array, dict[object, Floats]] | None = None

    def redescribed(self) -> QuickScores:
        """For other signatures of the training classes: what does not depend on them is kept."""
        return QuickScores(self._products)

    def products(self, whitened: Whitened, X: Array, signatures: NumPyArray | None) -> Products:
        """For rows X; `signatures` (rows, d) are those of the candidates in the shared space."""
        key: object = whitened.weights if signatures is None else whitened
        if self._products is None or self._products[0] is not key or self._products[1].X is not X:
            parts = [whitened.means]
            if signatures is not None:
                parts += [whitened.own_signatures, whitened.in_space(signatures)]
            self._products = key, Products(whitened, X, self._turned(whitened.space, X), np.concatenate(parts))
            self._scored = {}
        return self._products[1]

    def _turned(self, space: Space, X: Array) -> Array:
        """X as the space rotates it: the same for every shrinkage."""
        if self._rotated is None or self._rotated[0] is not space or self._rotated[1] is not X:
            self._rotated = space, X, space.rotated(X)
        return self._rotated[2]

    def weights(self, Y: Array, foundation: Foundation, kernel: SignatureKernel, noise: float) -> Floats:
        """k(Y, Y₀) (K + νI)⁻¹ (rows, R) of the candidates' signatures Y: the same for every shrinkage."""
        if self._weights is None or self._weights[0] is not Y:
            self._weights = Y, {}
        known, key = self._weights[1], (kernel, noise)
        if key not in known:
            k = to_numpy(kernel(convert_like(Y, np.empty(0)), foundation.Y))
            known[key] = k @ foundation.inverse(kernel, noise)
        return known[key]

    def knows(self, key: object) -> bool:
        return key in self._scored

    def parts(
        self, key: object, products: Products, coefficients: Floats | None, share: float | None
    ) -> tuple[Array, Array | None]:
        """Cosines (n, rows) of directions given by their coefficients (rows, B), which `key` names (None: those of
        before), and with a `share` how crowded each direction is (rows,).
        """
        if key not in self._scored:
            assert coefficients is not None
            u = convert_like(coefficients.T, products.rows)
            self._scored = {key: (products.rows @ u, {})}
            self._u = u
        plain, crowded = self._scored[key]
        if share is None:
            return plain, None
        if share not in crowded:
            crowded[share] = mean_of_largest(products.kept @ self._u, share)
        return plain, crowded[share]


# Crowdings ------------------------------------------------------------------------------------------------------------
# Models of one search that differ in crowding alone, scored in one pass: a device waits for calls, not for work.


@dataclass(frozen=True, eq=False)
class CrowdingScores:
    """A model, and the K weights of `crowding` that models like it have."""

    model: Scoring
    weights: Sequence[float]

    def best_scores(self, scaled: Array, question: Question, sides: Sides) -> Array:
        """`zskl.metrics.row_gaps.best_scores` (4, K, n) of scaled rows, where they are."""
        plain, crowded = self.model._quick_parts(scaled, question, any(self.weights))  # (n, rows), (rows,)
        a = convert_like(np.reshape(self.weights, (-1, 1, 1)), plain)  # (K, 1, 1)

        def scores(members: slice) -> Array:
            apart = plain[None] if crowded is None else plain - a[members] * crowded
            return best_row_scores(apart, question.rows)

        parts = [best_scores(scores(members), sides) for members in member_batches(len(self.weights), *plain.shape)]
        return namespace(plain).concat(parts, axis=1)


# Direction map --------------------------------------------------------------------------------------------------------
# Maps of samples and of classes whose inner products are the scores of class means: [x̂, 1] · [u, −a·r].


@dataclass(frozen=True, eq=False)
class DirectionMap(SearchMap):
    """Inner products are the scores."""

    model: Scoring

    @property
    def n_components(self) -> int:
        return int(self.model.n_features_in_) + 1

    def _samples(self, X: Array) -> Array:
        xp = namespace(X)
        return xp.concat([self.model._hat(X), xp.ones_like(X[:, :1])], axis=1)

    def _classes(self, Y: NumPyArray) -> NumPyArray:
        raise NotImplementedError  # `classes` needs their names

    def classes(
        self, signatures: Any = None, candidates: Any = None, dtype: str = "float32", *, calibrated: bool = False
    ) -> NumPyArray:
        """(rows, m), a row for each signature of the candidate classes; see `labels` for their order.

        Seen classes are told by their names. If `calibrated`, `calibration_` is subtracted from them.
        """
        table = choose_candidates(self.model, signatures, candidates)
        question = self.model._question(np.empty((0, self.model.n_features_in_)), table)
        U = to_numpy(self.model._directions(question))
        crowded = self.model._crowded(U)
        constant = np.zeros(len(U)) if crowded is None else -to_numpy(crowded)
        if calibrated:
            constant = constant - self.model.calibration_ * self.model._evidence(question).seen
        return np.concatenate([U, constant[:, None]], axis=1).astype(dtype)


# Explained scores -----------------------------------------------------------------------------------------------------
# How a score of class means splits: what the description says, part by part, and what rows and crowding add.
#
# With v = w·m̂(y) + Σ x̂ of the rows of the class, and u = v/‖v‖, the score x̂·u − a·r is a sum:
#
#     w/(‖m‖‖v‖) · x̂·m(y)   +   x̂·(training rows)/‖v‖ + x̂·(examples)/‖v‖ + x̂·(unlabelled rows)/‖v‖   −   a·r
#
# m(y) is a sum too. With B = (K + νI)⁻¹ M̃, one row for each signature of a seen class, it is Σᵣ k(y, yᵣ) Bᵣ: a part
# for each seen class. With the linear kernel it is Σₘ yₘ (YᵀB)ₘ: a part for each attribute m. The prior mean s·y° is a
# sum over attributes; with the Gaussian kernel it is a term of its own.

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
        factor = evidence.weights[:, None] * inverse_lengths(means)
        whole = factor * means + evidence.sums
        scale = inverse_lengths(whole)
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
        return read_only(np.where(self.lacking[:, None], np.nan, values) if self.lacking.any() else values)

    def split(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> Split:
        hat = to_numpy(self._model._hat(scaled))

        def score(rows: NumPyArray) -> NumPyArray:
            found: NumPyArray = (hat * self._U[rows]).sum(axis=1)
            return found if self._crowded is None else found - self._crowded[rows]

        (a, score_a), (b, score_b) = (best_signature_rows(self.rows[classes], score) for classes in (first, second))
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


# Raw scores -----------------------------------------------------------------------------------------------------------
# What a description says of a score of class means, along attributes as you wrote them (see `raw_attributes`).
#
# The description's share in a score is f·x̂·m(y), f = w/(‖m‖‖v‖). With the linear kernel m(y) is a sum over
# attributes, and so is the prior mean. With the Gaussian kernel it is Σᵣ k(y, yᵣ) Bᵣ. For two classes a and b, with κᵣ
# the secant of k between their squared distances to yᵣ,
#
#     k(a, yᵣ) − k(b, yᵣ) = κᵣ Σₘ (aₘ − bₘ)(aₘ + bₘ − 2yᵣₘ)
#
# So F, by which an attribute's difference is multiplied, is (f_a + f_b)/2 · Σᵣ κᵣ (x̂·Bᵣ)(aₘ + bₘ − 2yᵣₘ).


def explain_raw_attributes(model: Scoring, table: SignatureTable) -> RawAttributeExplainer:
    """The explainer of a fitted model for candidate classes."""
    inner = ExplainedScores(model, table)
    described = RawValues.from_signatures(model.signature_scaling_, table.matrix)
    seen: Floats = model.signature_scaling_.apply(model.signature_table_.select(model.classes_).matrix)
    regression = model.regression_.astype(np.float64)
    pairs: list[tuple[Floats, RawValues]] = []  # what x̂ meets, attribute by attribute, and the attributes' values
    by_likeness = model.kernel == "gaussian" and model.prior != "cosine"
    if model.kernel == "linear" and model.prior != "cosine":
        pairs.append((seen.T @ regression, described.times(inner.factor)))
    if model.prior != "zero":
        own = RawValues.from_signatures(model.feature_scaling_, table.matrix)
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

    explainer = RawAttributeExplainer(model, table, inner, parts, (PRIOR,))
    explainer.values = inner.without_placeholders(explainer.values)
    return explainer


class Likeness:
    """F of the Gaussian kernel."""

    def __init__(self, model: Scoring, table: SignatureTable, factor: Floats, seen: Floats, regression: Floats) -> None:
        self.Y: Floats = model.signature_scaling_.apply(table.matrix)
        self.seen, self.regression, self.factor, self.width = seen, regression, factor, model.width_
        self.apart = to_numpy(squared_distances(self.Y, seen)) / self.width

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
