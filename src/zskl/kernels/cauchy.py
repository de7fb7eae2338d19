"""The Cauchy kernel (Table 1 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zskl.arrays import Array
from zskl.kernels.kernel import Kernel
from zskl.parameters import positive


@dataclass(frozen=True)
class Cauchy(Kernel):
    """
    Cauchy kernel k(D) = 1 / (1 + σD) of a squared distance D, with slope dk/dD = −σ k².

    Parameters
    ----------
    sigma : float, default=1.0
        The inverse squared radius σ > 0. Unlike the Gaussian's, a larger one is narrower.

    Examples
    --------
    >>> import numpy as np
    >>> from zskl.kernels import Cauchy
    >>> Cauchy(sigma=0.5).value(np.array([0.0, 2.0])).tolist()
    [1.0, 0.5]
    """

    name: ClassVar[str] = "cauchy"
    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))

    def value(self, t: Array) -> Array:
        return 1 / (1 + self.sigma * t)

    def slope(self, t: Array, value: Array | None = None) -> Array:
        k = self.value(t) if value is None else value
        return -self.sigma * k * k
