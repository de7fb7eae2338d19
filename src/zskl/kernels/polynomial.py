"""The Polynomial kernel (Table 1 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zskl.arrays import Array
from zskl.kernels.kernel import Kernel
from zskl.parameters import count, positive


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(s) = (s + c)ʳ, dk/ds = r (s + c)ʳ⁻¹.

    Parameters: `degree`, r, an integer ≥ 1; `bias`, c ≥ 0 (c = 0 with r > 2 starts in a dead point).
    """

    name: ClassVar[str] = "polynomial"
    radial: ClassVar[bool] = False
    degree: int = 2
    bias: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", count("degree", self.degree))
        object.__setattr__(self, "bias", positive("bias", self.bias, zero_allowed=True))

    def value(self, t: Array) -> Array:
        return (t + self.bias) ** self.degree

    def slope(self, t: Array, value: Array | None = None) -> Array:
        return self.degree * (t + self.bias) ** (self.degree - 1)
