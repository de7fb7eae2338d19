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
    """The registered names."""
    return list(_registered)


def register(kernel: KernelType) -> KernelType:
    """Make a Kernel subclass known by its `name`, so that models that use it can be saved and loaded.

    Usable as a class decorator. A name is taken once: another class under the same name is refused.
    """
    known = _registered.get(kernel.name, kernel)
    if (known.__module__, known.__qualname__) != (kernel.__module__, kernel.__qualname__):  # not the same one run again
        raise ValueError(f"the kernel name {kernel.name!r} is taken by {known.__qualname__}: choose another name")
    _registered[kernel.name] = kernel
    return kernel


class UnknownKernelError(ValueError):
    """No kernel of that name is registered."""


def get(name: str) -> type[Kernel]:
    """The kernel class registered under `name`."""
    if not isinstance(name, str) or name not in _registered:
        raise UnknownKernelError(
            f"unknown kernel {name!r}{did_you_mean(name, _registered)}: expected one of {', '.join(_registered)}, "
            "or a Kernel object"
        )
    return _registered[name]


def build(name: str, parameters: Mapping[str, Any]) -> Kernel:
    """The kernel registered under `name` with those of `parameters` that it has."""
    kernel = get(name)
    return kernel(**{field.name: parameters[field.name] for field in fields(kernel) if field.name in parameters})
