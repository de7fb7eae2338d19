"""Kernels: the contract, the three of the paper's Table 1, their registry, and the score that they make (Eq. 12)."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, NamedTuple, TypeVar

from zskl._arrays import Array, namespace
from zskl._validation import check_count, check_positive, suggest

__all__ = [
    "Cauchy",
    "Gaussian",
    "Kernel",
    "Polynomial",
    "UnknownKernelError",
    "build",
    "get",
    "names",
    "namespace",
    "register",
    "squared_distances",
    "stack",
]


@dataclass(frozen=True)
class Kernel(ABC):
    """The contract of a kernel: a scalar function k(t) and its slope dk/dt. It never sees the projection.

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
        """Kernel values, element by element.

        Parameters
        ----------
        t : array
            Squared distances or inner products.

        Returns
        -------
        array
            Values of the shape of t.
        """

    @abstractmethod
    def slope(self, t: Array, value: Array | None = None) -> Array:
        """Slope of the kernel, element by element.

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
        """

    def parameters(self) -> dict[str, Any]:
        """Give the parameters by name.

        Returns
        -------
        dict
            From the name of each field to its value.
        """
        return asdict(self)


KernelType = TypeVar("KernelType", bound=type[Kernel])
_registered: dict[str, type[Kernel]] = {}


def register(kernel: KernelType) -> KernelType:
    """Make a Kernel subclass known by its `name`, so that models that use it can be saved and loaded.

    You can use it as a class decorator.

    Parameters
    ----------
    kernel : subclass of Kernel
        The kernel. Its `name` must not be that of another class.

    Returns
    -------
    type
        The same class.

    Examples
    --------
    >>> from zskl import kernels
    >>> kernels.register(kernels.Gaussian) is kernels.Gaussian  # registered already: nothing happens
    True
    """
    known = _registered.get(kernel.name, kernel)
    # A notebook cell or a module that runs again defines the same class again.
    if (known.__module__, known.__qualname__) != (kernel.__module__, kernel.__qualname__):
        raise ValueError(f"the kernel name {kernel.name!r} is taken by {known.__qualname__}: choose another name")
    _registered[kernel.name] = kernel
    return kernel


@register
@dataclass(frozen=True)
class Gaussian(Kernel):
    """Gaussian kernel k(D) = exp(−D / 2σ²) of a squared distance D, with slope dk/dD = −k / 2σ².

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
    >>> Gaussian().slope(np.array([0.0])).tolist(), Gaussian().parameters()
    ([-0.5], {'sigma': 1.0})
    """

    name: ClassVar[str] = "gaussian"
    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", check_positive("sigma", self.sigma))

    def value(self, t: Array) -> Array:
        return namespace(t).exp(t * (-0.5 / self.sigma**2))

    def slope(self, t: Array, value: Array | None = None) -> Array:
        k = self.value(t) if value is None else value
        return k * (-0.5 / self.sigma**2)


@register
@dataclass(frozen=True)
class Cauchy(Kernel):
    """Cauchy kernel k(D) = 1 / (1 + σD) of a squared distance D, with slope dk/dD = −σ k².

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
        object.__setattr__(self, "sigma", check_positive("sigma", self.sigma))

    def value(self, t: Array) -> Array:
        return 1 / (1 + self.sigma * t)

    def slope(self, t: Array, value: Array | None = None) -> Array:
        k = self.value(t) if value is None else value
        return -self.sigma * k * k


@register
@dataclass(frozen=True)
class Polynomial(Kernel):
    """Polynomial kernel k(s) = (s + c)ʳ of an inner product s, with slope dk/ds = r (s + c)ʳ⁻¹.

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
        object.__setattr__(self, "degree", check_count("degree", self.degree))
        object.__setattr__(self, "bias", check_positive("bias", self.bias, zero_allowed=True))

    def value(self, t: Array) -> Array:
        return (t + self.bias) ** self.degree

    def slope(self, t: Array, value: Array | None = None) -> Array:
        return self.degree * (t + self.bias) ** (self.degree - 1)


