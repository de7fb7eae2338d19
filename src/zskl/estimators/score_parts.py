"""How a score falls into attributes.

With P = Wᵀx and scaled signatures y, the arguments of a kernel are sums over the attributes m:

    D1 = Σₘ (Pₘ − yₘ)²        D2 = ‖x‖² + Σₘ yₘ((WᵀWy)ₘ − 2Pₘ)        s = Σₘ Pₘyₘ

So is what they differ by between two classes a and b, and each attribute's difference times the secant
(k(Dₐ) − k(D_b)) / (Dₐ − D_b) is its part in k(Dₐ) − k(D_b), for any kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array, like, namespace
from zskl.kernels import Kernel, squared_distances

NEAR = 1e-8  # of Σ|differences|: where their sum is below, rounding would make the secant; the slope stands for it
EXPLAINED = "the kernel methods, ale, devise, eszsl, sae and sje"


@dataclass(frozen=True)
class Anatomy:
    """A score k(D1) + k(D2) with `incoherence`, k(D1) or k(s), or s itself without a kernel.

    `samples` (n, d) → P (n, p) and `classes` (rows, p) → (rows, p) are for methods that compare something else than xᵀW
    and y themselves, such as their directions.
    """

    W: np.ndarray[Any, Any]  # (d, p)
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

    def images(self, Y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """WᵀWy (rows, p), at the lower of two costs."""
        W = self.W.astype(Y.dtype)
        found: np.ndarray[Any, Any] = (Y @ W.T) @ W if len(Y) <= Y.shape[1] else Y @ (W.T @ W)
        return found

    def scores(self, P: Array, lengths: Array, norms: Array, Y: Array, image_norms: Array) -> Array:
        """(n, rows) of P (n, p) with ‖P‖² and ‖x‖² (n, 1), for Y (rows, p) with ‖Wy‖² (rows,)."""
        S = P @ Y.T
        if self.kernel is None or not self.radial:
            return S if self.kernel is None else self.kernel.value(S)
        xp = namespace(P)
        scores = self.kernel.value(squared_distances(lengths, S, xp.sum(Y * Y, axis=1)[None, :]))
        return scores + self.kernel.value(squared_distances(norms, S, image_norms)) if self.both else scores

    def pair_scores(self, P: Array, norms: Array, Y: Array, images: Array | None) -> Array:
        """(n,) of rows and signatures one by one: P, Y and WᵀWy are (n, p)."""
        arguments = self._arguments(self._addends(P, Y, images), norms)
        return sum(self._value(argument) for argument in arguments)

    def contributions(
        self, P: Array, norms: Array, first: tuple[Array, Array | None], second: tuple[Array, Array | None]
    ) -> Array:
        """(n, p): what each attribute adds to score(first) − score(second), each y and WᵀWy (n, p), in float64."""
        mine, theirs = self._addends(P, *first), self._addends(P, *second)
        parts: Array = 0.0
        for u, v, a, b in zip(mine, theirs, self._arguments(mine, norms), self._arguments(theirs, norms), strict=True):
            parts = parts + (u - v) * self._secant(a, b, u - v)[:, None]
        return parts

    def _addends(self, P: Array, Y: Array, images: Array | None) -> list[Array]:
        """(n, p) for each term: what each attribute adds to its argument."""
        if not self.radial:
            return [P * Y]
        return [(P - Y) ** 2, Y * (images - 2 * P)] if self.both else [(P - Y) ** 2]

    def _arguments(self, addends: list[Array], norms: Array) -> list[Array]:
        """(n,) for each term; what no attribute adds is ‖x‖² in D2."""
        return [u.sum(axis=1) + (norms[:, 0] if k == 1 else 0.0) for k, u in enumerate(addends)]

    def _value(self, t: Array) -> Array:
        if self.kernel is None:
            return t
        return self.kernel.value(t.clip(min=0) if self.radial else t)  # rounding can leave D2 below 0

    def _secant(self, a: Array, b: Array, differences: Array) -> Array:
        """(n,) (k(a) − k(b)) / (a − b); the slope between them where a − b, the sum of `differences` (n, p), is 0.

        The denominator is that sum itself, so that parts add up to k(a) − k(b) even where an argument was clamped.
        """
        if self.kernel is None:
            return np.ones_like(a)
        gap = differences.sum(axis=1)
        near = np.abs(gap) <= NEAR * np.abs(differences).sum(axis=1)
        middle = 0.5 * (a + b)
        slope = self.kernel.slope(middle.clip(min=0) if self.radial else middle)
        return np.where(near, slope, (self._value(a) - self._value(b)) / np.where(near, 1.0, gap))


def of(model: Any, wish: str = "cannot be explained by attributes") -> Anatomy:
    """That of a fitted model; a method without one is refused."""
    check_is_fitted(model)
    anatomy: Anatomy | None = model._anatomy()
    if anatomy is None:
        raise ValueError(
            f"{type(model).__name__} {wish}: its score is not made of a projection xᵀW that meets a signature "
            f"attribute by attribute, as those of {EXPLAINED} are"
        )
    return anatomy
