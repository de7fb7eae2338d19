"""The only place that knows array libraries: which one, on which device, at which precision, from which seed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, overload

import array_api_compat
import array_api_compat.numpy
import numpy as np

from zskl.sparse_rows import SparseRows, are_sparse

if TYPE_CHECKING:
    import torch

NumPyArray: TypeAlias = np.ndarray[Any, Any]  # of any shape and type
Operand: TypeAlias = Any  # an array or a number: what each library combines with its own arrays
Index: TypeAlias = Any  # what each library takes in square brackets
DType: TypeAlias = Any
Device: TypeAlias = Any
Axes: TypeAlias = int | tuple[int, ...] | None
Flag: TypeAlias = bool  # where a class below has a member of that name


class Array(Protocol):
    """What NumPy arrays and PyTorch tensors have in common, as far as the formulas of this library use it.

    It has no `__array__` on purpose: `to_numpy` is how any of them becomes a NumPy array, also from a GPU.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def device(self) -> Device: ...
    @property
    def T(self) -> Array: ...
    @property
    def mT(self) -> Array: ...

    def reshape(self, shape: tuple[int, ...], /) -> Array: ...
    def clip(self, min: float) -> Array: ...

    def __len__(self) -> int: ...
    def __getitem__(self, key: Index, /) -> Array: ...
    def __setitem__(self, key: Index, value: Operand, /) -> None: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __float__(self) -> float: ...

    def __neg__(self) -> Array: ...
    def __add__(self, other: Operand, /) -> Array: ...
    def __radd__(self, other: Operand, /) -> Array: ...
    def __sub__(self, other: Operand, /) -> Array: ...
    def __rsub__(self, other: Operand, /) -> Array: ...
    def __mul__(self, other: Operand, /) -> Array: ...
    def __rmul__(self, other: Operand, /) -> Array: ...
    def __truediv__(self, other: Operand, /) -> Array: ...
    def __rtruediv__(self, other: Operand, /) -> Array: ...
    def __pow__(self, other: Operand, /) -> Array: ...
    def __matmul__(self, other: Operand, /) -> Array: ...
    def __eq__(self, other: Operand, /) -> Array: ...  # type: ignore[override]
    def __lt__(self, other: Operand, /) -> Array: ...
    def __le__(self, other: Operand, /) -> Array: ...
    def __or__(self, other: Operand, /) -> Array: ...
    def __gt__(self, other: Operand, /) -> Array: ...
    def __ge__(self, other: Operand, /) -> Array: ...


