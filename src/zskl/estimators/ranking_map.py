"""Maps of samples and of classes whose inner products replace scores, so that any dot-product index can search them.

A sample is the pair of points (Wᵀx, x), a class the pair (y, Wy): the first in signature, the second in feature space.
The score is one kernel on such pairs (u, v), K = k(‖u − u′‖²) + k(‖v − v′‖²), without incoherence its first term, or
k(uᵀu′). Nyström's method (Eq. 13) approximates it from L landmark pairs z: with K_zz = U Λ Uᵀ,

    K(a, b) ≈ ⟨φ(a), φ(b)⟩,     φ(a) = Λ^(−1/2) Uᵀ K(z, a),     the m largest eigenvalues alone.

Differs from the paper: one map of the sum instead of a map for each of its terms, and more landmarks than components.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array, NumPyArray, generator, like, namespace, on_device, to_numpy
from zskl.estimators import inputs
from zskl.estimators.candidates import as_in, best_of_rows, choose
from zskl.kernels.score import Pairs, kernel_score
from zskl.parameters import count, flag

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier
    from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier

BLOCK_VALUES = 1 << 22  # kernel values held at once: 32 MB
PER_COMPONENT = 4  # landmarks drawn for each component


class Quality(NamedTuple):
    """How well inner products replace scores: relative error (Frobenius), and share of the k best classes found."""

    error: float
    recall: float


@dataclass(frozen=True, eq=False)
class Map(ABC):
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
        X = inputs.check_features(self.model, X, "a map of rows")
        mapped = like(np.zeros((X.shape[0], self.n_components)), X)
        for block in _blocks(X.shape[0], self.n_components * PER_COMPONENT):
            rows = on_device(X[block], self.model.device)
            mapped[block] = like(self._samples(self.model.feature_scaling_.apply(like(rows, rows, "float64"))), X)
        return mapped

    def classes(self, signatures: Any = None, candidates: Any = None, dtype: str = "float32") -> NumPyArray:
        """(rows, m), a NumPy row for each signature of the candidate classes; see `labels` for their order."""
        Y = self.model.signature_scaling_.apply(choose(self.model, signatures, candidates).matrix)
        mapped = np.empty((len(Y), self.n_components), dtype)
        for block in _blocks(len(Y), self.n_components * PER_COMPONENT):
            mapped[block] = self._classes(Y[block])
        return mapped

    def labels(self, signatures: Any = None, candidates: Any = None) -> NumPyArray:
        """(rows,) the class of each row of `classes`; a class with several signatures has several, the best counts."""
        return as_in(self.model.classes_, choose(self.model, signatures, candidates).labels)

    def quality(
        self, X: Array, signatures: Any = None, candidates: Any = None, *, k: int = 10, shortlist: int | None = None
    ) -> Quality:
        """How well the inner products replace `compatibility`, over rows X and the candidate classes.

        Recall is the share of the k best classes that are among the `shortlist` (default k) best by inner product,
        which exact scores can then put in order.
        """
        table = choose(self.model, signatures, candidates)
        rows = table.padded_rows()
        k = _within("k", k, 1, len(rows))
        shortlist = k if shortlist is None else _within("shortlist", shortlist, k, len(rows))
        X = to_numpy(inputs.check_features(self.model, X, "a map of rows")).astype(np.float64)
        mapped = self.classes(signatures, candidates, "float64").T
        off = size = found = 0.0
        for block in _blocks(len(X), len(rows)):
            exact = to_numpy(self.model.compatibility(X[block], signatures, candidates))
            near = to_numpy(best_of_rows(self.samples(X[block]) @ mapped, rows))
            off += float(((near - exact) ** 2).sum())
            size += float((exact**2).sum())
            worst = -np.partition(-exact, k - 1, axis=1)[:, k - 1 : k]  # of the k best
            taken = np.argpartition(-near, shortlist - 1, axis=1)[:, :shortlist]
            hits = (np.take_along_axis(exact, taken, axis=1) >= worst).sum(axis=1)
            found += float(np.minimum(hits, k).sum()) / k
        return Quality((off / size) ** 0.5, found / len(X))


@dataclass(frozen=True, eq=False)
class FeatureMap(Map):
    """Inner products approximate the scores. `root` (L, m) is U Λ^(−1/2) of the kernel matrix of the landmarks."""

    model: ZeroShotKernelClassifier
    u: NumPyArray  # (L, p) landmarks in signature space
    v: NumPyArray  # (L, d) in feature space
    root: NumPyArray

    @property
    def n_components(self) -> int:
        return int(self.root.shape[1])

    def _samples(self, X: Array) -> Array:
        W = like(self.model.projection_, X)
        return self._kernel(X @ W, X @ like(self.v, X).mT, _norms(X)) @ like(self.root, X)

    def _classes(self, Y: NumPyArray) -> NumPyArray:
        W = self.model.projection_.astype(np.float64)
        norms = ((Y @ (W.T @ W)) * Y).sum(axis=1, keepdims=True)  # ‖Wy‖²
        kernel = to_numpy(self._kernel(Y, Y @ (self.v @ W).T, norms))  # (Wy)ᵀv = yᵀ(Wᵀv)
        return np.asarray(kernel @ self.root)

    def _kernel(self, U: Array, products: Array, norms: Array) -> Array:
        """K (n, L) between points and landmarks, given their products and squared norms in feature space."""
        u, kernel = like(self.u, U), self.model.kernel_
        products_of_u = U @ u.mT
        in_signatures = Pairs(_norms(U), products_of_u, _norms(u).mT) if kernel.radial else None
        both = kernel.radial and self.model.incoherence_
        in_features = Pairs(norms, products, _norms(like(self.v, U)).mT) if both else None
        return kernel_score(kernel, products_of_u, in_signatures, in_features)


@dataclass(frozen=True, eq=False)
class RankingMap(Map):
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
        mapped = X @ like(self.model.projection_, X)
        columns = [mapped, xp.ones_like(X[:, :1])]
        if self.rows:
            columns.append(-self._halved(_norms(mapped), _norms(X)))
        return xp.concat(columns, axis=1)

    def _classes(self, Y: NumPyArray) -> NumPyArray:
        W = self.model.projection_.astype(np.float64)
        images = ((Y @ (W.T @ W)) * Y).sum(axis=1, keepdims=True)  # ‖Wy‖²
        off = to_numpy(self._halved((Y * Y).sum(axis=1, keepdims=True), images))
        return np.concatenate([Y, -off, np.ones((len(Y), int(self.rows)))], axis=1)

    def _halved(self, in_signatures: Array, in_features: Array) -> Array:
        """What the squared lengths of a point take off −D1/2 or −(D1 + D2)/4; nothing for a polynomial."""
        if not self.model.kernel_.radial:
            return 0 * in_signatures
        return (in_signatures + in_features) / 4 if self.model.incoherence_ else in_signatures / 2


def feature_map(
    model: ZeroShotKernelClassifier,
    n_components: int,
    X: Array | None = None,
    signatures: Any = None,
    candidates: Any = None,
    landmarks: int | None = None,
    random_state: int = 0,
) -> FeatureMap:
    """A map with at most `n_components` columns; see `ZeroShotKernelClassifier.feature_map`."""
    wanted = count("n_components", n_components)
    budget = PER_COMPONENT * wanted if landmarks is None else count("landmarks", landmarks)
    if budget < wanted:
        raise ValueError(
            f"landmarks is {landmarks}, less than n_components, {wanted}: expected at least as many, {PER_COMPONENT} "
            "for each component by default"
        )
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise ValueError(f"random_state is {random_state!r}: expected an integer ≥ 0")
    model = _frozen(model)
    Y = model.signature_scaling_.apply(choose(model, signatures, candidates).matrix)
    W, rng = model.projection_.astype(np.float64), generator(int(random_state))
    half = budget - budget // 2
    if landmarks is None and len(Y) <= wanted:  # every class a landmark and nothing cut off: their scores are exact
        budget = half = wanted
    if X is None:
        u = _drawn(Y, budget, rng)
        v = u @ W.T
    else:  # half of each, or more of one where the other has fewer
        rows = to_numpy(inputs.check_features(model, X, "a map of rows")).astype(np.float64)
        ours = _drawn(Y, max(half, budget - len(rows)), rng)
        rows = model.feature_scaling_.apply(_drawn(rows, budget - len(ours), rng))
        u, v = np.concatenate([ours, rows @ W]), np.concatenate([ours @ W.T, rows])
    empty = FeatureMap(model, u, v, np.empty((len(u), 0)))
    return FeatureMap(model, u, v, _root(to_numpy(empty._kernel(u, v @ v.T, _norms(v))), wanted))


def ranking_map(model: ZeroShotKernelClassifier, rows: bool = False) -> RankingMap:
    """A map with p + 1 columns, or one more, that needs no landmarks; see `ZeroShotKernelClassifier.ranking_map`."""
    flag("rows", rows)
    return RankingMap(_frozen(model), bool(rows))


def _frozen(model: ZeroShotKernelClassifier) -> Any:
    """A copy of a fitted model that a later fit of the original does not change."""
    check_is_fitted(model)
    if not hasattr(model, "kernel_"):
        raise ValueError(
            f"{type(model).__name__} has no kernel to linearise: expected a fitted ZeroShotKernelClassifier; search "
            "with compatibility instead"
        )
    return copy.copy(model)


def _root(K: NumPyArray, wanted: int) -> NumPyArray:
    """U Λ^(−1/2) of the largest eigenvalues, those left out that are 0 up to rounding."""
    size = len(K)
    values, U = eigh(K, subset_by_index=[max(0, size - wanted), size - 1])
    kept = values > size * np.finfo(np.float64).eps * values[-1]
    return np.asarray((U[:, kept] / np.sqrt(values[kept]))[:, ::-1])


def _drawn(rows: NumPyArray, most: int, rng: np.random.Generator) -> NumPyArray:
    return rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]


def _norms(rows: Array) -> Array:
    """(n, 1) squared lengths."""
    return namespace(rows).sum(rows * rows, axis=-1, keepdims=True)


def _blocks(rows: int, width: int) -> list[slice]:
    height = max(1, BLOCK_VALUES // max(1, width))
    return [slice(start, start + height) for start in range(0, rows, height)]


def _within(name: str, value: Any, least: int, most: int) -> int:
    number = count(name, value)
    if not least <= number <= most:
        raise ValueError(f"{name} is {value!r}: expected an integer from {least} to {most}, the number of candidates")
    return number
