"""The Gaussian kernel (Table 1 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zskl.arrays import Array, namespace
from zskl.kernels.kernel import Kernel
from zskl.parameters import positive


@dataclass(frozen=True)
class Gaussian(Kernel):
    """
    Gaussian kernel k(D) = exp(−D / 2σ²) of a squared distance D, with slope dk/dD = −k / 2σ².

    Parameters
    ----------
    sigma : float, default=1.0
        The radius σ > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from zskl.kernels import Gaussian
    >>> Gaussian(sigma=2.0).value(np.array([0.0, 8.0])).round(4).tolist()
    [1.0, 0.3679]
    """

    name: ClassVar[str] = "gaussian"
    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))

    def value(self, t: Array) -> Array:
        return namespace(t).exp(t * (-0.5 / self.sigma**2))

    def slope(self, t: Array, value: Array | None = None) -> Array:
        k = self.value(t) if value is None else value
        return k * (-0.5 / self.sigma**2)
