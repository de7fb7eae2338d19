"""Vectors to search by: maps of samples and of classes whose inner products replace scores, and galleries of rows.

Any dot-product index can search the vectors of a map. A sample is the pair of points (Wᵀx, x), a class the pair
(y, Wy): the first in signature, the second in feature space.
The score is one kernel on such pairs (u, v), K = k(‖u − u′‖²) + k(‖v − v′‖²), without incoherence its first term, or
k(uᵀu′). Nyström's method (Eq. 13) approximates it from L landmark pairs z: with K_zz = U Λ Uᵀ,

    K(a, b) ≈ ⟨φ(a), φ(b)⟩,     φ(a) = Λ^(−1/2) Uᵀ K(z, a),     the m largest eigenvalues alone.

Differs from the paper: one map of the sum instead of a map for each of its terms, and more landmarks than components.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.utils.validation import check_is_fitted

from zskl._arrays import Array, NumPyArray, convert_like, make_generator, namespace, to_numpy
from zskl._validation import check_count
from zskl.estimators import _inputs
from zskl.estimators._candidates import BLOCK_BYTES, best_row_scores, choose_candidates, match_label_dtype
from zskl.estimators.explanation import ScoreParts
from zskl.kernels import Pairs, kernel_score
from zskl.scaling import float_type

if TYPE_CHECKING:
    from zskl.estimators.base import ZeroShotClassifier
    from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier

BLOCK_VALUES = 1 << 22  # kernel values held at once: 32 MB
PER_COMPONENT = 4  # landmarks drawn for each component


class Quality(NamedTuple):
    """How well inner products replace scores: relative error (Frobenius), and share of the k best classes found."""

    error: float
    recall: float


@dataclass(frozen=True, eq=False)
class SearchMap(ABC):
    """Two maps into one space. Computed in float64; `model` is the fitted model as it was when the map was made."""

    model: ZeroShotClassifier

    @property
    @abstractmethod
    def n_components(self) -> int:
        """How many columns both maps have."""

    @abstractmethod
    def _samples(self, X: Array) -> Array:
        """(n, d) scaled rows → (n, m)."""

    @abstractmethod
    def _classes(self, Y: NumPyArray) -> NumPyArray:
        """(rows, p) scaled signatures → (rows, m)."""

    def samples(self, X: Array) -> Array:
        """(n, m) for rows X (n, d), in the library, precision and on the device of X."""
        X = _inputs.check_features(self.model, X, "a map of rows")
        mapped = convert_like(np.zeros((X.shape[0], self.n_components)), X)
        for block in _split_search_rows(X.shape[0], self.n_components * PER_COMPONENT):
            scaled = self.model._scale_rows(convert_like(X[block], X, "float64"))
            mapped[block] = convert_like(self._samples(scaled), X)
        return mapped

    def classes(self, signatures: Any = None, candidates: Any = None, dtype: str = "float32") -> NumPyArray:
        """(rows, m), a NumPy row for each signature of the candidate classes; see `labels` for their order."""
        Y = self.model.signature_scaling_.apply(choose_candidates(self.model, signatures, candidates).matrix)
        mapped = np.empty((len(Y), self.n_components), dtype)
        for block in _split_search_rows(len(Y), self.n_components * PER_COMPONENT):
            mapped[block] = self._classes(Y[block])
        return mapped

    def labels(self, signatures: Any = None, candidates: Any = None) -> NumPyArray:
        """(rows,) the class of each row of `classes`; a class with several signatures has several, the best counts."""
        return match_label_dtype(self.model.seen_classes_, choose_candidates(self.model, signatures, candidates).labels)

    def quality(
        self, X: Array, signatures: Any = None, candidates: Any = None, *, k: int = 10, shortlist: int | None = None
    ) -> Quality:
        """How well the inner products replace `compatibility`, over rows X and the candidates. Recall is the share
        of the k best classes among the `shortlist` (default k) best by inner product, which exact scores can then
        order."""
        table = choose_candidates(self.model, signatures, candidates)
        rows = table.padded_rows()
        k = _check_vector_count("k", k, 1, len(rows))
        shortlist = k if shortlist is None else _check_vector_count("shortlist", shortlist, k, len(rows))
        X = to_numpy(_inputs.check_features(self.model, X, "a map of rows")).astype(np.float64)
        mapped = self.classes(signatures, candidates, "float64").T
        off = size = found = 0.0
        for block in _split_search_rows(len(X), len(rows)):
            exact = to_numpy(self.model.compatibility(X[block], signatures, candidates))
            near = to_numpy(best_row_scores(self.samples(X[block]) @ mapped, rows))
            off += float(((near - exact) ** 2).sum())
            size += float((exact**2).sum())
            worst = -np.partition(-exact, k - 1, axis=1)[:, k - 1 : k]  # of the k best
            taken = np.argpartition(-near, shortlist - 1, axis=1)[:, :shortlist]
            hits = (np.take_along_axis(exact, taken, axis=1) >= worst).sum(axis=1)
            found += float(np.minimum(hits, k).sum()) / k
        return Quality((off / size) ** 0.5, found / len(X))


@dataclass(frozen=True, eq=False)
class FeatureMap(SearchMap):
    """Inner products approximate the scores. `root` (L, m) is U Λ^(−1/2) of the kernel matrix of the landmarks."""

    model: ZeroShotKernelClassifier
    u: NumPyArray  # (L, p) landmarks in signature space
    v: NumPyArray  # (L, d) in feature space
    root: NumPyArray

    @property
    def n_components(self) -> int:
        return int(self.root.shape[1])

    def _samples(self, X: Array) -> Array:
        W = convert_like(self.model.projection_, X)
        return self._kernel(X @ W, X @ convert_like(self.v, X).mT, _squared_norms(X)) @ convert_like(self.root, X)

    def _classes(self, Y: NumPyArray) -> NumPyArray:
        W = self.model.projection_.astype(np.float64)
        norms = ((Y @ (W.T @ W)) * Y).sum(axis=1, keepdims=True)  # ‖Wy‖²
        kernel = to_numpy(self._kernel(Y, Y @ (self.v @ W).T, norms))  # (Wy)ᵀv = yᵀ(Wᵀv)
        return np.asarray(kernel @ self.root)

    def _kernel(self, U: Array, products: Array, norms: Array) -> Array:
        """K (n, L) between points and landmarks, given their products and squared norms in feature space."""
        u, kernel = convert_like(self.u, U), self.model.kernel_
        products_of_u = U @ u.mT
        in_signatures = Pairs(_squared_norms(U), products_of_u, _squared_norms(u).mT) if kernel.radial else None
        both = kernel.radial and self.model.incoherence_
        in_features = Pairs(norms, products, _squared_norms(convert_like(self.v, U)).mT) if both else None
        return kernel_score(kernel, products_of_u, in_signatures, in_features)


@dataclass(frozen=True, eq=False)
class RankingMap(SearchMap):
    """Inner products order classes as scores do, exactly or to first order; they do not approximate the scores.

    [Wᵀx, 1] · [y, −b]. For one radial term, which decreases in D1, b = ‖y‖²/2 is exact; for two, whose sum is to first
    order a function of D1 + D2, b = (‖y‖² + ‖Wy‖²)/4; for a polynomial, b = 0 is exact where s + c ≥ 0 or r is odd.
    With `rows` they order the rows of a class too: [Wᵀx, 1, −a] · [y, −b, 1], and a is what b is, of Wᵀx and x.
    """

    model: ZeroShotKernelClassifier
    rows: bool = False

    @property
    def n_components(self) -> int:
        return int(self.model.projection_.shape[1]) + 1 + self.rows

    def _samples(self, X: Array) -> Array:
        xp = namespace(X)
        mapped = X @ convert_like(self.model.projection_, X)
        columns = [mapped, xp.ones_like(X[:, :1])]
        if self.rows:
            columns.append(-self._half_norms(_squared_norms(mapped), _squared_norms(X)))
        return xp.concat(columns, axis=1)

    def _classes(self, Y: NumPyArray) -> NumPyArray:
        W = self.model.projection_.astype(np.float64)
        images = ((Y @ (W.T @ W)) * Y).sum(axis=1, keepdims=True)  # ‖Wy‖²
        off = to_numpy(self._half_norms((Y * Y).sum(axis=1, keepdims=True), images))
        return np.concatenate([Y, -off, np.ones((len(Y), int(self.rows)))], axis=1)

    def _half_norms(self, in_signatures: Array, in_features: Array) -> Array:
        """What the squared lengths of a point take off −D1/2 or −(D1 + D2)/4; nothing for a polynomial."""
        if not self.model.kernel_.radial:
            return 0 * in_signatures
        return (in_signatures + in_features) / 4 if self.model.incoherence_ else in_signatures / 2


def make_feature_map(
    model: ZeroShotKernelClassifier,
    n_components: int,
    X: Array | None = None,
    signatures: Any = None,
    candidates: Any = None,
    landmarks: int | None = None,
    random_state: int = 0,
) -> FeatureMap:
    """See `ZeroShotKernelClassifier.feature_map`."""
    wanted = check_count("n_components", n_components)
    budget = PER_COMPONENT * wanted if landmarks is None else check_count("landmarks", landmarks)
    if budget < wanted:
        raise ValueError(
            f"landmarks is {landmarks}, less than n_components, {wanted}: expected at least as many, {PER_COMPONENT} "
            "for each component by default"
        )
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise ValueError(f"random_state is {random_state!r}: expected an integer ≥ 0")
    check_is_fitted(model)
    model = copy.copy(model)  # a later fit of the original does not change the map
    Y = model.signature_scaling_.apply(choose_candidates(model, signatures, candidates).matrix)
    W, rng = model.projection_.astype(np.float64), make_generator(int(random_state))
    half = budget - budget // 2
    # With every class a landmark and nothing cut off, their scores are exact.
    if landmarks is None and len(Y) <= wanted:
        budget = half = wanted
    if X is None:
        u = _draw_search_rows(Y, budget, rng)
        v = u @ W.T
    else:  # half of each, or more of one where the other has fewer
        rows = to_numpy(_inputs.check_features(model, X, "a map of rows")).astype(np.float64)
        ours = _draw_search_rows(Y, max(half, budget - len(rows)), rng)
        rows = model.feature_scaling_.apply(_draw_search_rows(rows, budget - len(ours), rng))
        u, v = np.concatenate([ours, rows @ W]), np.concatenate([ours @ W.T, rows])
    empty = FeatureMap(model, u, v, np.empty((len(u), 0)))
    return FeatureMap(model, u, v, _inverse_root(to_numpy(empty._kernel(u, v @ v.T, _squared_norms(v))), wanted))


def _inverse_root(K: NumPyArray, wanted: int) -> NumPyArray:
    """U Λ^(−1/2) of the largest eigenvalues, those left out that are 0 up to rounding."""
    size = len(K)
    values, U = eigh(K, subset_by_index=[max(0, size - wanted), size - 1])
    kept = values > size * np.finfo(np.float64).eps * values[-1]
    return np.asarray((U[:, kept] / np.sqrt(values[kept]))[:, ::-1])


def _draw_search_rows(rows: NumPyArray, most: int, rng: np.random.Generator) -> NumPyArray:
    return rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]


def _squared_norms(rows: Array) -> Array:
    return namespace(rows).sum(rows * rows, axis=-1, keepdims=True)


def _split_search_rows(rows: int, width: int) -> list[slice]:
    height = max(1, BLOCK_VALUES // max(1, width))
    return [slice(start, start + height) for start in range(0, rows, height)]


def _check_vector_count(name: str, value: Any, least: int, most: int) -> int:
    number = check_count(name, value)
    if not least <= number <= most:
        raise ValueError(f"{name} is {value!r}: expected an integer from {least} to {most}, the number of candidates")
    return number


def project_rows(model: ZeroShotClassifier, score: ScoreParts, X: Array) -> tuple[Array, Array]:
    """P (n, p) and ‖x‖² (n, 1) of rows from `as_sliceable`, block by block, where they are computed."""

    def project(scaled: Array) -> tuple[Array, Array]:
        return score.project(scaled), namespace(scaled).sum(scaled * scaled, axis=1, keepdims=True)

    blocks = _map_blocks(model, X, sum(score.W.shape), project)
    xp = namespace(blocks[0][0])
    return xp.concat([P for P, _ in blocks], axis=0), xp.concat([norms for _, norms in blocks], axis=0)


def _map_blocks(model: ZeroShotClassifier, X: Array, width: int, function: Callable[[Array], Any]) -> list[Any]:
    """What a function makes of scaled rows, of blocks that need `width` values a row."""
    height = max(1, BLOCK_BYTES[0] // (width * float_type(X).itemsize))
    blocks = [slice(start, min(start + height, X.shape[0])) for start in range(0, X.shape[0], height)]
    return [function(model._scale_rows(_inputs.take_input_rows(model, X, block))) for block in blocks]


class ProjectedRows:
    """Rows X (n, d) and a fitted model as it is now. XW and ‖x‖² are kept, so scores of c descriptions cost n·p·c.

    Class means keep x̂ (n, d) instead. Other methods without such a projection keep and score the rows themselves.
    """

    def __init__(self, model: ZeroShotClassifier, X: Array) -> None:
        X = _inputs.as_sliceable(model, X, "a gallery")
        self._model = model = copy.copy(model)  # `fit` replaces what it learns, so the copy keeps it
        self._score_parts: ScoreParts | None = model._score_parts()
        self._length = int(X.shape[0])
        self._X = X[:1]  # for its library, device and precision
        self._hat: Array | None = None
        self._update: Callable[[Array], Array] | None = None  # what `_hat` is for another model
        if self._score_parts is not None:
            self._P, self._norms = project_rows(model, self._score_parts, X)
            self._lengths = namespace(self._P).sum(self._P * self._P, axis=1, keepdims=True)
            W = convert_like(self._score_parts.W, self._P)
            self._gram = W.T @ W if self._score_parts.both else None
        elif model._gallery_rows(model._scale_rows(_inputs.take_input_rows(model, X, slice(0, 1)))) is not None:
            blocks = _map_blocks(model, X, 2 * X.shape[1], model._gallery_rows)
            self._hat = namespace(blocks[0]).concat(blocks, axis=0)
        else:
            self._X = X

    def __len__(self) -> int:
        return self._length

    def with_model(self, model: ZeroShotClassifier) -> ProjectedRows:
        """The same rows for a model that `add_examples`, `remove_examples` or `adapt` made of this one."""
        new = copy.copy(self)
        new._model = copy.copy(model)
        if self._hat is not None:
            new._update = model._gallery_update(self._model)
        return new

    def scores(self, signatures: Any = None, candidates: Any = None) -> Array:
        """What `compatibility` says of these rows: (n, c), in the library and precision of X."""
        model = self._model
        if self._hat is None and self._score_parts is None:
            return model.compatibility(self._X, signatures, candidates)
        of_type = _inputs.take_input_rows(model, self._X, slice(0, 1))
        table = choose_candidates(model, signatures, candidates)
        hat, update = self._hat, self._update
        if hat is not None:
            scorer = model._gallery_scorer(model._question(hat, table))
            if update is None:
                return convert_like(scorer(hat), of_type)
            # Block by block, so that no second copy is in memory.
            height = max(1, BLOCK_BYTES[0] // (hat.shape[1] * float_type(hat).itemsize))
            blocks = [scorer(update(hat[row : row + height])) for row in range(0, len(self), height)]
            return convert_like(namespace(hat).concat(blocks, axis=0), of_type)
        assert self._score_parts is not None
        question = model._question(self._P, table)
        Y = self._score_parts.map_signatures(question.Y)
        image_norms = None if self._gram is None else namespace(Y).sum((Y @ self._gram) * Y, axis=1)[None, :]
        scores = self._score_parts.scores(self._P, self._lengths, self._norms, Y, image_norms)
        return convert_like(best_row_scores(scores, question.rows), of_type)
