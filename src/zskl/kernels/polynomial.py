"""The Polynomial kernel (Table 1 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zskl.arrays import Array
from zskl.kernels.kernel import Kernel
from zskl.parameters import count, positive


@dataclass(frozen=True)
class Polynomial(Kernel):
    """
    Polynomial kernel k(s) = (s + c)ʳ of an inner product s, with slope dk/ds = r (s + c)ʳ⁻¹.

    Parameters
    ----------
    degree : int, default=2
        The degree r ≥ 1.
    bias : float, default=1.0
        The bias c ≥ 0. With c = 0 and r > 2 training starts at a point without slope.

    Examples
    --------
    >>> import numpy as np
    >>> from zskl.kernels import Polynomial
    >>> Polynomial(degree=3).value(np.array([0.0, 1.0])).tolist()
    [1.0, 8.0]
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
