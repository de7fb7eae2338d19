"""Kernels by name: `build("gaussian", {"sigma": 0.8})`, and `register` for one of your own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from zskl.kernels.cauchy import Cauchy
from zskl.kernels.gaussian import Gaussian
from zskl.kernels.kernel import Kernel, squared_distances, stack
from zskl.kernels.polynomial import Polynomial
from zskl.parameters import did_you_mean

__all__ = [
    "Cauchy",
    "Gaussian",
    "Kernel",
    "Polynomial",
    "UnknownKernelError",
    "build",
    "get",
    "names",
    "register",
    "squared_distances",
    "stack",
]

KernelType = TypeVar("KernelType", bound=type[Kernel])

_registered: dict[str, type[Kernel]] = {kernel.name: kernel for kernel in (Gaussian, Cauchy, Polynomial)}


def names() -> list[str]:
    """
    List the names of registered kernels.

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


def register(kernel: KernelType) -> KernelType:
    """
    Make a Kernel subclass known by its `name`, so that models that use it can be saved and loaded.

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
    if (known.__module__, known.__qualname__) != (kernel.__module__, kernel.__qualname__):  # not the same one run again
        raise ValueError(f"the kernel name {kernel.name!r} is taken by {known.__qualname__}: choose another name")
    _registered[kernel.name] = kernel
    return kernel


class UnknownKernelError(ValueError):
    """
    Raised where no kernel of a name is registered.

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
    """
    Find a kernel class by its name.

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
            f"unknown kernel {name!r}{did_you_mean(name, _registered)}: expected one of {', '.join(_registered)}, "
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
    """The kernel that `to_json` stored."""
    if not isinstance(stored, dict):
        raise ValueError(f"its kernel is {stored!r}")
    return build(stored["name"], stored["parameters"])


def build(name: str, parameters: Mapping[str, Any]) -> Kernel:
    """
    Make a kernel from its name and parameters.

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
