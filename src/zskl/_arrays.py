"""Arrays of every library: which one, on which device, at which precision, from which seed; sparse and mapped rows. The
only place that knows array libraries."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

NumPyArray: TypeAlias = np.ndarray[Any, Any]  # of any shape and type
Array: TypeAlias = Any  # of NumPy, PyTorch or a graph that is exported; only `to_numpy` gets numbers from a GPU
DType: TypeAlias = Any
Namespace: TypeAlias = Any  # functions under the names of the Python array API standard, those that its library has
Floats: TypeAlias = NDArray[np.float64]
Dense: TypeAlias = np.ndarray[Any, Any]
ROUNDING = 4  # units in the last place
NOISE = 64 * 2.0**-52  # of ‖m‖²: what is left of it after a subtraction is rounding below this
PARTS = ("values", "columns", "starts", "weights", "subtracted")  # what a file holds
PIECE = 1 << 20  # bytes picked from a file before its pages are given back


def is_torch(array: object) -> TypeGuard[torch.Tensor]:
    """Whether `array` is a PyTorch tensor (without importing PyTorch)."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_symbol(array: object) -> bool:
    """Whether `array` stands for numbers that are not there yet, see `zskl.export`: neither NumPy's nor PyTorch's."""
    known = isinstance(array, np.ndarray | np.generic) or is_torch(array)
    return not known and hasattr(array, "__array_namespace__")


def namespace(*arrays: Array) -> Namespace:
    """Find the functions that go with arrays: those of NumPy, of PyTorch, or of a graph that is being exported.

    A kernel that uses them works with every array library, on every device, and in ONNX files.

    Parameters
    ----------
    *arrays : array
        Arrays of one library.

    Returns
    -------
    namespace
        Functions under the names of the Python array API standard, such as `exp`, `sqrt` and `where`.

    Examples
    --------
    >>> import numpy as np
    >>> from zskl.kernels import namespace
    >>> t = np.array([0.0, 1.0])
    >>> namespace(t).exp(-t).round(4).tolist()
    [1.0, 0.3679]
    """
    plain = len(arrays) == 1 and type(arrays[0]) in (np.ndarray, SparseRows)  # called in every step: the quick way
    found: Any = np
    if not plain or not hasattr(np, "cumulative_sum"):  # from NumPy 2.1 on it has all of them itself
        # Imported late, as SciPy below: together they take 0.5 s, and a scorer does without.
        import array_api_compat.numpy

        found = array_api_compat.numpy if plain else array_api_compat.array_namespace(*arrays)
    return found


def to_numpy(array: Array | float) -> NumPyArray:
    """The same values as a NumPy array on the host; NumPy input is not copied, and sparse rows stay what they are."""
    if is_sparse_rows(array):
        return array
    if is_torch(array):
        tensor = array.detach().cpu()
        if tensor.dtype is sys.modules["torch"].bfloat16:  # which NumPy does not have
            tensor = tensor.float()
        return np.asarray(tensor.resolve_conj().numpy())
    return np.asarray(array)


def convert_like(array: Array, reference: Array, dtype: str | None = None) -> Array:
    """`array` in the library and on the device of `reference`, at `dtype` (or the reference's); sparse rows stay so."""
    xp = namespace(reference)
    wanted = reference.dtype if dtype is None else getattr(xp, dtype)
    if is_sparse_rows(array):
        if is_torch(reference):
            raise ValueError(
                "X is a tensor, and rows or signatures of this model are sparse: expected an array of NumPy or SciPy; "
                "use X.numpy(force=True)"
            )
        return array.astype(wanted)
    if is_torch(reference):
        tensor: Any = array if is_torch(array) else _to_tensor(array, xp)
        return tensor.to(device=reference.device, dtype=wanted)
    if is_symbol(array):
        return namespace(array).astype(array, wanted)
    return to_numpy(array).astype(wanted, copy=False)


def _to_tensor(array: Any, xp: Namespace) -> Any:
    if np.ndim(array) == 2 and np.isfortran(array):  # columns, one after the other, stay where they are
        return _to_tensor(array.T, xp).T
    return xp.asarray(np.require(array, requirements=["C", "W"]))


def move_to_device(array: Array, device: str | None) -> Array:
    """`array` where it lies (None), or on the named device: "cpu" leaves NumPy's alone, any other needs PyTorch."""
    if device is None:
        return array
    device = str(device)
    if device == "cpu" and not is_torch(array):
        return array
    torch = _import_torch(device)
    if not is_torch(array):  # no rows in reverse count as contiguous, and PyTorch refuses their strides
        whole = to_numpy(array) if len(array) else np.zeros(array.shape, array.dtype)
        array = torch.from_numpy(np.require(whole, requirements=["C", "W"]))
    moved: Array = array.to(device)
    return moved


