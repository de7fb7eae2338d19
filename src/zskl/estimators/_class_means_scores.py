"""Scores of class means beyond the plain ones: for a search, for search vectors, for explanations, without names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from zskl._arrays import Array, NumPyArray, convert_like, namespace, to_numpy
from zskl._validation import list_values
from zskl.estimators import _class_means_fit as fitting
from zskl.estimators import explanation
from zskl.estimators._blocks import scale_block_combinations, scale_combinations, scale_to_unit_length
from zskl.estimators._candidates import Question, best_row_scores, choose_candidates
from zskl.estimators._class_means_fit import FitCache, Floats, SignatureKernel, Space, Whitening
from zskl.estimators.explanation import RawAttributeExplainer, RawValues, Split, best_signature_rows, read_only
from zskl.estimators.kernel_classifier import member_batches
from zskl.estimators.search_vectors import SearchMap
from zskl.metrics import Sides, best_scores

if TYPE_CHECKING:
    from zskl.estimators.class_means import ClassMeansClassifier
    from zskl.signatures.table import SignatureTable


@dataclass(frozen=True)
class ClassMeansQuestion(Question):
    shared: Array | None = None  # (rows, d)
    undescribed: frozenset[Any] = frozenset()  # classes without a description


# The scores of a search's many settings without going back to features: exact, by products of the size of the classes.


class BasisProducts:
    """Rows x̂ and kept rows times a basis (B, d) of directions, and the products of the basis with itself.

    Each block of a basis vector is a direction of its own.
    """

    def __init__(self, whitening: Whitening, X: Array, rotated: Array, basis: Floats) -> None:
        self.X, self.basis = X, basis
        self.grams = whitening.blocks.grams(basis)
        self.rows = whitening.cosines(rotated, basis)  # (n, b·B)
        self._whitening = whitening

    @cached_property
    def kept(self) -> Array:
        at = self._whitening
        return convert_like(at.cosines(at.cache.rotated_kept_rows(at.space), self.basis), self.rows)

    def to_unit_length(self, coefficients: Floats) -> Floats:
        """(c, b·B) → (c, b·B): combinations of unit length; those of no length stay."""
        return scale_combinations(coefficients, self.grams)


@dataclass(eq=False)
class SearchScores:
    """The scores of the models of one search; the last products, directions and crowding are cached."""

    _products: tuple[object, BasisProducts] | None = None
    _rotated: tuple[Space, Array, Array] | None = None
    _scored: dict[object, tuple[Array, Array, dict[float, Array]]] = field(default_factory=dict)
    _weights: tuple[Array, dict[object, Floats]] | None = None

    def parts(
        self, model: ClassMeansClassifier, X: Array, question: Question, crowded: bool
    ) -> tuple[Array, Array | None]:
        """Cosines (n, rows) of scaled rows and, where it is wanted, how crowded each direction is (rows,)."""
        cache = model._fit_cache
        at = model._whitening(cache)
        shared = question.shared if isinstance(question, ClassMeansQuestion) else None
        products = self._find_products(at, X, None if shared is None else to_numpy(shared))
        kernel = cache.kernel(model.kernel, float(model.bandwidth), model._tables())
        key = model.prior_, kernel, float(model.noise), float(model.description_weight_)
        if key not in self._scored:
            found = self._coefficients(model, question, at, kernel, products)
            directions = convert_like(found.T, products.rows)
            self._scored = {key: (directions, products.rows @ directions, {})}
        directions, cosines, by_share = self._scored[key]
        if not crowded:
            return cosines, None
        share = float(model.crowding_share)
        if share not in by_share:
            by_share[share] = fitting.mean_of_largest(products.kept @ directions, share)
        return cosines, by_share[share]

    def _find_products(self, whitening: Whitening, X: Array, signatures: NumPyArray | None) -> BasisProducts:
        key: object = whitening.weights if signatures is None else whitening
        if self._products is None or self._products[0] is not key or self._products[1].X is not X:
            basis = [whitening.means]
            if signatures is not None:
                basis += [whitening.own_signatures, whitening.whiten_signatures(signatures)]
            space = whitening.space
            # Rotated rows are the same for every shrinkage.
            if self._rotated is None or self._rotated[0] is not space or self._rotated[1] is not X:
                self._rotated = space, X, space.center_and_rotate(X)
            self._products = key, BasisProducts(whitening, X, self._rotated[2], np.concatenate(basis))
            self._scored = {}
        return self._products[1]

    def _kernel_weights(self, Y: Array, cache: FitCache, kernel: SignatureKernel, noise: float) -> Floats:
        """k(Y, Y₀) (K + νI)⁻¹ (rows, R) of the candidates' signatures Y: the same for every shrinkage."""
        if self._weights is None or self._weights[0] is not Y:
            self._weights = Y, {}
        known, key = self._weights[1], (kernel, noise)
        if key not in known:
            k = to_numpy(kernel(convert_like(Y, np.empty(0)), cache.Y))
            known[key] = k @ cache.inverse(kernel, noise)
        return known[key]

    def _coefficients(
        self,
        model: ClassMeansClassifier,
        question: Question,
        at: Whitening,
        kernel: SignatureKernel,
        products: BasisProducts,
    ) -> Floats:
        """(rows, b·B) the candidates' directions as combinations of the blocks of M̃, Y° and y°."""
        owners, C, blocks = at.cache.owners, len(at.means), at.blocks
        found = np.zeros((question.Y.shape[0], len(blocks), len(products.basis)))
        if model.prior_ != "cosine":
            weights = self._kernel_weights(question.Y, at.cache, kernel, float(model.noise))  # (rows, R)
            for k, share in enumerate(blocks.shares.tolist()):
                weighted = weights / at.lengths[owners, k] * share
                if len(owners) == C:  # a signature for each class, in the order of classes
                    found[:, k, owners] = weighted
                else:
                    np.add.at(found[:, k].T, owners, weighted.T)
        if model.prior_ != "zero":
            s = at.slope if model.prior_ == "identity" else 1.0
            if model.prior_ == "identity":
                found[:, :, C : C + len(owners)] -= s * weights[:, None]
            found[np.arange(len(found)), :, C + len(owners) + np.arange(len(found))] += s
        described = scale_block_combinations(found.reshape(len(found), -1), products.grams, blocks.shares)
        found = model.description_weight_ * described.reshape(found.shape)
        codes = fitting.signature_codes(model.classes_, question)
        seen = np.flatnonzero(codes >= 0)
        scale = blocks.block_lengths(at.sums) / at.lengths  # (C, b)
        found[seen, :, codes[seen]] += scale[codes[seen]]
        return products.to_unit_length(found.reshape(len(found), -1))