def names() -> list[str]:
    """List the names of registered kernels.

    Returns
    -------
    list of str
        The names that `kernel="…"` accepts.

    Examples
    --------
    >>> from zskl import kernels
    >>> kernels.names()[:3]
    ['gaussian', 'cauchy', 'polynomial']
    """
    return list(_registered)


class UnknownKernelError(ValueError):
    """Raised where no kernel of a name is registered.

    Examples
    --------
    >>> from zskl import kernels
    >>> try:
    ...     kernels.get("gausian")
    ... except kernels.UnknownKernelError as error:
    ...     print(str(error)[:50])
    unknown kernel 'gausian' (did you mean 'gaussian'?
    """


def get(name: str) -> type[Kernel]:
    """Find a kernel class by its name.

    Parameters
    ----------
    name : str
        A registered name.

    Returns
    -------
    type
        The kernel class.

    Raises
    ------
    UnknownKernelError
        If no kernel of that name is registered.

    Examples
    --------
    >>> from zskl import kernels
    >>> kernels.get("cauchy").__name__
    'Cauchy'
    """
    if not isinstance(name, str) or name not in _registered:
        raise UnknownKernelError(
            f"unknown kernel {name!r}{suggest(name, _registered)}: expected one of {', '.join(_registered)}, "
            "or a Kernel object"
        )
    return _registered[name]


def to_json(kernel: Kernel) -> dict[str, Any]:
    """A registered kernel as its name and parameters; another one is refused."""
    if _registered.get(kernel.name) is not type(kernel):
        raise ValueError(
            f"the kernel {type(kernel).__name__} is not registered, so a model file could not name it: call "
            f"zskl.kernels.register({type(kernel).__name__}) before saving, and again before loading"
        )
    return {"name": kernel.name, "parameters": kernel.parameters()}


def from_json(stored: Any) -> Kernel:
    if not isinstance(stored, dict):
        raise ValueError(f"its kernel is {stored!r}")
    return build(stored["name"], stored["parameters"])


def build(name: str, parameters: Mapping[str, Any]) -> Kernel:
    """Make a kernel from its name and parameters.

    Parameters
    ----------
    name : str
        A registered name.
    parameters : mapping
        Values by name. Those that the kernel does not have are left out.

    Returns
    -------
    Kernel
        The kernel.

    Examples
    --------
    >>> from zskl import kernels
    >>> kernels.build("gaussian", {"sigma": 0.8, "degree": 2})
    Gaussian(sigma=0.8)
    """
    kernel = get(name)
    return kernel(**{field.name: parameters[field.name] for field in fields(kernel) if field.name in parameters})


def stack(kernels: Sequence[Kernel], column: Callable[[list[float]], Array]) -> Kernel:
    """Make one kernel of many that differ in their float parameters alone.

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
    """Squared distances ‖aᵢ − bⱼ‖² = ‖aᵢ‖² − 2 aᵢᵀbⱼ + ‖bⱼ‖² from products and lengths.

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


def pairwise_distances(A: Array, B: Array) -> Array:
    """(a, b) ‖aᵢ − bⱼ‖² of the rows of A and B."""
    xp = namespace(A)
    return squared_distances(xp.sum(A * A, axis=1)[:, None], A @ B.mT, xp.sum(B * B, axis=1)[None, :])


class Pairs(NamedTuple):
    """Points aᵢ against points bⱼ of one space: ‖aᵢ‖² (..., n, 1), aᵢᵀbⱼ (..., n, C) and ‖bⱼ‖² (..., 1, C) or (C,)."""

    row_norms: Array
    products: Array
    column_norms: Array


def kernel_score(
    kernel: Kernel, products: Array, in_signatures: Pairs | None, in_features: Pairs | None = None
) -> Array:
    """The score (Eq. 12) (..., n, C): k(s) of the products, or for a radial kernel k(D1), plus k(D2) in feature space,
    with D1 = ‖Wᵀx − y‖², D2 = ‖x − Wy‖². Only a radial kernel needs lengths, else `in_signatures` is None. The fast
    steps of training write this formula again; tests hold them to it."""
    if in_signatures is None:
        return kernel.value(products)
    score = kernel.value(squared_distances(*in_signatures))
    return score if in_features is None else score + kernel.value(squared_distances(*in_features))
