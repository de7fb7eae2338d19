"""The Gaussian kernel (Table 1 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zskl.arrays import Array, namespace
from zskl.kernels.kernel import Kernel
from zskl.parameters import positive


@dataclass(frozen=True)
class Gaussian(Kernel):
    """k(D) = exp(−D / 2σ²), dk/dD = −k / 2σ².

    Parameters: `sigma`, σ > 0, the radius.
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