@dataclass(frozen=True, eq=False)
class CrowdingScores:
    """Models of a search that differ in their K weights alone, in one pass: a device waits for calls, not for work."""

    model: ClassMeansClassifier
    weights: Sequence[float]

    def best_scores(self, scaled: Array, question: Question, sides: Sides) -> Array:
        """`zskl.metrics.best_scores` (4, K, n) of scaled rows, where they are."""
        plain, crowded = self.model._search_scores.parts(self.model, scaled, question, any(self.weights))
        a = convert_like(np.reshape(self.weights, (-1, 1, 1)), plain)  # (K, 1, 1)

        def scores(members: slice) -> Array:
            lowered = plain[None] if crowded is None else plain - a[members] * crowded
            return best_row_scores(lowered, question.rows)

        parts = [best_scores(scores(members), sides) for members in member_batches(len(self.weights), *plain.shape)]
        return namespace(plain).concat(parts, axis=1)


@dataclass(frozen=True, eq=False)
class DirectionMap(SearchMap):
    """Maps of samples [x̂, 1] and of classes [u, −a·r]: their inner products are the scores."""

    model: ClassMeansClassifier

    @property
    def n_components(self) -> int:
        return int(self.model.n_features_in_) + 1

    def _samples(self, X: Array) -> Array:
        xp = namespace(X)
        return xp.concat([self.model._row_directions(X), xp.ones_like(X[:, :1])], axis=1)

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
        directions = to_numpy(self.model._directions(question))
        crowded = self.model._crowding_of(directions)
        constant = np.zeros(len(directions)) if crowded is None else -to_numpy(crowded)
        if calibrated:
            constant = constant - self.model.calibration_ * self.model._evidence(question).seen
        return np.concatenate([directions, constant[:, None]], axis=1).astype(dtype)


