"""How a score splits into attributes.

With P = Wᵀx and scaled signatures y, the arguments of a kernel are sums over the attributes m:

    D1 = Σₘ (Pₘ − yₘ)²        D2 = ‖x‖² + Σₘ yₘ((WᵀWy)ₘ − 2Pₘ)        s = Σₘ Pₘyₘ

The same holds for the difference between two classes a and b. Each attribute's difference times the secant
(k(Dₐ) − k(D_b)) / (Dₐ − D_b) is its part in k(Dₐ) − k(D_b), for any kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array, NumPyArray, like, namespace, to_numpy
from zskl.estimators import sparse_inputs
from zskl.kernels import Kernel
from zskl.kernels.score import Pairs, kernel_score

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier

ScaledSignatures: TypeAlias = tuple[NumPyArray, NumPyArray | None]  # signatures y (n, p), and WᵀWy where there is a D2
NEAR = 1e-8  # of Σ|differences|: if their sum is smaller, rounding spoils the secant and the slope takes its place
EXPLAINED = "the kernel methods, ale, cosine, devise, eszsl, eszsl-signs, sae and sje"


@dataclass(frozen=True)
class ScoreParts:
    """A score k(D1) + k(D2) with `incoherence`, k(D1) or k(s), or s itself without a kernel.

    `samples` (n, d) → P (n, p) and `classes` (rows, p) → (rows, p) are for methods that do not compare xᵀW and y
    themselves but, for example, their directions.
    """

    W: NumPyArray  # (d, p)
    kernel: Kernel | None = None
    incoherence: bool = False
    samples: Callable[[Array], Array] | None = None
    classes: Callable[[Array], Array] | None = None

    @property
    def radial(self) -> bool:
        return self.kernel is not None and self.kernel.radial

    @property
    def both(self) -> bool:
        """Whether there is a D2."""
        return self.radial and self.incoherence

    def projected(self, X: Array) -> Array:
        """P (n, p) of scaled rows X (n, d)."""
        return X @ like(self.W, X) if self.samples is None else self.samples(X)

    def described(self, Y: Array) -> Array:
        """Scaled signatures Y (rows, p) as P meets them."""
        return Y if self.classes is None else self.classes(Y)

    def images(self, Y: NumPyArray) -> NumPyArray:
        """WᵀWy (rows, p), at the lower of two costs."""
        W = self.W.astype(Y.dtype)
        found: NumPyArray = (Y @ W.T) @ W if len(Y) <= Y.shape[1] else Y @ (W.T @ W)
        return found

    def scores(self, P: Array, lengths: Array, norms: Array, Y: Array, image_norms: Array | None) -> Array:
        """(n, rows) of P (n, p) with ‖P‖² and ‖x‖² (n, 1), for Y (rows, p) with ‖Wy‖² (rows,) where there is a D2."""
        S = P @ Y.T
        if self.kernel is None:
            return S
        in_signatures = Pairs(lengths, S, namespace(Y).sum(Y * Y, axis=1)) if self.radial else None
        in_features = None if image_norms is None else Pairs(norms, S, image_norms)
        return kernel_score(self.kernel, S, in_signatures, in_features)

    def pair_scores(self, P: NumPyArray, norms: NumPyArray, Y: NumPyArray, images: NumPyArray | None) -> NumPyArray:
        """(n,) of rows and signatures one by one: P, Y and WᵀWy are (n, p)."""
        values = [self._value(argument) for argument in self._arguments(self._addends(P, Y, images), norms)]
        return sum(values[1:], start=values[0])

    def contributions(
        self, P: NumPyArray, norms: NumPyArray, first: ScaledSignatures, second: ScaledSignatures
    ) -> NumPyArray:
        """(n, p): what each attribute adds to score(first) − score(second), each y and WᵀWy (n, p), in float64."""
        mine, theirs = self._addends(P, *first), self._addends(P, *second)
        arguments = zip(mine, theirs, self._arguments(mine, norms), self._arguments(theirs, norms), strict=True)
        parts = [(u - v) * self._secant(a, b, u - v)[:, None] for u, v, a, b in arguments]
        return sum(parts[1:], start=parts[0])

    def along(
        self,
        P: NumPyArray,
        norms: NumPyArray,
        first: ScaledSignatures,
        second: ScaledSignatures,
        differences: NumPyArray,
    ) -> NumPyArray:
        """(n, p): what each attribute adds if the two signatures differ by `differences` (n, p) in it.

        An argument is a square or bilinear form, so its difference is Σₘ (aₘ − bₘ) Fₘ with F = P, a + b − 2P for D1, or
        WᵀW(a + b) − 2P for D2. With differences a − b the parts add up to score(first) − score(second).
        """
        mine, theirs = self._addends(P, *first), self._addends(P, *second)
        arguments = zip(mine, theirs, self._arguments(mine, norms), self._arguments(theirs, norms), strict=True)
        secants = [self._secant(a, b, u - v)[:, None] for u, v, a, b in arguments]
        slopes = [P]
        if self.radial:
            pairs = [(one, other) for one, other in zip(first, second, strict=True) if one is not None]
            slopes = [one + other - 2 * P for one, other in pairs]
        factors = [slope * secant for slope, secant in zip(slopes, secants, strict=True)]
        found: NumPyArray = differences * sum(factors[1:], start=factors[0])
        return found

    def _addends(self, P: NumPyArray, Y: NumPyArray, images: NumPyArray | None) -> list[NumPyArray]:
        """(n, p) for each term: what each attribute adds to its argument."""
        if not self.radial:
            return [P * Y]
        return [(P - Y) ** 2] if images is None else [(P - Y) ** 2, Y * (images - 2 * P)]

    def _arguments(self, addends: list[NumPyArray], norms: NumPyArray) -> list[NumPyArray]:
        """(n,) for each term; what no attribute adds is ‖x‖² in D2."""
        return [u.sum(axis=1) + (norms[:, 0] if k == 1 else 0.0) for k, u in enumerate(addends)]

    def _value(self, t: NumPyArray) -> NumPyArray:
        if self.kernel is None:
            return t
        return to_numpy(self.kernel.value(t.clip(min=0) if self.radial else t))  # rounding can leave D2 below 0

    def _secant(self, a: NumPyArray, b: NumPyArray, differences: NumPyArray) -> NumPyArray:
        """(n,) (k(a) − k(b)) / (a − b); the slope between them where a − b, the sum of `differences` (n, p), is 0.

        The denominator is that sum itself, so that parts add up to k(a) − k(b) even where an argument was clamped.
        """
        if self.kernel is None:
            return np.ones_like(a)
        gap = differences.sum(axis=1)
        near = np.abs(gap) <= NEAR * np.abs(differences).sum(axis=1)
        middle = 0.5 * (a + b)
        slope = to_numpy(self.kernel.slope(middle.clip(min=0) if self.radial else middle))
        return np.where(near, slope, (self._value(a) - self._value(b)) / np.where(near, 1.0, gap))


def of(model: ZeroShotClassifier, wish: str = "cannot be explained by attributes") -> ScoreParts:
    """The parts of a fitted model's score; refuse a method whose score has none."""
    check_is_fitted(model)
    sparse_inputs.refuse_signatures(model.signature_table_, "an explanation or an attribute space")
    parts: ScoreParts | None = model._score_parts()
    if parts is None:
        raise ValueError(
            f"{type(model).__name__} {wish}: its score is not made of a projection xᵀW that meets a signature "
            f"attribute by attribute, as those of {EXPLAINED} are"
        )
    return parts
