"""The contract of a kernel, and the squared distances that radial kernels are functions of."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from zskl.arrays import Array


@dataclass(frozen=True)
class Kernel(ABC):
    """A scalar function k(t) and its slope dk/dt; it never sees the projection.

    t is a squared distance D where `radial`, else an inner product s. A subclass is a frozen dataclass whose float
    fields are its parameters; in a stack of K settings they become arrays of shape (K, 1, 1), so formulas must be
    elementwise. `__post_init__` refuses parameters out of range.
    """

    name: ClassVar[str]
    radial: ClassVar[bool] = True

    @abstractmethod
    def value(self, t: Array) -> Array:
        """k(t), elementwise."""

    @abstractmethod
    def slope(self, t: Array, value: Array | None = None) -> Array:
        """dk/dt, elementwise; `value`, if given, is k(t), for formulas that can reuse it."""

    def parameters(self) -> dict[str, Any]:
        return asdict(self)


def stack(kernels: Sequence[Kernel], column: Callable[[list[float]], Array]) -> Kernel:
    """One kernel whose float parameters are `column([...])` of the members'; its other fields must agree."""
    first = kernels[0]
    stacked = copy.copy(first)
    for field in fields(first):
        values = [getattr(kernel, field.name) for kernel in kernels]
        if field.type in ("float", float):
            object.__setattr__(stacked, field.name, column(values))
        elif any(value != values[0] for value in values):
            raise ValueError(f"kernels of one stack must share {field.name}; found {values}")
    return stacked


def squared_distances(row_norms: Array, products: Array, column_norms: Array) -> Array:
    """D[i, j] = ‖aᵢ‖² − 2 aᵢᵀbⱼ + ‖bⱼ‖², clamped at 0 against rounding.

    row_norms (..., n, 1), products (..., n, C), column_norms (..., 1, C) → (..., n, C).
    """
    return (row_norms - 2 * products + column_norms).clip(min=0)