# Classes that come as signatures without names, as in an ONNX graph: a row that equals the signature of a seen class,
# up to rounding, is that class. So its training rows count.

SAME = 1e-11  # ‖y − y′‖² / ‖y′‖² up to which two signatures are the same: far above rounding of sums in float64


def make_nameless_scorer(model: ClassMeansClassifier, Y: Array, unseen_weight: float) -> Callable[[Array], Array]:
    """Scaled rows (n, d) → scores (n, c) for raw signatures Y (c, p); n₀ of unseen classes is `unseen_weight`."""
    _check_nameless(model)
    seen = model.signature_table_.select(model.classes_)
    sums = model.class_sums_[fitting.find_class_codes(model.classes_, seen.labels)]
    xp = namespace(Y)
    match = xp.astype(_match_signatures(Y, seen.matrix.astype(np.float32)), Y.dtype)  # (c, R)
    found = xp.sum(match, axis=1, keepdims=True)
    known = xp.minimum(found, xp.ones_like(found))  # (c, 1)
    weights = unseen_weight + (float(model.description_weight_) - unseen_weight) * known
    rows = (match / xp.maximum(found, xp.ones_like(found))) @ convert_like(sums, Y)
    means = model._predict_means(model.signature_scaling_.apply(Y), model._scale_as_features(Y))
    directions = scale_to_unit_length(weights * model._blocks().to_unit_length(means) + rows)
    crowded = model._crowding_of(directions)

    def answer(X: Array) -> Array:
        scores: Array = model._row_directions(X) @ directions.T
        return scores if crowded is None else scores - crowded

    return answer


def _match_signatures(Y: Array, signatures: NumPyArray) -> Array:
    """(c, R) which rows of Y are the same as one of the signatures (R, p)."""
    exact = signatures.astype(np.float64)
    found: Array = fitting.squared_distances(convert_like(Y, Y, "float64"), exact) <= SAME * (exact * exact).sum(axis=1)
    return found


def _check_nameless(model: ClassMeansClassifier) -> None:
    advice = "fix the classes, by signatures=False or --fixed"
    if len(model.example_classes_) or model.adaptation_ is not None:
        raise ValueError(
            "a model that was taught by examples or adapted to unlabelled rows cannot be exported with signatures as "
            f"an input, because it tells classes by their names (fixed classes only): {advice}"
        )
    table, seen = model.signature_table_, model.signature_table_.select(model.classes_)
    same = to_numpy(_match_signatures(table.matrix.astype(np.float32), seen.matrix.astype(np.float32)))
    clash = same & (table.labels[:, None] != seen.labels[None, :])
    if clash.any():
        row, other = np.argwhere(clash)[0]
        raise ValueError(
            f"the classes {list_values([seen.labels[other], table.labels[row]])} have the same signature, so the model "
            f"cannot be exported with signatures as an input, which tells seen classes by their signatures: {advice}"
        )


# How a score splits: with v = w·m̂(y) + Σ x̂ of the rows of the class, and u = v/‖v‖, the score x̂·u − a·r is a sum:
#
#     w/(‖m‖‖v‖) · x̂·m(y)   +   x̂·(training rows)/‖v‖ + x̂·(examples)/‖v‖ + x̂·(unlabelled rows)/‖v‖   −   a·r
#
# m(y) is a sum too. With B = (K + νI)⁻¹ M̃, one row for each signature of a seen class, it is Σᵣ k(y, yᵣ) Bᵣ: a part
# for each seen class. With the linear kernel it is Σₘ yₘ (YᵀB)ₘ: a part for each attribute m. The prior mean s·y° is a
# sum over attributes; with the Gaussian kernel it is a term of its own.

PRIOR, CROWDING = "the description itself", "crowding"


