"""Training rows that stay as the caller has them, and are scaled when they are read. A copy is made where it is small,
which is a little quicker, unless a method reads the rows once; of rows in a file, which are slow to pick one by one,
unless they are streamed; and for a GPU, which holds it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl import scaling as scalings
from zskl._arrays import (
    Array,
    NumPyArray,
    convert_like,
    is_mapped,
    is_sparse_rows,
    is_torch,
    make_generator,
    move_to_device,
    namespace,
    release_pages,
    runs_on_gpu,
    to_numpy,
)
from zskl.scaling import (
    BLOCK_VALUES,
    FITTED,
    Scaling,
    differs_from_mean,
    scale_and_length,
    take_logarithms,
    to_float_type,
)
from zskl.training import solver

COPY_BYTES = 1 << 25  # bytes of scaled rows, as float32, up to which they are copied
BLOCK_BYTES = 1 << 20  # of the passes in the order of the rows, as float32
GPU_BLOCK_BYTES = 1 << 22
HELD_BYTES = 1 << 30  # bytes, as float32, up to which even memory-mapped training rows are held in memory
CHUNK_BYTES = 1 << 18  # read at once, as float32
BUFFER_BYTES = 1 << 26  # of scaled rows in memory, as float32


class RowFactors:
    """`Scaling.apply` of rows picked one by one, bit for bit and in place; what divides each row is measured once."""

    def __init__(self, scaling: Scaling, rows: int, blocks: Iterator[NumPyArray]) -> None:
        """`blocks` are all rows in order, before any step."""
        self.scaling = scaling
        self._columns: list[tuple[NumPyArray, ...]] = []  # for each step; (n, 1) each
        start = 0
        for block in (part for whole in blocks for part in _cache_blocks(whole)):
            found = self._measure(block)
            if not self._columns:
                self._columns = [tuple(np.empty((rows, 1), one.dtype) for one in step) for step in found]
            for kept, step in zip(self._columns, found, strict=True):
                for column, one in zip(kept, step, strict=True):
                    column[start : start + len(block)] = one
            start += len(block)
        for k, name in enumerate(scaling.steps):
            if name in FITTED and self._columns[k][0].all():  # as usual: no row vanishes
                self._columns[k] = ()

    def _measure(self, rows: NumPyArray) -> list[tuple[NumPyArray, ...]]:
        """Of a block, for each step: largest entries and lengths, or whether rows differ from the mean."""
        found: list[tuple[NumPyArray, ...]] = []
        last = len(self.scaling.steps) - 1
        for k, step in enumerate(self.scaling.steps):
            columns: list[Any] = []
            if step == "l2":
                divided, *columns = scale_and_length(rows)
                rows = rows if k == last else to_numpy(divided / columns[1])
            elif step in FITTED:
                assert self.scaling.mean is not None
                mean = convert_like(self.scaling.mean, rows)
                centred = rows - mean
                columns = [differs_from_mean(rows, centred, mean)]
                rows = np.where(columns[0], centred, 0)
                if step == "standardize":
                    assert self.scaling.deviation is not None
                    rows = rows / convert_like(self.scaling.deviation, rows)
            else:
                rows = replace(self.scaling, steps=(step,)).apply(rows)
            found.append(tuple(columns))
        return found

    def apply(self, rows: NDArray[np.int64], values: NumPyArray) -> None:
        """Scale `values` (k, d), which are the rows of these numbers (k,), in place."""
        for step, columns in zip(self.scaling.steps, self._columns, strict=True):
            if step == "sqrt":
                signs = np.sign(values) if values.min() < 0 else None  # features of networks are seldom below 0
                np.sqrt(np.abs(values, out=values), out=values)
                if signs is not None:
                    values *= signs
            elif step == "log":
                assert self.scaling.units is not None
                values[:] = take_logarithms(values, self.scaling.units)
            elif step == "unit":
                assert self.scaling.sizes is not None
                values /= convert_like(self.scaling.sizes, values)
            elif step == "l2":
                for column in columns:
                    values /= column[rows]
            else:
                assert self.scaling.mean is not None
                values -= convert_like(self.scaling.mean, values)
                for column in columns:
                    values[~column[rows, 0]] = 0
                if step == "standardize":
                    assert self.scaling.deviation is not None
                    values /= convert_like(self.scaling.deviation, values)


def _cache_blocks(rows: NumPyArray) -> Iterator[NumPyArray]:
    """The same rows, so many at a time that what is made of them stays in a cache."""
    height = max(1, BLOCK_VALUES // rows.shape[1])
    return (rows[start : start + height] for start in range(0, len(rows), height))


class ScaledRows:
    """The scaled rows (n, d), float32, of an array X; takes the place of `Training.X`."""

    _scaling: Scaling  # once it is fitted

    def __init__(self, X: Array, device: str | None) -> None:
        self.source, self._device = X, device
        self.shape = (int(X.shape[0]), int(X.shape[1]))
        gpu = runs_on_gpu(X, device)
        self._block = max(1, (GPU_BLOCK_BYTES if gpu else BLOCK_BYTES) // (4 * self.shape[1]))  # rows
        self.copied = self._is_small() or gpu or is_sparse_rows(X) or is_mapped(X)

    def _is_small(self) -> bool:
        return 4 * self.shape[0] * self.shape[1] <= COPY_BYTES

    def fit_scaling(self, scaling: str, weights: NumPyArray | None = None) -> Scaling:
        """The scaling of that name, fitted in blocks to rows of these weights (n,); from now on it is applied."""
        if is_sparse_rows(self.source):
            self._scaling = scalings.fit_scaling(scaling, self.source, "feature_scaling", weights)
        else:
            chosen = scalings.choose_scaling(scaling, self.source, "feature_scaling")
            self._scaling = scalings.fit_scaling_in_blocks(chosen, self._read_raw_blocks, weights)
        return self._scaling

    def use_scaling(self, scaling: Any) -> None:
        """Apply a scaling that was fitted elsewhere."""
        self._scaling = scaling

    def _read_raw_blocks(self) -> Iterator[Array]:
        return (self._read_raw(rows) for rows in self._spans())

    def _spans(self) -> Iterator[slice]:
        for first in range(0, self.shape[0], self._block):
            yield slice(first, min(first + self._block, self.shape[0]))
            release_pages(self.source)

    def _read_raw(self, rows: Any) -> Array:
        block = self.source[rows]
        return move_to_device(block if is_sparse_rows(block) else to_float_type(block), self._device)

    def _read(self, rows: Any) -> Array:
        block = self._scaling.apply(self._read_raw(rows))
        return convert_like(block, block, "float32")

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """(rows, scaled) in the order of the rows."""
        return ((rows, self[rows]) for rows in self._spans())

    def read_all(self) -> Array:
        """All scaled rows, scaled block by block; sparse ones at once."""
        if is_sparse_rows(self.source):
            return self._scaling.apply(self.source)
        scaled: Array | None = None
        for rows in self._spans():
            block = self._read(rows)
            if scaled is None:
                scaled = namespace(block).empty(self.shape, dtype=block.dtype, device=block.device)
            scaled[rows] = block
        assert scaled is not None  # there is at least one row
        return scaled

    def __getitem__(self, rows: Any) -> Array:
        """Scaled rows by a slice, or by their numbers (k,). What they are divided by is measured only once."""
        if is_torch(self.source) or self.copied:
            return self._read(rows)
        numbers = np.arange(*rows.indices(self.shape[0])) if isinstance(rows, slice) else rows
        found = np.empty((len(numbers), self.shape[1]), np.float32)
        if len(numbers):
            self.take(numbers, 0, found, "clip")
        return found

    def take(self, rows: Any, axis: int, out: NumPyArray, mode: str) -> None:
        """Rows by their numbers into `out` (k, d), as NumPy's arrays do it; `mode` is ignored."""
        numbers = to_numpy(rows)
        source: Any = self.source
        if source.dtype == out.dtype:
            source.take(numbers, axis=0, out=out, mode="clip")
            self._factors.apply(numbers, out)
            return
        values = to_numpy(self._read_raw(numbers))  # picked by numbers, so they are a copy
        self._factors.apply(numbers, values)
        out[:] = values

    @cached_property
    def _factors(self) -> RowFactors:
        return RowFactors(self._scaling, self.shape[0], map(to_numpy, self._read_raw_blocks()))