def runs_on_gpu(array: Array | None, device: str | None) -> bool:
    """Whether `move_to_device(array, device)` is on an accelerator."""
    place = array.device if device is None and is_torch(array) else device
    return place is not None and not str(place).startswith("cpu")


def largest_entries(array: Array, count: int) -> Array:
    """(count, c) the largest entries of each column of (m, c), in any order."""
    if is_torch(array):
        return array.topk(count, dim=0).values
    if is_symbol(array):
        symbols: Any = namespace(array)
        found = symbols.largest(array, count)
        return found
    m = array.shape[0]
    columns = np.partition(np.ascontiguousarray(to_numpy(array).T), m - count, axis=1)
    return columns[:, m - count :].T


def largest_places(array: Array, count: int) -> Array:
    """(n, count) the columns of the largest entries of each row of (n, m), in any order."""
    if is_torch(array):
        return array.topk(count, dim=1).indices
    return np.argpartition(array, array.shape[1] - count, axis=1)[:, array.shape[1] - count :]


def contiguous_copy(array: Array) -> Array:
    """A copy whose rows lie one after the other in memory."""
    return array.clone().contiguous() if is_torch(array) else np.array(array, order="C")


def free_gpu_memory(array: Array) -> int | None:
    """Free bytes on the CUDA device of `array`; None on any other device."""
    if not is_torch(array) or array.device.type != "cuda":
        return None
    cuda = sys.modules["torch"].cuda
    kept = cuda.memory_reserved(array.device) - cuda.memory_allocated(array.device)  # freed, but kept by PyTorch
    return int(cuda.mem_get_info(array.device)[0] + kept)


def check_device(device: str | None) -> None:
    if device is not None and str(device) != "cpu":
        _import_torch(str(device))


@cache
def _import_torch(device: str) -> Any:
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


def resolve_seed(random_state: int | np.random.RandomState | None) -> int:
    """The seed that a `random_state` of scikit-learn's kind stands for; of a RandomState, the next one it draws."""
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def make_generator(seed: int, *stream: int) -> np.random.Generator:
    """An independent generator for each (seed, stream...): NumPy's, so that all libraries and devices draw the same."""
    return np.random.default_rng([seed, *stream])


# Sparse rows


def _scipy_sparse() -> Any:
    from scipy import sparse

    return sparse


def is_sparse(given: Any) -> bool:
    """Whether a caller's array is sparse: SciPy's of any format, or a pandas frame whose columns all are."""
    if "scipy.sparse" in sys.modules and _scipy_sparse().issparse(given):
        return True
    kinds = getattr(given, "dtypes", None) if hasattr(given, "iloc") and getattr(given, "ndim", 0) == 2 else None
    return kinds is not None and len(kinds) > 0 and all(hasattr(kind, "fill_value") for kind in kinds)


def is_sparse_rows(rows: object) -> TypeGuard[Any]:
    return isinstance(rows, SparseRows)