class ExplainedScores:
    def __init__(self, model: ClassMeansClassifier, table: SignatureTable) -> None:
        self._model = model
        question = model._question(np.empty((0, model.n_features_in_)), table)
        self.rows = question.rows
        # (rows,) which signatures only stand for one that nobody gave
        self.undescribed = np.array([label in question.undescribed for label in table.labels.tolist()])
        evidence, means = model._evidence(question), to_numpy(model._predict_means(question.Y, question.shared))
        factor = evidence.weights[:, None] * explanation.inverse_lengths(means)
        whole = factor * means + evidence.sums
        scale = explanation.inverse_lengths(whole)
        self.factor = factor = factor * scale  # (rows, 1) w/(‖m‖‖v‖)
        self._directions = whole * scale
        self._terms = {name: scale * sums for name, sums in model._sums_by_source(question).items()}
        crowded = model._crowding_of(self._directions)
        self._crowded = None if crowded is None else to_numpy(crowded)
        seen = model.signature_table_.select(model.classes_)
        Y, regression = model.signature_scaling_.apply(seen.matrix), model.regression_.astype(np.float64)
        pairs: list[tuple[Floats, Floats]] = []
        own = None
        if model.prior_ != "zero":
            shared: Floats = model.feature_scaling_.apply(table.matrix)
            own = shared - model.signature_center_, _prior_vectors(model)
        self._members: Floats | None = None  # (k, C) joins the signatures of a seen class
        if model.prior_ == "cosine" or model.kernel == "linear":
            self.names, self.values = explanation.attribute_names(model), self.without_placeholders(table.matrix)
            if model.prior_ != "cosine":
                pairs.append((to_numpy(question.Y), Y.T @ regression))
            pairs += [] if own is None else [own]
        else:
            similar = to_numpy(model._signature_kernel()(question.Y, Y))
            codes = fitting.find_class_codes(model.classes_, seen.labels)
            self.names = tuple(map(str, model.classes_.tolist()))
            self._members = (codes[:, None] == np.arange(len(self.names))).astype(np.float64)
            # Of a seen class with several signatures the most similar one counts.
            most_similar = np.full((len(similar), len(self.names)), -np.inf)
            np.maximum.at(most_similar.T, codes, similar.T)
            self.values = self.without_placeholders(most_similar)
            pairs.append((similar, regression))
            if own is not None:
                self._terms = {PRIOR: factor * np.asarray(own[0] @ own[1]), **self._terms}
        # (rows, k) and (k, d), or (d, 1) if it is diagonal, whose products add up to w/(‖m‖‖v‖) · m(y)
        self._described = [(factor * coefficients, vectors) for coefficients, vectors in pairs]

    def without_placeholders(self, values: NumPyArray) -> NumPyArray:
        """Values (rows, k), NaN for classes that have no description."""
        return read_only(np.where(self.undescribed[:, None], np.nan, values) if self.undescribed.any() else values)

    def split(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> Split:
        unit_rows = to_numpy(self._model._row_directions(scaled))

        def score(rows: NumPyArray) -> NumPyArray:
            found: NumPyArray = (unit_rows * self._directions[rows]).sum(axis=1)
            return found if self._crowded is None else found - self._crowded[rows]

        (a, score_a), (b, score_b) = (best_signature_rows(self.rows[classes], score) for classes in (first, second))
        terms = {name: (unit_rows * (vectors[a] - vectors[b])).sum(axis=1) for name, vectors in self._terms.items()}
        if self._crowded is not None:
            terms[CROWDING] = self._crowded[b] - self._crowded[a]
        products = [_multiply_rows(unit_rows, vectors) for _, vectors in self._described]
        contributions = sum(
            product * (coefficients[a] - coefficients[b])
            for product, (coefficients, _) in zip(products, self._described, strict=True)
        )
        likeness = None
        if self._members is not None:
            contributions, likeness = contributions @ self._members, products[0] @ self._members
        return Split(a, b, score_a - score_b, np.asarray(contributions), terms, likeness)


def _prior_vectors(model: ClassMeansClassifier) -> Floats:
    """What the prior mean adds to a direction for each column of a signature: (d, d), or (d, 1) if it is diagonal."""
    found: Floats = model.slope_ * model.whitening_.astype(np.float64)
    return found


def _multiply_rows(unit_rows: NumPyArray, vectors: Floats) -> Floats:
    """x̂·v of rows (n, d) and vectors (k, d); a single column (d, 1) stands for a diagonal matrix."""
    diagonal = vectors.shape[1] == 1 < unit_rows.shape[1]
    found: Floats = unit_rows * vectors[:, 0] if diagonal else unit_rows @ vectors.T
    return found


# Along attributes as you wrote them:
# The description's share in a score is f·x̂·m(y), f = w/(‖m‖‖v‖). With the linear kernel m(y) is a sum over
# attributes, and so is the prior mean. With the Gaussian kernel it is Σᵣ k(y, yᵣ) Bᵣ. For two classes a and b, with κᵣ
# the secant of k between their squared distances to yᵣ,
#
#     k(a, yᵣ) − k(b, yᵣ) = κᵣ Σₘ (aₘ − bₘ)(aₘ + bₘ − 2yᵣₘ)
#
# So F, by which an attribute's difference is multiplied, is (f_a + f_b)/2 · Σᵣ κᵣ (x̂·Bᵣ)(aₘ + bₘ − 2yᵣₘ).


def explain_raw_attributes(model: ClassMeansClassifier, table: SignatureTable) -> RawAttributeExplainer:
    inner = ExplainedScores(model, table)
    described = RawValues.from_signatures(model.signature_scaling_, table.matrix)
    seen: Floats = model.signature_scaling_.apply(model.signature_table_.select(model.classes_).matrix)
    regression = model.regression_.astype(np.float64)
    pairs: list[tuple[Floats, RawValues]] = []  # what x̂ meets, attribute by attribute, and the attributes' values
    by_likeness = model.kernel == "gaussian" and model.prior_ != "cosine"
    if model.kernel == "linear" and model.prior_ != "cosine":
        pairs.append((seen.T @ regression, described.times(inner.factor)))
    if model.prior_ != "zero":
        own = RawValues.from_signatures(model.feature_scaling_, table.matrix)
        pairs.append((_prior_vectors(model), own.times(inner.factor)))
    Y: Floats = model.signature_scaling_.apply(table.matrix)
    apart = to_numpy(fitting.squared_distances(Y, seen)) / model.width_ if by_likeness else None

    def gaussian_slopes(unit_rows: NumPyArray, distances: Floats, first: NumPyArray, second: NumPyArray) -> Floats:
        """F (n, p) of rows x̂ (n, d) and signatures first and second (n,)."""
        mean = 0.5 * (inner.factor[first] + inner.factor[second])
        weights = (
            mean
            * (unit_rows @ regression.T)
            * compute_score_secants(distances[first], distances[second])
            / model.width_
        )
        found: Floats = weights.sum(axis=1, keepdims=True) * (Y[first] + Y[second])
        found -= 2 * weights @ seen
        return found

    def parts(scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> NumPyArray:
        unit_rows = to_numpy(model._row_directions(scaled))
        found = np.zeros((len(unit_rows), table.matrix.shape[1]))
        for vectors, values in pairs:
            found += _multiply_rows(unit_rows, vectors) * values.differences(first, second)
        if apart is not None:
            found += gaussian_slopes(unit_rows, apart, first, second) * described.differences(first, second)
        found[inner.undescribed[first] | inner.undescribed[second]] = 0.0  # there are no two descriptions to compare
        return found

    explainer = RawAttributeExplainer(model, table, inner, parts, (PRIOR,))
    explainer.values = inner.without_placeholders(explainer.values)
    return explainer


def compute_score_secants(first: NumPyArray, second: NumPyArray) -> NumPyArray:
    """(exp(−s) − exp(−t)) / (s − t) of numbers s and t, and −exp(−s) where they are equal."""
    gap = np.abs(first - second)
    share = np.where(gap > 0, -np.expm1(-gap) / np.where(gap > 0, gap, 1.0), 1.0)
    return -np.exp(-np.minimum(first, second)) * share