class RowsReadOnce(ScaledRows):
    """The same for a method that reads them once, in order, or all at once if they are fewer than the features."""

    def _is_small(self) -> bool:
        return self.shape[0] < self.shape[1]

    def __getitem__(self, rows: Any) -> Array:
        return self._read(rows)


def should_stream(setting: Any, X: Any) -> bool:
    """Whether training rows X stay in their file; with "auto", if X is memory-mapped and larger than `HELD_BYTES`."""
    if isinstance(setting, bool | np.bool_):
        return bool(setting)
    return bool(is_mapped(X) and X.ndim == 2 and 4 * X.size > HELD_BYTES)


def make_reader(setting: Any, X: Any) -> type[ScaledRows] | None:
    """What reads the rows: from their file, or as they lie in memory; None copies them, which False asks for."""
    if should_stream(setting, X):
        return StreamedRows
    return ScaledRows if isinstance(setting, str) else None


class StreamedRows(ScaledRows):
    """Rows that stay in their file: chunks are read in random order, scaled, mixed in a buffer, served as batches. The
    order depends only on the number of rows, their width, the batch size, the seed and the epoch."""

    def __init__(self, X: Array, device: str | None) -> None:
        super().__init__(X, device)
        self.copied = False
        self._chunk = max(1, CHUNK_BYTES // (4 * self.shape[1]))  # rows
        self._mixed = max(1, BUFFER_BYTES // (4 * self.shape[1] * self._chunk))  # chunks
        self._buffer: Array | None = None
        self._rows = np.empty(0, dtype=np.int64)  # those in the buffer
        self._sorted = self._rows  # places of them in the order of their numbers

    def __getitem__(self, rows: Any) -> Array:
        """Scaled rows by a slice, or by their numbers (k,)."""
        if isinstance(rows, slice):
            return self._read(rows)
        numbers = to_numpy(rows)
        if len(self._rows):
            at = np.searchsorted(self._rows, numbers, sorter=self._sorted)
            places = self._sorted[np.minimum(at, len(self._rows) - 1)]
            if (self._rows[places] == numbers).all():
                assert self._buffer is not None
                return self._buffer[convert_like(places, self._buffer, "int64")]
        return self._read(numbers)

    def take(self, rows: Any, axis: int, out: NumPyArray, mode: str) -> None:
        """Rows by their numbers into `out` (k, d), as NumPy's arrays do it; `mode` is ignored."""
        out[:] = self[rows]

    def batches(self, batch_size: int, seed: int, epoch: int) -> Iterator[NumPyArray]:
        """Numbers of the rows of each batch of an epoch, in the buffer by then; a short last batch is left out."""
        n = self.shape[0]
        size = min(batch_size, n)
        draw = make_generator(seed, 0, epoch)
        chunks = draw.permutation(-(-n // self._chunk))
        left = np.empty(0, dtype=np.int64)
        for first in range(0, len(chunks), self._mixed):
            fresh = self._fill(np.sort(chunks[first : first + self._mixed]), left, size)
            order = np.concatenate([left, draw.permutation(fresh)])
            whole = len(order) - len(order) % size
            yield from order[:whole].reshape(-1, size)
            left = order[whole:]

    def _fill(self, chunks: NumPyArray, left: NumPyArray, size: int) -> NumPyArray:
        """Read these chunks into the buffer, behind the fewer than `size` rows that are left of it; their numbers."""
        kept = self[left] if len(left) else None
        spans = [slice(int(c) * self._chunk, min((int(c) + 1) * self._chunk, self.shape[0])) for c in chunks]
        fresh = np.concatenate([np.arange(span.start, span.stop) for span in spans])
        self._rows = np.concatenate([left, fresh])
        self._sorted = np.argsort(self._rows)
        at = len(left)
        for span in spans:
            block = self._read(span)
            if self._buffer is None or self._buffer.shape[0] < len(self._rows):
                shape = (min(self._chunk * self._mixed, self.shape[0]) + size, self.shape[1])
                self._buffer = namespace(block).empty(shape, dtype=block.dtype, device=block.device)
            self._buffer[at : at + len(block)] = block
            at += len(block)
        if kept is not None and self._buffer is not None:
            self._buffer[: len(left)] = kept
        return fresh


def initial_projection(
    init: str, X: ScaledRows, signature_of: Callable[[Array], Array], codes: Array, seed: int
) -> Array:
    """Where W starts, from rows in blocks. `signature_of` codes (k,) is (k, p)."""
    if init != "polarised":
        return solver.INITIALISATIONS[init](X[:1], signature_of(codes[:1]), seed)
    return solver.polarise_in_blocks(
        lambda: ((block, signature_of(codes[rows])) for rows, block in X.blocks()), X.shape[0]
    )