class SparseRows:
    """n rows in d columns, mostly zeros, such as counts of words: `values` S − `weights` B times `subtracted` M.

    X = S − B M,   S (n, d) sparse,   B (n, r),   M (r, d),   r ≤ 2

    Centring subtracts a mean, which would fill every place. So what is subtracted stays apart: a product with X is one
    with S, corrected by a product of rank r. Nothing of the size n × d is ever made.
    """

    __array_ufunc__ = None  # NumPy leaves `array @ rows` to this class
    ndim, device = 2, "cpu"

    def __init__(self, values: Any, weights: Floats | None = None, subtracted: Floats | None = None) -> None:
        self.values = values  # a csr_array without duplicates
        n, d = values.shape
        self.weights: Floats = np.empty((n, 0)) if weights is None else weights
        self.subtracted: Floats = np.empty((0, d)) if subtracted is None else subtracted

    @classmethod
    def from_scipy(cls, given: Any) -> SparseRows:
        """From SciPy's sparse arrays and matrices of any format; a single row may be 1-D."""
        if hasattr(given, "iloc"):
            given = given.sparse.to_coo()
        values = _scipy_sparse().csr_array(given.reshape(1, -1) if given.ndim == 1 else given)
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        if not values.has_canonical_format:
            values = values.copy()
            values.sum_duplicates()
        return cls(values)

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def T(self) -> Columns:
        return Columns(self)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        """Rows by a slice, by their numbers or by a mask; of values as they were given also columns, or one value."""
        if isinstance(rows, tuple):
            found = self.values[rows]
            return SparseRows.from_scipy(found) if _scipy_sparse().issparse(found) else found
        rows = rows if isinstance(rows, slice) else np.asarray(rows)
        if not isinstance(rows, slice) and rows.size == 0:
            rows = slice(0, 0)
        return SparseRows(self.values[rows], self.weights[rows], self.subtracted)

    def astype(self, dtype: Any) -> SparseRows:
        return SparseRows(self.values.astype(dtype, copy=False), self.weights, self.subtracted)

    def __sub__(self, row: Dense) -> SparseRows:
        """x − row for each row x."""
        if not row.any():
            return self
        weights = np.concatenate([self.weights, np.ones((len(self), 1))], axis=1)
        return SparseRows(self.values, weights, np.concatenate([self.subtracted, row[None].astype(np.float64)]))

    def __mul__(self, row: Dense) -> SparseRows:
        """Each column times its own factor."""
        data = self.values.data * row[self.values.indices].astype(self.dtype)
        return SparseRows(self._replace_values(data), self.weights, self.subtracted * row)

    def __truediv__(self, row: Dense) -> SparseRows:
        return self * (1 / row.astype(np.float64))

    def __matmul__(self, other: Any) -> Dense:
        """(n, d) @ (d, k) → a dense (n, k)."""
        if isinstance(other, Columns):
            return self._products(other.rows)
        return self._correct(self.values @ other, self.weights @ (self.subtracted @ other))

    def __rmatmul__(self, other: Dense) -> Dense:
        """(k, n) @ (n, d) → a dense (k, d)."""
        return (self.T @ other.T).T

    def _products(self, other: SparseRows) -> Dense:
        """(n, c) of these rows with those."""
        B, M, E, N = self.weights, self.subtracted, other.weights, other.subtracted
        off = (self.values @ N.T) @ E.T + B @ (other.values @ M.T).T - B @ ((M @ N.T) @ E.T)
        return self._correct((self.values @ other.values.T).toarray(), off)

    def _correct(self, found: Dense, off: Dense) -> Dense:
        return found if not off.any() else (found - off).astype(found.dtype, copy=False)

    def mean(self, axis: int = 0, weights: Floats | None = None) -> Floats:
        """(d,) over the rows, in float64; with weights (n,) a row counts as often as its own says."""
        counts = _row_counts(len(self), weights)
        return (counts[None] @ self.astype(np.float64))[0] / max(counts.sum(), np.finfo(float).tiny)

    @property
    def owners(self) -> NDArray[np.int64]:
        """(stored,) the row of each stored value."""
        return np.repeat(np.arange(len(self)), np.diff(self.values.indptr))

    def _replace_values(self, data: Dense) -> Any:
        """S with other values in the same places."""
        return _scipy_sparse().csr_array((data, self.values.indices, self.values.indptr), shape=self.shape)

    def _sum_by_row(self, data: Dense) -> Floats:
        """(n,) sums of what belongs to the stored values."""
        return np.bincount(self.owners, weights=data, minlength=len(self)).astype(np.float64)  # of no data: integers

    def any(self, axis: int = 1) -> NDArray[np.bool_]:
        """(n,) whether a row has a value that is not 0, where nothing is subtracted."""
        return self._sum_by_row(np.abs(self.values.data)) > 0

    def find_not_finite(self) -> NDArray[np.int64]:
        """(k, 2) the places of values that are NaN or infinite, row by row."""
        wrong = np.flatnonzero(~np.isfinite(self.values.data))
        return np.stack([self.owners[wrong], self.values.indices[wrong]], axis=1)

    def squares(self) -> Floats:
        """(n,) ‖x‖² in float64: Σ (s − m)² where a row has values, and what is left of ‖m‖² elsewhere."""
        data = self.values.data.astype(np.float64)
        if not len(self.subtracted):
            return self._sum_by_row(data * data)
        there = (self.weights[self.owners] * self.subtracted.T[self.values.indices]).sum(axis=1)
        whole = ((self.weights @ (self.subtracted @ self.subtracted.T)) * self.weights).sum(axis=1)
        elsewhere = whole - self._sum_by_row(there * there)
        return self._sum_by_row((data - there) ** 2) + np.where(elsewhere > NOISE * whole, elsewhere, 0.0)

    def to_unit_length(self) -> SparseRows:
        """Rows of unit length. One that is 0, or equals what is subtracted up to rounding, becomes 0."""
        largest = np.zeros(len(self))
        np.maximum.at(largest, self.owners, np.abs(self.values.data).astype(np.float64))
        largest += np.abs(self.weights) @ np.abs(self.subtracted).max(axis=1, initial=0.0)
        small = self.scale_rows(1 / np.where(largest > 0, largest, 1.0))  # so that no square leaves the range
        squares = small.squares()
        parts = small._sum_by_row(small.values.data.astype(np.float64) ** 2)
        parts += ((small.weights @ (small.subtracted @ small.subtracted.T)) * small.weights).sum(axis=1)
        clear = squares > max(NOISE, float(ROUNDING * np.finfo(self.dtype).eps) ** 2) * parts
        return small.scale_rows(np.where(clear, 1 / np.sqrt(np.where(clear, squares, 1.0)), 0.0))

    def scale_rows(self, factors: Floats) -> SparseRows:
        data = (self.values.data * factors[self.owners]).astype(self.dtype, copy=False)
        return SparseRows(self._replace_values(data), self.weights * factors[:, None], self.subtracted)

    def take_square_roots(self) -> SparseRows:
        """sign(x)·√|x|."""
        if len(self.subtracted):
            raise ValueError(
                "a scaling takes square roots after it has centred, which would fill every place of sparse rows: "
                "expected 'sqrt' first, as in 'sqrt-center-l2'"
            )
        return SparseRows(self._replace_values(np.sign(self.values.data) * np.sqrt(np.abs(self.values.data))))

    def map_values(self, function: Callable[[Dense, Dense], Dense]) -> SparseRows:
        """A function of values and their columns, which keeps zeros, before anything is subtracted."""
        if len(self.subtracted):
            raise ValueError("a scaling takes logarithms after it has centred: expected 'log' first")
        return SparseRows(self._replace_values(function(self.values.data, self.values.indices)))

    def column_squares(self, weights: Floats | None = None) -> Floats:
        """(d,) the sum of x² of each column, in float64, for weights (n,) of the rows."""
        exact, counts = self.values.astype(np.float64), _row_counts(len(self), weights)
        squares = np.bincount(exact.indices, counts[self.owners] * exact.data**2, minlength=self.shape[1])
        heavy = self.weights * counts[:, None]
        crossed, inner = (exact.T @ heavy).T, heavy.T @ self.weights  # (r, d), (r, r)
        found: Floats = squares + ((inner @ self.subtracted - 2 * crossed) * self.subtracted).sum(axis=0)
        return np.maximum(found, 0.0)

    def variances(self, mean: Floats, weights: Floats | None = None) -> Floats:
        """(d,) of each column about its mean, where nothing is subtracted yet, for weights (n,) of the rows."""
        columns, d, counts = self.values.indices, self.shape[1], _row_counts(len(self), weights)
        mine = counts[self.owners]
        apart = np.bincount(columns, mine * (self.values.data - mean[columns]) ** 2, minlength=d)
        zeros = np.maximum(counts.sum() - np.bincount(columns, mine, minlength=d), 0.0)
        return (apart + zeros * mean**2) / counts.sum()

    def sum_by_class(self, codes: NDArray[np.int64], classes: int, weights: Floats | None = None) -> Floats:
        """(C, d) the sum of the rows of each class, each times its weight, in float64."""
        places = codes, np.arange(len(self))
        member = _scipy_sparse().csr_array((_row_counts(len(self), weights), places), shape=(classes, len(self)))
        return (member @ self.values.astype(np.float64)).toarray() - (member @ self.weights) @ self.subtracted

    def combine(self, weights: Dense) -> SparseRows:
        """Weighted sums (k, d) of rows, for weights (k, n)."""
        factors = _scipy_sparse().csr_array(weights.astype(self.dtype))
        return SparseRows(_scipy_sparse().csr_array(factors @ self.values), weights @ self.weights, self.subtracted)

    def take_columns(self, columns: slice) -> SparseRows:
        return SparseRows(_scipy_sparse().csr_array(self.values[:, columns]), self.weights, self.subtracted[:, columns])

    def parts(self) -> dict[str, Dense]:
        """What a file holds of it, by the names in `PARTS`."""
        columns, starts = (array.astype(np.int64) for array in (self.values.indices, self.values.indptr))
        return dict(zip(PARTS, (self.values.data, columns, starts, self.weights, self.subtracted), strict=True))

    @classmethod
    def from_parts(cls, parts: Mapping[str, Dense], shape: tuple[int, int]) -> SparseRows:
        """Refuses what does not fit together: SciPy would read beyond its arrays."""
        data, columns, starts, weights, subtracted = (parts[name] for name in PARTS)
        n, d = shape
        r = subtracted.shape[0] if subtracted.ndim else -1
        fits = (
            data.ndim == 1
            and data.shape == columns.shape
            and starts.shape == (n + 1,)
            and (weights.shape, subtracted.shape) == ((n, r), (r, d))
            and all(array.dtype.kind == "i" for array in (columns, starts))
            and all(array.dtype.kind == "f" and np.isfinite(array).all() for array in (data, weights, subtracted))
            and (starts[0], starts[-1]) == (0, len(data))
            and bool((np.diff(starts) >= 0).all())
            and bool(((columns >= 0) & (columns < d)).all())
        )
        if not fits:
            raise ValueError(f"sparse rows of shape {shape} whose parts do not fit together")
        values = cls.from_scipy(_scipy_sparse().csr_array((data, columns, starts), shape=shape)).values
        return cls(values, weights.astype(np.float64), subtracted.astype(np.float64))


