"""Scores of class means beyond the plain ones: for a search, for search vectors, for explanations, without names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from zskl._arrays import Array, NumPyArray, convert_like, namespace, to_dense, to_numpy
from zskl._validation import list_values
from zskl.estimators import _class_means_fit as fitting
from zskl.estimators import explanation
from zskl.estimators._blocks import scale_block_combinations, scale_combinations, scale_to_unit_length
from zskl.estimators._candidates import Question, best_row_scores, choose_candidates
from zskl.estimators._class_means_fit import FitCache, Floats, SignatureKernel, Space, Whitening
from zskl.estimators.explanation import (
    DescriptionPath,
    Split,
    best_signature_rows,
    group_pairs,
    integrate_slopes,
    make_path,
    read_only,
)
from zskl.estimators.kernel_classifier import member_batches
from zskl.estimators.model_file import REST, VECTORS
from zskl.estimators.search_vectors import SearchMap
from zskl.metrics import Sides, best_scores
from zskl.scaling import Scaling

if TYPE_CHECKING:
    from zskl.estimators.class_means import ClassMeansClassifier
    from zskl.signatures.table import SignatureTable

KEPT_VALUES = 1 << 24  # of class vectors that a model file holds: twice 64 MB


@dataclass(frozen=True)
class ClassMeansQuestion(Question):
    shared: Array | None = None  # (rows, d)
    undescribed: frozenset[Any] = frozenset()  # classes without a description


# The scores of a search's many settings without going back to features: exact, by products of the size of the classes.


class BasisProducts:
    """Rows x̂ and kept rows times a basis (B, d) of directions, each block of a vector for itself, and the products of
    the basis with itself."""

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
        codes = fitting.signature_codes(model.seen_classes_, question)
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
        """(rows, m), a row for each signature of the candidate classes; see `labels` for their order. Seen classes are
        told by their names. If `calibrated`, `calibration_` is subtracted from them."""
        table = choose_candidates(self.model, signatures, candidates)
        found = compute_class_vectors(self.model, table, "float64")
        if calibrated:
            found[:, -1] -= self.model.calibration_ * np.isin(table.labels, self.model.seen_classes_)
        return found.astype(dtype)


def compute_class_vectors(model: ClassMeansClassifier, table: SignatureTable, dtype: str) -> NumPyArray:
    """[u, −a·r] (rows, d + 1), as scores of rows of this type use them."""
    question = model._question(np.empty((0, model.n_features_in_), dtype), table)
    directions = to_numpy(model._directions(question))
    crowded = model._crowding_of(directions)
    constant = np.zeros(len(directions), dtype) if crowded is None else -to_numpy(crowded)
    return np.concatenate([directions, constant[:, None]], axis=1)


def pack_class_vectors(model: ClassMeansClassifier, table: SignatureTable) -> dict[str, NumPyArray]:
    """Those of rows in float32, bit for bit, and what those of float64 add to them."""
    vectors = compute_class_vectors(model, table, "float32")
    rest = compute_class_vectors(model, table, "float64") - vectors
    return {VECTORS: vectors, REST: rest.astype(np.float32)}


# Classes that come as signatures without names, as in an ONNX graph: a row that equals the signature of a seen class,
# up to rounding, is that class. So its training rows count.

SAME = 1e-11  # ‖y − y′‖² / ‖y′‖² up to which two signatures are the same: far above rounding of sums in float64


def make_nameless_scorer(model: ClassMeansClassifier, Y: Array, unseen_weight: float) -> Callable[[Array], Array]:
    """Scaled rows (n, d) → scores (n, c) for raw signatures Y (c, p); n₀ of unseen classes is `unseen_weight`."""
    _check_nameless(model)
    seen = model.signature_table_.select(model.seen_classes_)
    sums = model.class_sums_[fitting.find_class_codes(model.seen_classes_, seen.labels)]
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
    return fitting.squared_distances(convert_like(Y, Y, "float64"), exact) <= SAME * (exact * exact).sum(axis=1)


def _check_nameless(model: ClassMeansClassifier) -> None:
    advice = "fix the classes, with signatures=False (--fixed)"
    if len(model.example_classes_) or model.adaptation_ is not None:
        raise ValueError(
            "a model that was taught by examples or adapted to unlabelled rows cannot be exported with signatures as "
            f"an input, because it tells classes by their names (fixed classes only): {advice}"
        )
    table, seen = model.signature_table_, model.signature_table_.select(model.seen_classes_)
    same = to_numpy(_match_signatures(table.matrix.astype(np.float32), seen.matrix.astype(np.float32)))
    clash = same & (table.labels[:, None] != seen.labels[None, :])
    if clash.any():
        row, other = np.argwhere(clash)[0]
        raise ValueError(
            f"the classes {list_values([seen.labels[other], table.labels[row]])} have the same signature, so the model "
            f"cannot be exported with signatures as an input, which tells seen classes by their signatures: {advice}"
        )


# How the difference of two scores splits. A score is x̂·u − a·r with u = v/‖v‖ and v = w·m̂(y) + Σₛ Sₛ, where Sₛ is the
# sum of the rows x̂ of a source: training rows, examples, unlabelled rows. So
#
#     x̂·u  =  x̂·m̂(y)  +  Σₛ (x̂·Sₛ/‖v‖ − λₛ x̂·m̂(y)),     Σₛ λₛ = 1 − w/‖v‖,  λₛ in proportion to ‖Sₛ‖
#
# The first part is what the description alone would say. Of it only the difference between two classes a and b counts,
# and that is shared out among attributes, or seen classes, by turning the one description into the other
# (`explanation.integrate_slopes`). A part of the second kind says how much more the row is like the rows of a source
# than like the description of their class. It is a term, as is crowding.
#
# m(y) = Σᵣ k(y, yᵣ) Bᵣ with B = (K + νI)⁻¹ M̃, one row for each signature of a seen class; and with a prior s·y° more.
# So x̂·m̂ grows with k(y, yᵣ) by (x̂·Bᵣ − (x̂·m)(m·Bᵣ)/‖m‖²)/‖m‖, and with y° by s·(x̂ − (x̂·m)m/‖m‖²)/‖m‖.

PRIOR, CROWDING, DESCRIPTION = "the description itself", "crowding", "a description that only one has"
LISTED = 3  # examples that are named


class ExplainedScores:
    def __init__(self, model: ClassMeansClassifier, table: SignatureTable, by: str) -> None:
        self._model, self._by = model, by
        question = model._question(np.empty((0, model.n_features_in_)), table)
        self.rows = question.rows
        evidence, means = model._evidence(question), to_numpy(model._predict_means(question.Y, question.shared))
        # (rows,) which signatures only stand for one that nobody gave, and which do not count at all
        self.undescribed = np.array([label in question.undescribed for label in table.labels.tolist()])
        self._silent = self.undescribed | (evidence.weights == 0)
        self._blocks = model._blocks()
        described = to_numpy(self._blocks.to_unit_length(means))
        whole = to_numpy(evidence.add_to(described))
        scale = explanation.inverse_lengths(whole)
        self._directions = whole * scale
        self._described = np.where(self._silent[:, None], 0.0, described)
        crowded = model._crowding_of(self._directions)
        self._crowded = None if crowded is None else to_numpy(crowded)
        self._labels, self._scale = table.labels.tolist(), scale[:, 0]
        self._training_rows = dict(zip(model.seen_classes_.tolist(), model.class_rows_.tolist(), strict=True))
        sums = model._sums_by_source(question)
        lengths = {name: np.linalg.norm(one, axis=1) for name, one in sums.items()}
        every = sum(lengths.values(), start=np.zeros(len(whole)))
        spare = (1 - evidence.weights * self._scale) / np.where(every > 0, every, 1.0)
        self._spared = {name: spare * one for name, one in lengths.items()}  # λₛ (rows,)
        self._sources = {
            name: scale * one - self._spared[name][:, None] * self._described for name, one in sums.items()
        }
        seen = model.signature_table_.select(model.seen_classes_)
        codes = fitting.find_class_codes(model.seen_classes_, seen.labels)
        Y = to_numpy(question.Y)
        self._seen: Floats = model.signature_scaling_.apply(seen.matrix)  # (R, p)
        self._kernel = model._signature_kernel()
        regression = model.regression_.astype(np.float64)
        self._regression = regression if model.prior_ != "cosine" else regression[:0]  # B (R, d)
        # y° (rows, d)
        self._own = None if question.shared is None else to_numpy(question.shared) - model.signature_center_
        if by == explanation.CLASSES:
            similar = to_numpy(self._kernel(Y, self._seen))
            self.names = tuple(map(str, model.seen_classes_.tolist()))
            self._similar = similar
            self._members = (codes[:, None] == np.arange(len(self.names))).astype(np.float64)
            # Of a seen class with several signatures the most similar one counts.
            most_similar = np.full((len(similar), len(self.names)), -np.inf)
            np.maximum.at(most_similar.T, codes, similar.T)
            self.values = self.without_placeholders(most_similar)
            return
        self.names, self.values = explanation.attribute_names(model), self.without_placeholders(table.matrix)
        scaling, features = model.signature_scaling_, model.feature_scaling_
        if by == explanation.ATTRIBUTES:
            self._path, self._own_path = (make_path(one, table.matrix) for one in (scaling, features))
        else:
            plain = Scaling(())
            self._path = DescriptionPath(plain, Y)
            self._own_path = DescriptionPath(plain, Y if question.shared is None else to_numpy(question.shared))

    @cached_property
    def _grams(self) -> list[Floats] | None:
        """BBᵀ (R, R) of each block; None if there are many seen classes."""
        few = len(self._regression) <= explanation.GRAM_SIZE
        return [part @ part.T for part in self._blocks.split(self._regression)] if few else None

    def without_placeholders(self, values: NumPyArray) -> NumPyArray:
        """Values (rows, k), NaN for classes that have no description."""
        return read_only(np.where(self.undescribed[:, None], np.nan, values) if self.undescribed.any() else values)

    def split(self, scaled: NumPyArray, first: NumPyArray, second: NumPyArray) -> Split:
        unit_rows = to_numpy(self._model._row_directions(scaled)).astype(np.float64)

        def score(rows: NumPyArray) -> NumPyArray:
            found: NumPyArray = (unit_rows * self._directions[rows]).sum(axis=1)
            return found if self._crowded is None else found - self._crowded[rows]

        (a, score_a), (b, score_b) = (best_signature_rows(self.rows[classes], score) for classes in (first, second))
        sources = {
            name: tuple(np.einsum("nd,nd->n", unit_rows, vectors[rows]) for rows in (a, b))
            for name, vectors in self._sources.items()
        }
        terms = {name: mine - theirs for name, (mine, theirs) in sources.items()}
        if self._crowded is not None:
            terms[CROWDING] = self._crowded[b] - self._crowded[a]
        whole = np.einsum("nd,nd->n", unit_rows, self._described[a] - self._described[b])
        alone = self._silent[a] | self._silent[b]  # there are no two descriptions to compare
        if alone.any():
            terms = {DESCRIPTION: np.where(alone, whole, 0.0), **terms}
        # x̂·Bᵣ (n, R) of each block
        pairs = zip(self._blocks.split(unit_rows), self._blocks.split(self._regression), strict=True)
        likely = [rows @ vectors.T for rows, vectors in pairs]
        contributions, own = np.zeros((len(scaled), len(self.names))), np.zeros(len(scaled))
        share = self._share_out_by_class if self._by == explanation.CLASSES else self._share_out
        width = max(len(self._regression), len(self.names), 0 if self._own is None else unit_rows.shape[1])
        for mine, theirs, rows in group_pairs(a, b, width):
            if not alone[rows[0]]:
                some = [part[rows] for part in likely]
                contributions[rows], own[rows] = share(unit_rows[rows], some, mine, theirs, whole[rows])
        if self._by == explanation.CLASSES and self._own is not None:
            terms = {PRIOR: own, **terms}
        likeness = sum(likely) @ self._members if self._by == explanation.CLASSES else None
        parts = self._blocks.split(unit_rows * (self._directions[a] - self._directions[b]))
        blocks = {name: part.sum(axis=1) for name, part in zip(self._blocks.names, parts, strict=True)}
        return Split(
            a, b, score_a - score_b, contributions, terms, likeness, sources, blocks if len(blocks) > 1 else {}
        )

    def count_rows(
        self, source: str, row: int, scaled: NumPyArray, sign: int
    ) -> tuple[float | None, tuple[tuple[int, float], ...]]:
        """How many rows of a `source` the class of a signature row has; and the examples that add most."""
        model, label = self._model, self._labels[row]
        if source == "training rows":
            return self._training_rows[label], ()
        if source != "examples":
            return None, ()
        mine = [place for place, one in enumerate(model.example_classes_) if one == label]
        unit_row = to_numpy(model._row_directions(scaled[None]))[0].astype(np.float64)
        weights = np.array(model._weigh_examples())[mine]
        adds = self._scale[row] * weights * (to_dense(model.examples_[mine]).astype(np.float64) @ unit_row)
        adds = sign * (adds - self._spared[source][row] * float(unit_row @ self._described[row]) / len(mine))
        strongest = np.argsort(-np.abs(adds), kind="stable")[:LISTED]
        return float(len(mine)), tuple((int(place) + 1, float(adds[place])) for place in strongest)

    def _share_out(
        self, unit_rows: Floats, likely: Sequence[Floats], a: int, b: int, whole: NumPyArray
    ) -> tuple[Floats, float]:
        """(n, p) what each attribute adds to x̂·(m̂ₐ − m̂_b) (n,)."""
        p = len(self.names)

        def slopes(times: Floats) -> Floats:
            found, own, pull_own = [], None, None
            Y, pull = self._path.points(a, b, times)
            if self._own is not None:
                own, pull_own = self._own_path.points(a, b, times)
                own = own - self._model.signature_center_
            # Plain cosine has no kernel.
            parts = list(map(to_numpy, self._kernel.of_tables(Y, self._seen))) if len(self._regression) else []
            k = to_numpy(self._kernel.add_up(parts)) if parts else np.empty((len(times), 0))
            by_kernel, by_own = self._slopes(unit_rows, likely, k, own)
            if parts:
                found.append(pull(self._kernel_slopes(by_kernel, parts, Y)))
            if by_own is not None and pull_own is not None:
                found.append(pull_own(by_own))
            return np.concatenate(found, axis=2)

        changes = [self._path.changes(a, b)] if len(self._regression) else []
        changes += [] if self._own is None else [self._own_path.changes(a, b)]
        found = integrate_slopes(slopes, whole, np.concatenate(changes))
        return found.reshape(len(found), -1, p).sum(axis=1), 0.0

    def _share_out_by_class(
        self, unit_rows: Floats, likely: Sequence[Floats], a: int, b: int, whole: NumPyArray
    ) -> tuple[Floats, Floats]:
        """(n, C) what being like each seen class adds to it, and (n,) what y° does."""
        R, changes = len(self._regression), self._similar[a] - self._similar[b]
        mine = np.zeros(0) if self._own is None else self._own[a] - self._own[b]

        def slopes(times: Floats) -> Floats:
            own = None if self._own is None else self._own[b] + times[:, None] * mine
            by_kernel, by_own = self._slopes(unit_rows, likely, self._similar[b] + times[:, None] * changes, own)
            return by_kernel if by_own is None else np.concatenate([by_kernel, by_own], axis=2)

        found = integrate_slopes(slopes, whole, np.concatenate([changes, mine]))
        return found[:, :R] @ self._members, found[:, R:].sum(axis=1)

    def _slopes(
        self, unit_rows: Floats, likely: Sequence[Floats], k: Floats, own: Floats | None
    ) -> tuple[Floats, Floats | None]:
        """How x̂·m̂ grows with k (K, R) and with y° (K, d): (n, K, R) and (n, K, d); a sum over blocks."""
        blocks = self._blocks
        mine = None if own is None else self._whiten_own(unit_rows, back=True)
        described = None if own is None else self._whiten_own(own)
        kernel_slopes, own_slopes = [], []
        for number, (B, at, share) in enumerate(
            zip(blocks.split(self._regression), blocks.columns, blocks.shares.tolist(), strict=True)
        ):
            means = None
            if described is None and self._grams is not None:
                onto = k @ self._grams[number]  # m·Bᵣ
                squares, cosines = (onto * k).sum(axis=1), likely[number] @ k.T
            else:
                means = k @ B if described is None else k @ B + described[:, at]
                squares, onto, cosines = (means * means).sum(axis=1), means @ B.T, unit_rows[:, at] @ means.T
            squares = np.where(squares > 0, squares, 1.0)
            lengths, along = np.sqrt(squares)[:, None] / (share or 1.0), (cosines / squares)[:, :, None]
            kernel_slopes.append((likely[number][:, None] - along * onto) / lengths)
            if mine is not None and means is not None:
                whole = np.zeros((len(means), unit_rows.shape[1]))
                whole[:, at] = means
                theirs = self._whiten_own(whole, back=True)[:, at]
                own_slopes.append((mine[:, None, at] - along * theirs) / lengths)
        return sum(kernel_slopes[1:], start=kernel_slopes[0]), blocks.join(own_slopes) if own_slopes else None

    def _kernel_slopes(self, by_kernel: Floats, parts: Sequence[Floats], Y: Floats) -> Floats:
        """(n, K, p) by scaled signatures Y (K, p) of those by k(Y, yᵣ) (n, K, R), of which each table has a part."""
        kernel, found = self._kernel, []
        cut = (kernel.tables.split(one) for one in (self._seen, Y))
        for k, seen, own, width, share in zip(parts, *cut, kernel.widths, kernel.tables.shares.tolist(), strict=True):
            if kernel.name == "linear":
                one = by_kernel @ seen
            else:
                weighed = by_kernel * k
                one = (weighed @ seen - weighed.sum(axis=2, keepdims=True) * own) * (2 / width)
            found.append(one if share == 1.0 else one * share**2)
        return np.asarray(kernel.tables.join(found))

    def _whiten_own(self, rows: Floats, back: bool = False) -> Floats:
        """s·S_ρ^(−1/2) of rows (n, d): what the prior makes of y°; or the product `back`, to slopes by y°."""
        model, whitening = self._model, self._model.whitening_.astype(np.float64)
        if not back or whitening.shape[1] == 1:
            return model.slope_ * np.asarray(to_dense(self._blocks.whiten(rows, whitening)), np.float64)
        pairs = zip(self._blocks.split(rows), self._blocks.columns, strict=True)
        parts = [part @ whitening[at, : at.stop - at.start].T for part, at in pairs]
        return np.asarray(model.slope_ * self._blocks.join(parts))