class Namespace(Protocol):
    """The functions of the array API that the formulas of this library use, as NumPy, PyTorch and symbols have them."""

    @property
    def bool(self) -> DType: ...
    @property
    def float32(self) -> DType: ...
    @property
    def float64(self) -> DType: ...
    @property
    def int64(self) -> DType: ...
    @property
    def linalg(self) -> Any: ...
    def finfo(self, dtype: DType, /) -> Any: ...

    def abs(self, x: Array, /) -> Array: ...
    def exp(self, x: Array, /) -> Array: ...
    def isfinite(self, x: Array, /) -> Array: ...
    def log(self, x: Array, /) -> Array: ...
    def log1p(self, x: Array, /) -> Array: ...
    def sign(self, x: Array, /) -> Array: ...
    def sqrt(self, x: Array, /) -> Array: ...
    def tanh(self, x: Array, /) -> Array: ...
    def clip(self, x: Array, /, min: Operand = ..., max: Operand = ...) -> Array: ...
    def maximum(self, x: Array, y: Array, /) -> Array: ...
    def minimum(self, x: Array, y: Array, /) -> Array: ...
    def matmul(self, x: Array, y: Array, /, *, out: Array = ...) -> Array: ...
    def where(self, condition: Array, x: Array, y: Array, /) -> Array: ...

    def sum(self, x: Array, /, *, axis: Axes = ..., dtype: DType = ..., keepdims: Flag = ...) -> Array: ...
    def mean(self, x: Array, /, *, axis: Axes = ..., dtype: DType = ..., keepdims: Flag = ...) -> Array: ...
    def max(self, x: Array, /, *, axis: Axes = ..., keepdims: Flag = ...) -> Array: ...
    def min(self, x: Array, /, *, axis: Axes = ..., keepdims: Flag = ...) -> Array: ...
    def all(self, x: Array, /, *, axis: Axes = ..., keepdims: Flag = ...) -> Array: ...
    def any(self, x: Array, /, *, axis: Axes = ..., keepdims: Flag = ...) -> Array: ...
    def argmax(self, x: Array, /, *, axis: int = ...) -> Array: ...
    def argmin(self, x: Array, /, *, axis: int = ...) -> Array: ...
    def cumulative_sum(self, x: Array, /, *, axis: int = ...) -> Array: ...
    def sort(self, x: Array, /, *, axis: int = ..., descending: Flag = ...) -> Array: ...

    def arange(self, stop: int, /, *, dtype: DType = ..., device: Device = ...) -> Array: ...
    def asarray(self, values: Any, /) -> Array: ...
    def astype(self, x: Array, dtype: DType, /) -> Array: ...
    def broadcast_to(self, x: Array, shape: tuple[int, ...], /) -> Array: ...
    def concat(self, arrays: Sequence[Array], /, *, axis: int = ...) -> Array: ...
    def empty(self, shape: tuple[int, ...], /, *, dtype: DType = ..., device: Device = ...) -> Array: ...
    def empty_like(self, x: Array, /) -> Array: ...
    def eye(self, rows: int, /, *, dtype: DType = ..., device: Device = ...) -> Array: ...
    def flip(self, x: Array, /, *, axis: int = ...) -> Array: ...
    def full(self, shape: tuple[int, ...], value: float, /, *, dtype: DType = ..., device: Device = ...) -> Array: ...
    def ones_like(self, x: Array, /) -> Array: ...
    def reshape(self, x: Array, shape: tuple[int, ...], /) -> Array: ...
    def stack(self, arrays: Sequence[Array], /, *, axis: int = ...) -> Array: ...
    def take_along_axis(self, x: Array, indices: Array, /, *, axis: int = ...) -> Array: ...
    def take(self, x: Array, indices: Array, /, *, axis: int = ...) -> Array: ...
    def zeros_like(self, x: Array, /) -> Array: ...


def is_torch(array: object) -> TypeGuard[torch.Tensor]:
    """Whether `array` is a PyTorch tensor (without importing PyTorch)."""
    return "torch" in sys.modules and array_api_compat.is_torch_array(array)


def is_symbol(array: object) -> bool:
    """Whether `array` stands for numbers that are not there yet, see `zskl.export`: neither NumPy's nor PyTorch's."""
    known = isinstance(array, np.ndarray | np.generic) or is_torch(array)
    return not known and hasattr(array, "__array_namespace__")


def namespace(*arrays: Array) -> Namespace:
    """The array-API namespace (NumPy, PyTorch or that of symbols) that the arrays share."""
    plain = len(arrays) == 1 and type(arrays[0]) in (np.ndarray, SparseRows)  # called in every step: the quick way
    found: Namespace = array_api_compat.numpy if plain else array_api_compat.array_namespace(*arrays)
    return found


def to_numpy(array: Array) -> NumPyArray:
    """The same values as a NumPy array on the host; NumPy input is not copied, and sparse rows stay what they are."""
    if are_sparse(array):
        kept: NumPyArray = array
        return kept
    if is_torch(array):
        tensor = array.detach().cpu()
        if tensor.dtype is sys.modules["torch"].bfloat16:  # which NumPy does not have
            tensor = tensor.float()
        return np.asarray(tensor.resolve_conj().numpy())
    return np.asarray(array)


@overload
def like(array: Array, reference: NumPyArray, dtype: str | None = None) -> NumPyArray: ...
@overload
def like(array: Array, reference: Array, dtype: str | None = None) -> Array: ...
def like(array: Array, reference: Array, dtype: str | None = None) -> Array:
    """`array` in the library and on the device of `reference`, at `dtype` (default: the reference's).

    Sparse rows stay sparse.
    """
    xp = namespace(reference)
    wanted = reference.dtype if dtype is None else getattr(xp, dtype)
    if are_sparse(array):
        rows: Array = _sparse_like(array, reference, wanted)
        return rows
    if is_torch(reference):
        tensor: Any = array if is_torch(array) else _as_tensor(array, xp)
        moved: Array = tensor.to(device=reference.device, dtype=wanted)
        return moved
    if is_symbol(array):
        return namespace(array).astype(array, wanted)
    return to_numpy(array).astype(wanted, copy=False)