class Columns:
    """Sparse rows, transposed: for products alone."""

    __array_ufunc__ = None

    def __init__(self, rows: SparseRows) -> None:
        self.rows = rows

    def __matmul__(self, other: Dense) -> Dense:
        """(d, n) @ (n, k) → a dense (d, k)."""
        rows = self.rows
        return rows._correct(rows.values.T @ other, rows.subtracted.T @ (rows.weights.T @ other))

    def __rmatmul__(self, other: Dense) -> Dense:
        """(k, d) @ (d, n) → a dense (k, n)."""
        return (self.rows @ other.T).T


def _row_counts(n: int, weights: Floats | None) -> Floats:
    return np.ones(n) if weights is None else weights


def to_dense(rows: Any) -> Any:
    """A few rows, such as one for each class, as an ordinary array."""
    return rows._correct(rows.values.toarray(), rows.weights @ rows.subtracted) if is_sparse_rows(rows) else rows


def stack_rows(*parts: Any) -> Any:
    """Rows on top of each other: sparse if one part is; all that have something subtracted must have the same."""
    if not any(is_sparse_rows(part) for part in parts):
        return np.concatenate(parts)
    rows = [part if is_sparse_rows(part) else SparseRows.from_scipy(_scipy_sparse().csr_array(part)) for part in parts]
    rows = [part for part in rows if len(part)] or rows[:1]
    subtracted = rows[0].subtracted
    assert all(np.array_equal(part.subtracted, subtracted) for part in rows)  # fitted on the same rows
    values = _scipy_sparse().csr_array(_scipy_sparse().vstack([part.values for part in rows]))
    return SparseRows(values, np.concatenate([part.weights for part in rows]), subtracted)


