"""The only place that knows array libraries: which one, on which device, at which precision, from which seed."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, TypeAlias

import array_api_compat
import array_api_compat.numpy
import numpy as np

Array: TypeAlias = Any  # a NumPy array or a PyTorch tensor, or in an export a symbol of one


def is_torch(array: object) -> bool:
    """Whether `array` is a PyTorch tensor (without importing PyTorch)."""
    return "torch" in sys.modules and array_api_compat.is_torch_array(array)


def is_symbol(array: object) -> bool:
    """Whether `array` stands for numbers that are not there yet, see `zskl.export`: neither NumPy's nor PyTorch's."""
    known = isinstance(array, np.ndarray | np.generic) or is_torch(array)
    return not known and hasattr(array, "__array_namespace__")


def namespace(*arrays: Array) -> Any:
    """The array-API namespace (NumPy, PyTorch or that of symbols) that the arrays share."""
    if len(arrays) == 1 and type(arrays[0]) is np.ndarray:  # asked for in every step: no long look
        return array_api_compat.numpy
    return array_api_compat.array_namespace(*arrays)


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """The same values as a NumPy array on the host; NumPy input is not copied."""
    if is_torch(array):
        array = array.detach().cpu()
        if array.dtype is namespace(array).bfloat16:  # which NumPy does not have
            array = array.float()
        array = array.resolve_conj().numpy()
    return np.asarray(array)


def like(array: Array, reference: Array, dtype: str | None = None) -> Array:
    """`array` in the library and on the device of `reference`, at `dtype` (default: the reference's)."""
    xp = namespace(reference)
    wanted = reference.dtype if dtype is None else getattr(xp, dtype)
    if is_torch(reference):
        if not is_torch(array):
            array = xp.asarray(np.require(array, requirements=["C", "W"]))
        return array.to(device=reference.device, dtype=wanted)
    if is_symbol(reference):
        return xp.astype(xp.asarray(array), wanted, copy=False)
    return to_numpy(array).astype(wanted, copy=False)


def on_device(array: Array, device: str | None) -> Array:
    """`array` where the computation is to run: where it lies (None), or on the named device.

    "cpu" leaves a NumPy array alone; any other device needs PyTorch.
    """
    if device is None:
        return array
    device = str(device)
    if device == "cpu" and not is_torch(array):
        return array
    torch = _torch_with(device)
    tensor = array if is_torch(array) else torch.from_numpy(np.require(array, requirements=["C", "W"]))
    return tensor.to(device)


def on_gpu(array: Array, device: str | None) -> bool:
    """Whether `on_device(array, device)` computes on an accelerator."""
    place = array.device if device is None and is_torch(array) else device
    return place is not None and not str(place).startswith("cpu")


def float_type(X: Array) -> Any:
    """The type in which rows are computed: theirs if it is float32 or float64, else float64."""
    if is_torch(X):
        return X.dtype
    return X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)


def contiguous_copy(array: Array) -> Array:
    """A copy whose rows lie one after the other, whatever the order of the original."""
    return array.clone().contiguous() if is_torch(array) else np.array(array, order="C")


def free_memory(array: Array) -> int | None:
    """Bytes that can still be taken on the CUDA device of `array`; None elsewhere, where nobody can tell."""
    if not is_torch(array) or array.device.type != "cuda":
        return None
    cuda = sys.modules["torch"].cuda
    kept = cuda.memory_reserved(array.device) - cuda.memory_allocated(array.device)  # freed, not given back
    return int(cuda.mem_get_info(array.device)[0] + kept)


def check_device(device: str | None) -> None:
    """Refuse a device that is not here, in one sentence; costs nothing for None and "cpu"."""
    if device is not None and str(device) != "cpu":
        _torch_with(str(device))


@cache
def _torch_with(device: str) -> Any:
    """PyTorch, after one look whether the device can be used."""
    try:
        import torch
    except ImportError as error:
        raise ValueError(
            f"device={device!r} needs PyTorch, which is not installed: pip install 'zskl[torch]', or use device='cpu'"
        ) from error
    try:
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, NotImplementedError, AssertionError, ValueError) as error:
        gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
        reason = str(error).partition("\n")[0].rstrip(".")[:120]
        raise ValueError(
            f"device={device!r} cannot be used: PyTorch {torch.__version__} sees {gpus} CUDA GPU(s) here and says "
            f"'{reason}'; use device='cpu', or a machine and a build of PyTorch that have it"
        ) from None
    return torch


def generator(seed: int, *stream: int) -> np.random.Generator:
    """An independent generator for each (seed, stream...): the one place where a seed becomes randomness.

    Always NumPy's, so that every array library and device sees the same numbers.
    """
    return np.random.default_rng([seed, *stream])