def _as_tensor(array: Any, xp: Namespace) -> Any:
    if np.ndim(array) == 2 and np.isfortran(array):  # columns, one after the other, stay where they are
        return _as_tensor(array.T, xp).T
    return xp.asarray(np.require(array, requirements=["C", "W"]))


def _sparse_like(array: Any, reference: Array, wanted: DType) -> Any:
    if is_torch(reference):
        raise ValueError(
            "X is a tensor, and rows or signatures of this model are sparse: expected an array of NumPy or SciPy; use "
            "X.numpy(force=True)"
        )
    return array.astype(wanted)


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
    if not is_torch(array):  # no rows in reverse count as contiguous, and PyTorch refuses their strides
        whole = to_numpy(array) if len(array) else np.zeros(array.shape, array.dtype)
        array = torch.from_numpy(np.require(whole, requirements=["C", "W"]))
    moved: Array = array.to(device)  # type: ignore[attr-defined]
    return moved


def on_gpu(array: Array | None, device: str | None) -> bool:
    """Whether `on_device(array, device)` computes on an accelerator."""
    place = array.device if device is None and is_torch(array) else device
    return place is not None and not str(place).startswith("cpu")


def largest(array: Array, count: int) -> Array:
    """(count, c) the largest entries of each column of (m, c), in any order."""
    if is_torch(array):
        found: Array = array.topk(count, dim=0).values
        return found
    if is_symbol(array):
        symbols: Any = namespace(array)
        found = symbols.largest(array, count)
        return found
    m = array.shape[0]
    columns = np.partition(np.ascontiguousarray(to_numpy(array).T), m - count, axis=1)
    return columns[:, m - count :].T


def contiguous_copy(array: Array) -> Array:
    """A copy whose rows lie one after the other in memory."""
    return array.clone().contiguous() if is_torch(array) else np.array(array, order="C")


def free_memory(array: Array) -> int | None:
    """Free bytes on the CUDA device of `array`; None on any other device."""
    if not is_torch(array) or array.device.type != "cuda":
        return None
    cuda = sys.modules["torch"].cuda
    kept = cuda.memory_reserved(array.device) - cuda.memory_allocated(array.device)  # freed, but kept by PyTorch
    return int(cuda.mem_get_info(array.device)[0] + kept)


def check_device(device: str | None) -> None:
    """Refuse a device that this machine does not have."""
    if device is not None and str(device) != "cpu":
        _torch_with(str(device))


@cache
def _torch_with(device: str) -> Any:
    """PyTorch, after one check that the device can be used."""
    if device.partition(":")[0].lower() in ("gpu", "nvidia", "cuda") and not device.startswith("cuda"):
        raise ValueError(
            f"device is {device!r}: expected 'cuda', which is what PyTorch calls an NVIDIA GPU, or 'cpu'; 'cuda:1' is "
            "the second GPU"
        )
    try:
        import torch
    except ImportError as error:
        raise ValueError(
            f"device is {device!r}, which needs PyTorch, and that is not installed: pip install 'zskl[torch]', or use "
            "device='cpu'"
        ) from error
    try:
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, NotImplementedError, AssertionError, ValueError) as error:
        gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
        reason = str(error).partition("\n")[0].rstrip(".")[:120]
        raise ValueError(
            f"device is {device!r}, which cannot be used: PyTorch {torch.__version__} sees {gpus} CUDA GPU(s) here and "
            f"says '{reason}'; use device='cpu', or a machine and a build of PyTorch that have it"
        ) from None
    return torch


def seed_from(random_state: int | np.random.RandomState | None) -> int:
    """The seed that a `random_state` of scikit-learn's kind stands for; of a RandomState, the next one it draws."""
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def generator(seed: int, *stream: int) -> np.random.Generator:
    """An independent generator for each (seed, stream...): the one place where a seed becomes randomness.

    Always NumPy's, so that every array library and device sees the same numbers.
    """
    return np.random.default_rng([seed, *stream])