def stack_columns(parts: Sequence[SparseRows]) -> SparseRows:
    """Sparse rows side by side."""
    from scipy.linalg import block_diag

    values = _scipy_sparse().csr_array(_scipy_sparse().hstack([part.values for part in parts]))
    subtracted = block_diag(*(part.subtracted for part in parts))
    return SparseRows(values, np.concatenate([part.weights for part in parts], axis=1), subtracted)


# Rows of memory-mapped files


def is_mapped(X: Any) -> bool:
    """Whether it is an np.memmap, or a view of one."""
    return _find_mapping(X) is not None


def release_pages(X: Any) -> None:
    """Give the system back the pages of a mapped file; not of one that can be written, whose changes would be lost."""
    mapping = _find_mapping(X)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED") and not _is_writeable(X):
        mapping.madvise(mmap.MADV_DONTNEED)


def take_rows(X: Any, rows: Any) -> Any:
    """X[rows] (k, d) of rows by their numbers (k,); from a file in pieces, so that all of it is never in memory."""
    if not is_mapped(X):
        return X[rows]
    found = np.empty((len(rows), X.shape[1]), X.dtype)
    height = max(1, PIECE // max(1, X.shape[1] * X.itemsize))
    for start in range(0, len(rows), height):
        found[start : start + height] = X[rows[start : start + height]]
        release_pages(X)
    return found


def _find_mapping(X: Any) -> mmap.mmap | None:
    while isinstance(X, np.ndarray):
        X = X.base
    return X if isinstance(X, mmap.mmap) else None


def _is_writeable(X: Any) -> bool:
    """Whether X, or an array that it is a view of, can be written to."""
    found = False
    while isinstance(X, np.ndarray):
        found, X = found or X.flags.writeable, X.base
    return found
