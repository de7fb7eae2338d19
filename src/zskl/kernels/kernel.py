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
    """
    The contract of a kernel: a scalar function k(t) and its slope dk/dt. It never sees the projection.

    t is a squared distance D if the kernel is `radial`, else an inner product s. A subclass is a frozen dataclass whose
    float fields are its parameters. In a stack of K settings these become arrays of shape (K, 1, 1), so write formulas
    that work element by element. `__post_init__` refuses parameters out of range.

    See Also
    --------
    zskl.kernels.register : Makes a kernel known by its name, so that models can be saved and loaded.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import ClassVar
    >>> from zskl.kernels import Kernel
    >>> @dataclass(frozen=True)
    ... class Rational(Kernel):
    ...     name: ClassVar[str] = "rational"
    ...     power: float = 2.0
    ...
    ...     def value(self, t):
    ...         return (1 + t) ** -self.power
    ...
    ...     def slope(self, t, value=None):
    ...         return -self.power * (1 + t) ** (-self.power - 1)
    >>> Rational().value(1.0)
    0.25
    """

    name: ClassVar[str]
    radial: ClassVar[bool] = True

    @abstractmethod
    def value(self, t: Array) -> Array:
        """
        Kernel values, element by element.

        Parameters
        ----------
        t : array
            Squared distances or inner products.

        Returns
        -------
        array
            Values of the shape of t.

        Examples
        --------
        >>> import numpy as np
        >>> from zskl.kernels import Gaussian
        >>> Gaussian().value(np.array([0.0])).tolist()
        [1.0]
        """

    @abstractmethod
    def slope(self, t: Array, value: Array | None = None) -> Array:
        """
        Slope of the kernel, element by element.

        Parameters
        ----------
        t : array
            Squared distances or inner products.
        value : array, default=None
            The kernel at t, if it is known already.

        Returns
        -------
        array
            Slopes of the shape of t.

        Examples
        --------
        >>> import numpy as np
        >>> from zskl.kernels import Gaussian
        >>> Gaussian().slope(np.array([0.0])).tolist()
        [-0.5]
        """

    def parameters(self) -> dict[str, Any]:
        """
        Give the parameters by name.

        Returns
        -------
        dict
            From the name of each field to its value.

        Examples
        --------
        >>> from zskl.kernels import Polynomial
        >>> Polynomial(degree=3).parameters()
        {'degree': 3, 'bias': 1.0}
        """
        return asdict(self)


def stack(kernels: Sequence[Kernel], column: Callable[[list[float]], Array]) -> Kernel:
    """
    Make one kernel of many that differ in their float parameters alone.

    Parameters
    ----------
    kernels : sequence of Kernel
        Kernels of one class.
    column : callable
        From a list of numbers to an array of shape (K, 1, 1).

    Returns
    -------
    Kernel
        A kernel whose parameters are such arrays, and whose values have a leading dimension K.

    Examples
    --------
    >>> import numpy as np
    >>> from zskl.kernels import Cauchy, stack
    >>> both = stack([Cauchy(0.5), Cauchy(1.0)], lambda values: np.reshape(values, (-1, 1, 1)))
    >>> both.value(np.array([[0.0, 2.0]])).shape
    (2, 1, 2)
    """
    first = kernels[0]
    stacked = copy.copy(first)
    for field in fields(first):
        values = [getattr(kernel, field.name) for kernel in kernels]
        if field.type in ("float", float):
            object.__setattr__(stacked, field.name, column(values))
        elif any(value != values[0] for value in values):
            raise ValueError(f"kernels of one stack must share {field.name}: found {values}")
    return stacked


def squared_distances(row_norms: Array, products: Array, column_norms: Array) -> Array:
    """
    Squared distances ‖aᵢ − bⱼ‖² = ‖aᵢ‖² − 2 aᵢᵀbⱼ + ‖bⱼ‖² from products and lengths.

    Parameters
    ----------
    row_norms : array of shape (..., n, 1)
        Squared lengths ‖aᵢ‖².
    products : array of shape (..., n, C)
        Inner products aᵢᵀbⱼ.
    column_norms : array of shape (..., 1, C)
        Squared lengths ‖bⱼ‖².

    Returns
    -------
    array of shape (..., n, C)
        Squared distances; where rounding leaves one below 0, it is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from zskl.kernels import squared_distances
    >>> a, b = np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 0.0]])
    >>> squared_distances((a * a).sum(axis=1, keepdims=True), a @ b.T, (b * b).sum(axis=1)).tolist()
    [[25.0, 16.0]]
    """
    return (row_norms - 2 * products + column_norms).clip(min=0)
